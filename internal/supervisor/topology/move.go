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
			n.windowOf(window).Active = pane
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
			return f.check()
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

// MoveWindow moves a window to the session, before the one that is at that index there without it. An
// index that is negative or too large is the end.
func (t Tree) MoveWindow(window, session string, index int) (Tree, error) {
	return t.change(fmt.Sprintf("move window %q", window), func(n *Tree) error {
		at := n.windowIndex(window)
		if at < 0 {
			return ErrNotFound
		}
		if n.sessionIndex(session) < 0 {
			return fmt.Errorf("session %q: %w", session, ErrNotFound)
		}
		w := n.Windows[at]
		n.Windows = slices.Delete(n.Windows, at, at+1)
		from := w.Session
		w.Session = session
		n.Windows = slices.Insert(n.Windows, n.windowSlot(session, index), w)
		n.regroup()
		n.dropEmptySession(from)
		return nil
	})
}

// windowSlot is the place of the window that is at that index of the session, or the end of all.
func (t Tree) windowSlot(session string, index int) int {
	for i, w := range t.Windows {
		if w.Session != session {
			continue
		}
		if index == 0 {
			return i
		}
		index--
	}
	return len(t.Windows)
}

// MoveSession moves a session before the one that is at that index without it. An index that is negative
// or too large is the end.
func (t Tree) MoveSession(session string, index int) (Tree, error) {
	return t.change(fmt.Sprintf("move session %q", session), func(n *Tree) error {
		at := n.sessionIndex(session)
		if at < 0 {
			return ErrNotFound
		}
		s := n.Sessions[at]
		n.Sessions = slices.Delete(n.Sessions, at, at+1)
		if index < 0 || index > len(n.Sessions) {
			index = len(n.Sessions)
		}
		n.Sessions = slices.Insert(n.Sessions, index, s)
		n.regroup()
		return nil
	})
}
