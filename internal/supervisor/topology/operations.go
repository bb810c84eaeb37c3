// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// NewPane opens a pane for the worker in a window of its own, at the end of the session. An empty session
// means the first one, which is made when there is none.
func (t Tree) NewPane(session, worker, name string) (Tree, Pane, error) {
	name, err := CleanName(name)
	if err != nil {
		return t, Pane{}, err
	}
	if err := t.admits(worker); err != nil {
		return t, Pane{}, err
	}
	n := t.clone()
	at := 0
	if session != "" {
		if at = n.sessionIndex(session); at < 0 {
			return t, Pane{}, fmt.Errorf("open pane in session %q: %w", session, ErrNotFound)
		}
	} else if len(n.Sessions) == 0 {
		at = n.addSession(defaultName)
	}
	return n, n.addPane(at, worker, name), nil
}

// Adopt opens a pane for a live worker that the tree does not know, in the session of that name. A worker
// that it knows keeps its pane.
func (t Tree) Adopt(worker string) (Tree, Pane, error) {
	if p, ok := t.PaneOf(worker); ok {
		return t, p, nil
	}
	if err := t.admits(worker); err != nil {
		return t, Pane{}, err
	}
	n := t.clone()
	at := slices.IndexFunc(n.Sessions, func(s Session) bool { return s.Name == AdoptedName })
	if at < 0 {
		at = n.addSession(AdoptedName)
	}
	return n, n.addPane(at, worker, ""), nil
}

// admits checks a worker that is about to back a new pane.
func (t Tree) admits(worker string) error {
	if !isWorker(worker) {
		return fmt.Errorf("open pane for %q: %w", worker, ErrWorker)
	}
	if _, known := t.PaneOf(worker); known {
		return fmt.Errorf("open pane for worker %s: %w", worker, ErrDuplicate)
	}
	if len(t.Panes) >= PanesMax {
		return fmt.Errorf("open pane (there are %d): %w", len(t.Panes), ErrFull)
	}
	return nil
}

// addSession and addPane write to a clone of their own.
func (t *Tree) addSession(name string) int {
	t.Sessions = append(t.Sessions, Session{ID: makeID('s', t.Next.Session), Name: name})
	t.Next.Session++
	return len(t.Sessions) - 1
}

func (t *Tree) addPane(session int, worker, name string) Pane {
	p := Pane{ID: makeID('p', t.Next.Pane), SessionID: worker, Name: name}
	w := Window{ID: makeID('w', t.Next.Window), Pane: p.ID}
	t.Next.Pane++
	t.Next.Window++
	t.Panes = append(t.Panes, p)
	t.Sessions[session].Windows = append(t.Sessions[session].Windows, w)
	return p
}

// Rename names a session, a window or a pane, whichever has that id. A session needs a name; an empty one
// takes the name of the others away.
func (t Tree) Rename(id, name string) (Tree, error) {
	name, err := CleanName(name)
	if err != nil {
		return t, fmt.Errorf("rename %s: %w", id, err)
	}
	n := t.clone()
	slot := n.nameOf(id)
	if slot == nil {
		return t, fmt.Errorf("rename %q: %w", id, ErrNotFound)
	}
	if name == "" && strings.HasPrefix(id, "s") {
		return t, fmt.Errorf("rename %s: a session needs a name: %w", id, ErrName)
	}
	*slot = name
	return n, nil
}

// nameOf points to the name of what has that id, or is nil.
func (t *Tree) nameOf(id string) *string {
	if i := t.paneIndex(id); i >= 0 {
		return &t.Panes[i].Name
	}
	for i := range t.Sessions {
		if t.Sessions[i].ID == id {
			return &t.Sessions[i].Name
		}
		for j := range t.Sessions[i].Windows {
			if t.Sessions[i].Windows[j].ID == id {
				return &t.Sessions[i].Windows[j].Name
			}
		}
	}
	return nil
}

// Close takes the pane away, with its window, and with its session when that was the last window. It says
// nothing to the worker.
func (t Tree) Close(pane string) (Tree, error) {
	at := t.paneIndex(pane)
	if at < 0 {
		return t, fmt.Errorf("close pane %q: %w", pane, ErrNotFound)
	}
	n := t.clone()
	n.Panes = slices.Delete(n.Panes, at, at+1)
	for i := range n.Sessions {
		n.Sessions[i].Windows = slices.DeleteFunc(n.Sessions[i].Windows, func(w Window) bool { return w.Pane == pane })
	}
	n.Sessions = slices.DeleteFunc(n.Sessions, func(s Session) bool { return len(s.Windows) == 0 })
	return n, nil
}

// SetTitle keeps what the program in the pane set, made fit to be shown.
func (t Tree) SetTitle(pane, title string) (Tree, error) {
	return t.change(pane, func(p *Pane) { p.Title = CleanTitle(title) })
}

// Ended keeps how the shell of the pane ended. The first end stays: what is reported later, such as the
// worker's going, cannot be better known.
func (t Tree) Ended(pane string, end End) (Tree, error) {
	if err := end.check(); err != nil {
		return t, fmt.Errorf("end pane %s: %w", pane, err)
	}
	return t.change(pane, func(p *Pane) {
		if p.End == nil {
			p.End = &end
		}
	})
}

// Lost marks the pane as ended in a way that nobody knows.
func (t Tree) Lost(pane string) (Tree, error) { return t.Ended(pane, End{}) }

func (t Tree) change(pane string, f func(*Pane)) (Tree, error) {
	at := t.paneIndex(pane)
	if at < 0 {
		return t, fmt.Errorf("change pane %q: %w", pane, ErrNotFound)
	}
	n := t.clone()
	f(&n.Panes[at])
	return n, nil
}

// Reconcile brings the tree to what was found at start. Adopted workers are live: those that the tree does
// not know get a pane, and one that had been given up is live again. Workers that were refused are left
// as they were known, because something still holds their reservation. All other panes are lost. Adopted
// workers for which there is no room are returned.
func (t Tree) Reconcile(adopted, refused []string) (Tree, []string) {
	n := t.clone()
	live, held := setOf(adopted), setOf(refused)
	for i := range n.Panes {
		switch p := &n.Panes[i]; {
		case live[p.SessionID]:
			p.End = nil
		case !held[p.SessionID] && p.End == nil:
			p.End = &End{}
		}
	}
	var out []string
	for _, worker := range adopted {
		next, _, err := n.Adopt(worker)
		if err != nil {
			out = append(out, worker)
			continue
		}
		n = next
	}
	return n, out
}

func setOf(texts []string) map[string]bool {
	set := make(map[string]bool, len(texts))
	for _, t := range texts {
		set[t] = true
	}
	return set
}

func (e End) check() error {
	if e.ExitCode != nil && e.Signal != "" {
		return errors.New("both a code and a signal")
	}
	if e.ExitCode != nil && (*e.ExitCode < 0 || *e.ExitCode > math.MaxUint32) {
		return fmt.Errorf("exit code %d", *e.ExitCode)
	}
	if len(e.Signal) > signalMax || keepShown(e.Signal) != e.Signal || strings.ToValidUTF8(e.Signal, "") != e.Signal {
		return fmt.Errorf("bad signal name %q", e.Signal)
	}
	return nil
}

// isWorker reports whether s is a UUID in lower case: the form in which workers are named on disk.
func isWorker(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch dash := i == 8 || i == 13 || i == 18 || i == 23; {
		case dash != (s[i] == '-'):
			return false
		case !dash && (s[i] < '0' || s[i] > '9') && (s[i] < 'a' || s[i] > 'f'):
			return false
		}
	}
	return true
}
