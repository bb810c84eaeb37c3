// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"

	"spawn/internal/supervisor/events"
	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/topology"
)

// restore makes archives of a checkpoint: all of them, in a tree that is empty, or none. Everything that takes time
// or may fail is done before; the tree, the archives and what is told of them change in one step. owner is whose
// those are that name nobody.
func (ps *panes) restore(ctx context.Context, c recovery.Checkpoint, owner string) (topology.Mapping, error) {
	if err := ps.begin(); err != nil {
		return topology.Mapping{}, err
	}
	defer ps.began()
	if !ps.isEmpty() { // found out again when it counts
		return topology.Mapping{}, fmt.Errorf("restore: %w", topology.ErrNotEmpty)
	}
	plan, err := recovery.PlanRestore(c, recovery.Counters{}, owner) // the tree gives the ids
	if err != nil {
		return topology.Mapping{}, err
	}
	mounted := make([]*pane, len(plan.Archives))
	for i, a := range plan.Archives {
		if mounted[i], err = newArchive(a, ps.inForce.viewersMax); err != nil {
			return topology.Mapping{}, err
		}
	}
	if err := ctx.Err(); err != nil { // the last moment at which it can be called off
		return topology.Mapping{}, fmt.Errorf("restore: %w", err)
	}
	ids, err := ps.commitRestore(savedTree(c, plan, mounted), c.ID, mounted)
	if err != nil {
		return topology.Mapping{}, err
	}
	for _, p := range mounted {
		ps.tell(p.id)
	}
	if err := ps.save(); err != nil {
		ps.log.Error("names and ids of terminals are not saved", "error", err)
	}
	return ids, nil
}

func (ps *panes) isEmpty() bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.mu.tree.Empty()
}

// commitRestore is the one step. mounted is in the order of saved's panes.
func (ps *panes) commitRestore(saved topology.Tree, checkpoint string, mounted []*pane) (topology.Mapping, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	before := ps.mu.tree
	tree, ids, err := before.Restore(saved, "")
	switch {
	case errors.Is(err, topology.ErrFull), errors.Is(err, topology.ErrOverflow):
		return ids, fmt.Errorf("%w: %w", recovery.ErrSize, err)
	case errors.Is(err, topology.ErrCorrupt):
		return ids, fmt.Errorf("%w: %w", recovery.ErrCorrupt, err)
	case err != nil:
		return ids, err
	}
	ps.putWithLocked(before, tree, aside{behind: []events.Change{{
		Type: events.RecoveryRestored, Resource: topology.Root, Data: map[string]any{"checkpoint": checkpoint, "cleanup_unverified": true},
	}}})
	for i, p := range mounted {
		ps.showLocked(ids.Panes[i].Current, p)
	}
	return ids, nil
}

// showLocked gives an archive its id and its run.
func (ps *panes) showLocked(id string, p *pane) {
	p.id = id
	ps.mu.byID[id] = p
	ps.running.Add(1)
	go func() {
		defer ps.running.Done()
		p.exhibit(ps.ctx)
	}()
}

// savedTree is the checkpoint as a tree under its old ids. Owners' tags are the plan's.
func savedTree(c recovery.Checkpoint, plan recovery.Plan, mounted []*pane) topology.Tree {
	t := topology.Tree{
		Sessions: mapped(c.Sessions, func(s recovery.Session) topology.Session { return topology.Session{ID: s.ID, Name: s.Name} }),
		Windows: mapped(c.Windows, func(w recovery.Window) topology.Window {
			return topology.Window{
				ID: w.ID, Session: w.Session, Name: w.Name, Revision: uint64(w.Revision),
				Nodes: mapped(w.Nodes, func(n recovery.Node) topology.Node {
					return topology.Node{
						Kind: topology.NodeKind(n.Kind), Axis: topology.Axis(n.Axis), First: n.First, Second: n.Second, Ratio: n.Ratio, Pane: n.Pane,
					}
				}),
			}
		}),
	}
	for i, p := range c.Panes {
		a := mounted[i].archive.facts()
		at := topology.Pane{
			ID: p.ID, Window: p.Window, End: &topology.End{ExitCode: a.ExitCode, Signal: a.Signal}, Float: restoredFloat(p.Float),
			Archive: &topology.Archive{
				Checkpoint: c.ID, PreviousPane: p.ID, ProcessState: topology.ProcessState(a.Recovery.ProcessState),
				TextState: topology.TextState(a.Recovery.TextState), CutRows: uint64(a.Recovery.CutRows),
			},
		}
		for _, tag := range plan.Archives[i].Tags {
			at.Tags = append(at.Tags, topology.Tag(tag))
		}
		t.Panes = append(t.Panes, at)
	}
	return t
}

