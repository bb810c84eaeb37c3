// SPDX-License-Identifier: Apache-2.0

package topology

// Reconcile brings the tree to what was found at start. Adopted workers are live: those that the tree does
// not know get a pane, and one that had been given up is live again. Workers that were refused are left
// as they were known, because something still holds their reservation. Archives stay what they are, but for those
// that were being relaunched: the pane to come is in their place, live or lost. All other panes are lost. Adopted
// workers for which there is no room are returned.
func (t Tree) Reconcile(adopted, refused []string) (Tree, []string) {
	live, held := setOf(adopted), setOf(refused)
	n := t.settled(held).clone()
	for i := range n.Panes {
		switch p := &n.Panes[i]; {
		case p.Archive != nil:
		case live[p.SessionID]:
			p.End = nil
		case !held[p.SessionID] && p.End == nil:
			p.End = &End{}
		}
	}
	var out []string
	for _, worker := range adopted {
		if _, known := n.PaneOf(worker); known {
			continue
		}
		before := n // not a clone: there may be thousands
		if _, err := n.adopt(worker); err != nil {
			n, out = before, append(out, worker)
		}
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
