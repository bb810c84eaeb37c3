// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"
	"slices"
)

// MovePane moves a pane to the spot. A tiled pane is put there as by Split, in its own window or another. A
// float stays a float: of the spot only the window counts. The pane has the keys of its new window.
func (t Tree) MovePane(pane string, to Spot) (Tree, error) {
	return t.change(fmt.Sprintf("move pane %q", pane), func(n *Tree) error {
		at := n.paneIndex(pane)
		if at < 0 {
			return ErrNotFound
		}
		p := n.Panes[at]
		window, err := n.windowAt(to)
		if err != nil {
			return err
		}
		if p.Float != nil {
			n.moveFloat(at, window)
			return nil
		}
		if to.Beside == pane || window == p.Window && len(n.windowOf(window).Nodes) == 1 {
			n.windowOf(window).activate(p)
			return nil // it is there
		}
		n.leave(p)
		n.Panes[at].Window = window
		n.insert(pane, window, to)
		n.dropEmpty(p.Window)
		return nil
	})
}

func (t *Tree) moveFloat(at int, window string) {
	p := t.Panes[at]
	t.leave(p)
	t.Panes[at].Window = window
	t.windowOf(window).Active = p.ID
	t.dropEmpty(p.Window)
}

// windowAt checks a spot and returns the window that it is in.
func (t Tree) windowAt(to Spot) (string, error) {
	if to.Window != "" && to.Beside != "" {
		return "", fmt.Errorf("both window %s and pane %s: %w", to.Window, to.Beside, ErrSplit)
	}
	if to.Beside == "" {
		at := t.windowIndex(to.Window)
		if at < 0 {
			return "", fmt.Errorf("window %q: %w", to.Window, ErrNotFound)
		}
		if len(t.Windows[at].Nodes) == 0 {
			return to.Window, nil // nothing is split
		}
		return to.Window, to.check()
	}
	p, ok := t.Pane(to.Beside)
	if !ok {
		return "", fmt.Errorf("pane %q: %w", to.Beside, ErrNotFound)
	}
	if p.Float != nil {
		return "", fmt.Errorf("pane %s floats: %w", p.ID, ErrLayer)
	}
	return p.Window, to.check()
}

// insert puts a pane that is in no leaf into one, gives it the keys, and ends the zoom.
func (t *Tree) insert(pane, window string, to Spot) {
	w := t.windowOf(window)
	root := plant(w.Nodes)
	switch {
	case root == nil:
		root = &branch{pane: pane}
	case to.Beside == "":
		root.split(pane, to)
	default:
		path := root.path(to.Beside)
		path[len(path)-1].split(pane, to)
	}
	w.Nodes, w.Active, w.Zoomed = root.nodes(), pane, ""
}

// Swap exchanges two tiled panes, of one window or of two, with all that their places have: the keys, the
// zoom, the size.
func (t Tree) Swap(a, b string) (Tree, error) {
	return t.change(fmt.Sprintf("swap panes %q and %q", a, b), func(n *Tree) error {
		i, j := n.paneIndex(a), n.paneIndex(b)
		if i < 0 || j < 0 {
			return ErrNotFound
		}
		if n.Panes[i].Float != nil || n.Panes[j].Float != nil {
			return fmt.Errorf("one floats: %w", ErrLayer)
		}
		n.swap(&n.Panes[i], &n.Panes[j])
		return nil
	})
}

func (t *Tree) swap(a, b *Pane) {
	one, other := t.windowOf(a.Window), t.windowOf(b.Window)
	ids := map[string]string{a.ID: b.ID, b.ID: a.ID}
	one.exchange(ids)
	if one != other {
		other.exchange(ids)
		a.Window, b.Window = b.Window, a.Window
	}
}

// exchange puts one pane in the place of another, with the keys and the zoom of the place.
func (w *Window) exchange(ids map[string]string) {
	w.Nodes = slices.Clone(w.Nodes)
	for i := range w.Nodes {
		if to, ok := ids[w.Nodes[i].Pane]; ok {
			w.Nodes[i].Pane = to
		}
	}
	for _, slot := range []*string{&w.Active, &w.Zoomed} {
		if to, ok := ids[*slot]; ok {
			*slot = to
		}
	}
}
