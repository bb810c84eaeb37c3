// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"
	"slices"
)

// Close takes away the session, window or pane with that id, and all that is in it. A window goes with its
// last pane and a session with its last window, unless they were made empty. It says nothing to workers.
func (t Tree) Close(id string) (Tree, error) {
	return t.change(fmt.Sprintf("close %q", id), func(n *Tree) error {
		switch {
		case n.paneIndex(id) >= 0:
			n.closePane(id)
		case n.windowIndex(id) >= 0:
			n.closeWindow(id)
		case n.sessionIndex(id) >= 0:
			n.closeSession(id)
		default:
			return ErrNotFound
		}
		return nil
	})
}

func (t *Tree) closePane(id string) {
	at := t.paneIndex(id)
	p := t.Panes[at]
	t.leave(p)
	t.Panes = slices.Delete(t.Panes, at, at+1)
	t.dropEmpty(p.Window)
}

func (t *Tree) closeWindow(id string) {
	t.Panes = slices.DeleteFunc(t.Panes, func(p Pane) bool { return p.Window == id })
	t.windowOf(id).Kept = false
	t.dropEmpty(id)
}

func (t *Tree) closeSession(id string) {
	for _, w := range t.WindowsOf(id) {
		t.Panes = slices.DeleteFunc(t.Panes, func(p Pane) bool { return p.Window == w.ID })
	}
	t.Windows = slices.DeleteFunc(t.Windows, func(w Window) bool { return w.Session == id })
	at := t.sessionIndex(id)
	t.Sessions = slices.Delete(t.Sessions, at, at+1)
}

// leave takes a pane's place in its window from it: its leaf, with the zoom of the window, and its keys.
func (t *Tree) leave(p Pane) {
	w := t.windowOf(p.Window)
	before := w.leaves()
	if p.Float == nil {
		w.Nodes, w.Zoomed = plant(w.Nodes).prune(p.ID).nodes(), ""
	}
	if w.Active == p.ID {
		w.Active = t.heir(*w, p.ID, slices.Index(before, p.ID))
	}
}

// heir is the pane that gets the keys of one that has left the window: after a tile the tile that followed
// it, or the last one; after a float, which is at -1, or without tiles, the float in front. A zoom comes
// before the other tiles.
func (t Tree) heir(w Window, gone string, at int) string {
	tiles := w.leaves()
	floats := slices.DeleteFunc(t.floats(w.ID), func(p Pane) bool { return p.ID == gone })
	switch {
	case len(floats) > 0 && (at < 0 || len(tiles) == 0):
		return floats[len(floats)-1].ID
	case w.Zoomed != "":
		return w.Zoomed
	case len(tiles) > 0:
		return tiles[min(max(at, 0), len(tiles)-1)]
	}
	return ""
}

// dropEmpty takes a window away when its last pane is gone, unless it is kept, and then its session likewise.
func (t *Tree) dropEmpty(window string) {
	at := t.windowIndex(window)
	w := t.Windows[at]
	if w.Kept || slices.ContainsFunc(t.Panes, func(p Pane) bool { return p.Window == window }) {
		return
	}
	t.Windows = slices.Delete(t.Windows, at, at+1)
	t.dropEmptySession(w.Session)
}

func (t *Tree) dropEmptySession(id string) {
	at := t.sessionIndex(id)
	if t.Sessions[at].Kept || slices.ContainsFunc(t.Windows, func(w Window) bool { return w.Session == id }) {
		return
	}
	t.Sessions = slices.Delete(t.Sessions, at, at+1)
}
