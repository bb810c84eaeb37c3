// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"

	"spawn/internal/supervisor/topology"
	"spawn/internal/supervisor/verbs"
)

func (s verbServer) SplitPane(ctx context.Context, p verbs.PaneSplitParams) (verbs.PaneResult, error) {
	split := func(t topology.Tree, start topology.Start) (topology.Tree, topology.Pane, error) {
		if err := there(t, p.Pane); err != nil {
			return t, topology.Pane{}, err
		}
		return t.Split(spotBeside(p.Pane, p.Axis, p.Before, p.Ratio), start)
	}
	row, err := s.panes.start(ctx, NewPane{Argv: p.Argv, Cwd: p.Cwd, Name: p.Name, Owner: owner(ctx)}, split)
	return verbs.PaneResult{Pane: verbPane(row)}, verbError(err)
}

func (s verbServer) ResizePane(_ context.Context, p verbs.PaneResizeParams) (verbs.WindowResult, error) {
	return s.moved(p.Pane, func(t topology.Tree) (topology.Tree, error) {
		if p.Ratio != 0 {
			return t.Resize(p.Pane, topology.Axis(p.Axis), int(p.Ratio))
		}
		return t.ResizeBy(p.Pane, topology.Axis(p.Axis), p.Cells, topology.Size{Cols: int(p.Cols), Rows: int(p.Rows)})
	})
}

func (s verbServer) PlacePane(_ context.Context, p verbs.PanePlaceParams) (verbs.WindowResult, error) {
	if p.Beside == "" {
		return s.moved(p.Pane, func(t topology.Tree) (topology.Tree, error) { return t.PlaceFloat(p.Pane, floatOf(p.Float)) })
	}
	to := spotBeside(p.Beside, p.Axis, p.Before, p.Ratio)
	return s.moved(p.Pane, func(t topology.Tree) (topology.Tree, error) { return t.PlaceTile(p.Pane, to) }, p.Beside)
}

func (s verbServer) MovePane(_ context.Context, p verbs.PaneMoveParams) (verbs.WindowResult, error) {
	to := spotBeside(p.Beside, p.Axis, p.Before, p.Ratio)
	target := p.Beside
	if p.Window != "" {
		to.Window, target = p.Window, p.Window
	}
	return s.moved(p.Pane, func(t topology.Tree) (topology.Tree, error) { return t.MovePane(p.Pane, to) }, target)
}

func (s verbServer) SwapPanes(_ context.Context, p verbs.PaneSwapParams) (verbs.Empty, error) {
	_, err := s.moved(p.Pane, func(t topology.Tree) (topology.Tree, error) { return t.Swap(p.Pane, p.With) }, p.With)
	return verbs.Empty{}, err
}

func (s verbServer) FocusPane(_ context.Context, p verbs.PaneFocusParams) (verbs.WindowResult, error) {
	return s.moved(p.Pane, func(t topology.Tree) (topology.Tree, error) { return t.Focus(p.Pane) })
}

func (s verbServer) ZoomPane(_ context.Context, p verbs.PaneZoomParams) (verbs.WindowResult, error) {
	return s.moved(p.Pane, func(t topology.Tree) (topology.Tree, error) {
		if !p.Off {
			return t.Zoom(p.Pane)
		}
		at, _ := t.Pane(p.Pane)
		return t.Unzoom(at.Window)
	})
}

func (s verbServer) TagPane(_ context.Context, p verbs.PaneTagParams) (verbs.PaneTagResult, error) {
	tree, err := s.panes.change(func(t topology.Tree) (topology.Tree, error) {
		if p.Remove {
			return t.RemoveTag(p.Pane, p.Key)
		}
		return t.SetTag(p.Pane, p.Key, p.Value)
	}, p.Pane)
	at, _ := tree.Pane(p.Pane)
	return verbs.PaneTagResult{Tags: verbTags(at.Tags)}, verbError(err)
}

// moved changes where a pane is, and tells of the window that it is in then.
func (s verbServer) moved(pane string, op func(topology.Tree) (topology.Tree, error), others ...string) (verbs.WindowResult, error) {
	tree, err := s.panes.change(op, append(others, pane)...)
	at, _ := tree.Pane(pane)
	return s.windowResult(tree, at.Window, err)
}

func spotBeside(pane, axis string, before bool, ratio uint16) topology.Spot {
	return topology.Spot{Beside: pane, Axis: topology.Axis(axis), Before: before, Ratio: int(ratio)}
}

func floatOf(f verbs.Float) topology.Float {
	return topology.Float{Preset: f.Preset, Title: f.Title, Geometry: topology.Geometry{
		Width: topology.Extent(f.Width), Height: topology.Extent(f.Height), Anchor: topology.Anchor(f.Anchor),
		X: cells(f.X), Y: cells(f.Y), MinCols: int(f.MinCols), MinRows: int(f.MinRows), Border: topology.Border(f.Border),
	}}
}

// cells is nil for a number that was left out.
func cells(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

func verbTags(tags []topology.Tag) []verbs.Tag {
	return mapped(tags, func(t topology.Tag) verbs.Tag { return verbs.Tag(t) })
}
