// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"errors"
	"fmt"
)

// check holds every rule that the operations keep.
func (t Tree) check() error {
	if err := t.checkCounts(); err != nil {
		return err
	}
	for _, n := range []uint64{t.Next.Session, t.Next.Window, t.Next.Pane, t.Z} {
		if n > CounterMax {
			return fmt.Errorf("counter %d: %w", n, ErrOverflow)
		}
	}
	sessions, err := t.checkSessions()
	if err != nil {
		return err
	}
	panes, err := t.checkPanes()
	if err != nil {
		return err
	}
	return t.checkWindows(sessions, panes)
}

// checkCounts bounds everything, before anything is followed.
func (t Tree) checkCounts() error {
	items := len(t.Sessions) + len(t.Windows) + len(t.Panes)
	for _, w := range t.Windows {
		items += len(w.Nodes)
	}
	switch {
	case items > ItemsMax:
		return fmt.Errorf("%d items: %w", items, ErrFull)
	case len(t.Sessions) > SessionsMax:
		return fmt.Errorf("%d sessions: %w", len(t.Sessions), ErrFull)
	case len(t.Windows) > WindowsMax:
		return fmt.Errorf("%d windows: %w", len(t.Windows), ErrFull)
	case len(t.Panes) > PanesMax:
		return fmt.Errorf("%d panes: %w", len(t.Panes), ErrFull)
	}
	return nil
}

// checkSessions returns the place of each session.
func (t Tree) checkSessions() (map[string]int, error) {
	at := make(map[string]int, len(t.Sessions))
	windows := make(map[string]int, len(t.Sessions))
	for _, w := range t.Windows {
		windows[w.Session]++
	}
	for i, s := range t.Sessions {
		if err := checkID('s', s.ID, t.Next.Session); err != nil {
			return nil, err
		}
		if _, twice := at[s.ID]; twice {
			return nil, fmt.Errorf("session %s is there twice", s.ID)
		}
		if !IsSessionName(s.Name) {
			return nil, fmt.Errorf("session %s has the name %q: %w", s.ID, s.Name, ErrName)
		}
		if windows[s.ID] == 0 && !s.Kept {
			return nil, fmt.Errorf("session %s has no window and is not kept", s.ID)
		}
		at[s.ID] = i
	}
	return at, nil
}

// checkPanes returns each pane by its id.
func (t Tree) checkPanes() (map[string]Pane, error) {
	panes := make(map[string]Pane, len(t.Panes))
	workers, stack := map[string]bool{}, map[uint64]bool{}
	for i, p := range t.Panes {
		if err := p.check(t); err != nil {
			return nil, fmt.Errorf("pane %s: %w", p.ID, err)
		}
		if i > 0 && compareIDs(t.Panes[i-1].ID, p.ID) >= 0 {
			return nil, fmt.Errorf("pane %s is out of order", p.ID)
		}
		worker := p.SessionID
		if p.Relaunch != nil {
			worker = p.Relaunch.Worker // an archive has none of its own
		}
		if worker != "" && workers[worker] {
			return nil, fmt.Errorf("pane %s: %w", p.ID, ErrDuplicate)
		}
		if p.Float != nil && stack[p.Float.Z] {
			return nil, fmt.Errorf("pane %s has the z %d of another: %w", p.ID, p.Float.Z, ErrFloat)
		}
		workers[worker], panes[p.ID] = true, p
		if p.Float != nil {
			stack[p.Float.Z] = true
		}
	}
	return panes, t.checkRelaunches()
}

