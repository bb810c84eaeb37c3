// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"
	"slices"
)

// clone shares nothing with t that an operation writes to.
func (t Tree) clone() Tree {
	t.Sessions, t.Windows, t.Panes = slices.Clone(t.Sessions), slices.Clone(t.Windows), slices.Clone(t.Panes)
	return t
}

// change is the way of every operation: it runs f on a copy, counts the revisions, and returns the copy or,
// when something failed, t.
func (t Tree) change(what string, f func(n *Tree) error) (Tree, error) {
	n := t.clone()
	err := f(&n)
	if err == nil {
		err = n.revise(t)
	}
	if err != nil {
		return t, fmt.Errorf("%s: %w", what, err)
	}
	return n, nil
}

// changePane runs f on a copy of one pane, as change does. No layout changes by it.
func (t Tree) changePane(verb, pane string, f func(p *Pane) error) (Tree, error) {
	n := t.clone()
	at := n.paneIndex(pane)
	if at < 0 {
		return t, fmt.Errorf("%s pane %q: %w", verb, pane, ErrNotFound)
	}
	if err := f(&n.Panes[at]); err != nil {
		return t, fmt.Errorf("%s pane %s: %w", verb, pane, err)
	}
	return n, nil
}

// revise counts up the revision of each window whose layout is not what it was: once, whatever an operation
// did to it on the way.
func (t *Tree) revise(before Tree) error {
	old := make(map[string]Window, len(before.Windows))
	for _, w := range before.Windows {
		old[w.ID] = w
	}
	for i := range t.Windows {
		w := &t.Windows[i]
		was, known := old[w.ID]
		if !known || w.sameLayout(was) {
			continue
		}
		if err := grow(&w.Revision); err != nil {
			return fmt.Errorf("revision of window %s: %w", w.ID, err)
		}
	}
	return nil
}
