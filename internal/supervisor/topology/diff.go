// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"cmp"
	"slices"
)

// ChangeKind is what happened to a session, a window or a pane between two trees.
type ChangeKind string

const (
	SessionCreated ChangeKind = "session.created"
	WindowCreated  ChangeKind = "window.created" // its nodes are part of it
	PaneRemoved    ChangeKind = "pane.removed"
	PaneCreated    ChangeKind = "pane.created" // its float, tags and argv0 are part of it; its end is not

	SessionRenamed ChangeKind = "session.renamed"
	SessionMoved   ChangeKind = "session.moved" // among the others
	WindowRenamed  ChangeKind = "window.renamed"
	WindowMoved    ChangeKind = "window.moved" // to another session, or among the others of its own
	PaneRenamed    ChangeKind = "pane.renamed"
	PaneTitled     ChangeKind = "pane.titled"
	PaneMoved      ChangeKind = "pane.moved" // to another window or layer, or as a float
	PaneTagged     ChangeKind = "pane.tagged"
	PaneExited     ChangeKind = "pane.exited"
	PaneRevived    ChangeKind = "pane.revived"   // given up before, and found alive
	PaneRestarted  ChangeKind = "pane.restarted" // another worker backs it
	PaneArchive    ChangeKind = "pane.archived"  // what there is of an archive is another

	WindowLayoutChanged ChangeKind = "window.layout_changed" // nodes, zoom, and so the revision
	WindowActivated     ChangeKind = "window.activated"      // another pane of it has the keys
	WindowClosed        ChangeKind = "window.closed"
	SessionClosed       ChangeKind = "session.closed"
)

// changeOrder is that of the changes of one Diff: what others are in comes before them when it is made and after
// them when it goes; the layout of a window names panes that were made, and none that were removed.
var changeOrder = []ChangeKind{
	SessionCreated, WindowCreated, PaneRemoved, PaneCreated,
	SessionRenamed, SessionMoved, WindowRenamed, WindowMoved,
	PaneRenamed, PaneTitled, PaneMoved, PaneTagged, PaneExited, PaneRevived, PaneRestarted, PaneArchive,
	WindowLayoutChanged, WindowActivated, WindowClosed, SessionClosed,
}

// Change is one of the differences between two trees. Its ids lead to what changed, in the later tree or,
// for what was removed or closed, in the earlier.
type Change struct {
	Kind    ChangeKind
	Session string
	Window  string // "" for a change of a session
	Pane    string // "" for a change of a session or a window
}

// Diff lists what an operation, or several, made of a tree: in the order of the kinds above, by number
// within a kind. It is empty for equal trees and for those that differ in counters alone. Both must be of
// one history: an id means the same in both.
func Diff(before, after Tree) []Change {
	var d differ
	d.sessions(before, after)
	d.windows(before, after)
	d.panes(before, after)
	rank := make(map[ChangeKind]int, len(changeOrder))
	for i, kind := range changeOrder {
		rank[kind] = i
	}
	slices.SortFunc(d, func(a, b Change) int {
		return cmp.Or(cmp.Compare(rank[a.Kind], rank[b.Kind]), compareIDs(a.subject(), b.subject()))
	})
	return d
}

// subject is the id of what changed.
func (c Change) subject() string { return cmp.Or(c.Pane, c.Window, c.Session) }

// differ gathers changes.
type differ []Change

func (d *differ) add(when bool, kind ChangeKind, session, window, pane string) {
	if when {
		*d = append(*d, Change{kind, session, window, pane})
	}
}

func (d *differ) sessions(before, after Tree) {
	old, now := byID(before.Sessions, Session.id), byID(after.Sessions, Session.id)
	moved := reordered(keys(before.Sessions, Session.id), keys(after.Sessions, Session.id))
	for _, s := range after.Sessions {
		was, known := old[s.ID]
		d.add(!known, SessionCreated, s.ID, "", "")
		d.add(known && was.Name != s.Name, SessionRenamed, s.ID, "", "")
		d.add(moved[s.ID], SessionMoved, s.ID, "", "")
	}
	for _, s := range before.Sessions {
		_, left := now[s.ID]
		d.add(!left, SessionClosed, s.ID, "", "")
	}
}

