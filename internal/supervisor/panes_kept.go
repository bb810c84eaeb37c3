// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"slices"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/supervisor/fleet"
)

// saveDelay gathers changes of titles into one write of the topology. What must not be lost, such as
// a new pane, is written before anybody hears of it.
const saveDelay = 200 * time.Millisecond

// save writes the tree after somebody changed it on purpose.
func (ps *panes) save() error {
	ps.keeper.acted()
	return ps.write()
}

// write writes the tree as it is now, or a later one. Of many who ask at once, one writes for all whose change
// is in what it writes.
func (ps *panes) write() error {
	ps.mu.Lock()
	ps.mu.asked++
	mine := ps.mu.asked
	ps.mu.Unlock()
	ps.saving.Lock()
	defer ps.saving.Unlock()
	if ps.written >= mine {
		return nil
	}
	ps.mu.Lock()
	tree, all := ps.mu.tree, ps.mu.asked
	ps.mu.Unlock()
	err := ps.store.Save(tree)
	if err == nil {
		ps.written = all
	}
	return err
}

// saveLoop writes what changed, a little later, until close.
func (ps *panes) saveLoop() {
	defer ps.running.Done()
	for {
		select {
		case <-ps.ctx.Done():
			return
		case <-ps.dirty:
		}
		gather := time.NewTimer(saveDelay)
		select {
		case <-ps.ctx.Done():
			gather.Stop()
		case <-gather.C:
		}
		failpoint.Pass(failpoint.FactsSaving)
		if err := ps.write(); err != nil {
			ps.log.Error("names and ids of terminals are not saved", "error", err)
		}
	}
}

// openPanes reads the tree, adopts every living worker and brings both together.
func openPanes(ctx context.Context, ps *panes) error {
	loaded, err := ps.store.Load()
	if err != nil {
		return err
	}
	if loaded.Kept != "" {
		ps.log.Error("names and ids of terminals could not be read; the file is kept", "at", loaded.Kept, "error", loaded.Why)
	}
	failpoint.Pass(failpoint.TreeLoaded)
	adopted, refused, err := ps.fleet.AdoptAll(ctx)
	if err != nil {
		return err
	}
	ps.refused = refused
	failpoint.Pass(failpoint.WorkersAdopted)
	ids := func(h *fleet.Handle) string { return string(h.ID()) }
	var left []endpoint.SessionID
	known := loaded.Tree
	for _, r := range refused {
		ps.log.Warn("a worker is left alone", "session", r.ID, "reason", r.Code, "error", r.Err)
		switch {
		case r.Held():
			left = append(left, r.ID)
		case r.Code == fleet.CodeUnstarted:
			known = known.CallOff(string(r.ID))
		}
	}
	tree, crowded := known.Reconcile(mapped(adopted, ids), mapped(left, func(id endpoint.SessionID) string { return string(id) }))
	ps.mu.tree, ps.mu.byID, ps.mu.unsure = tree, map[string]*pane{}, map[string]bool{}
	ps.ctx, ps.cancel = context.WithCancel(context.WithoutCancel(ctx))
	ps.running.Add(2)
	go ps.saveLoop()
	go ps.revisitLoop(left)
	for _, h := range adopted {
		at, ok := tree.PaneOf(ids(h))
		if !ok || slices.Contains(crowded, ids(h)) {
			ps.log.Error("no room for an adopted worker; it goes on without a pane", "session", h.ID())
			ps.strays = ps.strays || !adoptsOrphans(h)
			h.Close()
			continue
		}
		ps.drive(at.ID, h.ID(), h)
	}
	failpoint.Pass(failpoint.PanesDriven)
	for _, row := range ps.Rows() {
		ps.board.Put(paneInfo(row))
	}
	ps.log.Info("terminals are adopted", "adopted", len(adopted), "left_alone", len(refused))
	err = ps.write()
	failpoint.Pass(failpoint.PanesKept)
	return err
}

func mapped[A, B any](in []A, f func(A) B) []B {
	out := make([]B, len(in))
	for i, a := range in {
		out[i] = f(a)
	}
	return out
}

// close detaches from every worker, which go on, and writes the tree a last time.
func (ps *panes) close() error {
	ps.mu.Lock()
	ps.mu.closing = true
	ps.mu.Unlock()
	ps.cancel()
	ps.running.Wait()
	failpoint.Pass(failpoint.Detached)
	err := ps.write()
	failpoint.Pass(failpoint.LastSaved)
	return err
}
