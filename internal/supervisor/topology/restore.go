// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Mapping says what became of the ids of a tree that was restored, in the order of that tree.
type Mapping struct{ Sessions, Windows, Panes []Renumbered }

// Renumbered is one id, as it was saved and as it is now.
type Renumbered struct{ Previous, Current string }

// Restore puts a saved tree, of archives alone, into one that is empty: all of it or nothing. Everything
// gets a fresh id, every revision starts at 1, names, shares and tags are kept. Floats get fresh places
// above all that were given out, in the order that they had. A pane without the tag OwnerKey gets it with
// the value owner. The counters of saved do not matter, nor do the Kept of what is not empty, the order of
// windows among sessions, or equal Z. Bounds that saved exceeds are ErrFull and ErrOverflow, everything else
// that is wrong with it is ErrCorrupt.
func (t Tree) Restore(saved Tree, owner string) (Tree, Mapping, error) {
	var ids Mapping
	n, err := t.change("restore", func(n *Tree) error {
		if !t.Empty() {
			return ErrNotEmpty
		}
		r := restoring{to: n, owner: owner, sessions: map[string]string{}, windows: map[string]string{}, panes: map[string]string{}}
		err := r.run(saved)
		if err == nil {
			err = n.check()
		}
		if err != nil && !errors.Is(err, ErrFull) && !errors.Is(err, ErrOverflow) {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		ids = r.ids
		return err
	})
	if err != nil {
		return t, Mapping{}, err
	}
	return n, ids, nil
}

// restoring is one Restore at work on a tree of its own.
type restoring struct {
	to                       *Tree
	owner                    string
	ids                      Mapping
	sessions, windows, panes map[string]string // fresh ids by saved ones
}

func (r *restoring) run(saved Tree) error {
	if err := saved.checkCounts(); err != nil {
		return err
	}
	if err := r.number(saved); err != nil {
		return err
	}
	for _, s := range saved.Sessions {
		kept := !slices.ContainsFunc(saved.Windows, func(w Window) bool { return w.Session == s.ID })
		r.to.Sessions = append(r.to.Sessions, Session{ID: r.sessions[s.ID], Name: s.Name, Kept: kept})
	}
	for _, p := range saved.Panes {
		if err := r.pane(p); err != nil {
			return fmt.Errorf("pane %s: %w", p.ID, err)
		}
	}
	for _, w := range saved.Windows {
		if err := r.window(w); err != nil {
			return fmt.Errorf("window %s: %w", w.ID, err)
		}
	}
	r.to.regroup()
	if err := r.stack(); err != nil {
		return err
	}
	for i, w := range r.to.Windows {
		if w.Active == "" {
			r.to.Windows[i].Active = r.to.heir(w, "", 0)
		}
	}
	return nil
}

// number gives out every id, so that what refers to others finds theirs. Saved ids must be valid and
// different, which the tree as a whole does not show any more once they are gone.
func (r *restoring) number(saved Tree) error {
	for _, s := range saved.Sessions {
		if err := renumber('s', s.ID, &r.to.Next.Session, r.sessions, &r.ids.Sessions); err != nil {
			return err
		}
	}
	for _, w := range saved.Windows {
		if err := renumber('w', w.ID, &r.to.Next.Window, r.windows, &r.ids.Windows); err != nil {
			return err
		}
	}
	for _, p := range saved.Panes {
		if err := renumber('p', p.ID, &r.to.Next.Pane, r.panes, &r.ids.Panes); err != nil {
			return err
		}
	}
	return nil
}

func renumber(letter byte, id string, counter *uint64, fresh map[string]string, list *[]Renumbered) error {
	if _, err := numberOf(letter, id); err != nil {
		return err
	}
	if fresh[id] != "" {
		return fmt.Errorf("id %s is there twice", id)
	}
	now, err := take(letter, counter)
	if err != nil {
		return err
	}
	fresh[id] = now
	*list = append(*list, Renumbered{id, now})
	return nil
}

func (r *restoring) pane(p Pane) error {
	if p.Archive == nil {
		return ErrArchive
	}
	if p.Float != nil && (p.Float.Z < 1 || p.Float.Z > CounterMax) {
		return fmt.Errorf("z %d: %w", p.Float.Z, ErrFloat)
	}
	archive := *p.Archive
	archive.PreviousPane = p.ID
	p.ID, p.Archive, p.Relaunch = r.panes[p.ID], &archive, nil
	if p.Window = r.windows[p.Window]; p.Window == "" {
		return errors.New("its window is not there")
	}
	if _, owned := p.Tag(OwnerKey); !owned && r.owner != "" {
		tags, err := withTag(p.Tags, Tag{OwnerKey, r.owner})
		if err != nil {
			return err
		}
		p.Tags = tags
	}
	r.to.Panes = append(r.to.Panes, p)
	return nil
}

func (r *restoring) window(w Window) error {
	if w.Revision < 1 || w.Revision > CounterMax {
		return fmt.Errorf("revision %d", w.Revision)
	}
	for _, slot := range []*string{&w.Active, &w.Zoomed} {
		if *slot == "" {
			continue
		}
		if *slot = r.panes[*slot]; *slot == "" {
			return errors.New("it shows a pane that is not there")
		}
	}
	w.Nodes = slices.Clone(w.Nodes)
	for i := range w.Nodes {
		if n := &w.Nodes[i]; n.Kind == NodePane {
			if n.Pane = r.panes[n.Pane]; n.Pane == "" {
				return fmt.Errorf("node %d shows a pane that is not there", i)
			}
		}
	}
	w.ID, w.Session, w.Revision = r.windows[w.ID], r.sessions[w.Session], 1
	if w.Session == "" {
		return errors.New("its session is not there")
	}
	w.Kept = !slices.ContainsFunc(r.to.Panes, func(p Pane) bool { return p.Window == w.ID })
	r.to.Windows = append(r.to.Windows, w)
	return nil
}

// stack gives the floats their places: the saved order, ties by the number of the saved id. Fresh ids grow
// in the order of the saved tree, which need not be that of its numbers.
func (r *restoring) stack() error {
	var at []int
	for i, p := range r.to.Panes {
		if p.Float != nil {
			at = append(at, i)
		}
	}
	slices.SortFunc(at, func(i, j int) int {
		a, b := r.to.Panes[i], r.to.Panes[j]
		return cmp.Or(cmp.Compare(a.Float.Z, b.Float.Z), compareIDs(a.Archive.PreviousPane, b.Archive.PreviousPane))
	})
	for _, i := range at {
		float, err := r.to.onTop(*r.to.Panes[i].Float)
		if err != nil {
			return fmt.Errorf("pane %s: %w", r.to.Panes[i].Archive.PreviousPane, err)
		}
		r.to.Panes[i].Float = float
	}
	return nil
}
