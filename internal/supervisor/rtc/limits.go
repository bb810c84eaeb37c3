// SPDX-License-Identifier: Apache-2.0

package rtc

import "time"

const (
	// MessageMax is the largest message to the page. Larger ones gain nothing and let bulk output sit in
	// front of a key's echo.
	MessageMax = 16 << 10
	// ReceiveMax is the largest message from the page. A channel that carries a larger one is closed.
	ReceiveMax = 64 << 10

	// bufferedMax is how much of a channel may wait inside the stack; Write blocks beyond it, until what
	// waits has fallen to bufferedLow. More gave no more speed, more loss and more delay.
	bufferedMax = 64 << 10
	bufferedLow = 32 << 10

	socketBuffer  = 4 << 20 // each way, as far as the kernel allows; the default loses packets
	receiveWindow = 4 << 20 // of one peer's SCTP association: what it may send before it is read

	// tcpReadPackets is how many packets of a TCP connection may wait to be read; the rest waits in the kernel.
	tcpReadPackets = 64
	// portTriesMax bounds the search for a port that is free for UDP and TCP.
	portTriesMax = 8

	peersMax      = 64  // connections of pages, all together
	channelsMax   = 128 // of one peer: one for control, one for each pane
	candidatesMax = 64  // that one peer may send
	offerMax      = 32 << 10

	// connectTimeout is how long a peer may take from its answer to its open control channel.
	connectTimeout = 20 * time.Second
	// strangerTimeout is how long a TCP connection may stay that no peer claims.
	strangerTimeout = 5 * time.Second
	// gatherTimeout bounds the wait for the own addresses, which are all local.
	gatherTimeout = 5 * time.Second

	// A path that is silent for disconnectedAfter counts as disconnected, and failedAfter later as
	// failed. Until then a peer may come back by itself, which a browser goes on trying although it
	// says failed after 15 s. A laptop that slept longer connects anew.
	disconnectedAfter = 7 * time.Second
	failedAfter       = 60 * time.Second
	keepAliveEvery    = 2 * time.Second

	// orphanQuiet is how long a peer whose signalling has gone may say nothing. A page that sees its
	// signalling end asks at once whether we are there; one that was closed or killed never does.
	orphanQuiet = 3 * time.Second

	// rtoMax bounds how long a retransmission waits after the path has returned.
	rtoMax = 5 * time.Second
)
