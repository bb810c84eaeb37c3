// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/lifecycle"
	"spawn/internal/sessiond/wire"
)

// Every bound of spawnd's end of a worker's socket. What waits for viewers has its own, in package fanout.
const (
	// InputMax is the most bytes of one Input: what one frame carries.
	InputMax = wire.InputMax
	// commandsMax is how many commands may wait for a worker. When all places are taken, commands fail
	// with ErrBusy: the worker is stopped or far behind, and nobody may wait for it.
	commandsMax = 32
	// outputBytesMax is how much of a worker's output waits here at most: what the contact's wire.Reader reads ahead when Recv
	// asks it for a frame. The rest stays in the kernel, and when that is full the worker waits, and its program.
	outputBytesMax = wire.ReadAheadMax
	// spareMax is the largest buffer that is kept for the next command, in bytes. Keys need far less.
	spareMax = 4 << 10

	// launchTimeout bounds one Launch, from the reservation to START. A worker listens a few
	// milliseconds after its fork; the rest is for a host under load.
	launchTimeout = 10 * time.Second
	// abandonTimeout bounds the clean-up of a launch that failed.
	abandonTimeout = 2 * time.Second
	// scopeTimeout bounds how long a launch waits for systemd.
	scopeTimeout = time.Second
	// reportMax is how many bytes of a worker's last words a failed launch repeats.
	reportMax = 1 << 10

	// adoptTimeout bounds one adoption. A worker answers at once or is stopped; one that was only slow
	// is met again by the next AdoptAll.
	adoptTimeout = 1500 * time.Millisecond
	// adoptionsMax is how many adoptions run at once, so that stopped workers delay nobody.
	adoptionsMax = 64

	// termGrace is how long a terminal may take to end by itself after TERM, killGrace after KILL.
	termGrace = 2 * time.Second
	killGrace = 2 * time.Second
	// flushMax is how long Close waits for commands that were accepted and not yet written.
	flushMax = 250 * time.Millisecond
	// dyingMax is how long a dying worker's lock may outlast its connection: both go in the same exit,
	// in no promised order.
	dyingMax = 500 * time.Millisecond
	// destroyMax is how long a worker's process may outlast SIGKILL on a host under load.
	destroyMax = 5 * time.Second
	// lockPoll is how often a wait looks at the reservation, which tells nobody when it ends. The
	// connection's loss does: from then on it looks every lossPoll, and so it does for a worker that was killed.
	lockPoll = 100 * time.Millisecond
	lossPoll = 5 * time.Millisecond
)

// Relations. Each line fails to compile when its difference is negative.
const (
	_ = uint(32*8<<10 - outputBytesMax)                  // §9 lets 32 chunks of 8 KiB wait
	_ = uint(InputMax - spareMax - 1)                    // what is kept for the next command is no copy of a large input
	_ = uint64(lifecycle.StartTimeout - 2*launchTimeout) // a launch ends before its worker gives up waiting for START
	_ = uint64(lifecycle.ExitLinger - 8*adoptTimeout)    // a worker that lingers is adopted several times over
	_ = uint64(termGrace - endpoint.SignalDeadline)      // TERM has the whole of its deadline before KILL
)

// The contract's numbers that the rooms below both sides have, with their reasons, once more as spawnd counts on them. A line
// fails to compile when the two differ; the worker's side has its own in sessiond/limits.go.
const (
	_ = -uint(wire.ProtoVersion - 5)                    // §4
	_ = -uint(wire.HeaderLen - 5)                       // §4
	_ = -uint(wire.MaxFrameLen - 32<<20)                // §4
	_ = -uint(lifecycle.StartTimeout - 120*time.Second) // §4
	_ = -uint(lifecycle.ExitLinger - 60*time.Second)    // §4
	_ = -uint(endpoint.RequestLen - 17)                 // §4
	_ = -uint(endpoint.SignalDeadline - 2*time.Second)  // §4
	_ = -uint(InputMax - 64<<10)                        // §9, before a caller's slice is copied
)
