// SPDX-License-Identifier: Apache-2.0

package emulator

const tabWidth = 8

// tabStops has a bit for each column.
type tabStops [(ColsMax + 63) / 64]uint64

func (ts *tabStops) has(x int) bool { return ts[x>>6]>>(x&63)&1 != 0 }
func (ts *tabStops) set(x int)      { ts[x>>6] |= 1 << (x & 63) }
func (ts *tabStops) unset(x int)    { ts[x>>6] &^= 1 << (x & 63) }

func (ts *tabStops) reset(cols int) {
	*ts = tabStops{}
	for x := 0; x < cols; x += tabWidth {
		ts.set(x)
	}
}

// resize forgets the stops beyond the last column, and adds stops from the
// last one on.
func (ts *tabStops) resize(from, to int) {
	atEdge := to < from && ts.has(to)
	for x := to; x < from; x++ {
		ts.unset(x)
	}
	if atEdge {
		return
	}
	for x := ts.prev(to); x < to; x += tabWidth {
		ts.set(x)
	}
}

// next returns the column of the stop after x, or the last column.
func (ts *tabStops) next(x, cols int) int {
	for x++; x < cols; x++ {
		if ts.has(x) {
			return x
		}
	}
	return cols - 1
}

// prev returns the column of the stop before x, or 0.
func (ts *tabStops) prev(x int) int {
	for x--; x > 0; x-- {
		if ts.has(x) {
			return x
		}
	}
	return 0
}

// tabForward moves the cursor n stops on. A pending wrap stays.
func (t *Terminal) tabForward(n int) {
	s := t.active
	for n = min(n, t.cols); n > 0 && s.x < t.cols; n-- {
		s.x = s.tabs.next(s.x, t.cols)
	}
}

// tabBackward moves the cursor n stops back. A pending wrap stays.
func (t *Terminal) tabBackward(n int) {
	s := t.active
	if s.x >= t.cols {
		return
	}
	for n = min(n, t.cols); n > 0; n-- {
		s.x = s.tabs.prev(s.x)
	}
}

func (t *Terminal) tabSet() {
	if s := t.active; s.x < t.cols {
		s.tabs.set(s.x)
	}
}

func (t *Terminal) tabClear(what int) {
	s := t.active
	switch {
	case what == 3:
		s.tabs = tabStops{}
	case what == 0 && s.x < t.cols:
		s.tabs.unset(s.x)
	}
}
