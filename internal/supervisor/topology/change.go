// SPDX-License-Identifier: Apache-2.0

package topology

import "fmt"

// Rename names a session, a window or a pane, whichever has that id. A session needs a name; an empty one
// takes the name of the others away.
func (t Tree) Rename(id, name string) (Tree, error) {
	return t.change(fmt.Sprintf("rename %q", id), func(n *Tree) (err error) {
		if at := n.sessionIndex(id); at >= 0 {
			n.Sessions[at].Name, err = cleanSessionName(name)
			return err
		}
		slot := n.nameOf(id)
		if slot == nil {
			return ErrNotFound
		}
		*slot, err = CleanName(name)
		return err
	})
}

// nameOf points to the name of a window or pane, or is nil.
func (t *Tree) nameOf(id string) *string {
	if i := t.paneIndex(id); i >= 0 {
		return &t.Panes[i].Name
	}
	if i := t.windowIndex(id); i >= 0 {
		return &t.Windows[i].Name
	}
	return nil
}

// SetTitle keeps what the program in the pane set, made fit to be shown.
func (t Tree) SetTitle(pane, title string) (Tree, error) {
	return t.changePane("title", pane, func(p *Pane) error {
		p.Title = CleanTitle(title)
		return nil
	})
}

// SetActive gives a pane the keys of its window. Another tile than the zoomed one ends the zoom.
func (t Tree) SetActive(pane string) (Tree, error) {
	return t.change(fmt.Sprintf("activate pane %q", pane), func(n *Tree) error {
		p, ok := n.Pane(pane)
		if !ok {
			return ErrNotFound
		}
		n.windowOf(p.Window).activate(p)
		return nil
	})
}

// Focus is SetActive for a pane that somebody turned to: a float comes to the front as well.
func (t Tree) Focus(pane string) (Tree, error) {
	next, err := t.SetActive(pane)
	if err != nil {
		return t, err
	}
	if at, _ := next.Pane(pane); at.Float == nil {
		return next, nil
	}
	raised, err := next.Raise(pane)
	if err != nil {
		return t, err
	}
	return raised, nil
}

// activate gives a pane of the window the keys. What has them is never behind a zoom.
func (w *Window) activate(p Pane) {
	w.Active = p.ID
	if p.Float == nil && w.Zoomed != p.ID {
		w.Zoomed = ""
	}
}

// Zoom gives a tiled pane the whole area of its window, and the keys.
func (t Tree) Zoom(pane string) (Tree, error) {
	return t.change(fmt.Sprintf("zoom pane %q", pane), func(n *Tree) error {
		p, ok := n.Pane(pane)
		if !ok {
			return ErrNotFound
		}
		if p.Float != nil {
			return fmt.Errorf("it floats: %w", ErrLayer)
		}
		w := n.windowOf(p.Window)
		w.Active, w.Zoomed = pane, pane
		return nil
	})
}

// Unzoom shows every tile of the window again.
func (t Tree) Unzoom(window string) (Tree, error) {
	return t.change(fmt.Sprintf("unzoom window %q", window), func(n *Tree) error {
		at := n.windowIndex(window)
		if at < 0 {
			return ErrNotFound
		}
		n.Windows[at].Zoomed = ""
		return nil
	})
}
