// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"
	"testing"
	"time"
)

// beat is a schedule and its clock. The interval is 30 seconds.
type beat struct {
	*Schedule
	now time.Time
}

func newBeat(adopted bool) *beat {
	now := noon.Time()
	return &beat{NewSchedule(on(3), now, adopted), now}
}

func (b *beat) after(d time.Duration) *beat {
	b.now = b.now.Add(d)
	return b
}

// captures counts how many checkpoints are begun and finished while d passes second by second.
func (b *beat) captures(d time.Duration) (n int) {
	for end := b.now.Add(d); b.now.Before(end); {
		if b.after(time.Second).Due(b.now) {
			n++
			b.Done(b.now)
		}
	}
	return n
}

func TestAFreshDaemonIsDormantUntilSomethingIsDone(t *testing.T) {
	b := newBeat(false)
	if n := b.captures(time.Hour); n != 0 || b.Final(b.now, ShutdownOpen) {
		t.Errorf("%d captures of nothing", n)
	}
	if _, ok := b.Wake(); ok {
		t.Error("wants to be woken")
	}
	b.Activate(b.now)
	if n := b.captures(5 * time.Minute); n != 10 {
		t.Errorf("%d captures in five minutes", n)
	}
	if !newBeat(true).after(30 * time.Second).Due(noon.Time().Add(30 * time.Second)) {
		t.Error("a daemon that adopted workers waits")
	}
	asked := newBeat(false)
	must(t, asked.Request(asked.now))
	asked.Done(asked.now)
	if n := asked.captures(time.Minute); n != 2 {
		t.Errorf("%d captures behind a request", n)
	}
}

func TestOneWriteAtATimeAndTicksCoalesce(t *testing.T) {
	b := newBeat(true)
	if !b.after(30 * time.Second).Due(b.now) {
		t.Fatal("not due")
	}
	for range 10 {
		if b.after(30 * time.Second).Due(b.now) {
			t.Fatal("a second write")
		}
		if err := b.Request(b.now); !errors.Is(err, ErrBusy) {
			t.Fatalf("request: %v", err)
		}
	}
	if b.Final(b.now, ShutdownOpen) {
		t.Error("a last one beside one that is under way")
	}
	b.Done(b.now)
	if wake, ok := b.Wake(); !ok || wake.After(b.now) {
		t.Errorf("wakes at %v", wake)
	}
	if !b.Due(b.now) {
		t.Error("the owed one is not due")
	}
	b.Done(b.now)
	if b.Due(b.now) || b.after(29*time.Second).Due(b.now) {
		t.Error("ten ticks are more than one")
	}
	if !b.after(time.Second).Due(b.now) {
		t.Error("the regular one is not due")
	}
}

func TestDisabled(t *testing.T) {
	b := newBeat(true)
	off := DefaultPolicy()
	b.SetPolicy(off, b.now)
	if err := b.Request(b.now); !errors.Is(err, ErrDisabled) || b.captures(time.Hour) != 0 || b.Final(b.now, ShutdownOpen) {
		t.Errorf("writes though disabled: %v", err)
	}
	b.SetPolicy(on(3), b.now)
	if n := b.captures(time.Minute); n != 2 {
		t.Errorf("%d captures after it was enabled", n)
	}
}

// A host goes down: terminals end within seconds, and then the daemon is told. The last good checkpoint stands.
func TestAShutdownOfTheHostSavesNothing(t *testing.T) {
	for name, last := range map[string]int{"all": 0, "most": 10} {
		b := newBeat(true)
		if n := b.captures(30 * time.Second); n != 1 {
			t.Fatalf("%d captures", n)
		}
		for running := 33; running >= last; running-- {
			b.after(100*time.Millisecond).Ended(b.now, running)
		}
		if n := b.captures(2 * time.Minute); n != 0 || b.Final(b.now, ShutdownOpen) {
			t.Errorf("%s: %d captures of what was left", name, n)
		}
		b.Activate(b.now) // it was no shutdown: somebody goes on
		if n := b.captures(time.Minute); n != 2 || !b.Final(b.now, ShutdownOpen) {
			t.Errorf("%s: %d captures behind a mutation", name, n)
		}
	}
}

