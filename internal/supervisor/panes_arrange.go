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
func (ps *panes) putLocked(before, after topology.Tree) { ps.putWithLocked(before, after, aside{}) }

// putWithLocked is putLocked for a mutation that does more than that, all of which is told as one.
func (ps *panes) putWithLocked(before, after topology.Tree, also aside) {
	ps.commitLocked(before, after, also)
	ps.mu.tree = after
	if rearranged(before, after) {
		ps.board.Arranged()
	}
}

// rearranged reports whether sessions, windows or what is drawn in them differ. Which pane has the keys is
// each page's own matter.
func rearranged(before, after topology.Tree) bool {
	session := func(a, b topology.Session) bool { return a.ID == b.ID && a.Name == b.Name }
	window := func(a, b topology.Window) bool {
		return a.ID == b.ID && a.Session == b.Session && a.Name == b.Name && a.Revision == b.Revision
	}
	return !slices.EqualFunc(before.Sessions, after.Sessions, session) || !slices.EqualFunc(before.Windows, after.Windows, window) ||
		!slices.EqualFunc(before.Floats(), after.Floats(), topology.Pane.SameFloat)
}

// seat is where a pane is found in the arrangement.
type seat struct {
	Session string // id of the session of windows that it is in
	Window  string
	Index   int // of the window within its session
	Layer   topology.Layer
}

// seatOf finds one pane, seats all of them.
func seatOf(t topology.Tree, p topology.Pane) seat {
	where, _ := t.Locate(p.ID)
	return seat{Session: where.Session, Window: where.Window, Index: where.Index, Layer: p.Layer()}
}

func seats(t topology.Tree) map[string]seat {
	out, windows := make(map[string]seat, len(t.Panes)), t.Places()
	for _, p := range t.Panes {
		w := windows[p.Window]
		out[p.ID] = seat{Session: w.Session, Window: p.Window, Index: w.Index, Layer: p.Layer()}
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
