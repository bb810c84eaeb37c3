// SPDX-License-Identifier: Apache-2.0

// Package rtc answers peer connections of pages and carries their channels; only it knows WebRTC.
//
// A byte's last step out is Channel.Write, a key's first step in is Channel.Read:
//
//	page.Serve ─ Channel.Write ─ bufferedAmount ≤ 64 KiB ─ SCTP ─ DTLS ─ one port ──► browser
//	page.Serve ◄ Channel.Read ─────── ≤ 64 KiB a message ─ SCTP ─ DTLS ─ one port ◄── browser
//
// Whoever relays the two descriptions can keep a connection from coming about and no more: a caller
// has the offer's signature checked before Answer, signs the answer, and a peer lets no channel through
// whose DTLS certificate is not the one that the offer names.
package rtc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"

	"github.com/pion/ice/v4"
	"github.com/pion/interceptor"
	"github.com/pion/webrtc/v4"

	"spawn/internal/supervisor/descriptors"
)

var (
	// ErrFull means that as many pages are connected as may be.
	ErrFull = errors.New("too many connected pages")
	// ErrClosed means that the peer or channel has ended.
	ErrClosed = errors.New("closed")
	// ErrDescription means that a session description is not of the one kind that pages send.
	ErrDescription = errors.New("unacceptable session description")
)

// Endpoint is the one port that all peers share. Several sockets, or several muxes on one, lose packets and
// descriptors.
type Endpoint struct {
	api  *webrtc.API
	mux  ice.UDPMux
	tcp  ice.TCPMux // nil without TCP
	addr netip.AddrPort
	log  *slog.Logger

	mu struct {
		sync.Mutex
		closed bool
		peers  map[*Peer]struct{}
	}
}

// Listen binds the port, for UDP and for TCP; port 0 picks one. UDP is what peers use. TCP is for those whom
// UDP does not reach, such as a browser at the far end of a tunnel that carries TCP alone. Peers are told
// the addresses on which the port is bound, so a loopback address keeps them on this machine.
func Listen(addr netip.AddrPort, log *slog.Logger) (*Endpoint, error) {
	packets, streams, err := bindBoth(addr)
	if err != nil {
		return nil, fmt.Errorf("listen for peers on %s: %w", addr, err)
	}
	// The kernel caps both in silence; less is slower and still right.
	if err := errors.Join(packets.SetReadBuffer(socketBuffer), packets.SetWriteBuffer(socketBuffer)); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for peers: %w", err), packets.Close(), streams.Close())
	}
	logs := stackLogs{log}
	mux := webrtc.NewICEUDPMux(logs.NewLogger("mux"), packets)
	s := settings(mux, logs)
	tcp := ice.NewTCPMuxDefault(ice.TCPMuxParams{
		Listener: descriptors.Guard(streams), Logger: logs.NewLogger("mux"), ReadBufferSize: tcpReadPackets, WriteBufferSize: socketBuffer,
		FirstStunBindTimeout: strangerTimeout, AliveDurationForConnFromStun: strangerTimeout,
	})
	s.SetICETCPMux(tcp)
	s.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4, webrtc.NetworkTypeUDP6, webrtc.NetworkTypeTCP4, webrtc.NetworkTypeTCP6})
	e := newEndpoint(mux, packets.LocalAddr().(*net.UDPAddr).AddrPort(), s, log)
	e.tcp = tcp
	return e, nil
}

// bindBoth binds one port for UDP and TCP. A picked one may be taken for the other of the two, and then
// another is picked.
func bindBoth(addr netip.AddrPort) (*net.UDPConn, *net.TCPListener, error) {
	for try := 1; ; try++ {
		packets, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(addr))
		if err != nil {
			return nil, nil, err
		}
		streams, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(packets.LocalAddr().(*net.UDPAddr).AddrPort()))
		if err == nil {
			return packets, streams, nil
		}
		err = errors.Join(err, packets.Close())
		if addr.Port() != 0 || try == portTriesMax {
			return nil, nil, err
		}
	}
}

func newEndpoint(mux ice.UDPMux, addr netip.AddrPort, s webrtc.SettingEngine, log *slog.Logger) *Endpoint {
	api := webrtc.NewAPI(webrtc.WithSettingEngine(s), webrtc.WithMediaEngine(&webrtc.MediaEngine{}),
		webrtc.WithInterceptorRegistry(&interceptor.Registry{}))
	e := &Endpoint{api: api, mux: mux, addr: addr, log: log}
	e.mu.peers = map[*Peer]struct{}{}
	return e
}

// Addr is where the port is bound.
func (e *Endpoint) Addr() netip.AddrPort { return e.addr }

func settings(mux ice.UDPMux, logs stackLogs) webrtc.SettingEngine {
	var s webrtc.SettingEngine
	s.LoggerFactory = logs
	s.SetICEUDPMux(mux)
	s.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4, webrtc.NetworkTypeUDP6})
	s.SetIncludeLoopbackCandidate(true)
	s.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	s.SetICETimeouts(disconnectedAfter, failedAfter, keepAliveEvery)
	s.DetachDataChannels()
	s.EnableDataChannelBlockWrite(true)
	s.SetSCTPMaxReceiveBufferSize(receiveWindow)
	s.SetSCTPMaxMessageSize(ReceiveMax)
	s.SetSCTPRTOMax(rtoMax)
	return s
}

// Answer accepts a page's offer and returns the peer with the answer to send. The answer holds every
// address of ours, so that it alone, signed, is all that the page needs. The offer must be known to be
// the device's own; see checkDescription for what is asked of it besides.
func (e *Endpoint) Answer(ctx context.Context, offer string) (*Peer, string, error) {
	certificate, err := checkDescription(offer)
	if err != nil {
		return nil, "", err
	}
	p, err := e.add(certificate)
	if err != nil {
		return nil, "", err
	}
	answer, err := p.negotiate(ctx, offer)
	if err != nil {
		p.Close()
		return nil, "", err
	}
	return p, answer, nil
}

// add makes a peer and starts its goroutine.
func (e *Endpoint) add(certificate fingerprint) (*Peer, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.closed {
		return nil, ErrClosed
	}
	if len(e.mu.peers) == peersMax {
		return nil, ErrFull
	}
	pc, err := e.api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return nil, fmt.Errorf("make a peer connection: %w", err)
	}
	p := newPeer(e, pc, certificate)
	e.mu.peers[p] = struct{}{}
	go p.run()
	return p, nil
}

func (e *Endpoint) remove(p *Peer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.mu.peers, p)
}

// Close ends every peer, waits for all of it, and lets go of the socket.
func (e *Endpoint) Close() error {
	e.mu.Lock()
	e.mu.closed = true
	var open []*Peer
	for p := range e.mu.peers {
		open = append(open, p)
	}
	e.mu.Unlock()
	for _, p := range open {
		p.stop()
	}
	for _, p := range open {
		p.Close()
	}
	err := e.mux.Close()
	if e.tcp != nil {
		// The last peer's end may have closed it already, which is as good.
		if closed := e.tcp.Close(); !errors.Is(closed, net.ErrClosed) {
			err = errors.Join(err, closed)
		}
	}
	return err
}
