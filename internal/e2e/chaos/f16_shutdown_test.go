// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"sync"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
	"spawn/internal/supervisor/verbs"
)

const (
	creators  = 4
	createMax = 250 * time.Millisecond
)

// F16: terminals are asked for while spawnd ends. Each is refused, or is there: after an end that keeps terminals the next
// spawnd has every one that was promised, each once, and after one that ends them nothing is left.
func TestF16CreateDuringShutdown(t *testing.T) {
	c := rig.Begin(t, "F16 create during shutdown")
	h := rig.NewHost(t)
	for round := range rig.Size(12, 500) {
		d := h.Serve()
		promised := createUntilRefused(h)
		rig.Pause(c.Random, createMax)
		keep := round%2 == 0
		if keep {
			d.Stop()
		} else {
			h.Run("server", "shutdown", "--sessions", "terminate")
			if err := d.Wait(); err != nil {
				t.Fatalf("spawnd ended with %v\n%s", err, d.Log)
			}
		}
		made := promised()
		c.Faults++
		if keep {
			requirePromised(h, made)
		} else {
			h.AwaitNothingLeft()
		}
		if t.Failed() {
			t.Fatalf("round %d, %d terminals; spawnd said\n%s", round, len(made), d.Log)
		}
		c.Runs += len(made)
	}
}

// createUntilRefused asks for terminals from several sides until each is refused. What it returns waits for that and
// returns those that were promised.
func createUntilRefused(h *rig.Host) (promised func() []verbs.Pane) {
	var running sync.WaitGroup
	var mu sync.Mutex
	var made []verbs.Pane
	for range creators {
		running.Go(func() {
			for {
				var r verbs.PaneResult
				if h.Socket().Call(h.T.Context(), verbs.PaneNew, verbs.PaneNewParams{Argv: []string{"cat"}}, &r) != nil {
					return
				}
				mu.Lock()
				made = append(made, r.Pane)
				mu.Unlock()
			}
		})
	}
	return func() []verbs.Pane { running.Wait(); return made }
}

// requirePromised starts the next spawnd, which must have them all, and no worker besides that has no pane.
func requirePromised(h *rig.Host, made []verbs.Pane) {
	h.T.Helper()
	d := h.Serve()
	listed := map[string]verbs.Pane{}
	for _, p := range h.Panes() {
		listed[p.ID] = p
	}
	for _, p := range made {
		if now := listed[p.ID]; now.PID != p.PID || now.State != verbs.PaneRunning {
			h.T.Errorf("promised %+v, after the shutdown %+v", p, now)
		}
	}
	rig.Await(h.T, "every worker has one pane", func() bool { return paired(h.Workers(), h.Panes()) })
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}
