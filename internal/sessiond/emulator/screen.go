// SPDX-License-Identifier: Apache-2.0

package emulator

// screen is one of the two screens: its rows, its cursor and the registers
// that belong to it alone.
type screen struct {
	store []row
	// order names the row of store that each line shows. Scrolling moves its
	// numbers, not the cells.
	order []uint16

	// x is the cursor's column. x == cols is the pending wrap; x == cols+1 is
	// where a zero-width character with nothing to join leaves it there.
	x, y int
	// top and bottom are the scroll margins, inclusive.
	top, bottom int
	tabs        tabStops
	saved       savedCursor
	keyboard    keyboard
}

// savedCursor is the DECSC register. It keeps what xterm.js keeps: of an
// underline and a link only that they were there.
type savedCursor struct {
	x, y       int
	fg, bg     color
	attrs      uint16
	underlined bool
	extended   bool // an underline or a link
	charset    byte
}

// init makes s blank. Only the screen that feeds history keeps what is typed.
func (s *screen) init(cols, rows int, typed bool) {
	cells := make([]cell, cols*rows)
	width := typedBytes * cols
	var text []byte
	if typed {
		text = make([]byte, rows*width)
	}
	s.store = make([]row, rows)
	s.order = make([]uint16, rows)
	for i := range s.store {
		s.store[i] = row{cells: cells[i*cols : (i+1)*cols : (i+1)*cols]}
		if typed {
			s.store[i].typed = text[i*width : i*width : (i+1)*width]
		}
		s.order[i] = uint16(i)
	}
	s.x, s.y = 0, 0
	s.top, s.bottom = 0, rows-1
	s.tabs.reset(cols)
	s.saved = savedCursor{charset: charsetASCII}
}

// clear blanks all rows and resets cursor, margins, tab stops and keyboard. The
// DECSC register stays.
func (s *screen) clear(fill cell) {
	for i := range s.store {
		s.store[i].clear(fill)
	}
	s.x, s.y = 0, 0
	s.top, s.bottom = 0, len(s.order)-1
	s.tabs.reset(s.cols())
	s.keyboard = keyboard{}
}

func (s *screen) cols() int      { return len(s.store[0].cells) }
func (s *screen) row(y int) *row { return &s.store[s.order[y]] }

// scrollUp moves the lines [top, bottom] up by n and blanks the lines that
// enter. n must not exceed the height.
func (s *screen) scrollUp(top, bottom, n int, fill cell) {
	o := s.order[top : bottom+1]
	rotateUp(o, n)
	for _, i := range o[len(o)-n:] {
		s.store[i].clear(fill)
	}
}

// scrollDown is scrollUp the other way.
func (s *screen) scrollDown(top, bottom, n int, fill cell) {
	o := s.order[top : bottom+1]
	rotateUp(o, len(o)-n)
	for _, i := range o[:n] {
		s.store[i].clear(fill)
	}
}

// rotateUp moves the first n entries to the end.
func rotateUp(o []uint16, n int) {
	switch {
	case n == 1:
		first := o[0]
		copy(o, o[1:])
		o[len(o)-1] = first
	case n == len(o)-1:
		last := o[n]
		copy(o[1:], o)
		o[0] = last
	default:
		reverse(o[:n])
		reverse(o[n:])
		reverse(o)
	}
}

func reverse(o []uint16) {
	for i, j := 0, len(o)-1; i < j; i, j = i+1, j-1 {
		o[i], o[j] = o[j], o[i]
	}
}

// inMargins reports whether the cursor's line scrolls.
func (s *screen) inMargins() bool { return s.y >= s.top && s.y <= s.bottom }

// switchTo shows one of the two screens. The cursor is carried over. The
// alternate screen is blanked on entry and forgotten on leaving.
//
// A character mapping and an odd pen that only DECRC can bring about are
// dropped: the register that holds them stays behind.
func (t *Terminal) switchTo(s *screen) {
	if t.active == s {
		return
	}
	from := t.active
	t.charset.invoke(t.charset.level)
	if t.pen.odd() {
		t.pen.even()
	}
	if s == &t.alternate {
		s.clear(t.erased())
		s.x, s.y = from.x, from.y
		from.x = min(from.x, t.cols-1)
	} else {
		s.x, s.y = from.x, from.y
		from.clear(0)
	}
	t.active = s
}
