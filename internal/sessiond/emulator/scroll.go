// SPDX-License-Identifier: Apache-2.0

package emulator

// feedsHistory reports whether lines that leave the top margin are committed.
func (t *Terminal) feedsHistory() bool {
	return t.active == &t.primary && t.active.top == 0
}

// scroll moves the margins' lines up by one for the cursor; wrapped says that
// the line that enters continues the one above it.
func (t *Terminal) scroll(wrapped bool) {
	s := t.active
	if t.feedsHistory() {
		t.history.commit(t, s.row(0), t.afterTop(wrapped))
	}
	s.scrollUp(s.top, s.bottom, 1, t.erased())
	s.row(s.bottom).wrapped = wrapped
}

// afterTop returns what follows the first line when it leaves; entering says
// whether the line that enters is wrapped, which matters on a screen of one
// line.
func (t *Terminal) afterTop(entering bool) follower {
	switch {
	case t.active.bottom > 0:
		return followerOf(t.active.row(1))
	case entering:
		return followedByWide
	}
	return followedByBreak
}

// scrollUp moves the margins' lines up (SU). Lines that leave the top of the
// primary screen are committed.
func (t *Terminal) scrollUp(n int) {
	s := t.active
	n = min(n, s.bottom-s.top+1)
	if t.feedsHistory() {
		t.commitRows(n, s.bottom)
	}
	s.scrollUp(s.top, s.bottom, n, t.erased())
	t.settleWrap()
}

// commitRows commits the first n lines; the line after them counts as their
// continuation only up to a last line.
func (t *Terminal) commitRows(n, last int) {
	s := t.active
	for y := range n {
		next := followedByBreak
		if y < last {
			next = followerOf(s.row(y + 1))
		}
		t.history.commit(t, s.row(y), next)
	}
}

// scrollDown moves the margins' lines down (SD). The new lines are blank in
// the default colours, unlike those of all other scrolls.
func (t *Terminal) scrollDown(n int) {
	s := t.active
	s.scrollDown(s.top, s.bottom, min(n, s.bottom-s.top+1), 0)
	t.settleWrap()
}

// insertLines shifts the lines from the cursor to the bottom margin down (IL).
func (t *Terminal) insertLines(n int) {
	t.restrict(t.cols - 1)
	s := t.active
	if !s.inMargins() {
		return
	}
	s.scrollDown(s.y, s.bottom, min(n, s.bottom-s.y+1), t.erased())
	s.x = 0
}

// deleteLines shifts them up (DL). What it removes is no history.
func (t *Terminal) deleteLines(n int) {
	t.restrict(t.cols - 1)
	s := t.active
	if !s.inMargins() {
		return
	}
	s.scrollUp(s.y, s.bottom, min(n, s.bottom-s.y+1), t.erased())
	s.x = 0
}

// setMargins sets the scroll margins, counted from 1, and homes the cursor
// (DECSTBM).
func (t *Terminal) setMargins(top, bottom int) {
	if bottom == 0 || bottom > t.rows {
		bottom = t.rows
	}
	if bottom <= top {
		return
	}
	s := t.active
	s.top, s.bottom = top-1, bottom-1
	t.moveTo(0, 0)
}

// shiftColumns inserts (n > 0) or removes (n < 0) columns at x in all lines of
// the margins, if the cursor is in them.
func (t *Terminal) shiftColumns(x, n int) {
	s := t.active
	if !s.inMargins() {
		return
	}
	x %= t.cols
	for y := s.top; y <= s.bottom; y++ {
		line := s.row(y)
		if n > 0 {
			t.insert(line, x, n, t.erased())
		} else {
			t.remove(line, x, -n, t.erased())
		}
		line.wrapped = false
	}
	t.settleWrap()
}
