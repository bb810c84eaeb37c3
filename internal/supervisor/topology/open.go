// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"
	"slices"
)

// NewSession opens a session without windows at the end. It stays until it is closed.
func (t Tree) NewSession(name string) (Tree, Session, error) {
	var made Session
	n, err := t.change("open session", func(n *Tree) error {
		at, err := n.newSession(name, true)
		if err == nil {
			made = n.Sessions[at]
		}
		return err
	})
	return n, made, err
}

// NewWindow opens a window without panes at the end of the session. It stays until it is closed. An empty
// session means the first one, which is made when there is none.
func (t Tree) NewWindow(session, name string) (Tree, Window, error) {
	var made Window
	n, err := t.change("open window", func(n *Tree) error {
		id, err := n.newWindow(session, name, true)
		if err == nil {
			made, _ = n.Window(id)
		}
		return err
	})
	return n, made, err
}

// NewPane opens a pane in a window of its own, at the end of the session. An empty session means the first
// one, which is made when there is none.
func (t Tree) NewPane(session string, s Start) (Tree, Pane, error) {
	var made Pane
	n, err := t.change("open pane", func(n *Tree) (err error) {
		made, err = n.newTab(session, s)
		return err
	})
	return n, made, err
}

// Split opens a pane in a window's tree, beside what is there. The new pane has the keys.
func (t Tree) Split(to Spot, s Start) (Tree, Pane, error) {
	var made Pane
	n, err := t.change("split", func(n *Tree) error {
		window, err := n.windowAt(to)
		if err != nil {
			return err
		}
		if made, err = n.newPane(window, s); err != nil {
			return err
		}
		n.insert(made.ID, window, to)
		return nil
	})
	return n, made, err
}

// NewFloat opens a pane in front of the others of the window. It has the keys.
func (t Tree) NewFloat(window string, f Float, s Start) (Tree, Pane, error) {
	var made Pane
	n, err := t.change("open float", func(n *Tree) error {
		w := n.windowIndex(window)
		if w < 0 {
			return fmt.Errorf("window %q: %w", window, ErrNotFound)
		}
		float, err := n.onTop(f)
		if err != nil {
			return err
		}
		if made, err = n.newPane(window, s); err != nil {
			return err
		}
		made.Float = float
		n.Panes[len(n.Panes)-1] = made
		n.Windows[w].Active = made.ID
		return nil
	})
	return n, made, err
}

// Adopt opens a pane for a live worker that the tree does not know, in the session of that name. A worker
// that it knows keeps its pane; one that was started for an archive takes its place.
func (t Tree) Adopt(worker string) (Tree, Pane, error) {
	if p, ok := t.PaneOf(worker); ok {
		return t, p, nil
	}
	if p, ok := t.RelaunchBy(worker); ok {
		return t.ReplaceArchive(p.ID, p.Relaunch.start())
	}
	var made Pane
	n, err := t.change("adopt worker", func(n *Tree) (err error) {
		made, err = n.adopt(worker)
		return err
	})
	return n, made, err
}

// What follows writes to a clone of its own, which an error leaves half changed: it is thrown away then, or
// cut back to what it was, since everything is appended before anything is inserted.

func (t *Tree) adopt(worker string) (Pane, error) {
	at := slices.IndexFunc(t.Sessions, func(s Session) bool { return s.Name == AdoptedName })
	if at < 0 {
		var err error
		if at, err = t.newSession(AdoptedName, false); err != nil {
			return Pane{}, err
		}
	}
	return t.newTab(t.Sessions[at].ID, Start{Worker: worker})
}

// admits checks a worker that is about to back a new pane.
func (t Tree) admits(worker string) error {
	if err := t.backs(worker); err != nil {
		return err
	}
	if len(t.Panes) >= PanesMax {
		return fmt.Errorf("there are %d panes: %w", len(t.Panes), ErrFull)
	}
	return nil
}

// backs checks a worker that is about to back a pane, be it a new one or not.
func (t Tree) backs(worker string) error {
	if !isUUID(worker) {
		return fmt.Errorf("worker %q: %w", worker, ErrWorker)
	}
	if p, known := t.PaneOf(worker); known {
		return fmt.Errorf("worker %s has pane %s: %w", worker, p.ID, ErrDuplicate)
	}
	if p, known := t.RelaunchBy(worker); known {
		return fmt.Errorf("worker %s is for the place of %s: %w", worker, p.ID, ErrDuplicate)
	}
	return nil
}

func (t *Tree) newSession(name string, kept bool) (int, error) {
	name, err := cleanSessionName(name)
	if err != nil {
		return 0, err
	}
	if len(t.Sessions) >= SessionsMax {
		return 0, fmt.Errorf("there are %d sessions: %w", len(t.Sessions), ErrFull)
	}
	id, err := take('s', &t.Next.Session)
	if err != nil {
		return 0, err
	}
	t.Sessions = append(t.Sessions, Session{ID: id, Name: name, Kept: kept})
	return len(t.Sessions) - 1, nil
}

func (t *Tree) newWindow(session, name string, kept bool) (string, error) {
	name, err := CleanName(name)
	if err != nil {
		return "", err
	}
	at := t.sessionIndex(session)
	switch {
	case session != "" && at < 0:
		return "", fmt.Errorf("session %q: %w", session, ErrNotFound)
	case session == "" && len(t.Sessions) > 0:
		at = 0
	case session == "":
		if at, err = t.newSession(defaultName, false); err != nil {
			return "", err
		}
	}
	if len(t.Windows) >= WindowsMax {
		return "", fmt.Errorf("there are %d windows: %w", len(t.Windows), ErrFull)
	}
	id, err := take('w', &t.Next.Window)
	if err != nil {
		return "", err
	}
	w := Window{ID: id, Session: t.Sessions[at].ID, Name: name, Kept: kept, Revision: 1}
	t.Windows = slices.Insert(t.Windows, t.windowSlot(at, -1), w)
	return id, nil
}

// newTab makes a window with one tiled pane.
func (t *Tree) newTab(session string, s Start) (Pane, error) {
	p, err := t.newPane("", s)
	if err != nil {
		return Pane{}, err
	}
	if p.Window, err = t.newWindow(session, "", false); err != nil {
		return Pane{}, err
	}
	t.Panes[len(t.Panes)-1] = p
	w := t.windowOf(p.Window)
	w.Active, w.Nodes = p.ID, []Node{{Kind: NodePane, Pane: p.ID}}
	return p, nil
}

// newPane makes a pane that is in no layer yet: the caller puts it in one.
func (t *Tree) newPane(window string, s Start) (Pane, error) {
	name, err := CleanName(s.Name)
	if err != nil {
		return Pane{}, err
	}
	if err := t.admits(s.Worker); err != nil {
		return Pane{}, err
	}
	tags, err := ownedBy(s.Owner)
	if err != nil {
		return Pane{}, err
	}
	id, err := take('p', &t.Next.Pane)
	if err != nil {
		return Pane{}, err
	}
	p := Pane{ID: id, Window: window, SessionID: s.Worker, Name: name, Argv0: CleanArgv0(s.Argv0), Tags: tags}
	t.Panes = append(t.Panes, p)
	return p, nil
}
