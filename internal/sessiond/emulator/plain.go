// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"
)

// HistoryRows are rows that committed text takes at a width, oldest first.
type HistoryRows struct {
	Plain, Styled []string // Styled is nil when it wasn't asked for
	Continued     []int    // rows that continue the one before, which the width ended; rising
	Cut           bool     // there were older ones
}

// RowsOf returns the newest rows of committed text: at most rowsMax, of at most
// bytesMax bytes together, for which plain and styled ones both count.
func RowsOf(text []byte, cols, rowsMax, bytesMax int, styled bool) HistoryRows {
	var h HistoryRows
	cols, _ = clampSize(cols, 1)
	text = bytes.TrimSuffix(text, lineBreak)
	var line unstyled
	for more := len(text) > 0; more && !h.Cut; {
		from := text
		at := bytes.LastIndex(text, lineBreak)
		if more = at >= 0; more {
			from, text = text[at+len(lineBreak):], text[:at]
		}
		line.read(from)
		ends := wrapPlain(line.text, cols)
		for i := len(ends) - 1; i > 0; i-- {
			row, look := line.text[ends[i-1]:ends[i]], []byte(nil)
			if styled {
				look = line.appendStyled(nil, ends[i-1], ends[i])
			}
			if h.Cut = len(h.Plain) == rowsMax || len(row)+len(look) > bytesMax; h.Cut {
				break
			}
			bytesMax -= len(row) + len(look)
			if i > 1 {
				h.Continued = append(h.Continued, len(h.Plain)) // counted from the end, for now
			}
			h.Plain = append(h.Plain, string(row))
			if styled {
				h.Styled = append(h.Styled, string(look))
			}
		}
	}
	slices.Reverse(h.Plain)
	slices.Reverse(h.Styled)
	slices.Reverse(h.Continued)
	for i := range h.Continued {
		h.Continued[i] = len(h.Plain) - 1 - h.Continued[i]
	}
	return h
}

var lineBreak = []byte("\r\n")

// unstyled is a committed line without its control sequences, links and
// controls, and what they said of its looks.
type unstyled struct {
	text  []byte
	looks []look
}

// look is an SGR, which sets a whole style, and the length of the text before.
type look struct {
	at  int
	sgr []byte
}

// read takes a line apart. It keeps the looks as parts of it.
func (u *unstyled) read(line []byte) {
	u.text, u.looks = u.text[:0], u.looks[:0]
	for len(line) > 0 {
		n := 1
		switch c := line[0]; {
		case c == 0x1b:
			n = escapeLen(line)
			if line[n-1] == 'm' && line[1] == '[' {
				u.looks = append(u.looks, look{len(u.text), line[:n]})
			}
		case c < 0x20 || c == 0x7f:
		default:
			n = bytes.IndexFunc(line, func(r rune) bool { return r < 0x20 || r == 0x7f })
			if n < 0 {
				n = len(line)
			}
			u.text = append(u.text, line[:n]...)
		}
		line = line[n:]
	}
}

// appendStyled appends a part of the text with its looks. It begins and ends in
// the default one.
func (u *unstyled) appendStyled(dst []byte, from, to int) []byte {
	next, _ := slices.BinarySearchFunc(u.looks, from+1, func(l look, at int) int { return cmp.Compare(l.at, at) })
	now, shown := defaultLook, defaultLook
	if next > 0 {
		now = u.looks[next-1].sgr
	}
	for from < to {
		end := to
		if next < len(u.looks) {
			end = min(to, u.looks[next].at)
		}
		if end > from && !bytes.Equal(now, shown) {
			dst, shown = append(dst, now...), now
		}
		dst = append(dst, u.text[from:end]...)
		if from = end; next < len(u.looks) {
			now = u.looks[next].sgr
			next++
		}
	}
	if !bytes.Equal(shown, defaultLook) {
		dst = append(dst, defaultLook...)
	}
	return dst
}

// defaultLook is the SGR of the default style.
var defaultLook = appendSGR(nil, style{})

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
