// SPDX-License-Identifier: Apache-2.0

package emulator

import "encoding/binary"

// printASCII prints a run of printable ASCII. It equals print on each byte.
func (t *Terminal) printASCII(run []byte) {
	if t.charset.active != charsetASCII || t.modes.Insert {
		for _, c := range run {
			t.print(rune(c))
		}
		return
	}
	s := t.active
	base := t.penStyle()
	if t.last == 0 && s.row(s.y).class(s.x-1) == classHead { // rare: not worth a call
		t.healLeft()
	}
	t.last = 1
	for {
		if s.x >= t.cols {
			if !t.modes.AutoWrap {
				// Each character overwrites the last column: the last one stays.
				run = run[len(run)-1:]
				t.stayInLastColumn()
			} else {
				t.wrapLine()
			}
		}
		r := s.row(s.y)
		n := min(len(run), t.cols-s.x)
		t.storeASCII(r, s.x, run[:n], base)
		s.x += n
		if run = run[n:]; len(run) == 0 {
			return
		}
	}
}

// storeASCII writes a run that fits into a row and heals the wide character
// that its end cuts.
func (t *Terminal) storeASCII(r *row, x int, run []byte, base cell) {
	dst := r.cells[x : x+len(run)]
	for i, c := range run {
		dst[i] = base | cell(c)
	}
	x += len(run)
	r.used = max(r.used, x)
	if r.restyles(x-len(run), base) {
		t.noteStyle(r, x-len(run), base.style())
	}
	r.note(run, x-len(run), x)
	if x < len(r.cells) && r.cells[x].class() == classTail {
		r.set(x, t.penBlank())
	}
}

// printUTF8 prints the text that p begins with, whose first byte is 0x80 or
// more, and carries out C1 controls in it. It stops at ASCII, at the end, and
// where a C1 control begins a sequence, and returns how many bytes it used.
func (t *Terminal) printUTF8(p []byte) int {
	i := 0
	for i < len(p) && p[i] >= 0x80 {
		if n := t.printText(p[i:]); n > 0 {
			i += n
			continue
		}
		r, n := decodeUTF8(p[i:])
		if n == 0 {
			return i + t.keepPartial(p[i:])
		}
		i += n
		if r < 0 {
			continue
		}
		if t.codePoint(r); t.parser.state != ground {
			return i
		}
	}
	return i
}

// printText prints the code points that p begins with as long as they fit into
// the line and need no shifting, and joins the zero-width ones among them. It
// equals print on each of them, and returns how many bytes it used.
//
// Texts mix lengths and widths at random, so nothing in the common way depends
// on them by a branch. It leaves to others: controls, what is invalid, runs of
// ASCII, the last column, and the last three bytes of p.
func (t *Terminal) printText(p []byte) int {
	s := t.active
	line := s.row(s.y)
	cells := line.cells
	x := s.x
	if t.modes.Insert || x >= len(cells) || t.last == 2 && x == len(cells)-1 {
		return 0
	}
	base := t.penStyle()
	mapped := t.charset.active != charsetASCII
	cut := t.last == 0 && line.class(x-1) == classHead
	last, i := t.last, 0
	for i+4 <= len(p) {
		r, n := decodeWord(binary.BigEndian.Uint32(p[i:]))
		if r < 0x80 && (n == 0 || mapped || p[i+1] < 0x80) {
			break
		}
		w := runeWidth(r)
		if w == 0 {
			if last == 0 || r < otherRune || r == byteOrderMark {
				break
			}
			t.joinAt(line, x-last, r)
			i += n
			continue
		}
		if x+2 > len(cells) {
			break
		}
		if cut {
			line.set(x-1, t.penBlank())
			cut = false
		}
		wide := cell(w - 1)
		cells[x] = base | cell(r) | wide*classHead
		cells[x+1] = cells[x+1]&(wide-1) | (base|classTail)&-wide
		x += w
		last = w
		i += n
	}
	if i > 0 {
		line.used = max(line.used, x)
		if line.restyles(s.x, base) {
			t.noteStyle(line, s.x, base.style())
		}
		line.note(p[:i], s.x, x)
		s.x = x
		if line.class(x) == classTail {
			t.healRight()
		}
	}
	t.last = last
	return i
}

