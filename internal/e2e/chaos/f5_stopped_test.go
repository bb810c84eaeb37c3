// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"slices"
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
	stopMax   = 200 * time.Millisecond
	// stopsShort is how many stops lie between two that last as long as a person's absence, or a laptop's.
	stopsShort = 20
	listsEach  = 4 // beside the stopped ones
	// listPromise is how long a list may take whatever terminals and strangers do.
	listPromise = 100 * time.Millisecond
)

// longStops are as long as the row of the fault says; the gate has time for none but the first.
var longStops = []time.Duration{time.Second, 10 * time.Second, 120 * time.Second}

// F5: workers are stopped for a while, sometimes over a death of spawnd, and go on; one of them is stopped all the time. They
// are never reclaimed or killed, the others and the list do not wait for them, and after CONT every byte is there.
func TestF5WorkersStopped(t *testing.T) {
	c := rig.Begin(t, "F5 workers stopped")
	h := rig.NewHost(t)
	d := h.Serve()
	all := h.StartLoads(stopPanes+1, c.Seed, linesPerSecond)
	before := h.Panes()
	loads, forever := all[:stopPanes], all[stopPanes].Pane
	stop(t, forever.PID)
	var lists rig.Times
	hits := map[time.Duration]int{}
	for range rig.Size(50, 2000) {
		c.Random.Shuffle(len(loads), func(i, j int) { loads[i], loads[j] = loads[j], loads[i] })
		followers := followAll(c, h, loads)
		for _, l := range loads[:stoppedAt] {
			stop(t, l.Pane.PID)
			c.Faults++
		}
		if c.Random.IntN(3) == 0 {
			d.Kill()
			d = h.Serve()
			c.Faults++
		}
		hits[rest(c)]++
		for range listsEach {
			lists = append(lists, h.TimeList())
		}
		assertSamePlaces(t, before, h.Panes())
		for _, l := range loads[:stoppedAt] {
			_ = syscall.Kill(l.Pane.PID, syscall.SIGCONT)
		}
		for _, f := range followers {
			_ = f.Close()
			if _, err := f.Wait(); err != nil {
				t.Fatalf("after %d stops: %v", c.Faults, err)
			}
		}
		rig.Await(t, "every stopped terminal can be followed again", func() bool { return allFollow(h, loads[:stoppedAt]) })
		rig.SamePanes(t, without(forever, before), without(forever, h.Panes()))
		c.Runs++
	}
	lists.Require(t, "a list beside stopped workers", 99, listPromise)
	t.Logf("stops by how long they were, short ones as 0s: %v", hits)
	for _, long := range longStops[:rig.Size(1, len(longStops))] {
		if hits[long] == 0 {
			t.Errorf("nothing was stopped for %v", long)
		}
	}
	_ = syscall.Kill(forever.PID, syscall.SIGCONT)
	rig.Await(t, "the one that was stopped all the time can be followed", func() bool { return allFollow(h, all) })
	rig.SamePanes(t, before, h.Panes())
	for _, l := range all {
		h.Settle(l)
	}
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}

// without leaves one terminal out.
func without(one verbs.Pane, panes []verbs.Pane) []verbs.Pane {
	return slices.DeleteFunc(slices.Clone(panes), func(p verbs.Pane) bool { return p.ID == one.ID })
}

// rest lasts as long as a stop does: mostly short, so that there are many, and each of the long ones in turn. It returns
// which of these it was, 0 when none.
func rest(c *rig.Class) time.Duration {
	if c.Runs%stopsShort != stopsShort-1 {
		rig.Pause(c.Random, stopMax)
		return 0
	}
	long := longStops[c.Runs/stopsShort%rig.Size(1, len(longStops))]
	<-time.After(long)
	return long
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

const (
	// silence is after how long without a sign of life a command gives spawnd up, as it says.
	silence = 5 * time.Second
	// silencePromise is how long after that it may have told so.
	silencePromise = 500 * time.Millisecond
)

// A stopped spawnd takes no terminal along and no second one takes its place; whoever asks it is told so in time.
// After CONT all is as before.
func TestF5SupervisorStopped(t *testing.T) {
	c := rig.Begin(t, "F5 spawnd stopped")
	h := rig.NewHost(t)
	d := h.Serve()
	load := h.StartLoad(c.Seed, linesPerSecond)
	var told rig.Times
	for range rig.Size(2, 200) {
		f := h.Follow(load, rig.History)
		rig.Await(t, "live bytes", func() bool { return f.Checked() > 0 })
		stop(t, d.Cmd.Process.Pid)
		c.Faults++
		began := time.Now()
		if said, code := h.Run("pane", "list"); code != rig.ExitUnavailable || !strings.Contains(said, "has shown no life for 5s") {
			t.Errorf("of a stopped spawnd a command says %q and exits with %d", said, code)
		}
		told = append(told, time.Since(began)-silence)
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
	told.Require(t, "what a command took beyond the silence", 100, silencePromise)
	h.Settle(load)
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}
