// SPDX-License-Identifier: Apache-2.0

package recovery

import "slices"

// remnantWindow is how long after a good checkpoint a much smaller one is taken for what a shutdown left. A host
// takes at most a few minutes to stop; a person who tidies up has new checkpoints by then.
const remnantWindow Millis = 10 * 60 * 1000

// Leading is the id of the checkpoint that a person is led to, "" for none. It is the newest valid one, unless
// that is a remnant: when a host goes down, terminals die before the daemon, and a save of that moment is empty or
// small. Then it is the one before. Nothing is restored because of this; every valid one can be named.
// The entries are in the order of a listing.
func Leading(entries []Entry) string {
	var lead *Entry
	for i := len(entries) - 1; i >= 0; i-- {
		e := &entries[i]
		if e.Status == StatusValid && (lead == nil || lead.remnantOf(e)) {
			lead = e
		}
	}
	if lead == nil {
		return ""
	}
	return lead.ID
}

// remnantOf tells whether e looks like what a shutdown left of older: it came soon after, and has less than half of
// the panes, of the running ones, or of the texts, which go with the workers. After a clean shutdown none is running, and
// that means nothing.
func (e *Entry) remnantOf(older *Entry) bool {
	if e.CapturedAt-older.CapturedAt > remnantWindow {
		return false
	}
	return 2*e.Panes < older.Panes || 2*e.TextPanes < older.TextPanes || e.Shutdown == ShutdownOpen && 2*e.Running < older.Running
}

// kept are the valid checkpoints that a count leaves: the newest, those that are held and the leading one, and
// then the newer before the older.
func kept(entries []Entry, count int, held ...string) map[string]bool {
	var order []string
	for _, e := range slices.Backward(entries) {
		if e.Status == StatusValid {
			order = append(order, e.ID)
		}
	}
	if len(order) > 1 {
		order = slices.Insert(order, 1, append(held, Leading(entries))...)
	}
	keep := map[string]bool{}
	for _, id := range order {
		if len(keep) < count && slices.ContainsFunc(entries, func(e Entry) bool { return e.ID == id && e.Status == StatusValid }) {
			keep[id] = true
		}
	}
	return keep
}
