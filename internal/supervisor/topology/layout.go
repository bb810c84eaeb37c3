// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"cmp"
	"fmt"
)

// Size is an area in cells.
type Size struct{ Cols, Rows int }

// Rect is a part of an area; its first cell is in column X and row Y.
type Rect struct{ X, Y, Cols, Rows int }

// Layout says where the panes of a window are in an area. No part of it is without a cell.
//
// A split with n cells along its axis keeps one of them for the line between its children. With the share
// r, or 5000 when it has none, the first child gets
//
//	ceil((n-1) · r / 10000)
//
// and the second what is left. Where that leaves either side less than all of its panes need, the shares
// give way, so that what can be shown is shown. Below three cells there is nothing to divide: the first
// child has the area and all panes of the second are Unfit.
type Layout struct {
	Tiles  []Tile        // in preorder
	Lines  []Rect        // one cell wide or high, between the children of splits
	Floats []PlacedFloat // from the back to the front
	Hidden []string      // tiled panes behind the zoomed one
	Unfit  []string      // panes for which there is no room
}

// Tile is a tiled pane in an area.
type Tile struct {
	Pane string
	Rect
}

// PlacedFloat is a float in an area.
type PlacedFloat struct {
	Pane   string
	Frame  Rect   // with the border
	Inner  Rect   // of the terminal
	Border Border // BorderNone where the area has no room for another
}

// Layout places the panes of a window in an area.
func (t Tree) Layout(window string, area Size, presets Presets) (Layout, error) {
	w, ok := t.Window(window)
	if !ok {
		return Layout{}, fmt.Errorf("lay out window %q: %w", window, ErrNotFound)
	}
	whole := Rect{Cols: area.Cols, Rows: area.Rows}
	var l Layout
	switch root := plant(w.Nodes); {
	case w.Zoomed != "":
		l.Hidden = w.leaves()
		l.tile(w.Zoomed, whole)
		l.Hidden = without(l.Hidden, w.Zoomed)
	case root != nil:
		l.tiles(root, whole)
	}
	for _, p := range t.floats(window) {
		l.float(p, area, presets)
	}
	return l, nil
}

func without(ids []string, id string) []string {
	var out []string
	for _, have := range ids {
		if have != id {
			out = append(out, have)
		}
	}
	return out
}

func (l *Layout) tile(pane string, r Rect) {
	if r.Cols < 1 || r.Rows < 1 {
		l.Unfit = append(l.Unfit, pane)
		return
	}
	l.Tiles = append(l.Tiles, Tile{pane, r})
}

func (l *Layout) tiles(b *branch, r Rect) {
	if b.first == nil {
		l.tile(b.pane, r)
		return
	}
	first, line, second := b.cut(r)
	l.tiles(b.first, first)
	if line == (Rect{}) {
		for _, n := range b.second.nodes() {
			if n.Kind == NodePane {
				l.Unfit = append(l.Unfit, n.Pane)
			}
		}
		return
	}
	l.Lines = append(l.Lines, line)
	l.tiles(b.second, second)
}

// cut divides the area of a split. Without room for a line, line and second are zero.
func (b *branch) cut(r Rect) (first, line, second Rect) {
	n := r.Cols
	if b.axis == AxisRows {
		n = r.Rows
	}
	if n < 3 || r.Cols < 1 || r.Rows < 1 {
		return r, Rect{}, Rect{}
	}
	at := b.firstOf(n)
	if b.axis == AxisRows {
		return Rect{r.X, r.Y, r.Cols, at}, Rect{r.X, r.Y + at, r.Cols, 1}, Rect{r.X, r.Y + at + 1, r.Cols, r.Rows - at - 1}
	}
	return Rect{r.X, r.Y, at, r.Rows}, Rect{r.X + at, r.Y, 1, r.Rows}, Rect{r.X + at + 1, r.Y, r.Cols - at - 1, r.Rows}
}

// firstOf is how many of n cells, 3 or more, the first child gets.
func (b *branch) firstOf(n int) int {
	share := ((n-1)*cmp.Or(b.ratio, ratioWhole/2) + ratioWhole - 1) / ratioWhole
	least, most := b.bounds(n)
	return min(max(share, least), most)
}

// bounds is the least and the most that the first child may have of n cells, 3 or more.
func (b *branch) bounds(n int) (least, most int) {
	least, most = b.first.least.along(b.axis), n-1-b.second.least.along(b.axis)
	if least > most {
		return 1, n - 2
	}
	return least, most
}

func (s Size) along(a Axis) int {
	if a == AxisRows {
		return s.Rows
	}
	return s.Cols
}

// leastOf is what a split needs so that all that is in it has a cell.
func leastOf(a Axis, first, second Size) Size {
	if a == AxisRows {
		return Size{max(first.Cols, second.Cols), first.Rows + 1 + second.Rows}
	}
	return Size{first.Cols + 1 + second.Cols, max(first.Rows, second.Rows)}
}

// MinSize is the least area in which no tiled pane of the window is Unfit; zero without tiled panes. Floats
// need one cell.
func (w Window) MinSize() Size {
	if root := plant(w.Nodes); root != nil {
		return root.least
	}
	return Size{}
}

// float places a float: its size, its anchor, then as far back as it needs to lie in the area.
func (l *Layout) float(p Pane, area Size, presets Presets) {
	if area.Cols < 1 || area.Rows < 1 {
		l.Unfit = append(l.Unfit, p.ID)
		return
	}
	g, _ := presets.Resolve(*p.Float)
	edge := 1
	if g.Border == BorderNone || area.Cols < 3 || area.Rows < 3 {
		g.Border, edge = BorderNone, 0
	}
	cols := min(max(g.Width.cells(area.Cols), g.MinCols), area.Cols-2*edge)
	rows := min(max(g.Height.cells(area.Rows), g.MinRows), area.Rows-2*edge)
	frame := Rect{Cols: cols + 2*edge, Rows: rows + 2*edge}
	across, down := g.Anchor.point()
	frame.X = min(max((area.Cols-frame.Cols)*across/2+*g.X, 0), area.Cols-frame.Cols)
	frame.Y = min(max((area.Rows-frame.Rows)*down/2+*g.Y, 0), area.Rows-frame.Rows)
	l.Floats = append(l.Floats, PlacedFloat{p.ID, frame, Rect{frame.X + edge, frame.Y + edge, cols, rows}, g.Border})
}

// point is where the anchor is: 0 at the left or top, 1 in the middle, 2 at the right or bottom.
func (a Anchor) point() (across, down int) {
	for i, known := range Anchors {
		if known == a {
			return i % 3, i / 3
		}
	}
	return 1, 1
}
