// SPDX-License-Identifier: Apache-2.0

package emulator

// Resize changes the geometry, moved into its limits.
//
// The lines of the primary screen are wrapped anew, the cursor's own too. What
// doesn't fit any more leaves at the top and is committed, after blank lines
// and what lies below the cursor were dropped at the bottom. Nothing that was
// committed comes back: a taller screen gets blank lines at the bottom. The
// alternate screen is cut or padded. Margins are reset, tab stops extended. A
// program that asked for it (mode 2048) is told the new size.
func (t *Terminal) Resize(cols, rows int) {
	cols, rows = clampSize(cols, rows)
	if cols == t.cols && rows == t.rows {
		return
	}
	for _, s := range []*screen{&t.primary, &t.alternate} {
		for y := range s.order {
			t.mend(s.row(y), 0)
		}
	}
	lines := t.primary.lines()
	marks := []*point{{t.primary.x, t.primary.y}, {t.primary.saved.x, t.primary.saved.y}}
	if cols != t.cols {
		lines = rewrap(lines, cols, marks)
	}
	first, last := fit(len(lines), marks[0].y, rows)
	t.commitLines(lines, first)
	old := [2]screen{t.primary, t.alternate}
	t.primary.resize(&old[0], lines[first:last], cols, rows)
	if t.active != &t.primary {
		marks[0].x = min(marks[0].x, cols-1)
	}
	t.primary.place(marks[0], marks[1], first)
	for _, line := range lines { // those that were wrapped anew are nobody's now
		clear(line.cells)
	}

	lines = t.alternate.lines()
	first, last = fit(len(lines), t.alternate.y, rows)
	t.alternate.resize(&old[1], lines[first:last], cols, rows)
	t.alternate.place(&point{min(old[1].x, cols-1), old[1].y}, &point{old[1].saved.x, old[1].saved.y}, first)

	for _, s := range []*screen{&t.primary, &t.alternate} {
		for y := range s.order {
			t.keepPaintable(s.row(y))
		}
	}
	for i := range old {
		old[i].wipe()
	}
	t.cols, t.rows = cols, rows
	t.setDue()
	t.settleWrap()
	t.settleLast()
	t.history.flush(t)
	if t.modes.SizeReports {
		t.reportSizeInBand()
	}
}

// settleLast forgets the character just printed unless it is still what lies
// before the cursor.
func (t *Terminal) settleLast() {
	s := t.active
	x := s.x - t.last
	if t.last == 0 {
		return
	}
	if x >= 0 && s.x <= t.cols {
		want := classNarrow
		if t.last == 2 {
			want = classHead
		}
		c := s.row(s.y).cells[x]
		if c.printed() && c.class() == want && styled(c.style()) == t.penStyle() && t.printable(s.row(s.y), x) {
			return
		}
	}
	t.last = 0
}

// point is a place on a screen that a resize keeps at its text.
type point struct{ x, y int }

// lines returns the rows from top to bottom.
func (s *screen) lines() []*row {
	lines := make([]*row, len(s.order))
	for y := range lines {
		lines[y] = s.row(y)
	}
	return lines
}

// fit returns which of n lines stay on a screen of so many rows: the lines
// below the cursor go first, then the topmost.
func fit(n, cursor, rows int) (first, last int) {
	last = max(min(n, rows), min(n, cursor+1))
	return max(last-rows, 0), last
}

// commitLines commits the first n lines of the primary screen.
func (t *Terminal) commitLines(lines []*row, n int) {
	for y, line := range lines[:n] {
		next := followedByBreak
		if y+1 < len(lines) {
			next = followerOf(lines[y+1])
		}
		t.history.commit(t, line, next)
	}
}

// resize makes s a screen of a new size that shows the lines, cut or padded.
func (s *screen) resize(old *screen, lines []*row, cols, rows int) {
	s.init(cols, rows, cap(old.store[0].typed) > 0)
	for y, from := range lines {
		to := s.row(y)
		to.used = copy(to.cells, from.cells[:from.used])
		to.wrapped, to.prompt = from.wrapped, from.prompt
		if to.used > 0 {
			to.typedCols = -1
		}
		if to.class(cols-1) == classHead {
			to.set(cols-1, 0)
		}
	}
	s.tabs = old.tabs
	s.tabs.resize(old.cols(), cols)
	s.saved = old.saved
	s.keyboard = old.keyboard
}

