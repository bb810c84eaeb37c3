// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"maps"
	"slices"
	"syscall"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/supervisor/verbs"
)

// lifeScript makes a worker do all that it does, and ends by a signal and by nothing else.
const lifeScript = `stty -echo; sleep 1000 & echo up; while :; do read -r x || sleep 1000; seq 1 60; printf '\033[3J'; echo "$x-done"; done`

// F3: a worker is killed at each point of its life, under a spawnd that goes on. Exactly that terminal is lost, and
// said to be lost unless its end had been told; no process and no file of it stays, and the neighbour is exact.
func TestF3WorkerKilledAtEachPoint(t *testing.T) {
	c := rig.Begin(t, "F3 worker killed at points")
	a := newArmed(c)
	d := a.h.Serve()
	neighbour := a.h.Follow(a.neighbour, rig.History)
	descriptors := d.Descriptors()
	var ends rig.Times
	laterHits := 0
	whole := a.wholeLife(t)
	for range rig.Size(1, 20) {
		for _, point := range slices.Sorted(maps.Values(declared(t)["worker.go"])) {
			t.Run(string(point), func(t *testing.T) {
				a.within(t)
				ordered := point == failpoint.Ordered || point == failpoint.EndStepped
				nth := a.passage(point, whole)
				if nth > 1 && !a.dies(t, point, nth, ordered, &ends) {
					nth = 1 // it came by less often than in the whole life
				}
				if nth == 1 && !a.dies(t, point, nth, ordered, &ends) {
					t.Fatal("no life comes by here")
				}
				laterHits += min(nth-1, 1)
				c.Faults++
				c.Runs++
			})
			if t.Failed() {
				t.Logf("spawnd says\n%s", d.Log)
				return
			}
		}
	}
	t.Logf("%d of the deaths were at a later passage than the first", laterHits)
	if laterHits == 0 {
		t.Error("every death was at the first passage")
	}
	ends.Require(t, "until a lost terminal is known to be and nothing of it is left", 100, lostPromise)
	rig.Await(t, "spawnd has closed what it had open for the dead", func() bool { return d.Descriptors() <= descriptors })
	if err := neighbour.Close(); err != nil {
		t.Error(err)
	}
	if checked, err := neighbour.Wait(); err != nil || checked == 0 {
		t.Errorf("the neighbour: %d bytes compared, %v", checked, err)
	}
	d.Kill()
	a.end()
}

// lostPromise is how long it may take until a lost terminal is known to be and nothing of it is left.
const lostPromise = time.Second

// wholeLife counts how often a worker that lives to its end passes each point.
func (a *armed) wholeLife(t *testing.T) map[failpoint.Point]int {
	t.Helper()
	a.liveAndDie(t, "", 1, false)
	rig.Await(t, "nothing of it lives", func() bool { return len(a.h.Processes()) == 3 })
	return a.passed()
}

// dies has a worker die at a passage of the point and requires what must hold then. It reports whether it came that far.
func (a *armed) dies(t *testing.T, point failpoint.Point, nth int, ordered bool, ends *rig.Times) bool {
	t.Helper()
	pane := a.liveAndDie(t, point, nth, ordered)
	began := time.Now()
	rig.Await(t, "the worker is dead and nothing of it lives", func() bool { return len(a.h.Processes()) == 3 })
	passed := a.passed()
	if passed[point] < nth {
		rig.Await(t, "its pane is gone", func() bool { return len(a.h.Panes()) == 1 })
		return false
	}
	a.requireLost(t, passed, pane)
	*ends = append(*ends, time.Since(began))
	return true
}

// liveAndDie starts a terminal whose worker dies at a passage of the point, and uses it until then. The pane is the zero
// value when its launch failed.
func (a *armed) liveAndDie(t *testing.T, point failpoint.Point, nth int, ordered bool) verbs.Pane {
	t.Helper()
	off := a.switchOn("armed", a.orders(point, nth)...)
	pane, err := a.open("/bin/sh", "-c", lifeScript)
	off()
	if err != nil {
		if isGone(err) {
			t.Fatal(err)
		}
		return verbs.Pane{}
	}
	_ = a.use(pane)
	if ordered {
		_ = syscall.Kill(pane.PID, syscall.SIGTERM)
		return pane
	}
	_ = a.h.Socket().Call(a.Context(), verbs.PaneClose, verbs.PaneCloseParams{Pane: pane.ID}, &verbs.Empty{})
	return pane
}

// use is all that a viewer asks of a terminal. It returns the first error, which is the worker's death.
func (a *armed) use(pane verbs.Pane) error {
	s, _, err := a.h.Socket().Stream(a.Context(), verbs.PaneStreamParams{Pane: pane.ID, History: true, Take: true})
	if err != nil {
		return err
	}
	defer s.Close()
	overdue := time.AfterFunc(rig.Patience, func() { _ = s.Close() })
	defer overdue.Stop()
	if err := untilOutput(s, "up"); err != nil {
		return err
	}
	if err := s.Resize(100, 30); err != nil {
		return err
	}
	if err := s.Input([]byte("work\r")); err != nil {
		return err
	}
	if err := untilOutput(s, "work-done"); err != nil {
		return err
	}
	return a.h.Socket().Call(a.Context(), verbs.PaneCapture, verbs.PaneCaptureParams{Pane: pane.ID}, &verbs.PaneCaptureResult{})
}

// requireLost wants the truth told of a dead worker, and nothing of it left.
func (a *armed) requireLost(t *testing.T, passed map[failpoint.Point]int, pane verbs.Pane) {
	t.Helper()
	h := a.h
	for _, p := range h.Panes() {
		if p.ID != pane.ID {
			continue
		}
		rig.Await(t, "its end is known", func() bool { p = h.Pane(pane.ID); return p.State != verbs.PaneRunning })
		switch {
		case p.State == verbs.PaneLost && p.ExitCode == nil && p.Signal == "":
		case p.State == verbs.PaneExited && p.Signal == "SIGTERM" && passed[failpoint.ExitTold] > 0:
		default:
			t.Errorf("its pane says %+v after %v", p, passed)
		}
		h.KillPane(p.ID)
	}
	rig.Await(t, "nothing is left in the worker folder", func() bool { return len(h.Leftovers()) == 0 })
}