// print prints one code point by the rules of xterm.js. Like there, only the
// first of a run of text heals the wide character that it cuts on the left;
// that matters where a wide one without room has left the cursor in the last
// column.
func (t *Terminal) print(r rune) {
	s := t.active
	r = t.charset.mapped(r)
	w := runeWidth(r)
	if w == 0 && t.last > 0 {
		t.joinMark(r)
		return
	}
	if t.last == 0 {
		t.healLeft()
	}
	t.last = w
	if s.x+w > t.cols {
		if t.modes.AutoWrap {
			t.wrapLine()
		} else {
			t.stayInLastColumn()
			if w == 2 {
				t.healRight()
				return
			}
		}
	}
	t.store(s.row(s.y), r, w)
}

// stayInLastColumn moves the cursor there because a character doesn't fit. A
// wide one that ends there is torn by what is printed over its right half.
func (t *Terminal) stayInLastColumn() {
	t.active.x = t.cols - 1
	if t.awkward() {
		t.healLeft()
	}
}

// healLeft blanks the left half of a wide character whose right half the next
// one overwrites.
func (t *Terminal) healLeft() {
	s := t.active
	if line := s.row(s.y); line.class(s.x-1) == classHead {
		line.set(s.x-1, t.penBlank())
	}
}

// healRight blanks the right half of one whose left half the last one
// overwrote.
func (t *Terminal) healRight() {
	s := t.active
	if line := s.row(s.y); line.class(s.x) == classTail {
		line.set(s.x, t.penBlank())
	}
}

// store writes a code point at the cursor, which has room for it, and moves
// the cursor. A zero-width one takes a column of its own, beyond the last
// column it vanishes.
func (t *Terminal) store(line *row, r rune, w int) {
	s := t.active
	switch {
	case !t.modes.Insert:
	case w > 0:
		t.makeRoom(line, w)
	case s.x < t.cols:
		t.healLeft()
	}
	class := classNarrow
	switch w {
	case 0:
		class = classMark
	case 2:
		class = classHead
	}
	if s.x < t.cols {
		line.set(s.x, t.penStyle()|cell(r)|class)
	}
	if w == 2 {
		line.set(s.x+1, t.penStyle()|classTail)
	}
	s.x += max(w, 1)
	t.healRight()
}

// makeRoom shifts the line for a character in insert mode.
func (t *Terminal) makeRoom(line *row, w int) {
	x := t.active.x
	if line.class(x) == classTail {
		line.set(x, t.penBlank())
	}
	t.insert(line, x, w, t.penBlank())
}

// joinMark adds a zero-width code point to the character just printed.
func (t *Terminal) joinMark(r rune) {
	s := t.active
	if s.x > t.cols {
		return
	}
	line := s.row(s.y)
	line.typedCols = -1
	if t.dropped() {
		t.joinDropped(line, r)
	} else {
		t.joinAt(line, s.x-t.last, r)
	}
}

// dropped reports whether the character just printed was a wide one that found
// no room and, without autowrap, vanished. One like it that stands left of the
// last column could as well be the one just printed.
func (t *Terminal) dropped() bool {
	s := t.active
	if t.last != 2 || s.x != t.cols-1 {
		return false
	}
	line := s.row(s.y)
	return line.class(s.x-2) != classHead || line.class(s.x-1) != classTail || styled(line.cells[s.x-2].style()) != t.penStyle()
}

