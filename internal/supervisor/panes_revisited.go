// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"errors"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/supervisor/fleet"
)

// revisitFirst is how soon spawnd goes back to workers that were left alone at its start: enough for one that was
// starting or ending then. The pause doubles up to revisitMost, since each dial to one that is stopped costs it a
// place in its backlog.
const (
	revisitFirst = 125 * time.Millisecond
	revisitMost  = 2 * time.Second
)

// revisitLoop goes back to workers that were left alone, until each is adopted or gone, or spawnd closes: one that
// was stopped goes on, one that was just starting listens or waits for a START that nobody will send, and one that
// was on its way out is gone. Nothing else would ever look at them again.
func (ps *panes) revisitLoop(left []endpoint.SessionID) {
	defer ps.running.Done()
	for pause := revisitFirst; len(left) > 0; pause = min(2*pause, revisitMost) {
		wait := time.NewTimer(pause)
		select {
		case <-ps.ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
		var still []endpoint.SessionID
		for _, id := range left {
			if !ps.revisit(id) {
				still = append(still, id)
			}
		}
		left = still
	}
}

// revisit reports whether nobody needs to come again.
func (ps *panes) revisit(id endpoint.SessionID) bool {
	h, err := ps.fleet.Adopt(ps.ctx, id)
	if err == nil {
		return ps.welcome(h)
	}
	if refusal := (*fleet.Refusal)(nil); !errors.As(err, &refusal) || refusal.Held() {
		return ps.ctx.Err() != nil
	}
	ps.log.Info("a worker that was left alone has ended", "session", id, "because", err)
	ps.mu.Lock()
	at, known := ps.mu.tree.PaneOf(string(id))
	before := ps.mu.tree
	if tree, err := before.Lost(at.ID); known && at.End == nil && err == nil {
		ps.putLocked(before, tree)
	}
	ps.mu.Unlock()
	if known {
		ps.keep(at.ID)
	}
	return true
}

// welcome drives a worker in the pane that it had, or in a new one.
func (ps *panes) welcome(h *fleet.Handle) bool {
	ps.mu.Lock()
	before := ps.mu.tree
	tree, at, err := before.Adopt(string(h.ID()))
	if err == nil {
		ps.putLocked(before, tree)
	}
	ps.mu.Unlock()
	if err != nil {
		h.Close()
		return false // there may be room later
	}
	ps.log.Info("a worker that was left alone is adopted", "pane", at.ID, "session", h.ID())
	ps.drive(at.ID, h.ID(), h)
	ps.keep(at.ID)
	return true
}

// keep saves the tree and tells what is new of a pane.
func (ps *panes) keep(id string) {
	if err := ps.save(); err != nil {
		ps.log.Error("names and ids of terminals are not saved", "error", err)
	}
	ps.tell(id)
}
