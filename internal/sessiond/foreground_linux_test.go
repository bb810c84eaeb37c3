// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"fmt"
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

// The two paces, and what is told at each, in numbers of docs/protocol.md: of a program that puts another in its place, which
// nothing but a look can find.
func TestForegroundIsLookedAtAtTwoPaces(t *testing.T) {
	const quick, slow = time.Second, 30 * time.Second
	tw := launch(t)
	p := tw.dial()
	p.startScript("stty -echo; echo ready; read x < %s; read x; exec sleep 1000", fifo(t))
	p.untilOutput("ready\r\n")
	// A byte of output: three looks without any after the one that still has it.
	if looks := tw.lookUntilQuiet(p, quick, slow); looks != 4 {
		t.Errorf("%d looks at the quick pace, want 4", looks)
	}
	p.requireForeground("sh")

	// Nothing: the next look is thirty seconds away, and the one after it as well.
	release(t)
	awaitNoProgress(t, tw.pid())
	tw.look(p, slow)
	if !tw.clock.waits(slow) {
		t.Error("a look that found nothing made the pace quick")
	}

	// A byte of input, which nobody echoes: one second at most, and three more looks.
	p.type_("\r")
	tw.awaitPace(quick)
	tw.awaitName("sleep")
	p.requireForeground("sh")
	tw.look(p, quick)
	p.requireForeground("sleep")
	if looks := 1 + tw.lookUntilQuiet(p, quick, slow); looks != 4 {
		t.Errorf("%d looks after a key, want 4", looks)
	}
}

// Without a byte either way what takes a program's place is told of at the slow pace, and no later.
func TestForegroundReplacedInSilenceIsToldAtTheSlowPace(t *testing.T) {
	const quick, slow = time.Second, 30 * time.Second
	tw := launch(t)
	p := tw.dial()
	p.startScript("stty -echo; echo ready; read x < %s; exec sleep 1000", fifo(t))
	p.untilOutput("ready\r\n")
	tw.lookUntilQuiet(p, quick, slow)
	release(t)
	tw.awaitName("sleep")
	p.replay(0)
	if !tw.clock.waits(slow) || tw.clock.waits(quick) {
		t.Error("something made the pace quick: this says nothing")
	}
	p.requireForeground("sh")
	tw.look(p, slow)
	p.requireForeground("sleep")
}

// lookUntilQuiet fires looks at the quick pace until the slow one has begun, and returns how many.
func (tw *testWorker) lookUntilQuiet(p *peer, quick, slow time.Duration) (looks int) {
	tw.t.Helper()
	p.replay(0) // the loop is done with what came before
	for !tw.clock.waits(slow) {
		tw.look(p, quick)
		looks++
	}
	return looks
}

// look fires the timer of d, which must be armed, and returns when the loop has armed the next and told what it saw.
func (tw *testWorker) look(p *peer, d time.Duration) {
	tw.t.Helper()
	if !tw.clock.fire(d) {
		tw.t.Fatalf("the next look is not %v away", d)
	}
	tw.awaitPace(foregroundEvery, foregroundIdleEvery)
	p.replay(0)
}

// awaitPace waits until a look is one of these times away.
func (tw *testWorker) awaitPace(paces ...time.Duration) {
	tw.t.Helper()
	tw.awaitTrue("no look at the foreground is to come", func() bool { return slices.ContainsFunc(paces, tw.clock.waits) })
}

// awaitName waits until the program has this name.
func (tw *testWorker) awaitName(name string) {
	tw.t.Helper()
	comm := fmt.Sprintf("/proc/%d/comm", tw.pid())
	tw.awaitTrue("the program does not become "+name, func() bool { return readFile(tw.t, comm) == name+"\n" })
}

func (tw *testWorker) awaitTrue(otherwise string, holds func() bool) {
	tw.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			tw.t.Fatal(otherwise)
		}
	}
}

func (p *peer) requireForeground(name string) {
	p.t.Helper()
	if last := p.lastForeground(); last != name {
		p.t.Errorf("the foreground is told to be %q, want %q", last, name)
	}
}

// waits reports whether a timer of exactly d is armed.
func (c *fakeClock) waits(d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.timers, func(t *fakeTimer) bool { return t.d == d })
}
