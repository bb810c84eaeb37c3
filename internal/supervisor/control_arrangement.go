// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"

	"spawn/internal/supervisor/topology"
	"spawn/internal/supervisor/verbs"
)

// owner is who a new pane belongs to: whoever asked for it.
func owner(ctx context.Context) string {
	if c := verbs.CallerOf(ctx); c != nil {
		return c.Principal()
	}
	return ""
}

func (s verbServer) NewSession(_ context.Context, p verbs.SessionNewParams) (verbs.SessionResult, error) {
	var made topology.Session
	tree, err := s.panes.arrange(func(t topology.Tree) (next topology.Tree, err error) {
		next, made, err = t.NewSession(p.Name)
		return next, err
	})
	return verbs.SessionResult{Session: verbSession(tree, made)}, verbError(err)
}

func (s verbServer) Sessions(context.Context) ([]verbs.Session, error) {
	tree := s.panes.arrangement()
	return mapped(tree.Sessions, func(one topology.Session) verbs.Session { return verbSession(tree, one) }), nil
}

func (s verbServer) RenameSession(_ context.Context, p verbs.SessionRenameParams) (verbs.SessionResult, error) {
	tree, err := s.panes.change(func(t topology.Tree) (topology.Tree, error) { return t.Rename(p.Session, p.Name) }, p.Session)
	now, _ := tree.Session(p.Session)
	return verbs.SessionResult{Session: verbSession(tree, now)}, verbError(err)
}

func (s verbServer) CloseSession(ctx context.Context, p verbs.SessionParams) (verbs.Empty, error) {
	return verbs.Empty{}, verbError(s.panes.CloseAll(ctx, p.Session))
}

func (s verbServer) MoveSession(_ context.Context, p verbs.SessionMoveParams) (verbs.Empty, error) {
	_, err := s.panes.change(func(t topology.Tree) (topology.Tree, error) { return t.MoveSession(p.Session, int(p.Index)) }, p.Session)
	return verbs.Empty{}, verbError(err)
}

// NewWindow starts the window's first terminal, and names the window in the same step in which it is made.
func (s verbServer) NewWindow(ctx context.Context, p verbs.WindowNewParams) (verbs.WindowResult, error) {
	named := func(t topology.Tree, start topology.Start) (topology.Tree, topology.Pane, error) {
		if p.Session != "" {
			if err := there(t, p.Session); err != nil {
				return t, topology.Pane{}, err
			}
		}
		next, made, err := t.NewPane(p.Session, start)
		if err == nil {
			next, err = next.Rename(made.Window, p.Name)
		}
		return next, made, err
	}
	row, err := s.panes.start(ctx, NewPane{Argv: p.Argv, Cwd: p.Cwd, Cols: p.Cols, Rows: p.Rows, Owner: owner(ctx)}, named)
	if err != nil {
		return verbs.WindowResult{}, verbError(err)
	}
	return s.windowResult(s.panes.arrangement(), row.Window, nil)
}

func (s verbServer) Windows(_ context.Context, p verbs.WindowListParams) ([]verbs.Window, error) {
	tree := s.panes.arrangement()
	windows := tree.Windows
	if p.Session != "" {
		if err := there(tree, p.Session); err != nil {
			return nil, verbError(err)
		}
		windows = tree.WindowsOf(p.Session)
	}
	presets := s.inForce.floatPresets()
	return mapped(windows, func(w topology.Window) verbs.Window { return verbWindow(tree, w, presets) }), nil
}

func (s verbServer) RenameWindow(_ context.Context, p verbs.WindowRenameParams) (verbs.WindowResult, error) {
	tree, err := s.panes.change(func(t topology.Tree) (topology.Tree, error) { return t.Rename(p.Window, p.Name) }, p.Window)
	return s.windowResult(tree, p.Window, err)
}

func (s verbServer) CloseWindow(ctx context.Context, p verbs.WindowParams) (verbs.Empty, error) {
	return verbs.Empty{}, verbError(s.panes.CloseAll(ctx, p.Window))
}

func (s verbServer) MoveWindow(_ context.Context, p verbs.WindowMoveParams) (verbs.WindowResult, error) {
	move := func(t topology.Tree) (topology.Tree, error) {
		to := p.Session
		if w, _ := t.Window(p.Window); to == "" {
			to = w.Session
		}
		return t.MoveWindow(p.Window, to, int(p.Index))
	}
	ids := []string{p.Window}
	if p.Session != "" {
		ids = append(ids, p.Session)
	}
	tree, err := s.panes.change(move, ids...)
	return s.windowResult(tree, p.Window, err)
}

// windowResult tells of a window after an operation that gave err.
func (s verbServer) windowResult(t topology.Tree, id string, err error) (verbs.WindowResult, error) {
	w, known := t.Window(id)
	if err == nil && !known {
		err = there(t, id) // it has been closed meanwhile
	}
	if err != nil {
		return verbs.WindowResult{}, verbError(err)
	}
	return verbs.WindowResult{Window: verbWindow(t, w, s.inForce.floatPresets())}, nil
}

func verbSession(t topology.Tree, s topology.Session) verbs.Session {
	return verbs.Session{
		Session: s.ID, Name: s.Name,
		Windows: mapped(t.WindowsOf(s.ID), func(w topology.Window) string { return w.ID }),
	}
}

func verbWindow(t topology.Tree, w topology.Window, presets topology.Presets) verbs.Window {
	out := verbs.Window{
		Window: w.ID, Session: w.Session, Name: w.Name, Revision: w.Revision, Active: w.Active, Zoomed: w.Zoomed,
		Nodes: mapped(w.Nodes, func(n topology.Node) verbs.Node {
			return verbs.Node{Kind: string(n.Kind), Axis: string(n.Axis), First: n.First, Second: n.Second, Ratio: uint16(n.Ratio), Pane: n.Pane}
		}),
	}
	for _, p := range t.PanesOf(w.ID) {
		if p.Float != nil {
			out.Floats = append(out.Floats, placed(p.ID, *p.Float, presets))
		}
	}
	return out
}

// placed is a float as it is to be drawn.
func placed(pane string, f topology.Float, presets topology.Presets) verbs.Placed {
	g, _ := presets.Resolve(f)
	return verbs.Placed{
		Pane: pane, Z: f.Z, Preset: f.Preset, Width: string(g.Width), Height: string(g.Height), Anchor: string(g.Anchor), X: *g.X, Y: *g.Y,
		MinCols: uint16(g.MinCols), MinRows: uint16(g.MinRows), Border: string(g.Border), Title: f.Title,
	}
}
