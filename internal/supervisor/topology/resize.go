// SPDX-License-Identifier: Apache-2.0

package topology

import "fmt"

// Resize gives the nearest split of that axis above a tiled pane the share: of its first child, in
// 1/10000, 1 to RatioMax; 0 makes it equal again. It ends the zoom.
func (t Tree) Resize(pane string, axis Axis, ratio int) (Tree, error) {
	if err := checkRatio(ratio); err != nil {
		return t, fmt.Errorf("resize pane %s: %w", pane, err)
	}
	return t.resize(pane, axis, func(path []*branch, at int) { path[at].ratio = ratio })
}

// ResizeBy makes a tiled pane larger by that many cells along the axis, or smaller by a negative number, as
// it is drawn in the area: the nearest split of the axis gives way, as far as all of its panes keep a cell.
// The pane itself, or the row of panes that it is in, gets what the split gives up. It ends the zoom.
func (t Tree) ResizeBy(pane string, axis Axis, cells int, area Size) (Tree, error) {
	return t.resize(pane, axis, func(path []*branch, at int) {
		r := Rect{Cols: area.Cols, Rows: area.Rows}
		for i, b := range path[:at] {
			first, _, second := b.cut(r)
			if r = second; path[i+1] == b.first {
				r = first
			}
		}
		if path[at+1] == path[at].second {
			cells = -cells
		}
		path[at].shift(Size{r.Cols, r.Rows}.along(axis), cells)
	})
}

// shift moves the line of a split that has n cells along its axis, and keeps the share that draws it there.
func (b *branch) shift(n, by int) {
	if n < 3 {
		return // there is no line
	}
	was := b.firstOf(n)
	least, most := b.bounds(n)
	first := min(max(was+min(max(by, -n), n), least), most)
	if first == was {
		return
	}
	// Rounded down: firstOf rounds up to the same number again in an area of up to 10001 cells.
	b.ratio = min(max(first*ratioWhole/(n-1), 1), RatioMax)
}

// resize lets f change the nearest split of that axis, path[at], above the pane's leaf, the end of path.
func (t Tree) resize(pane string, axis Axis, f func(path []*branch, at int)) (Tree, error) {
	return t.change(fmt.Sprintf("resize pane %q", pane), func(n *Tree) error {
		p, ok := n.Pane(pane)
		if !ok {
			return ErrNotFound
		}
		if p.Float != nil {
			return fmt.Errorf("it floats: %w", ErrLayer)
		}
		w := n.windowOf(p.Window)
		root := plant(w.Nodes)
		path := root.path(pane)
		at := len(path) - 2
		for at >= 0 && path[at].axis != axis {
			at--
		}
		if at < 0 {
			return fmt.Errorf("none of axis %q is above it: %w", axis, ErrSplit)
		}
		f(path, at)
		w.Nodes, w.Zoomed = root.nodes(), ""
		return nil
	})
}
