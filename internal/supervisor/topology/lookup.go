// SPDX-License-Identifier: Apache-2.0

package topology

import "slices"

// Root is above every session: who may act on it may act on all.
const Root = "server:root"

// Place is where a window is found, and what is in it.
type Place struct {
	Session, Window string
	Index           int // of the window within its session
}

// Empty reports whether there is no session, and so no window and no pane.
func (t Tree) Empty() bool { return len(t.Sessions) == 0 && len(t.Windows) == 0 && len(t.Panes) == 0 }

// Session returns the session with that id.
func (t Tree) Session(id string) (Session, bool) {
	if i := t.sessionIndex(id); i >= 0 {
		return t.Sessions[i], true
	}
	return Session{}, false
}

// Window returns the window with that id.
func (t Tree) Window(id string) (Window, bool) {
	if i := t.windowIndex(id); i >= 0 {
		return t.Windows[i], true
	}
	return Window{}, false
}

// Pane returns the pane with that id.
func (t Tree) Pane(id string) (Pane, bool) {
	if i := t.paneIndex(id); i >= 0 {
		return t.Panes[i], true
	}
	return Pane{}, false
}

// PaneOf returns the pane that the worker backs.
func (t Tree) PaneOf(worker string) (Pane, bool) {
	i := slices.IndexFunc(t.Panes, func(p Pane) bool { return p.SessionID == worker && worker != "" })
	if i < 0 {
		return Pane{}, false
	}
	return t.Panes[i], true
}

// Locate says where the pane is.
func (t Tree) Locate(pane string) (Place, bool) {
	p, ok := t.Pane(pane)
	if !ok {
		return Place{}, false
	}
	at := t.windowIndex(p.Window)
	session, first := t.Windows[at].Session, at
	for first > 0 && t.Windows[first-1].Session == session {
		first--
	}
	return Place{session, p.Window, at - first}, true
}

// Places says where every window is, by its id.
func (t Tree) Places() map[string]Place {
	out := make(map[string]Place, len(t.Windows))
	for i, index := 0, 0; i < len(t.Windows); i, index = i+1, index+1 {
		w := t.Windows[i]
		if i > 0 && t.Windows[i-1].Session != w.Session {
			index = 0
		}
		out[w.ID] = Place{w.Session, w.ID, index}
	}
	return out
}

// WindowsOf lists the windows of a session in their order.
func (t Tree) WindowsOf(session string) []Window {
	var out []Window
	for _, w := range t.Windows {
		if w.Session == session {
			out = append(out, w)
		}
	}
	return out
}

// PanesOf lists the panes of a window: the tiled ones in preorder, then the floats from the back to the front.
func (t Tree) PanesOf(window string) []Pane {
	w, ok := t.Window(window)
	if !ok {
		return nil
	}
	return append(t.tiles(w), t.floats(window)...)
}

func (t Tree) tiles(w Window) []Pane {
	var out []Pane
	for _, id := range w.leaves() {
		if p, ok := t.Pane(id); ok {
			out = append(out, p)
		}
	}
	return out
}

// List lists every pane: by session, by window, within a window as PanesOf does.
func (t Tree) List() []Pane {
	floats := map[string][]Pane{}
	for _, p := range t.Panes {
		if p.Float != nil {
			floats[p.Window] = append(floats[p.Window], p)
		}
	}
	out := make([]Pane, 0, len(t.Panes))
	for _, w := range t.Windows {
		above := floats[w.ID]
		slices.SortFunc(above, byZ)
		out = append(append(out, t.tiles(w)...), above...)
	}
	return out
}

// Ancestors lists what the session, window or pane is in, from Root to itself: who may act on one of them
// may act on it. It reports false for an id that is not there.
func (t Tree) Ancestors(id string) ([]string, bool) {
	if id == Root {
		return []string{Root}, true
	}
	if s, ok := t.Session(id); ok {
		return []string{Root, s.ID}, true
	}
	if w, ok := t.Window(id); ok {
		return []string{Root, w.Session, w.ID}, true
	}
	if p, ok := t.Pane(id); ok {
		above, _ := t.Ancestors(p.Window)
		return append(above, p.ID), true
	}
	return nil, false
}

func (t Tree) sessionIndex(id string) int {
	return slices.IndexFunc(t.Sessions, func(s Session) bool { return s.ID == id })
}

func (t Tree) windowIndex(id string) int {
	return slices.IndexFunc(t.Windows, func(w Window) bool { return w.ID == id })
}

func (t Tree) paneIndex(id string) int {
	i, ok := slices.BinarySearchFunc(t.Panes, id, func(p Pane, id string) int { return compareIDs(p.ID, id) })
	if !ok {
		return -1
	}
	return i
}

// windowOf points to a window that is known to be there.
func (t *Tree) windowOf(id string) *Window { return &t.Windows[t.windowIndex(id)] }

// Equal reports whether both trees hold the same, in the same order.
func (t Tree) Equal(o Tree) bool {
	return t.Next == o.Next && t.Z == o.Z && slices.Equal(t.Sessions, o.Sessions) &&
		slices.EqualFunc(t.Windows, o.Windows, Window.equal) && slices.EqualFunc(t.Panes, o.Panes, Pane.equal)
}

func (w Window) equal(o Window) bool {
	return w.ID == o.ID && w.Session == o.Session && w.Name == o.Name && w.Kept == o.Kept && w.Active == o.Active && w.sameLayout(o)
}

func (w Window) sameLayout(o Window) bool {
	return w.Revision == o.Revision && w.Zoomed == o.Zoomed && slices.Equal(w.Nodes, o.Nodes)
}

func (p Pane) equal(o Pane) bool {
	return p.ID == o.ID && p.Window == o.Window && p.SessionID == o.SessionID && p.Name == o.Name && p.Title == o.Title && p.Argv0 == o.Argv0 &&
		p.sameEnd(o) && p.Float.equal(o.Float) && slices.Equal(p.Tags, o.Tags) && equalPointers(p.Archive, o.Archive) &&
		equalPointers(p.Relaunch, o.Relaunch)
}

func (p Pane) sameEnd(o Pane) bool {
	return (p.End == nil) == (o.End == nil) && (p.End == nil || p.End.equal(*o.End))
}
