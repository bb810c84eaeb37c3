// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"testing"
	"time"

	"spawn/internal/sessiond/scrollback"
	"spawn/internal/sessiond/wire"
)

// The numbers of the session specification that hold on this side of the worker's socket. A number that
// changes here has to change there.
func TestLimitsAreThoseOfTheSpecification(t *testing.T) {
	for _, c := range []struct {
		says       string
		have, want any
	}{
		{"§4: a frame has at most 32 MiB", wire.MaxFrameLen, 32 << 20},
		{"§9: input is at most 64 KiB before it is copied", wire.InputMax, 64 << 10},
		{"§6.2: a response has at most 12 MiB", snapshotBytesMax, 12 << 20},
		{"§6.2: the log has at most 8 MiB, and all of it is asked for", replayBytesMax, 8 << 20},
		{"the worker's side of the same", scrollback.MaxLogBytes, replayBytesMax},
		{"a viewer that takes nothing holds at most", queueBytesMin, 256 << 10},
		{"a viewer whose pace is not known holds at most", queueBytesNew, 1 << 20},
		{"any viewer holds at most", queueBytesMax, 4 << 20},
		{"the rings keep at most", ringBytesMax, 256 << 10},
		{"the rings keep it for", resumeTimeout, 60 * time.Second},
		{"§4.1: between two names of the foreground command", foregroundEvery, time.Second},
		{"a viewer's name has at most", nameBytesMax, 128},
		{"viewers of a pane", viewersMax, 64},
		{"what an entry counts", itemCharge, 128},
		{"output at once", chunkBytes, 64 << 10},
		{"output that is offered as a prompt", promptMax, 2 << 10},
		{"captures that wait", capturesMax, 8},
		{"a capture", captureTimeout, 10 * time.Second},
		{"followers of a pane", followersMax, 32},
		{"output that waits for a follower", followBytesMax, 1 << 20},
		{"callers that wait to type", typersMax, 8},
		{"of work for a pace", paceWindow, time.Second},
		{"before a full queue is tried again", busyRetry, 2 * time.Millisecond},
		{"for what is queued at the end", drainTimeout, 2 * time.Second},
		{"between two reports of output", activeEvery, time.Second},
	} {
		if c.have != c.want {
			t.Errorf("%s: %v, want %v", c.says, c.have, c.want)
		}
	}
}

func TestInputAtItsLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		v, _ := x.attach(AttachOptions{})
		x.settle()
		if err := v.Input(make([]byte, wire.InputMax+1)); !errors.Is(err, ErrSize) {
			t.Errorf("one byte too many: %v", err)
		}
		if err := v.Input(make([]byte, wire.InputMax)); err != nil {
			t.Error(err)
		}
		x.settle()
		if len(x.w.typed) != wire.InputMax {
			t.Errorf("%d bytes were typed", len(x.w.typed))
		}
		x.finish()
	})
}

func TestSnapshotAtItsLimit(t *testing.T) {
	for over := range 2 {
		bubble(t, func(t *testing.T) {
			x := open(t, Options{})
			x.w.log = make([]byte, snapshotBytesMax-len(x.w.screen())+over)
			_, s := x.attach(AttachOptions{History: true})
			x.settle()
			if len(s.snapshots) != 1 || s.snapshots[0].Full != (over == 0) || s.snapshots[0].Unavailable != (over == 1) {
				t.Errorf("%d bytes over: %+v", over, s.snapshots)
			}
			x.w.print(1)
			x.settle()
			x.expect(s, "viewer")
			x.finish()
		})
	}
}
