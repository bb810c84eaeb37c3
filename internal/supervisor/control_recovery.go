// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"

	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/topology"
	"spawn/internal/supervisor/verbs"
)

func (s verbServer) Checkpoint(ctx context.Context, _ verbs.Empty) (verbs.CheckpointResult, error) {
	done, err := s.keeper.request(ctx)
	if err != nil {
		return verbs.CheckpointResult{}, s.recoveryError(err)
	}
	return verbs.CheckpointResult{Checkpoint: done.ID, Generation: uint64(done.Generation)}, nil
}

func (s verbServer) Checkpoints(context.Context, verbs.Empty) (verbs.RecoveryListResult, error) {
	entries, err := s.keeper.store.List()
	if err != nil {
		return verbs.RecoveryListResult{}, s.recoveryError(err)
	}
	return verbs.RecoveryListResult{Checkpoints: mapped(entries, func(e recovery.Entry) verbs.CheckpointStatus {
		return verbs.CheckpointStatus{
			Checkpoint: e.ID, Status: string(e.Status), Generation: uint64(e.Generation), Leading: e.Leading,
			CapturedAt: int64(e.CapturedAt), Shutdown: e.Shutdown, Panes: uint64(e.Panes), Running: uint64(e.Running), TextPanes: uint64(e.TextPanes),
		}
	})}, nil
}

func (s verbServer) InspectCheckpoint(_ context.Context, p verbs.RecoveryInspectParams) (verbs.RecoveryInspectResult, error) {
	c, err := s.keeper.store.Read(p.Checkpoint)
	var made verbs.Outline
	if err == nil && p.Topology {
		made, err = outline(c)
	}
	if err != nil {
		return verbs.RecoveryInspectResult{}, s.recoveryError(err)
	}
	r := verbs.RecoveryInspectResult{
		Checkpoint: c.ID, Generation: uint64(c.Generation), Shutdown: c.Shutdown,
		Sessions: uint64(len(c.Sessions)), Windows: uint64(len(c.Windows)), Panes: uint64(len(c.Panes)),
		Topology: made,
	}
	for _, pane := range c.Panes {
		switch pane.Text.Availability {
		case recovery.TextPlain:
			r.TextPanes++
		case recovery.TextExpired:
			r.ExpiredTextPanes++
		}
	}
	return r, nil
}

// outline is what a restore would make of a checkpoint that may be read. It is told from the plan of one, so that the two agree,
// and refused where a restore would be: what there may be at once also fits an answer.
func outline(c recovery.Checkpoint) (verbs.Outline, error) {
	if len(c.Sessions) > topology.SessionsMax || len(c.Windows) > topology.WindowsMax || len(c.Panes) > topology.PanesMax {
		return verbs.Outline{}, recovery.ErrSize
	}
	plan, err := recovery.PlanRestore(c, recovery.Counters{}, "")
	if err != nil {
		return verbs.Outline{}, err
	}
	out := verbs.Outline{
		Sessions: mapped(c.Sessions, func(s recovery.Session) verbs.OutlinedSession {
			return verbs.OutlinedSession{Session: s.ID, Name: s.Name}
		}),
		Windows: mapped(c.Windows, func(w recovery.Window) verbs.OutlinedWindow {
			return verbs.OutlinedWindow{Window: w.ID, Session: w.Session, Name: w.Name, Nodes: mapped(w.Nodes, outlinedNode)}
		}),
		Panes: mapped(plan.Archives, outlinedPane),
	}
	for i, pane := range c.Panes { // the plan has them in the same order, in windows under new ids
		out.Panes[i].Window = pane.Window
	}
	return out, nil
}

func outlinedNode(n recovery.Node) verbs.Node {
	return verbs.Node{Kind: n.Kind, Axis: n.Axis, First: n.First, Second: n.Second, Ratio: uint16(n.Ratio), Pane: n.Pane}
}

// outlinedPane is what may be told of a pane before it is restored: its place and its end, and nothing of its text or tags.
func outlinedPane(a recovery.Archive) verbs.OutlinedPane {
	p := verbs.OutlinedPane{
		Pane: a.Recovery.PreviousPane, Cols: uint16(a.Cols), Rows: uint16(a.Rows), ProcessState: a.Recovery.ProcessState,
		ExitCode: a.ExitCode, Signal: a.Signal, TextState: a.Recovery.TextState,
	}
	if a.Float != nil && a.Float.Title != nil {
		p.Title = *a.Float.Title
	}
	return p
}

func (s verbServer) RestoreCheckpoint(ctx context.Context, p verbs.CheckpointParams) (verbs.RecoveryRestoreResult, error) {
	ids, err := s.keeper.restore(p.Checkpoint, owner(ctx))
	if err != nil {
		return verbs.RecoveryRestoreResult{}, s.recoveryError(err)
	}
	as := func(list []topology.Renumbered) []verbs.Renumbered {
		return mapped(list, func(r topology.Renumbered) verbs.Renumbered { return verbs.Renumbered(r) })
	}
	return verbs.RecoveryRestoreResult{Checkpoint: p.Checkpoint, Sessions: as(ids.Sessions), Windows: as(ids.Windows), Panes: as(ids.Panes)}, nil
}

func (s verbServer) ForgetCheckpoint(_ context.Context, p verbs.CheckpointParams) (verbs.Empty, error) {
	return verbs.Empty{}, s.recoveryError(s.keeper.store.Forget(p.Checkpoint))
}

func (s verbServer) RelaunchPane(ctx context.Context, p verbs.PaneRelaunchParams) (verbs.PaneRelaunchResult, error) {
	row, err := s.panes.relaunch(ctx, p.Pane, NewPane{Argv: p.Argv, Owner: owner(ctx)}, s.endow(principalOf(ctx), p.Grants))
	if errors.Is(err, errSpawn) {
		s.o.Log.Warn("an archive could not be relaunched", "pane", p.Pane, "error", err)
		return verbs.PaneRelaunchResult{}, verbs.Errorf(verbs.CodeSpawn, "%s", errSpawn)
	}
	if err != nil {
		return verbs.PaneRelaunchResult{}, sharingError(err)
	}
	return verbs.PaneRelaunchResult{Pane: row.ID, Window: row.Window, Session: row.Session, Principal: "pane:" + row.ID, PID: row.PID}, nil
}

// recoveryError is what the caller is told: the fixed text of a failure, never its cause, which may name a
// path and goes to the log.
func (s verbServer) recoveryError(err error) error {
	if err == nil {
		return nil
	}
	failure, ok := errors.AsType[*recovery.Failure](err)
	if !ok {
		return verbError(err)
	}
	if failure.Code == recovery.CodeIO {
		s.o.Log.Warn("the recovery store failed", "error", err, "because", errors.Unwrap(failure))
	}
	told := verbs.Errorf(verbs.Code(failure.Code), "%s", reason(failure))
	if failure.Code == recovery.CodeID {
		return told.With("param", "checkpoint")
	}
	return told
}

// reason is the text of a failure, or what its code means when it has none of its own.
func reason(f *recovery.Failure) string {
	text := f.Error()
	for _, c := range verbs.Codes() {
		if string(c.Code) == text {
			return c.Meaning
		}
	}
	return text
}
