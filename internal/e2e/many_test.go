// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"spawn/internal/e2e/rig"
	"spawn/internal/supervisor/verbs"
)

const (
	manyPanes    = 60
	startsAtOnce = 8
	// A terminal costs spawnd the reader of its connection, the watcher of its facts and, while it is its child, the
	// waiter. What spawnd has without any is much less than goroutinesOwn.
	goroutinesEach = 3
	goroutinesOwn  = 40
	// threadsMax is far below a thread for each terminal, which waiting for a child in the ordinary way takes.
	threadsMax = 30
)

// atOnce calls f for each of 0 to n-1, some at a time.
func atOnce(n, some int, f func(i int)) {
	var tasks sync.WaitGroup
	places := make(chan struct{}, some)
	for i := range n {
		places <- struct{}{}
		tasks.Go(func() {
			defer func() { <-places }()
			f(i)
		})
	}
	tasks.Wait()
}

// Many terminals are started, listed, adopted and closed like one, with a bounded number of goroutines for each, and
// nothing of them is left. (How long that takes for a thousand is measured by tools/bench.)
func TestManyTerminals(t *testing.T) {
	h := rig.NewHost(t)
	d := h.Serve()
	started := make([]verbs.Pane, manyPanes)
	atOnce(manyPanes, startsAtOnce, func(i int) {
		var r verbs.PaneResult
		if err := h.Socket().Call(t.Context(), verbs.PaneNew, verbs.PaneNewParams{Argv: []string{"/bin/sh"}}, &r); err != nil {
			t.Error(err)
		}
		started[i] = r.Pane
	})
	before := h.Panes()
	wantAllRunning(t, before, started)
	if threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", d.Cmd.Process.Pid)); err != nil || len(threads) > threadsMax {
		t.Errorf("spawnd has %d threads, want at most %d: %v", len(threads), threadsMax, err)
	}

	dump(t, d)
	d = h.Serve() // adopts
	rig.SamePanes(t, before, h.Panes())
	wantAllRunning(t, h.Panes(), started)
	dump(t, d)

	d = h.Serve()
	atOnce(manyPanes, manyPanes, func(i int) { // a shell ignores TERM, so each takes two seconds
		if err := h.Socket().Call(t.Context(), verbs.PaneClose, verbs.PaneCloseParams{Pane: started[i].ID}, &verbs.Empty{}); err != nil {
			t.Error(err)
		}
	})
	if rest := h.Panes(); len(rest) > 0 {
		t.Errorf("%d terminals are listed after all were closed", len(rest))
	}
	d.Stop()
	h.AwaitNothingLeft()
}

func wantAllRunning(t *testing.T, listed, started []verbs.Pane) {
	t.Helper()
	if len(listed) != len(started) {
		t.Fatalf("%d terminals are listed, %d were started", len(listed), len(started))
	}
	for _, s := range started {
		at := slices.IndexFunc(listed, func(p verbs.Pane) bool { return p.ID == s.ID && p.SessionID == s.SessionID })
		if at < 0 || listed[at].State != verbs.PaneRunning {
			t.Fatalf("terminal %s is not listed as running", s.ID)
		}
	}
}

// dump ends spawnd, which must have few goroutines for each terminal.
func dump(t *testing.T, d *rig.Daemon) {
	t.Helper()
	n := d.Goroutines()
	t.Logf("%d goroutines for %d terminals", n, manyPanes)
	if n < manyPanes || n > goroutinesEach*manyPanes+goroutinesOwn {
		t.Errorf("%d goroutines, want at most %d a terminal and %d", n, goroutinesEach, goroutinesOwn)
	}
}
