// SPDX-License-Identifier: Apache-2.0

package supervisor_test

import (
	"testing"

	"spawn/internal/supervisor/page"
	"spawn/internal/supervisor/verbs"
)

// Pages are told of a terminal when it is known to run. Of one that cannot be started they never hear.
func TestPagesNeverSeeWhatCannotBeStarted(t *testing.T) {
	h := start(t, options(t))
	watcher := h.s.Board().Watch()
	if now, err := watcher.Next(t.Context()); err != nil || len(now) > 0 {
		t.Fatalf("%+v, %v", now, err)
	}
	first := make(chan page.Change) // of a pane: this page is there whenever anything is put up
	go func() {
		defer close(first)
		for {
			changes, err := watcher.Next(t.Context())
			if err != nil {
				return
			}
			for _, c := range changes {
				if !c.Arranged {
					first <- c
					return
				}
			}
		}
	}()
	told := verbs.PaneResult{}
	for range 5 {
		if err := h.socket.Call(t.Context(), verbs.PaneNew, verbs.PaneNewParams{Argv: []string{"/no/such/program"}}, &told); err == nil {
			t.Fatalf("it started: %+v", told)
		}
	}
	h.call(verbs.PaneNew, verbs.PaneNewParams{Argv: []string{"/bin/sleep", "1000"}}, &told)
	if c := <-first; c.Pane.ID != told.Pane.ID || c.Removed || c.Pane.Argv0 != "sleep" {
		t.Errorf("the first that a page hears of is %+v, want %s", c, told.Pane.ID)
	}
	h.call(verbs.PaneClose, verbs.PaneCloseParams{Pane: told.Pane.ID}, &verbs.Empty{})
	h.signal()
	if err := h.ended(); err != nil {
		t.Error(err)
	}
}
