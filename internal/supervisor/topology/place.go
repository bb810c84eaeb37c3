// SPDX-License-Identifier: Apache-2.0

package topology

import "fmt"

// PlaceTile puts a float into the tree of its own window or another, as Split does.
func (t Tree) PlaceTile(pane string, to Spot) (Tree, error) {
	return t.place(pane, func(n *Tree, at int) error {
		p := n.Panes[at]
		if p.Float == nil {
			return fmt.Errorf("it is tiled: %w", ErrLayer)
		}
		window, err := n.windowAt(to)
		if err != nil {
			return err
		}
		n.leave(p)
		n.Panes[at].Float, n.Panes[at].Window = nil, window
		n.insert(pane, window, to)
		n.dropEmpty(p.Window)
		return nil
	})
}

// PlaceFloat makes a tiled pane a float in front of the others, or gives a float another description and
// leaves its place in the stack.
func (t Tree) PlaceFloat(pane string, f Float) (Tree, error) {
	return t.place(pane, func(n *Tree, at int) error {
		p := &n.Panes[at]
		if p.Float != nil {
			f.Z = p.Float.Z
			p.Float = &f
			return f.Check()
		}
		w := n.windowOf(p.Window)
		active := w.Active
		n.leave(*p)
		w.Active = active // it stays in the window
		var err error
		p.Float, err = n.onTop(f)
		return err
	})
}

func (t Tree) place(pane string, f func(n *Tree, at int) error) (Tree, error) {
	return t.change(fmt.Sprintf("place pane %q", pane), func(n *Tree) error {
		at := n.paneIndex(pane)
		if at < 0 {
			return ErrNotFound
		}
		if n.Panes[at].Archive != nil {
			return fmt.Errorf("an archive keeps its layer: %w", ErrLayer)
		}
		return f(n, at)
	})
}
