// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"testing"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/lifecycle"
	"spawn/internal/sessiond/wire"
)

// The numbers of the session specification that hold on spawnd's end of a worker's socket, which change here when they
// change there, and what it leaves to us, which is decided here.
func TestLimitsAreThoseOfTheSpecification(t *testing.T) {
	for _, c := range []struct {
		says       string
		have, want int
	}{
		{"§9: 32 commands wait for a worker", commandsMax, 32},
		{"§9: input is at most 64 KiB before it is copied", InputMax, 64 << 10},
		{"the worker's side of the same", wire.InputMax, InputMax},
		{"§4: a frame has at most 32 MiB", wire.MaxFrameLen, 32 << 20},
		{"§4: the protocol's version", wire.ProtoVersion, 5},
		{"§4: a header's bytes", wire.HeaderLen, 5},
		{"§4: a lifecycle request's seconds", int(endpoint.SignalDeadline / time.Second), 2},
		{"§4: seconds that a worker waits for START", int(lifecycle.StartTimeout / time.Second), 120},
		{"§4: seconds that a worker lingers", int(lifecycle.ExitLinger / time.Second), 60},
		{"bytes of output that wait", outputBytesMax, 72 << 10},
		{"seconds after TERM", int(termGrace / time.Second), 2},
		{"seconds after KILL", int(killGrace / time.Second), 2},
		{"seconds after the SIGKILL of a worker", int(destroyMax / time.Second), 5},
		{"milliseconds of an adoption", int(adoptTimeout / time.Millisecond), 1500},
		{"adoptions at once", adoptionsMax, 64},
		{"seconds of a launch", int(launchTimeout / time.Second), 10},
		{"seconds after one that failed", int(abandonTimeout / time.Second), 2},
		{"seconds for systemd", int(scopeTimeout / time.Second), 1},
		{"bytes of a worker's last words", reportMax, 1 << 10},
		{"milliseconds by which a lock outlasts its connection", int(dyingMax / time.Millisecond), 500},
		{"milliseconds for commands that wait at the end", int(flushMax / time.Millisecond), 250},
		{"milliseconds between looks at a lock", int(lockPoll / time.Millisecond), 100},
		{"milliseconds between them when the connection is gone", int(lossPoll / time.Millisecond), 5},
	} {
		if c.have != c.want {
			t.Errorf("%s: %d, want %d", c.says, c.have, c.want)
		}
	}
	for says, holds := range map[string]bool{
		"a launch ends before its worker gives up waiting for START": launchTimeout < lifecycle.StartTimeout,
		"a worker that lingers is adopted several times over":        8*adoptTimeout < lifecycle.ExitLinger,
		"TERM has the whole of its deadline before KILL":             termGrace >= endpoint.SignalDeadline,
		"no more output waits than may":                              outputBytesMax <= 32*8<<10,
		"a command's spare buffer is smaller than the largest input": spareMax < InputMax,
	} {
		if !holds {
			t.Error(says)
		}
	}
}