func restoredFloat(f *recovery.Float) *topology.Float {
	if f == nil {
		return nil
	}
	made := f.Arranged()
	return &made
}

// facts are what was planned of the archive, as it is now.
func (a *archive) facts() recovery.Archive {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mu.facts
}

// remount shows the archives that the tree has from an earlier spawnd. Their text is in the checkpoint alone: one that is
// not to be had any more is gone. Nothing is restored by it: what is not in the tree stays where it is.
func (k *keeper) remount() {
	read := map[string]recovery.Plan{}
	for _, at := range k.panes.current().Panes {
		if at.Archive == nil {
			continue
		}
		k.unsure()
		plan, known := read[at.Archive.Checkpoint]
		if !known {
			plan = k.replan(at.Archive.Checkpoint)
			read[at.Archive.Checkpoint] = plan
		}
		k.panes.remount(at, plan)
	}
}

// unsure notes that archives are, or were, shown.
func (k *keeper) unsure() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.restored = true
}

// replan is empty when the checkpoint is not to be had.
func (k *keeper) replan(checkpoint string) recovery.Plan {
	c, err := k.read(checkpoint)
	if err != nil {
		k.log.Info("the text of archives is gone with its checkpoint", "checkpoint", checkpoint, "code", recovery.CodeOf(err))
		return recovery.Plan{}
	}
	plan, err := recovery.PlanRestore(c, recovery.Counters{}, "")
	if err != nil {
		return recovery.Plan{}
	}
	return plan
}

// remount shows one archive of the tree again, as far as the plan knows it.
func (ps *panes) remount(at topology.Pane, plan recovery.Plan) {
	blank := recovery.Archive{Cols: colsUnknown, Rows: rowsUnknown, ExitCode: at.End.ExitCode, Signal: at.End.Signal, Recovery: recovery.Recovery{
		Checkpoint: at.Archive.Checkpoint, PreviousPane: at.Archive.PreviousPane,
		ProcessState: string(at.Archive.ProcessState), TextState: string(at.Archive.TextState),
	}}
	if blank.Recovery.TextState == recovery.TextPlain {
		blank.Recovery.TextState = recovery.TextExpired
	}
	found := blank
	for _, a := range plan.Archives {
		if a.Recovery.PreviousPane == at.Archive.PreviousPane {
			found.Cols, found.Rows = a.Cols, a.Rows
			if at.Archive.TextState == topology.TextPlain && a.Recovery.TextState == recovery.TextPlain {
				found.Text, found.SavedAt, found.ExpiresAt, found.Recovery.TextState = a.Text, a.SavedAt, a.ExpiresAt, recovery.TextPlain
			}
		}
	}
	p, err := newArchive(found, ps.inForce.viewersMax)
	if err != nil { // its text has become unreadable
		found = blank
		p, err = newArchive(blank, ps.inForce.viewersMax)
	}
	if err != nil {
		ps.log.Error("an archive cannot be shown", "pane", at.ID, "error", err)
		return
	}
	ps.mu.Lock()
	now, there := ps.mu.tree.Pane(at.ID)
	if there = there && now.Archive != nil; there {
		ps.showLocked(at.ID, p)
	}
	ps.mu.Unlock()
	if !there {
		return // a worker that was started for its place has been found meanwhile
	}
	if found.Recovery.TextState != string(at.Archive.TextState) {
		ps.expired(at.ID)
	}
	ps.tell(at.ID)
}

// current is the tree as it is now.
func (ps *panes) current() topology.Tree {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.mu.tree
}