// wipe zeroes the rows of a screen that is shown no more.
func (s *screen) wipe() {
	for i := range s.store {
		clear(s.store[i].cells)
		s.store[i].forgetTyped()
	}
}

// place sets cursor and register after the first lines have gone.
func (s *screen) place(cursor, saved *point, first int) {
	s.x, s.y = cursor.x, min(max(cursor.y-first, 0), len(s.order)-1)
	s.saved.x = min(saved.x, s.cols()-1)
	s.saved.y = min(max(saved.y-first, 0), len(s.order)-1)
}

// rewrap wraps logical lines at a new width and moves the marks with their
// text.
func rewrap(lines []*row, cols int, marks []*point) []*row {
	var out []*row
	placed := make([]bool, len(marks))
	for y := 0; y < len(lines); {
		end := y + 1
		for end < len(lines) && lines[end].wrapped {
			end++
		}
		w := wrapper{cols: cols, out: out}
		w.begin(lines[y])
		for i := y; i < end; i++ {
			w.addRow(lines, i, end, marks, placed)
		}
		w.finish(lines, y, end)
		out = w.out
		y = end
	}
	return out
}

// wrapper lays the cells of one logical line out anew.
type wrapper struct {
	cols  int
	out   []*row
	start int // index in out of the line's first row
	x     int // columns used of its last row
}

func (w *wrapper) begin(first *row) {
	w.start = len(w.out)
	w.newRow(first.wrapped)
}

func (w *wrapper) newRow(wrapped bool) {
	w.out = append(w.out, &row{cells: make([]cell, w.cols), wrapped: wrapped})
	w.x = 0
}

// addRow appends the text of row i of a logical line that ends before row end,
// and places the marks that lie on it. Its prompt marks stay with its first
// character.
func (w *wrapper) addRow(lines []*row, i, end int, marks []*point, placed []bool) {
	length := rowLength(lines, i, end)
	cells, prompt := lines[i].cells, lines[i].prompt
	for x := 0; x <= length; x++ {
		if x < length && cells[x].class() == classTail {
			w.placeMarks(marks, placed, point{x, i}, -1)
			continue
		}
		wide := x+1 < length && cells[x].class() == classHead
		if x < length && (w.x == w.cols || wide && w.x == w.cols-1) {
			w.newRow(true)
		}
		w.out[len(w.out)-1].prompt |= prompt
		prompt = 0
		w.placeMarks(marks, placed, point{x, i}, 0)
		if x < length {
			w.put(cells[x], wide)
		}
	}
	w.placeBeyond(marks, placed, i, length)
}

func (w *wrapper) put(c cell, wide bool) {
	line := w.out[len(w.out)-1]
	line.set(w.x, c)
	w.x++
	if wide {
		line.set(w.x, c&^(contentMask|classMask)|classTail)
		w.x++
	}
}

// placeMarks moves the marks at a place to where its text goes now.
func (w *wrapper) placeMarks(marks []*point, placed []bool, at point, dx int) {
	for k, m := range marks {
		if !placed[k] && *m == at {
			placed[k] = true
			*m = point{w.x + dx, len(w.out) - 1}
		}
	}
}

// placeBeyond moves the marks right of a row's text by as much as its end.
func (w *wrapper) placeBeyond(marks []*point, placed []bool, y, length int) {
	for k, m := range marks {
		if !placed[k] && m.y == y && m.x > length {
			placed[k] = true
			*m = point{min(w.x+m.x-length, w.cols-1), len(w.out) - 1}
		}
	}
}

// finish keeps what a single row that needed no wrapping shows right of its
// text.
func (w *wrapper) finish(lines []*row, y, end int) {
	if end != y+1 || len(w.out) != w.start+1 {
		return
	}
	from, to := lines[y], w.out[w.start]
	for x := w.x; x < min(from.used, w.cols); x++ {
		to.set(x, from.cells[x])
	}
}

// rowLength returns how many columns of row i are text of a logical line that
// ends before row end.
func rowLength(lines []*row, i, end int) int {
	if i == end-1 {
		return lines[i].contentLen()
	}
	return len(lines[i].text(followerOf(lines[i+1])))
}
