// SPDX-License-Identifier: Apache-2.0

package emulator

// Plain rows are text alone, one string for each row of a screen. A row ends
// after its last printed character, and erased cells before it are blanks. It
// holds no control characters.
//
// Styled rows hold SGR beside the text, and no other control. Such a row ends
// after its last cell that differs from an untouched one, and begins and ends in
// the default style. Links and protection are left out.

// View is what a screen shows, as text.
type View struct {
	Plain, Styled []string // from the top; Styled is nil when it wasn't asked for
	Continued     []int    // rows that continue the one before, which the width ended; rising
	// Row and Col are the cursor's, from 0. PendingWrap says that the last
	// column is full and the next character goes to the next row.
	Row, Col    int
	PendingWrap bool
}

// AlternateActive reports whether the alternate screen is shown.
func (t *Terminal) AlternateActive() bool { return t.active == &t.alternate }

// Modes returns the modes.
func (t *Terminal) Modes() Modes { return t.modes }

// View returns the screen that is shown or, with primary, the primary one even
// while the alternate one is shown. It changes nothing.
func (t *Terminal) View(primary, styled bool) View {
	s := t.active
	if primary {
		s = &t.primary
	}
	v := View{Row: s.y, Col: min(s.x, t.cols-1), PendingWrap: s.x >= t.cols}
	var text []byte
	for y := range s.order {
		r := s.row(y)
		if r.wrapped {
			v.Continued = append(v.Continued, y)
		}
		text = t.appendRow(text[:0], r, r.contentLen(), false)
		v.Plain = append(v.Plain, string(text))
		if styled {
			text = t.appendRow(text[:0], r, r.shownLen(), true)
			v.Styled = append(v.Styled, string(text))
		}
	}
	return v
}

// PlainScreen returns the rows of the primary screen, also while the alternate
// one is shown.
func (t *Terminal) PlainScreen() []string { return t.View(true, false).Plain }

// shownLen returns the number of columns up to the last cell that isn't an
// untouched one.
func (r *row) shownLen() int {
	n := r.used
	for n > 0 && r.cells[n-1] == 0 {
		n--
	}
	return n
}

// appendRow appends the first n columns of a row, with styled the SGR of each
// change of style too.
func (t *Terminal) appendRow(dst []byte, r *row, n int, styled bool) []byte {
	at := t.styles.sgr(0)
	for x, c := range r.cells[:n] {
		if c.class() == classTail {
			continue
		}
		if styled {
			if sgr := t.styles.sgr(c.style()); sgr != at {
				dst, at = append(dst, sgr...), sgr
			}
		}
		switch {
		case !c.printed():
			dst = append(dst, ' ')
		case r.torn() && x == len(r.cells)-2:
			dst = t.appendHalf(dst, c)
		case c.class() == classMark:
			// It has a column of its own, and must not join what is before it.
			dst = t.clusters.appendContent(append(dst, ' '), c)
		default:
			dst = t.clusters.appendContent(dst, c)
		}
	}
	if at != t.styles.sgr(0) {
		dst = append(dst, t.styles.sgr(0)...)
	}
	return dst
}

// appendHalf appends what a person sees of the half of a torn row: see mend.
func (t *Terminal) appendHalf(dst []byte, c cell) []byte {
	switch t.clusters.width(c) {
	case 0:
		dst = append(dst, ' ')
	case 2:
		return append(dst, ' ')
	}
	return t.clusters.appendContent(dst, c)
}
