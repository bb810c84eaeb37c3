// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/wire"
)

// A program that gets the keyboard from one that ends is told of at the quick pace, though nobody has written a byte.
func TestForegroundThatChangesInSilenceIsTold(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	tw := launch(t)
	p := tw.dial()
	p.start([]string{"/bin/bash", "--norc", "--noprofile", "-i"})
	p.untilOutput("prompt>")
	p.type_("cat " + fifo + "; tail -f /dev/null\r")
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	until := func(name string) {
		t.Helper()
		for deadline := time.Now().Add(patience); p.lastForeground() != name; <-tick.C {
			if time.Now().After(deadline) {
				t.Fatalf("the foreground is told to be %q, want %q", p.lastForeground(), name)
			}
			tw.clock.fire(foregroundEvery)
			p.replay(0)
		}
	}
	until("cat")
	for !tw.clock.waits(foregroundIdleEvery) { // it has become quiet
		tw.clock.fire(foregroundEvery)
		p.replay(0)
	}
	outputs := p.count(wire.KindOutput)
	file, err := os.OpenFile(fifo, os.O_WRONLY, 0) // cat, which waits for just that, has nothing to show and ends
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	until("tail")
	if p.count(wire.KindOutput) != outputs {
		t.Error("there was output: this says nothing")
	}
}

// waits reports whether a timer of exactly d is armed.
func (c *fakeClock) waits(d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.timers, func(t *fakeTimer) bool { return t.d == d })
}
