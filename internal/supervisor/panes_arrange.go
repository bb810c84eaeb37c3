// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"spawn/internal/supervisor/topology"
)

var (
	// ErrNoWindow means that there is no window of that id, ErrNoSession that there is no session.
	ErrNoWindow  = errors.New("no such window")
	ErrNoSession = errors.New("no such session")
)

// there reports, by its kind, an id that the tree does not have.
func there(t topology.Tree, id string) error {
	if _, known := t.Ancestors(id); known {
		return nil
	}
	kind := ErrNotFound
	switch id[:min(1, len(id))] {
	case "w":
		kind = ErrNoWindow
	case "s":
		kind = ErrNoSession
	}
	return fmt.Errorf("%q: %w", id, kind)
}

// arrange applies one operation to the tree: what comes of it is kept, told to everybody, and on disk when
// arrange returns without error. An operation that fails changes nothing. op is called with panes.mu held.
func (ps *panes) arrange(op func(topology.Tree) (topology.Tree, error)) (topology.Tree, error) {
	ps.mu.Lock()
	before := ps.mu.tree
	after, err := op(before)
	if err == nil {
		ps.putLocked(before, after)
	}
	ps.mu.Unlock()
	if err != nil {
		return before, err
	}
	for _, id := range differing(before, after) {
		ps.tell(id)
	}
	return after, ps.save()
}

// change is arrange for an operation on ids, of which one that is not there is told by its kind.
func (ps *panes) change(op func(topology.Tree) (topology.Tree, error), ids ...string) (topology.Tree, error) {
	return ps.arrange(func(t topology.Tree) (topology.Tree, error) {
		for _, id := range ids {
			if err := there(t, id); err != nil {
				return t, err
			}
		}
		return op(t)
	})
}

// arrangement is the tree as it is now.
func (ps *panes) arrangement() topology.Tree {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.mu.tree
}

// putLocked makes after the tree and tells what that changes. Nothing else does, once the panes are open.
func (ps *panes) putLocked(before, after topology.Tree) {
	ps.commitLocked(before, after)
	ps.mu.tree = after
}

// seat is where a pane is found in the arrangement.
type seat struct {
	Session      string // id of the session of windows that it is in
	SessionName  string
	SessionIndex int // among the sessions
	Window       string
	Index        int // of the window within its session
	Place        int // within the window: tiles in preorder, then floats from the back to the front
	Layer        topology.Layer
}

// seatOf finds one pane, seats all of them.
func seatOf(t topology.Tree, p topology.Pane) seat {
	where, _ := t.Locate(p.ID)
	s := seat{Session: where.Session, Window: where.Window, Index: where.Index, Layer: p.Layer()}
	s.SessionIndex = slices.IndexFunc(t.Sessions, func(o topology.Session) bool { return o.ID == s.Session })
	s.SessionName = t.Sessions[s.SessionIndex].Name
	s.Place = slices.IndexFunc(t.PanesOf(p.Window), func(o topology.Pane) bool { return o.ID == p.ID })
	return s
}

func seats(t topology.Tree) map[string]seat {
	bySession := make(map[string]seat, len(t.Sessions))
	for i, s := range t.Sessions {
		bySession[s.ID] = seat{Session: s.ID, SessionName: s.Name, SessionIndex: i}
	}
	out, windows := make(map[string]seat, len(t.Panes)), t.Places()
	window, place := "", 0
	for _, p := range t.List() {
		if place++; p.Window != window {
			window, place = p.Window, 0
		}
		s := bySession[windows[window].Session]
		s.Window, s.Index, s.Place, s.Layer = window, windows[window].Index, place, p.Layer()
		out[p.ID] = s
	}
	return out
}

// differing lists the panes of which pages are shown something else in the later tree: new and removed
// ones, those that were named, and those that are found elsewhere.
func differing(before, after topology.Tree) []string {
	was := map[string]topology.Pane{}
	for _, p := range before.Panes {
		was[p.ID] = p
	}
	from, to := seats(before), seats(after)
	var out []string
	for _, p := range after.Panes {
		old, known := was[p.ID]
		if !known || old.Name != p.Name || from[p.ID] != to[p.ID] {
			out = append(out, p.ID)
		}
		delete(was, p.ID)
	}
	return slices.AppendSeq(out, maps.Keys(was))
}