// joinDropped adds a zero-width code point after a wide character that
// vanished: it joins the one that is left of the last column, which from then
// on counts as wide without a right half.
func (t *Terminal) joinDropped(line *row, r rune) {
	x := t.cols - 2
	c := line.cells[x]
	switch {
	case c.class() == classTail && line.class(x-1) == classHead:
		t.joinAt(line, x-1, r)
	case c.class() == classHead:
		t.joinAt(line, x, r)
	case c.class() != classNarrow, t.hollow(line.cells[x+1]), t.awkward():
		return // no stream could paint what xterm.js makes of it
	case c.printed():
		t.joinAt(line, x, r)
		line.cells[x] = line.cells[x]&^classMask | classHead
	case t.styles.list[c.style()].erasable():
		line.set(x, c|cell(r)|classHead)
	}
}

// torn reports whether the last but one column of a row holds the left half of
// a wide character and the last one not its right half. Printing without
// autowrap can leave that, at the end of a row alone: whatever would move it
// elsewhere mends it.
func (r *row) torn() bool {
	n := len(r.cells)
	return r.cells[n-2].class() == classHead && r.cells[n-1].class() != classTail
}

// mend makes a torn row whole: a character that is narrow by itself is so
// again, a wide one vanishes.
func (t *Terminal) mend(r *row, fill cell) {
	if !r.torn() {
		return
	}
	x := len(r.cells) - 2
	c := r.cells[x]
	switch t.clusters.width(c) {
	case 0:
		r.set(x, c|classMark)
	case 1:
		r.set(x, c&^classMask)
	default:
		r.set(x, fill)
	}
}

// joinAt adds it to the character in column x. What the line has typed is void
// if there is none, or no room.
func (t *Terminal) joinAt(line *row, x int, r rune) {
	if x < 0 || !line.cells[x].printed() {
		line.typedCols = -1
		return
	}
	c := line.cells[x]
	line.cells[x] = c&^contentMask | t.clusters.join(c&contentMask, r)
	if line.cells[x] == c {
		line.typedCols = -1
	}
}

// wrapLine moves the cursor to the next line because a character doesn't fit.
// What is left of the old line becomes blank; on a screen of one line, as in
// xterm.js, so it does in the new one.
func (t *Terminal) wrapLine() {
	s := t.active
	if from := s.x; from < t.cols && t.rows == 1 {
		defer func() {
			for x := from; x < t.cols; x++ {
				s.row(0).set(x, t.penBlank())
			}
		}()
	}
	if s.x < t.cols {
		line := s.row(s.y)
		for x := s.x; x < t.cols; x++ {
			line.set(x, t.penBlank())
		}
		t.keepPaintable(line)
	}
	s.x = 0
	s.y++
	if s.y == s.bottom+1 {
		s.y--
		t.scroll(true)
		return
	}
	s.y = min(s.y, t.rows-1)
	s.row(s.y).wrapped = true
}

// keepPaintable makes the last column of a line an erased one if no column was
// ever printed or erased as such, which no stream could paint.
func (t *Terminal) keepPaintable(line *row) {
	for _, c := range line.cells {
		if !t.hollow(c) {
			return
		}
	}
	last := len(line.cells) - 1
	bg := t.styles.list[line.cells[last].style()].bg
	line.set(last, styled(t.styles.intern(style{bg: bg})))
}

// hollow reports whether a cell is blank in a style that no erasing leaves:
// printing left it where it cut a wide character.
func (t *Terminal) hollow(c cell) bool {
	return c.blank() && c != 0 && !t.styles.list[c.style()].erasable()
}

// repeat prints the last printed character again (REP). What a count does
// beyond filling the screen repeats itself with every line, so it is cut to
// one that ends in the same place.
func (t *Terminal) repeat(n int) {
	s := t.active
	if t.last == 0 || s.x-t.last < 0 || s.x > t.cols {
		return
	}
	c := s.row(s.y).cells[s.x-t.last]
	if !c.printed() {
		return
	}
	if enough := (t.rows + 1) * t.cols; n > enough {
		n = enough + (n-enough)%(t.cols/t.last)
	}
	t.runes = t.clusters.appendRunes(t.runes[:0], c)
	t.healLeft()
	for ; n > 0; n-- {
		for _, r := range t.runes {
			t.print(r)
		}
	}
}
