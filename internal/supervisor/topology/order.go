// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"cmp"
	"fmt"
	"slices"
)

// MoveWindow moves a window to the session, before the one that is at that index there without it. An
// index that is negative or too large is the end.
func (t Tree) MoveWindow(window, session string, index int) (Tree, error) {
	return t.change(fmt.Sprintf("move window %q", window), func(n *Tree) error {
		at := n.windowIndex(window)
		if at < 0 {
			return ErrNotFound
		}
		to := n.sessionIndex(session)
		if to < 0 {
			return fmt.Errorf("session %q: %w", session, ErrNotFound)
		}
		w := n.Windows[at]
		n.Windows = slices.Delete(n.Windows, at, at+1)
		from := w.Session
		w.Session = session
		n.Windows = slices.Insert(n.Windows, n.windowSlot(to, index), w)
		n.dropEmptySession(from)
		return nil
	})
}

// windowSlot is the place for a window at that index of the session at that place. An index that is
// negative or too large is the session's end.
func (t Tree) windowSlot(session, index int) int {
	end := len(t.Windows)
	for end > 0 && t.sessionIndex(t.Windows[end-1].Session) > session {
		end--
	}
	first := end
	for first > 0 && t.Windows[first-1].Session == t.Sessions[session].ID {
		first--
	}
	if index < 0 || index > end-first {
		return end
	}
	return first + index
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

// regroup puts the windows in the order of their sessions and leaves their order within each.
func (t *Tree) regroup() {
	rank := make(map[string]int, len(t.Sessions))
	for i, s := range t.Sessions {
		rank[s.ID] = i
	}
	slices.SortStableFunc(t.Windows, func(a, b Window) int { return cmp.Compare(rank[a.Session], rank[b.Session]) })
}
