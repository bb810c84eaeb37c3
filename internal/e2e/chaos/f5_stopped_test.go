// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
	"spawn/internal/supervisor/verbs"
)

const (
	stopPanes = 6
	stoppedAt = 2 // of them, at each turn
	stopMax   = 400 * time.Millisecond
	// stopsShort is how many stops lie between two that last as long as a person's absence, or a laptop's. (One for ever is
	// F16's and the fleet's: such a worker is closed.)
	stopsShort = 20
	// answerMax is how long a list may take beside stopped workers, ten times what is promised for a machine that
	// does nothing else.
	answerMax = time.Second
)

// F5: workers are stopped for a while, sometimes over a death of spawnd, and go on. They are never reclaimed or
// killed, the others and the list do not wait for them, and after CONT every byte is there.
func TestF5WorkersStopped(t *testing.T) {
	c := rig.Begin(t, "F5 workers stopped")
	h := rig.NewHost(t)
	d := h.Serve()
	loads := h.StartLoads(stopPanes, c.Seed, linesPerSecond)
	before := h.Panes()
	var longest time.Duration
	for range rig.Size(25, 2000) {
		c.Random.Shuffle(len(loads), func(i, j int) { loads[i], loads[j] = loads[j], loads[i] })
		followers := followAll(h, loads)
		for _, l := range loads[:stoppedAt] {
			stop(t, l.Pane.PID)
			c.Faults++
		}
		if c.Random.IntN(3) == 0 {
			d.Kill()
			d = h.Serve()
			c.Faults++
		}
		rest(c)
		began := time.Now()
		assertSamePlaces(t, before, h.Panes())
		longest = max(longest, time.Since(began))
		for _, l := range loads[:stoppedAt] {
			_ = syscall.Kill(l.Pane.PID, syscall.SIGCONT)
		}
		for _, f := range followers {
			_ = f.Close()
			if _, err := f.Wait(); err != nil {
				t.Fatalf("after %d stops: %v", c.Faults, err)
			}
		}
		rig.Await(t, "every terminal can be followed again", func() bool { return allFollow(h, loads) })
		rig.SamePanes(t, before, h.Panes())
		c.Runs++
	}
	t.Logf("the longest list beside stopped workers took %v", longest)
	if longest > answerMax {
		t.Errorf("a list beside stopped workers took %v", longest)
	}
	for _, l := range loads {
		h.Settle(l)
	}
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}

// longStops are as long as the row of the fault says; the gate has time for none but the first.
var longStops = []time.Duration{time.Second, 10 * time.Second, 120 * time.Second}

// rest lasts as long as a stop does: mostly short, so that there are many.
func rest(c *rig.Class) {
	if c.Runs%stopsShort != stopsShort-1 {
		rig.Pause(c.Random, stopMax)
		return
	}
	<-time.After(longStops[c.Random.IntN(rig.Size(1, len(longStops)))])
}

// stop stops a process and waits until the kernel says that it is.
func stop(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	rig.Await(t, "the worker is stopped", func() bool { return rig.State(t, pid) == 'T' })
}

// assertSamePlaces wants the same panes, all of them running. Of a stopped worker a new spawnd does not know the pid.
func assertSamePlaces(t *testing.T, before, after []verbs.Pane) {
	t.Helper()
	if len(before) != len(after) {
		t.Fatalf("%d terminals before, %d after", len(before), len(after))
	}
	for i, p := range after {
		if p.ID != before[i].ID || p.SessionID != before[i].SessionID || p.State != verbs.PaneRunning {
			t.Fatalf("before: %+v; after: %+v", before[i], p)
		}
	}
}

// allFollow reports whether each load sends live bytes that are right.
func allFollow(h *rig.Host, loads []rig.Load) bool {
	for _, l := range loads {
		f, err := rig.Follow(h.T.Context(), h.Socket(), l, rig.Screen)
		if err != nil {
			return false
		}
		rig.Await(h.T, "live bytes", func() bool { return f.Checked() > 0 || f.Ended() })
		_ = f.Close()
		if checked, err := f.Wait(); err != nil || checked == 0 {
			return false
		}
	}
	return true
}

// silenceMax is how long a command may wait for a stopped spawnd, twice what is promised for a machine that does
// nothing else.
const silenceMax = 10 * time.Second

// A stopped spawnd takes no terminal along and no second one takes its place; whoever asks it is told so in time.
// After CONT all is as before.
func TestF5SupervisorStopped(t *testing.T) {
	c := rig.Begin(t, "F5 spawnd stopped")
	h := rig.NewHost(t)
	d := h.Serve()
	load := h.StartLoad(c.Seed, linesPerSecond)
	var longest time.Duration
	for range rig.Size(2, 200) {
		f := h.Follow(load, rig.History)
		rig.Await(t, "live bytes", func() bool { return f.Checked() > 0 })
		stop(t, d.Cmd.Process.Pid)
		c.Faults++
		began := time.Now()
		if said, code := h.Run("pane", "list"); code != rig.ExitUnavailable || !strings.Contains(said, "has shown no life for 5s") {
			t.Errorf("of a stopped spawnd a command says %q and exits with %d", said, code)
		}
		longest = max(longest, time.Since(began))
		second, err := h.TryServe(nil)
		if err == nil || second.Cmd.ProcessState.ExitCode() != rig.ExitConflict {
			t.Errorf("a second spawnd beside a stopped one: %v", err)
		}
		seen := f.Position()
		_ = syscall.Kill(d.Cmd.Process.Pid, syscall.SIGCONT)
		rig.Await(t, "it goes on where it was", func() bool { return f.Position() > seen || f.Ended() })
		_ = f.Close()
		if _, err := f.Wait(); err != nil {
			t.Fatal(err)
		}
		c.Runs++
	}
	t.Logf("a command waited %v at most", longest)
	if longest > silenceMax {
		t.Errorf("a command waited %v for a stopped spawnd", longest)
	}
	h.Settle(load)
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}
