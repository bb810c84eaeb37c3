// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"encoding/binary"
	"unicode/utf8"
)

// history gathers committed lines until they are delivered. Each row begins
// and ends in the default style, so the text doesn't depend on how it is cut
// into batches.
type history struct {
	text []byte
	at   uint32 // the style in which text ends
	// open says that the last line committed was cut by a soft wrap and ended
	// without a break.
	open bool
}

// follower says what comes after a committed row.
type follower uint8

const (
	followedByBreak follower = iota
	followedByRest           // a row that continues it
	followedByWide           // one that begins with a wide character
)

// followerOf returns what a row is to the one above it.
func followerOf(r *row) follower {
	switch {
	case !r.wrapped:
		return followedByBreak
	case r.class(0) == classHead:
		return followedByWide
	}
	return followedByRest
}

// commit appends a row that leaves the primary screen for good. There is no
// break after it if the next one continues it.
func (h *history) commit(t *Terminal, r *row, next follower) {
	if h.open && !r.wrapped {
		h.breakLine()
	}
	t.mend(r, 0) // as a person sees it, and no wider than the screen
	h.appendRow(t, r, next)
	h.text = t.appendStyleID(h.text, h.at, 0)
	h.at = 0
	h.open = next != followedByBreak
	if !h.open {
		h.breakLine()
	}
	if len(h.text) >= historyBatchBytes {
		h.flush(t)
	}
}

func (h *history) breakLine() {
	h.text = append(h.text, '\r', '\n')
	h.open = false
}

// flush delivers what was gathered.
func (h *history) flush(t *Terminal) {
	if len(h.text) > 0 {
		t.sink.History(h.text)
		clear(h.text) // the buffer lives as long as the terminal, the lines do not
		h.text = h.text[:0]
	}
}

// wipe delivers what was gathered and tells that all history is gone.
func (h *history) wipe(t *Terminal) {
	h.flush(t)
	h.open = false
	t.sink.Wipe()
}

// appendRow appends the text of a row: all columns if it is continued, else up
// to the last one that shows something.
func (h *history) appendRow(t *Terminal, r *row, next follower) {
	cells := r.text(next)
	if r.typedCols == len(cells) {
		h.text, h.at = append(grow(h.text, len(r.typed)+rowEndBytes), r.typed...), r.typedStyle
		return
	}
	at := h.at
	out, n := room(h.text, len(cells))
	for x := 0; x < len(cells); {
		c := cells[x]
		if id := c.style(); id != at {
			out, n = room(t.appendStyleID(out[:n], at, id), len(cells)-x)
			at = id
		}
		switch r := uint32(c & (runeMask | unusual)); {
		case r < 0x80:
			run := asciiCells(out[n:], cells[x:])
			n += run
			x += run
		case c&unusual == 0:
			word, size := encodeWord(r)
			binary.LittleEndian.PutUint32(out[n:], word)
			n += size
			x += 1 + int(c&classHead/classHead)
		default:
			out, n = room(t.appendUnusual(out, n, c), len(cells)-x)
			x++
		}
	}
	h.text, h.at = out[:n], at
}

// asciiCells writes the text of the leading cells that are ASCII in the style of
// the first, which is, and returns how many those are. dst has room for all.
func asciiCells(dst []byte, cells []cell) int {
	const ascii cell = 0x7f
	same := cells[0] &^ ascii
	dst = dst[:len(cells)]
	for i, c := range cells {
		if c&^ascii != same {
			return i
		}
		b := byte(c)
		if b == 0 {
			b = ' '
		}
		dst[i] = b
	}
	return len(cells)
}

// room returns text as far as it can grow, with space for n code points, the
// longest cluster and the end of a row at least, and its length.
func room(text []byte, n int) ([]byte, int) {
	text = grow(text, utf8.UTFMax*n+clusterBytesMax+rowEndBytes)
	return text[:cap(text)], len(text)
}

// grow makes room for n more bytes. Where append would leave the old bytes
// behind, it wipes them: they are text that others must not find later.
func grow(text []byte, n int) []byte {
	if cap(text)-len(text) >= n {
		return text
	}
	grown := make([]byte, len(text), len(text)+max(n, len(text)/2, growBytesMin))
	copy(grown, text)
	clear(text)
	return grown
}

// unusual has the bits of cells that hold more than one code point, or none of
// their own: clusters, marks, and a right half whose left one is gone.
const unusual = clusterFlag | classTail

// appendUnusual appends the text of such a cell to the first n bytes of out,
// which has room for a cluster.
func (t *Terminal) appendUnusual(out []byte, n int, c cell) []byte {
	switch c.class() {
	case classTail:
		return out[:n]
	case classMark:
		// It has a column of its own, and must not join what is before it.
		return t.clusters.appendContent(append(out[:n], ' '), c)
	}
	k := &t.clusters.list[c&runeMask]
	if k.size == 0 {
		return t.clusters.appendContent(out[:n], c)
	}
	*(*[clusterTextMax]byte)(out[n:]) = k.text
	return out[:n+int(k.size)]
}

// text returns the cells of a row that count as text.
func (r *row) text(next follower) []cell {
	end := len(r.cells)
	switch {
	case next == followedByBreak:
		end = r.used
		for end > 0 && r.cells[end-1] == 0 {
			end--
		}
	case next == followedByWide && r.cells[end-1].blank():
		end-- // the wide character didn't fit there
	}
	return r.cells[:end]
}
