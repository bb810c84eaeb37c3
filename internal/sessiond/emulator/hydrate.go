// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrPlain says that text isn't plain rows: nothing can be hydrated from it.
var ErrPlain = errors.New("not plain rows")

// Plain is the text of a terminal that is gone.
type Plain struct {
	Screen  []string // from the top; as many as the screen has rows at most
	History []string // oldest first
}

// Hydrate returns a terminal that shows plain rows, and delivers those of the
// history to the sink as lines. No parser sees them: whatever they say, they
// are cells in the default style, and the cursor is at home.
//
// A row that is longer than the screen is wide stays cut at the last column.
// cutRows counts those, and rows with a character that no cell can hold.
func Hydrate(cols, rows int, p Plain, sink Sink) (t *Terminal, cutRows int, err error) {
	cols, rows = clampSize(cols, rows)
	if len(p.Screen) > rows {
		return nil, 0, fmt.Errorf("hydrate a screen of %d rows: %w: there are %d", rows, ErrPlain, len(p.Screen))
	}
	for _, part := range [][]string{p.Screen, p.History} {
		for i, row := range part {
			if !isPlain(row) {
				return nil, 0, fmt.Errorf("hydrate row %d: %w: it has a control character or invalid UTF-8", i, ErrPlain)
			}
		}
	}
	t = New(cols, rows, sink)
	for _, text := range p.History {
		// A row of its own: the screen isn't involved.
		line := row{cells: make([]cell, cols)}
		cutRows += t.hydrateRow(&line, text)
		t.history.commit(t, &line, followedByBreak)
		t.compactIfDue()
	}
	t.history.flush(t)
	for y, text := range p.Screen {
		cutRows += t.hydrateRow(t.primary.row(y), text)
	}
	return t, cutRows, nil
}

// isPlain reports whether a row is valid UTF-8 without control characters.
func isPlain(row string) bool {
	for _, r := range row {
		if r < 0x20 || r >= 0x7f && r < otherRune {
			return false
		}
	}
	return utf8.ValidString(row)
}

// hydrateRow writes text into a blank row. It returns 1 if some of it is
// missing there, else 0.
func (t *Terminal) hydrateRow(line *row, text string) (cut int) {
	p := []byte(text)
	for x := 0; len(p) > 0; {
		n, w := nextCharacter(p)
		if x+w > len(line.cells) {
			return 1
		}
		if !t.hydrateCharacter(line, x, w, p[:n]) {
			cut = 1
		}
		x += w
		p = p[n:]
	}
	return cut
}

// hydrateCharacter writes one character and reports whether all of it is there.
func (t *Terminal) hydrateCharacter(line *row, x, w int, p []byte) bool {
	r, n := utf8.DecodeRune(p)
	c := cell(r)
	switch {
	case r == byteOrderMark:
		return false // no stream could print it
	case w == 2:
		c |= classHead
		line.set(x+1, classTail)
	case runeWidth(r) == 0:
		c |= classMark
	}
	whole := true
	for n < len(p) {
		r, size := utf8.DecodeRune(p[n:])
		joined := c&^contentMask | t.clusters.join(c&contentMask, r)
		if r == byteOrderMark || joined == c {
			whole = false
		} else {
			c = joined
		}
		n += size
	}
	line.set(x, c)
	return whole
}