// Between the first terminals that end and the most of them nothing is written either: that would be less than there was,
// and the newest.
func TestNothingIsWrittenWhileTerminalsEnd(t *testing.T) {
	b := newBeat(true)
	b.after(30*time.Second-time.Millisecond).Ended(b.now, 3)
	if b.after(time.Second).Due(b.now) || b.Final(b.now, ShutdownOpen) {
		t.Error("written a second after a terminal ended")
	}
	if next, ok := b.Wake(); !ok || next.Sub(b.now) != time.Second {
		t.Errorf("wakes at %v", next)
	}
	if !b.Final(b.now, ShutdownClean) { // everything else was ended and reaped
		t.Error("no clean one")
	}
	b.Done(b.now)
	if !b.after(time.Second).Due(b.now) {
		t.Error("put off though nothing more ended")
	}
	b.Done(b.now)
	b.after(time.Minute)
	for waited := time.Duration(0); waited < holdMax; waited += time.Second { // they end and end, of very many
		if b.Ended(b.now, 5000); b.Due(b.now) {
			t.Fatalf("written after %v", waited)
		}
		b.after(time.Second)
	}
	if b.Ended(b.now, 5000); !b.Due(b.now) {
		t.Error("put off for ever")
	}
}

// The last terminal ends of itself, and then somebody ends spawnd: how things stand is what they leave.
func TestAnEndThatSomebodyAsksForIsNoShutdownOfTheHost(t *testing.T) {
	b := newBeat(true)
	b.Ended(b.now, 0)
	if b.Final(b.now, ShutdownClean) {
		t.Fatal("the last good one does not stand")
	}
	b.EndAsked()
	if !b.Final(b.now, ShutdownClean) {
		t.Error("nothing is written")
	}
	fresh := newBeat(false)
	fresh.EndAsked()
	if fresh.Final(fresh.now, ShutdownClean) {
		t.Error("a daemon that did nothing crowds out what there is")
	}
}

func TestEndingsThatAreNoShutdown(t *testing.T) {
	b := newBeat(true)
	for running := 33; running >= 20; running-- { // a few at once
		b.Ended(b.now, running)
	}
	if n := b.captures(time.Minute); n != 2 {
		t.Errorf("%d captures after less than half ended", n)
	}
	for running := 19; running >= 1; running-- { // one by one
		b.Ended(b.now, running)
		b.captures(11 * time.Second)
	}
	if !b.after(time.Minute).Due(b.now) {
		t.Error("holds though they ended one by one")
	}
	b.Done(b.now)
	for range 40 { // each of many short commands ends, and others run
		b.after(time.Second).Ended(b.now, 50)
	}
	if !b.after(time.Minute).Due(b.now) {
		t.Error("holds though many run")
	}
}

// Most ended, some are left and go on running: after five minutes that is the state. With none left there is nothing
// to save that is worth more than what is saved.
func TestAHoldEnds(t *testing.T) {
	for running, want := range map[int]int{1: 2, 0: 0} {
		b := newBeat(true)
		for left := 9; left >= running; left-- {
			b.Ended(b.now, left)
		}
		if n := b.captures(holdMax - time.Second); n != 0 {
			t.Errorf("%d left: %d captures while holding", running, n)
		}
		if n := b.captures(time.Minute); n != want {
			t.Errorf("%d left: %d captures afterwards", running, n)
		}
	}
	b := newBeat(true)
	b.Ended(b.now, 0)
	must(t, b.Request(b.now)) // who asks gets it, whatever runs
}

func TestEndingsAreBounded(t *testing.T) {
	b := newBeat(true)
	for range 3 * endingsMax {
		b.Ended(b.now, 1_000_000)
	}
	if len(b.endings) > endingsMax {
		t.Errorf("remembers %d endings", len(b.endings))
	}
}
