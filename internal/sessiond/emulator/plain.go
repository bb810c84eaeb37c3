// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// Plain rows are what a checkpoint keeps: text alone, one string for each row
// of a screen. A row ends after its last printed character, and erased cells
// before it are blanks. It holds no control characters.

// PlainScreen returns the rows of the primary screen, also while the alternate
// one is shown.
func (t *Terminal) PlainScreen() []string {
	rows := make([]string, t.rows)
	var text []byte
	for y := range rows {
		text = t.appendPlainRow(text[:0], t.primary.row(y))
		rows[y] = string(text)
	}
	return rows
}

func (t *Terminal) appendPlainRow(dst []byte, r *row) []byte {
	n := r.contentLen()
	for x, c := range r.cells[:n] {
		switch {
		case r.torn() && x == len(r.cells)-2:
			dst = t.appendHalf(dst, c)
		case c.class() == classTail:
		case !c.printed():
			dst = append(dst, ' ')
		case c.class() == classMark:
			// It has a column of its own, and must not join what is before it.
			dst = t.clusters.appendContent(append(dst, ' '), c)
		default:
			dst = t.clusters.appendContent(dst, c)
		}
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

// PlainHistory returns the rows that committed text takes at a width, oldest
// first. It keeps the newest: at most rowsMax, of at most bytesMax bytes
// together. cut says that there were older ones.
func PlainHistory(text []byte, cols, rowsMax, bytesMax int) (rows []string, cut bool) {
	cols, _ = clampSize(cols, 1)
	text = bytes.TrimSuffix(text, lineBreak)
	var plain []byte
	for more := len(text) > 0; more; {
		line := text
		at := bytes.LastIndex(text, lineBreak)
		if more = at >= 0; more {
			line, text = text[at+len(lineBreak):], text[:at]
		}
		plain = appendUnstyled(plain[:0], line)
		ends := wrapPlain(plain, cols)
		for i := len(ends) - 1; i > 0; i-- {
			row := plain[ends[i-1]:ends[i]]
			if len(rows) == rowsMax || len(row) > bytesMax {
				slices.Reverse(rows)
				return rows, true
			}
			bytesMax -= len(row)
			rows = append(rows, string(row))
		}
	}
	slices.Reverse(rows)
	return rows, false
}

var lineBreak = []byte("\r\n")

// appendUnstyled appends a committed line without its control sequences, links
// and controls.
func appendUnstyled(dst, line []byte) []byte {
	for len(line) > 0 {
		n := 1
		switch c := line[0]; {
		case c == 0x1b:
			n = escapeLen(line)
		case c < 0x20 || c == 0x7f:
		default:
			n = bytes.IndexFunc(line, func(r rune) bool { return r < 0x20 || r == 0x7f })
			if n < 0 {
				n = len(line)
			}
			dst = append(dst, line[:n]...)
		}
		line = line[n:]
	}
	return dst
}

// escapeLen returns the length of the sequence that p begins with: one of those
// that history is written with, a CSI or an OSC that ends in ST.
func escapeLen(p []byte) int {
	switch {
	case len(p) < 2:
	case p[1] == '[':
		if i := bytes.IndexFunc(p[2:], func(r rune) bool { return r >= 0x40 }); i >= 0 {
			return i + 3
		}
	case p[1] == ']':
		if i := bytes.Index(p, []byte("\x1b\\")); i >= 0 {
			return i + 2
		}
	default:
		return 2
	}
	return len(p)
}

// wrapPlain returns where the rows of a line begin and end: row i is the text
// between the offsets i and i+1.
func wrapPlain(text []byte, cols int) []int {
	ends := []int{0}
	for at, x := 0, 0; at < len(text); {
		n, w := nextCharacter(text[at:])
		if x += w; x > cols {
			ends = append(ends, at)
			x = w
		}
		at += n
	}
	return append(ends, len(text))
}

// nextCharacter returns the length of the character that text begins with, the
// zero-width code points that join it among it, and its columns.
func nextCharacter(text []byte) (n, cols int) {
	r, n := utf8.DecodeRune(text)
	cols = runeWidth(r)
	if cols == 0 {
		return n, 1 // it joins nothing, and nothing joins it
	}
	for n < len(text) {
		r, size := utf8.DecodeRune(text[n:])
		if runeWidth(r) > 0 {
			break
		}
		n += size
	}
	return n, cols
}
