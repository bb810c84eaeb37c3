// SPDX-License-Identifier: Apache-2.0

package emulator

// eraseDisplay is ED and, with keep, DECSED.
func (t *Terminal) eraseDisplay(what int, keep bool) {
	t.restrict(t.cols)
	s := t.active
	switch what {
	case 0:
		t.eraseColumns(s.y, s.x, t.cols, s.x == 0, keep)
		t.eraseLines(s.y+1, t.rows, keep)
	case 1:
		t.eraseColumns(s.y, 0, s.x+1, true, keep)
		if s.x+1 >= t.cols && s.y+1 < t.rows {
			s.row(s.y + 1).wrapped = false
		}
		t.eraseLines(0, s.y, keep)
	case 2:
		if !keep {
			t.commitScreen()
		}
		t.eraseLines(0, t.rows, keep)
	case 3:
		t.history.wipe(t)
	}
	if keep {
		t.settleWrap()
	}
}

// commitScreen commits the lines of the primary screen down to the last one
// with text, which are about to be erased.
func (t *Terminal) commitScreen() {
	if t.active != &t.primary {
		return
	}
	n := t.rows
	for n > 0 && t.primary.row(n-1).contentLen() == 0 {
		n--
	}
	t.commitRows(n, n-1)
}

// eraseLine is EL and, with keep, DECSEL.
func (t *Terminal) eraseLine(what int, keep bool) {
	t.restrict(t.cols)
	s := t.active
	switch what {
	case 0:
		t.eraseColumns(s.y, s.x, t.cols, s.x == 0, keep)
	case 1:
		t.eraseColumns(s.y, 0, s.x+1, false, keep)
	case 2:
		t.eraseColumns(s.y, 0, t.cols, true, keep)
	}
	if keep {
		t.settleWrap()
	}
}

func (t *Terminal) eraseColumns(y, start, end int, unwrap, keep bool) {
	line := t.active.row(y)
	if line.prompt != 0 && unwrap && start == 0 && end >= t.cols && !line.bare() {
		line.prompt = 0
	}
	t.replace(line, start, end, t.erased(), keep)
	if unwrap {
		line.wrapped = false
	}
}

// eraseLines erases the lines [from, to).
func (t *Terminal) eraseLines(from, to int, keep bool) {
	for y := from; y < to; y++ {
		line := t.active.row(y)
		if !keep {
			line.clear(t.erased())
			continue
		}
		t.replace(line, 0, t.cols, t.erased(), true)
		line.wrapped, line.prompt = false, 0
	}
}

// eraseChars is ECH.
func (t *Terminal) eraseChars(n int) {
	t.restrict(t.cols - 1)
	s := t.active
	t.replace(s.row(s.y), s.x, s.x+min(n, t.cols), t.erased(), false)
}

// insertChars is ICH.
func (t *Terminal) insertChars(n int) {
	t.restrict(t.cols - 1)
	s := t.active
	t.insert(s.row(s.y), s.x, n, t.erased())
}

// deleteChars is DCH.
func (t *Terminal) deleteChars(n int) {
	t.restrict(t.cols - 1)
	s := t.active
	t.remove(s.row(s.y), s.x, n, t.erased())
}

// alignmentPattern fills the screen with E (DECALN), whatever the margins.
// Underline and link of the pen don't apply.
func (t *Terminal) alignmentPattern() {
	look := t.pen.style
	look.underline, look.link = 0, 0
	fill := styled(t.styles.intern(look.canonical())) | 'E'
	for y := range t.rows {
		line := t.active.row(y)
		line.fill(0, t.cols, fill)
		line.wrapped, line.prompt = false, 0
	}
	t.moveTo(0, 0)
}