// check holds the rules for one pane alone.
func (p Pane) check(t Tree) error {
	if err := checkID('p', p.ID, t.Next.Pane); err != nil {
		return err
	}
	if !IsName(p.Name) {
		return fmt.Errorf("name %q: %w", p.Name, ErrName)
	}
	if CleanTitle(p.Title) != p.Title {
		return fmt.Errorf("title %q: %w", p.Title, ErrName)
	}
	if p.Float != nil {
		if err := p.Float.Check(); err != nil {
			return err
		}
		if p.Float.Z < 1 || p.Float.Z > t.Z {
			return fmt.Errorf("z %d was never given out (the last is %d): %w", p.Float.Z, t.Z, ErrFloat)
		}
	}
	if err := checkTags(p.Tags); err != nil {
		return err
	}
	if CleanArgv0(p.Argv0) != p.Argv0 {
		return fmt.Errorf("argv0 %q: %w", p.Argv0, ErrName)
	}
	if p.End != nil {
		if err := p.End.check(); err != nil {
			return err
		}
	}
	if p.Relaunch != nil {
		if p.Archive == nil {
			return errors.New("no archive is being relaunched")
		}
		if err := p.Relaunch.check(t.Next.Pane); err != nil {
			return fmt.Errorf("relaunch: %w", err)
		}
	}
	return p.checkBacking()
}

// checkBacking holds that a pane is a worker's, or an archive whose process is over.
func (p Pane) checkBacking() error {
	if p.Archive == nil {
		if !isUUID(p.SessionID) {
			return fmt.Errorf("worker %q: %w", p.SessionID, ErrWorker)
		}
		return nil
	}
	switch {
	case p.SessionID != "":
		return errors.New("an archive has a worker")
	case p.Argv0 != "":
		return errors.New("an archive has a program")
	case p.End == nil:
		return errors.New("an archive has not ended")
	case p.End.Known() && p.Archive.ProcessState == ProcessInterrupted:
		return errors.New("an archive that was interrupted has a known end")
	}
	return p.Archive.check()
}

// checkWindows takes each pane out of panes where it is found.
func (t Tree) checkWindows(sessions map[string]int, panes map[string]Pane) error {
	members := map[string]int{}
	for _, p := range panes {
		members[p.Window]++
	}
	seen, last := map[string]bool{}, 0
	for _, w := range t.Windows {
		at, known := sessions[w.Session]
		if !known || at < last {
			return fmt.Errorf("window %s is in session %q, which is not there or out of order", w.ID, w.Session)
		}
		if seen[w.ID] {
			return fmt.Errorf("window %s is there twice", w.ID)
		}
		if err := w.check(t.Next.Window, members[w.ID], panes); err != nil {
			return fmt.Errorf("window %s: %w", w.ID, err)
		}
		seen[w.ID], last = true, at
	}
	for _, p := range panes {
		if p.Float == nil || !seen[p.Window] {
			return fmt.Errorf("pane %s is in no window", p.ID)
		}
	}
	return nil
}

// check holds the rules for one window with that many panes, and takes its tiled ones out of panes.
func (w Window) check(next uint64, members int, panes map[string]Pane) error {
	if err := checkID('w', w.ID, next); err != nil {
		return err
	}
	if !IsName(w.Name) {
		return fmt.Errorf("name %q: %w", w.Name, ErrName)
	}
	if w.Revision < 1 || w.Revision > CounterMax {
		return fmt.Errorf("revision %d: %w", w.Revision, ErrOverflow)
	}
	if members == 0 && !w.Kept {
		return errors.New("it has no pane and is not kept")
	}
	if active, ok := panes[w.Active]; ok != (members > 0) || ok && active.Window != w.ID || !ok && w.Active != "" {
		return fmt.Errorf("pane %q has its keys and is not in it", w.Active)
	}
	if w.Zoomed != "" && !w.hasLeaf(w.Zoomed) {
		return fmt.Errorf("pane %q is zoomed and not in its tree", w.Zoomed)
	}
	if w.Zoomed != "" && w.Active != w.Zoomed && w.hasLeaf(w.Active) {
		return fmt.Errorf("pane %q has its keys behind the zoom", w.Active)
	}
	if err := checkNodes(w.Nodes); err != nil {
		return err
	}
	for _, id := range w.leaves() {
		p, ok := panes[id]
		if !ok || p.Float != nil || p.Window != w.ID {
			return fmt.Errorf("pane %q is in its tree, and not tiled in it or there twice", id)
		}
		delete(panes, id)
	}
	return nil
}

func checkID(letter byte, id string, next uint64) error {
	n, err := numberOf(letter, id)
	if err != nil {
		return err
	}
	if n >= next {
		return fmt.Errorf("id %s was never given out (next is %d)", id, next)
	}
	return nil
}
