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
		have, want any
	}{
		{"§9: 32 commands wait for a worker", commandsMax, 32},
		{"§9: input is at most 64 KiB before it is copied", InputMax, 64 << 10},
		{"the worker's side of the same", wire.InputMax, InputMax},
		{"§4: a frame has at most 32 MiB", wire.MaxFrameLen, 32 << 20},
		{"§4: the protocol's version", wire.ProtoVersion, 5},
		{"§4: a header's bytes", wire.HeaderLen, 5},
		{"§4: a lifecycle request", endpoint.SignalDeadline, 2 * time.Second},
		{"§4: a worker waits for START", lifecycle.StartTimeout, 120 * time.Second},
		{"§4: a worker lingers", lifecycle.ExitLinger, 60 * time.Second},
		{"§9: bytes of output that wait, of the 32 chunks of 8 KiB that may", outputBytesMax, 72 << 10},
		{"bytes of the largest buffer kept for the next command", spareMax, 4 << 10},
		{"after TERM", termGrace, 2 * time.Second},
		{"after KILL", killGrace, 2 * time.Second},
		{"after the SIGKILL of a worker", destroyMax, 5 * time.Second},
		{"an adoption", adoptTimeout, 1500 * time.Millisecond},
		{"adoptions at once", adoptionsMax, 64},
		{"a launch", launchTimeout, 10 * time.Second},
		{"after one that failed", abandonTimeout, 2 * time.Second},
		{"for systemd", scopeTimeout, time.Second},
		{"bytes of a worker's last words", reportMax, 1 << 10},
		{"by which a lock outlasts its connection", dyingMax, 500 * time.Millisecond},
		{"for commands that wait at the end", flushMax, 250 * time.Millisecond},
		{"between looks at a lock", lockPoll, 100 * time.Millisecond},
		{"between them when the connection is gone", lossPoll, 5 * time.Millisecond},
	} {
		if c.have != c.want {
			t.Errorf("%s: %v, want %v", c.says, c.have, c.want)
		}
	}
}
