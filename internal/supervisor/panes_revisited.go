// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"errors"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/supervisor/fleet"
	"spawn/internal/supervisor/topology"
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
	refusal := (*fleet.Refusal)(nil)
	if !errors.As(err, &refusal) || refusal.Held() {
		return ps.ctx.Err() != nil
	}
	ps.log.Info("a worker that was left alone has ended", "session", id, "because", err)
	if refusal.Code == fleet.CodeUnstarted {
		ps.callOff(id) // the archive that it was for is what it was
	}
	ps.mourn(id)
	return true
}

// welcome drives a worker in the pane that it had, or in a new one.
func (ps *panes) welcome(h *fleet.Handle) bool {
	at, err := ps.seatWorker(h.ID(), func(t topology.Tree) (topology.Tree, topology.Pane, error) { return t.Adopt(string(h.ID())) })
	if err != nil {
		h.Close()
		return false // there may be room later
	}
	ps.log.Info("a worker that was left alone is adopted", "pane", at.ID, "session", h.ID())
	ps.drive(at.ID, h.ID(), h)
	ps.keep(at.ID)
	return true
}

// mourn marks the pane of a worker that has ended as lost, if it had one. One that was for an archive may have run its
// program: its pane takes the archive's place, so that nobody relaunches that once more.
func (ps *panes) mourn(id endpoint.SessionID) {
	at, err := ps.seatWorker(id, func(t topology.Tree) (topology.Tree, topology.Pane, error) {
		_, relaunched := t.RelaunchBy(string(id))
		if _, known := t.PaneOf(string(id)); !known && !relaunched {
			return t, topology.Pane{}, ErrNotFound
		}
		t, at, err := t.Adopt(string(id))
		if err == nil {
			t, err = t.Lost(at.ID)
		}
		return t, at, err
	})
	if err == nil {
		ps.keep(at.ID)
	}
}

// seatWorker puts in force what becomes of the tree by a worker, which may have been for an archive: then whoever looks at
// that is sent away.
func (ps *panes) seatWorker(id endpoint.SessionID, op func(topology.Tree) (topology.Tree, topology.Pane, error)) (topology.Pane, error) {
	ps.mu.Lock()
	before := ps.mu.tree
	tree, at, err := op(before)
	if err != nil {
		ps.mu.Unlock()
		return at, err
	}
	ps.putLocked(before, tree)
	archive, replaced := before.RelaunchBy(string(id))
	old := ps.mu.byID[archive.ID]
	delete(ps.mu.byID, archive.ID)
	ps.mu.Unlock()
	if old != nil {
		old.takeAway()
	}
	if replaced {
		ps.tell(archive.ID)
	}
	return at, nil
}

// keep saves the tree and tells what is new of a pane.
func (ps *panes) keep(id string) {
	if err := ps.save(); err != nil {
		ps.log.Error("names and ids of terminals are not saved", "error", err)
	}
	ps.tell(id)
}
