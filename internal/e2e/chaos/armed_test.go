// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"spawn/internal/e2e/rig"
	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/supervisor/verbs"
)

// wrapper stands before the real worker: files beside it say at which point the next one dies, or that it cannot
// begin.
const wrapper = `beside=${0%/*}
if [ -e "$beside/broken" ]; then echo "no terminal to be had" >&2; exit 1; fi
exec env $(cat "$beside/armed" 2>/dev/null) "$worker" "$@"`

// armed is a host whose programs die at points, with one terminal that no death may touch.
type armed struct {
	*rig.Class
	h         *rig.Host
	neighbour rig.Load
	passages  string // path of the list of passed points
}

func newArmed(c *rig.Class) *armed {
	c.Helper()
	a := &armed{Class: c, h: rig.NewHostOf(c.T, rig.WrapWorker(c, rig.Build(c, "failpoints"), wrapper))}
	a.passages = filepath.Join(a.h.Dir, "passed")
	d := a.h.Serve()
	a.neighbour = a.h.StartLoad(c.Seed, linesPerSecond)
	d.Kill()
	return a
}

// orders is what makes a program die at the n-th passage of a point and leave a list of those it passed.
func (a *armed) orders(p failpoint.Point, nth int) []string {
	return []string{fmt.Sprintf("SPAWN_FAILPOINT=%s#%d", p, nth), "SPAWN_FAILPOINT_LOG=" + a.passages}
}

// nthMax bounds at which passage of a point a program dies: how often it comes by one at which bytes flow, chance
// decides.
const nthMax = 4

// passage draws at which passage of a point to die, of as many as a whole life has.
func (a *armed) passage(p failpoint.Point, life map[failpoint.Point]int) int {
	return 1 + a.Random.IntN(max(1, min(life[p], nthMax)))
}

// within makes a subtest the one that fails by what the host finds.
func (a *armed) within(t *testing.T) {
	was := a.h.T
	a.h.T = t
	t.Cleanup(func() { a.h.T = was })
}

// switchOn makes the file beside the worker that changes the next one, and returns what takes it away.
func (a *armed) switchOn(name string, words ...string) (off func()) {
	a.Helper()
	path := filepath.Join(a.h.Programs, name)
	if err := os.WriteFile(path, []byte(strings.Join(words, " ")), 0o600); err != nil {
		a.Fatal(err)
	}
	return func() { _ = os.Remove(path) }
}

// passed counts the passages since the last call.
func (a *armed) passed() map[failpoint.Point]int {
	a.Helper()
	text, err := os.ReadFile(a.passages)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.Fatal(err)
	}
	_ = os.Remove(a.passages)
	count := map[failpoint.Point]int{}
	for _, name := range strings.Fields(string(text)) {
		count[failpoint.Point(name)]++
	}
	return count
}

// requireOrder holds a host to what must be true whatever died before: the neighbour runs and has one pane, each
// worker that lives has exactly one pane, nothing lies around, and a terminal can be had.
func (a *armed) requireOrder(t *testing.T, d *rig.Daemon) {
	t.Helper()
	h := a.h
	defer func() {
		if t.Failed() {
			entries, _ := filepath.Glob(h.WorkerDir() + "/*")
			t.Logf("panes %+v\nworkers %v\nfiles %v\n%s", h.Panes(), h.Workers(), entries, d.Log)
			d.Kill()
		}
	}()
	rig.Await(t, "every worker has one pane, and every pane that runs its worker", func() bool { return paired(h.Workers(), h.Panes()) })
	rig.Await(t, "nothing is left of the dead", func() bool { return len(h.Leftovers()) == 0 })
	var sessions []string
	for _, p := range h.Panes() {
		sessions = append(sessions, p.SessionID)
		if p.ID == a.neighbour.Pane.ID && (p.PID != a.neighbour.Pane.PID || p.State != verbs.PaneRunning) {
			t.Errorf("the neighbour has become %+v", p)
		}
	}
	slices.Sort(sessions)
	if n := len(slices.Compact(slices.Clone(sessions))); n != len(sessions) || !slices.Contains(sessions, a.neighbour.Pane.SessionID) {
		t.Errorf("panes of %v", sessions)
	}
	rig.Await(t, "nothing is left beside the tree, nor just being written", func() bool {
		left, _ := filepath.Glob(h.Dir + "/r/spawn/.*.new-*")
		return len(left) == 0
	})
	fresh := h.NewPane(verbs.PaneNewParams{Argv: []string{"cat"}})
	h.Type(fresh.ID, "x")
	for _, p := range h.Panes() {
		if p.ID != a.neighbour.Pane.ID {
			h.KillPane(p.ID)
		}
	}
	rig.Await(t, "the neighbour is alone", func() bool { return len(h.Processes()) == 3 }) // spawnd, the worker, the generator
	rig.Await(t, "nothing is left of the others", func() bool { return len(h.Leftovers()) == 0 })
}

// paired reports whether the workers and the panes are each other's. A worker whose program has ended lingers.
func paired(workers []int, panes []verbs.Pane) bool {
	of := map[int]int{}
	for _, p := range panes {
		if of[p.PID]++; p.State == verbs.PaneRunning && !slices.Contains(workers, p.PID) {
			return false
		}
	}
	return !slices.ContainsFunc(workers, func(pid int) bool { return of[pid] != 1 })
}

func running(panes []verbs.Pane) (n int) {
	for _, p := range panes {
		if p.State == verbs.PaneRunning {
			n++
		}
	}
	return n
}

// end settles the neighbour and wants the host empty.
func (a *armed) end() {
	a.Helper()
	d := a.h.Serve()
	a.h.Settle(a.neighbour)
	a.h.CloseAll()
	d.Stop()
	a.h.AwaitNothingLeft()
}

// folder is the host's worker folder, as spawnd opens it.
func (a *armed) folder() *endpoint.Folder {
	a.Helper()
	f, err := endpoint.OpenFolder(a.h.WorkerDir())
	if err != nil {
		a.Fatal(err)
	}
	a.Cleanup(f.Close)
	return f
}

// diedByKill reports whether the process ended by SIGKILL.
func diedByKill(s *os.ProcessState) bool {
	status, ok := s.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
