// SPDX-License-Identifier: Apache-2.0

package topology

import "fmt"

// Relaunch is a program that is being started in an archive's place. It is in the tree before that program can run, so that
// whoever reads the tree after a crash knows which pane a worker was started for, and which archive may have been relaunched
// already.
type Relaunch struct {
	Pane   string `json:"pane"`           // id that was given out for the pane to come
	Worker string `json:"worker"`         // UUID of the worker that is to back it
	Argv0  string `json:"argv0,omitzero"` // as of a pane
	Owner  string `json:"owner,omitzero"` // value of its tag OwnerKey; "" for none
}

// start is what the pane to come begins with. It has the archive's name.
func (r Relaunch) start() Start {
	return Start{Worker: r.Worker, Argv0: r.Argv0, Owner: r.Owner, ID: r.Pane}
}

func (r Relaunch) check(next uint64) error {
	if err := checkID('p', r.Pane, next); err != nil {
		return err
	}
	if !isUUID(r.Worker) {
		return fmt.Errorf("worker %q: %w", r.Worker, ErrWorker)
	}
	if CleanArgv0(r.Argv0) != r.Argv0 {
		return fmt.Errorf("argv0 %q: %w", r.Argv0, ErrName)
	}
	_, err := ownedBy(r.Owner)
	return err
}

// BeginRelaunch notes what is about to be started in an archive's place. s has an ID from ReservePane, and no Name: the
// archive's is kept. ReplaceArchive and CallOff end it. An archive for which one has begun takes no other: ErrRelaunching.
func (t Tree) BeginRelaunch(archive string, s Start) (Tree, error) {
	if err := t.reserved(s.ID); err != nil {
		return t, fmt.Errorf("relaunch pane %s: %w", archive, err)
	}
	if err := t.backs(s.Worker); err != nil {
		return t, fmt.Errorf("relaunch pane %s: %w", archive, err)
	}
	return t.changePane("relaunch", archive, func(p *Pane) error {
		switch {
		case p.Archive == nil:
			return ErrArchive
		case p.Relaunch != nil:
			return ErrRelaunching
		}
		p.Relaunch = &Relaunch{Pane: s.ID, Worker: s.Worker, Argv0: CleanArgv0(s.Argv0), Owner: s.Owner}
		return p.Relaunch.check(t.Next.Pane)
	})
}

// CallOff says that the worker of a relaunch never got a program to run, and never will: the archive is what it was. A
// worker of no relaunch changes nothing.
func (t Tree) CallOff(worker string) Tree {
	at, ok := t.RelaunchBy(worker)
	if !ok {
		return t
	}
	n := t.clone()
	n.Panes[n.paneIndex(at.ID)].Relaunch = nil
	return n
}

// RelaunchBy returns the archive in whose place the worker is being started.
func (t Tree) RelaunchBy(worker string) (Pane, bool) {
	for _, p := range t.Panes {
		if p.Relaunch != nil && p.Relaunch.Worker == worker {
			return p, true
		}
	}
	return Pane{}, false
}

// settled puts the pane to come in the place of each archive that was being relaunched when the tree was last written. A
// worker that is not there may have run its program and ended: an archive that could be relaunched once more would do that
// program's work twice, so its pane is there too, and lost. Only what is held is left open.
func (t Tree) settled(held map[string]bool) Tree {
	n, err := t.change("settle relaunches", func(n *Tree) error {
		for _, p := range t.Panes {
			if p.Relaunch == nil || held[p.Relaunch.Worker] {
				continue
			}
			if _, err := n.replaceArchive(p.ID, p.Relaunch.start()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return t // a counter is exhausted: then nothing can be relaunched any more either
	}
	return n
}

// reserved refuses an id that was not given out for a pane to come.
func (t Tree) reserved(id string) error {
	number, err := numberOf('p', id)
	if err != nil {
		return err
	}
	if number >= t.Next.Pane || t.paneIndex(id) >= 0 {
		return fmt.Errorf("id %s was not reserved: %w", id, ErrDuplicate)
	}
	for _, p := range t.Panes {
		if p.Relaunch != nil && p.Relaunch.Pane == id {
			return fmt.Errorf("id %s is that of another relaunch: %w", id, ErrDuplicate)
		}
	}
	return nil
}

// checkRelaunches holds that no pane to come is there already, or comes twice. The panes themselves are checked.
func (t Tree) checkRelaunches() error {
	coming := map[string]bool{}
	for _, p := range t.Panes {
		if p.Relaunch == nil {
			continue
		}
		if id := p.Relaunch.Pane; coming[id] || t.paneIndex(id) >= 0 {
			return fmt.Errorf("pane %s: its relaunch is pane %s, which is there: %w", p.ID, id, ErrDuplicate)
		}
		coming[p.Relaunch.Pane] = true
	}
	return nil
}