func (d *differ) windows(before, after Tree) {
	old, now := byID(before.Windows, Window.id), byID(after.Windows, Window.id)
	moved := movedWindows(before, after, old)
	for _, w := range after.Windows {
		was, known := old[w.ID]
		d.add(!known, WindowCreated, w.Session, w.ID, "")
		if !known {
			continue
		}
		d.add(was.Name != w.Name, WindowRenamed, w.Session, w.ID, "")
		d.add(moved[w.ID], WindowMoved, w.Session, w.ID, "")
		d.add(!was.sameLayout(w), WindowLayoutChanged, w.Session, w.ID, "")
		d.add(was.Active != w.Active, WindowActivated, w.Session, w.ID, "")
	}
	for _, w := range before.Windows {
		_, left := now[w.ID]
		d.add(!left, WindowClosed, w.Session, w.ID, "")
	}
}

// movedWindows are those of another session, and those that changed places with others that stayed.
func movedWindows(before, after Tree, old map[string]Window) map[string]bool {
	moved := map[string]bool{}
	stayed := map[string][]string{} // by session, in the later order
	for _, w := range after.Windows {
		was, known := old[w.ID]
		if known && was.Session != w.Session {
			moved[w.ID] = true
		} else if known {
			stayed[w.Session] = append(stayed[w.Session], w.ID)
		}
	}
	was := map[string][]string{}
	for _, w := range before.Windows {
		was[w.Session] = append(was[w.Session], w.ID)
	}
	for session, ids := range stayed {
		for id := range reordered(was[session], ids) {
			moved[id] = true
		}
	}
	return moved
}

func (d *differ) panes(before, after Tree) {
	old, now := byID(before.Panes, Pane.id), byID(after.Panes, Pane.id)
	sessions := map[string]string{} // by window, the later one last
	for _, w := range slices.Concat(before.Windows, after.Windows) {
		sessions[w.ID] = w.Session
	}
	for _, p := range after.Panes {
		session := sessions[p.Window]
		was, known := old[p.ID]
		d.add(!known, PaneCreated, session, p.Window, p.ID)
		d.add(p.End != nil && (!known || was.End == nil || !was.sameEnd(p)), PaneExited, session, p.Window, p.ID)
		if !known {
			continue
		}
		d.add(was.Name != p.Name, PaneRenamed, session, p.Window, p.ID)
		d.add(was.Title != p.Title, PaneTitled, session, p.Window, p.ID)
		d.add(was.Window != p.Window || !was.Float.equal(p.Float), PaneMoved, session, p.Window, p.ID)
		d.add(!slices.Equal(was.Tags, p.Tags), PaneTagged, session, p.Window, p.ID)
		another := was.SessionID != p.SessionID
		d.add(!another && was.End != nil && p.End == nil, PaneRevived, session, p.Window, p.ID)
		d.add(another, PaneRestarted, session, p.Window, p.ID)
		d.add(!equalPointers(was.Archive, p.Archive), PaneArchive, session, p.Window, p.ID)
	}
	were := byID(before.Windows, Window.id)
	for _, p := range before.Panes {
		_, left := now[p.ID]
		d.add(!left, PaneRemoved, were[p.Window].Session, p.Window, p.ID)
	}
}

func (s Session) id() string { return s.ID }
func (w Window) id() string  { return w.ID }
func (p Pane) id() string    { return p.ID }

func keys[T any](of []T, id func(T) string) []string {
	out := make([]string, len(of))
	for i, x := range of {
		out[i] = id(x)
	}
	return out
}

func byID[T any](of []T, id func(T) string) map[string]T {
	out := make(map[string]T, len(of))
	for _, x := range of {
		out[id(x)] = x
	}
	return out
}

// reordered finds the fewest ids of after that had to move for the order of before to become that of after.
// All others are a longest row that grows in both. Ids that only one of them has are left out.
func reordered(before, after []string) map[string]bool {
	at := make(map[string]int, len(before))
	for i, id := range before {
		at[id] = i
	}
	var ends []int // ends[n] is the place in after where the row of n+1 ids with the smallest last one ends
	previous := make([]int, len(after))
	moved := map[string]bool{}
	for i, id := range after {
		place, known := at[id]
		if !known {
			continue
		}
		n, _ := slices.BinarySearchFunc(ends, place, func(end, place int) int { return cmp.Compare(at[after[end]], place) })
		if previous[i] = -1; n > 0 {
			previous[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		}
		ends[n] = i
		moved[id] = true
	}
	if len(ends) == 0 {
		return nil
	}
	for i := ends[len(ends)-1]; i >= 0; i = previous[i] {
		delete(moved, after[i])
	}
	return moved
}
