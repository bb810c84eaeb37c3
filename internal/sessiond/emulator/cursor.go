// SPDX-License-Identifier: Apache-2.0

package emulator

// restrict moves the cursor into the screen, or into the margins in origin
// mode. Columns up to colMax are allowed.
func (t *Terminal) restrict(colMax int) {
	s := t.active
	s.x = min(max(s.x, 0), colMax)
	if t.modes.Origin {
		s.y = min(max(s.y, s.top), s.bottom)
		return
	}
	s.y = min(max(s.y, 0), t.rows-1)
}

// moveTo sets the cursor, whose line counts from the top margin in origin
// mode.
func (t *Terminal) moveTo(x, y int) {
	s := t.active
	s.x, s.y = x, y
	if t.modes.Origin {
		s.y += s.top
	}
	t.restrict(t.cols - 1)
}

// moveBy moves the cursor by columns and lines. In origin mode the line is
// counted twice from the top margin, as xterm.js does it.
func (t *Terminal) moveBy(dx, dy int) {
	t.restrict(t.cols - 1)
	t.moveTo(t.active.x+dx, t.active.y+dy)
}

// up moves the cursor up. From below the top margin it stops there.
func (t *Terminal) up(n int) {
	if room := t.active.y - t.active.top; room >= 0 {
		n = min(n, room)
	}
	t.moveBy(0, -n)
}

// down moves the cursor down. From above the bottom margin it stops there.
func (t *Terminal) down(n int) {
	if room := t.active.bottom - t.active.y; room >= 0 {
		n = min(n, room)
	}
	t.moveBy(0, n)
}

// backspace moves the cursor left. With reverse wrap-around it undoes a soft
// wrap inside the margins.
func (t *Terminal) backspace() {
	s := t.active
	if !t.modes.ReverseWrap {
		t.restrict(t.cols - 1)
		s.x = max(s.x-1, 0)
		return
	}
	t.restrict(t.cols)
	line := s.row(s.y)
	switch {
	case s.x > 0:
		s.x--
	case s.y > s.top && s.y <= s.bottom && line.wrapped:
		line.wrapped = false
		s.y--
		s.x = t.cols - 1
		if s.row(s.y).cells[s.x].blank() {
			s.x--
		}
	}
	t.restrict(t.cols - 1)
}

// lineFeed moves the cursor down a line, or scrolls at the bottom margin.
func (t *Terminal) lineFeed() {
	s := t.active
	if t.modes.LineFeed {
		s.x = 0
	}
	s.y++
	switch {
	case s.y == s.bottom+1:
		s.y--
		t.scroll(false)
	case s.y >= t.rows:
		s.y = t.rows - 1
	default:
		s.row(s.y).wrapped = false
	}
	if s.x >= t.cols {
		s.x--
		t.settleWrap()
	}
}

// index is lineFeed without a change of the column (IND).
func (t *Terminal) index() {
	t.restrict(t.cols - 1)
	s := t.active
	s.y++
	switch {
	case s.y == s.bottom+1:
		s.y--
		t.scroll(false)
	case s.y >= t.rows:
		s.y = t.rows - 1
	}
	t.restrict(t.cols - 1)
}

// reverseIndex moves the cursor up a line, or scrolls down at the top margin.
func (t *Terminal) reverseIndex() {
	t.restrict(t.cols - 1)
	s := t.active
	if s.y == s.top {
		s.scrollDown(s.top, s.bottom, 1, t.erased())
		return
	}
	s.y--
	t.restrict(t.cols - 1)
}

// settleWrap drops a pending wrap that no repaint can bring about: one at the
// end of a line whose last column was never printed there, but came by
// scrolling.
func (t *Terminal) settleWrap() {
	s := t.active
	if s.x < t.cols {
		return
	}
	line := s.row(s.y)
	last := line.cells[t.cols-1]
	odd, torn := t.pen.odd(), line.torn()
	if s == &t.primary && !t.awkward() && !torn {
		return
	}
	if last.printed() && torn && !t.awkward() {
		return
	}
	if (last.printed() || last.class() == classTail) && !torn {
		if !t.awkward() || t.printable(line, t.cols-1) && (!odd || t.pen.gentlyReaches(t.styles.list[last.style()])) {
			return
		}
	} else if line.uniform(last) && t.styles.list[last.style()].erasable() {
		return
	}
	s.x = t.cols - 1
}

// awkward reports whether the mapping or the pen is one that only DECRC can
// bring about, so that a repaint can't print what it likes.
func (t *Terminal) awkward() bool { return t.charset.detached() || t.pen.odd() }

// printable reports whether the mapping in force can print the character that
// covers a column.
func (t *Terminal) printable(line *row, x int) bool {
	if line.cells[x].class() == classTail {
		x--
	}
	t.runes = t.clusters.appendRunes(t.runes[:0], line.cells[x])
	for _, r := range t.runes {
		if _, ok := t.charset.source(r); !ok {
			return false
		}
	}
	return true
}

// saveCursor fills the DECSC register of the active screen.
func (t *Terminal) saveCursor() {
	s := t.active
	s.saved = savedCursor{
		x: min(s.x, t.cols-1), y: s.y,
		fg: t.pen.fg, bg: t.pen.bg, attrs: t.pen.attrs,
		underlined: t.pen.lined,
		extended:   t.pen.extended,
		charset:    t.charset.active,
	}
}

// restoreCursor takes back what saveCursor saved: of an underline and a link
// only that they were there.
func (t *Terminal) restoreCursor() {
	s := t.active
	r := &s.saved
	s.x, s.y = r.x, r.y
	t.pen.fg, t.pen.bg, t.pen.attrs = r.fg, r.bg, r.attrs
	t.pen.lined, t.pen.extended = r.underlined, r.extended
	t.pen.fresh = 0
	t.charset.active = r.charset
	t.restrict(t.cols - 1)
}
