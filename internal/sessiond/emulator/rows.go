// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"
)

// RowCutter cuts committed text into the rows that it takes at a width, without control sequences, links and
// controls. The text may come in pieces that end anywhere; between two pieces it keeps what has not ended: a row, and
// behind it a character that marks may still join, or a sequence.
type RowCutter struct {
	cols   int
	styled bool
	emit   func(plain, styled []byte, continues bool)

	open  []byte // of the last piece: the begin of a sequence, of a line break or of a character
	text  []byte // of the present line; what was before the present row goes between two pieces
	looks []look // said in text; nil when not styled
	sgr   []byte // what the looks are parts of
	from  int    // where the present row begins in text
	at, x int    // where its next character is in text, and in which column
	begun bool   // the line has had a byte
	later bool   // the line has had a row
	row   []byte // the styled row; reused
}

// look is an SGR, which sets a whole style, and the length of the text before. The SGR is a part of RowCutter.sgr.
type look struct{ at, from, to int }

var lineBreak = []byte("\r\n")

// NewRowCutter returns a RowCutter of cols columns. It calls emit with each row in turn; styled is the row once
// more with SGR, which begins and ends in the default style, or nil if that isn't asked for. Both are
// valid during the call. continues says that the row goes on with the line of the one before.
func NewRowCutter(cols int, styled bool, emit func(plain, styled []byte, continues bool)) *RowCutter {
	cols, _ = clampSize(cols, 1)
	return &RowCutter{cols: cols, styled: styled, emit: emit}
}

// Feed takes the next piece of text.
func (c *RowCutter) Feed(piece []byte) {
	p := piece
	if len(c.open) > 0 {
		c.open = append(c.open, piece...)
		p = c.open
	}
	for {
		line, rest, ended := bytes.Cut(p, lineBreak)
		c.begun = c.begun || len(line) > 0
		left := c.strip(line, ended)
		c.wrap(ended)
		if !ended {
			c.open = append(c.open[:0], left...) // left may be its end
			c.compact()
			return
		}
		c.endLine()
		p = rest
	}
}

// End takes it that the text ends here. A line that has not ended becomes rows all the same.
func (c *RowCutter) End() {
	c.strip(c.open, true)
	c.open = c.open[:0]
	c.wrap(true)
	if c.begun {
		c.endLine()
	}
}

// Wipe overwrites what is kept of the text.
func (c *RowCutter) Wipe() {
	for _, kept := range [][]byte{c.open, c.text, c.sgr, c.row} {
		clear(kept[:cap(kept)])
	}
}

func (c *RowCutter) endLine() {
	c.show(len(c.text))
	c.text, c.looks, c.sgr = c.text[:0], c.looks[:0], c.sgr[:0]
	c.from, c.at, c.x, c.begun, c.later = 0, 0, 0, false, false
}

// strip takes a part of a line apart. It returns what can't be judged before more has come; nothing when the line
// is whole.
func (c *RowCutter) strip(p []byte, whole bool) []byte {
	for len(p) > 0 {
		n := 1
		switch first := p[0]; {
		case first == 0x1b:
			var ended bool
			if n, ended = escapeLen(p); !ended && !whole {
				return p
			}
			if c.styled && p[n-1] == 'm' && p[1] == '[' {
				from := len(c.sgr)
				c.sgr = append(c.sgr, p[:n]...)
				c.looks = append(c.looks, look{len(c.text), from, len(c.sgr)})
			}
		case first == '\r' && len(p) == 1 && !whole: // a line feed may follow
			return p
		case first < 0x20 || first == 0x7f:
		default:
			if n = textLen(p, whole); n == 0 {
				return p
			}
			c.text = append(c.text, p[:n]...)
		}
		p = p[n:]
	}
	return nil
}

// textLen is the length of the text that p begins with, up to a control. A character that has not come whole
// is left out, unless nothing comes any more.
func textLen(p []byte, whole bool) int {
	for i, b := range p {
		if b < 0x20 || b == 0x7f {
			return i
		}
	}
	if whole {
		return len(p)
	}
	for back := 1; back <= min(len(p), utf8.UTFMax); back++ {
		if at := len(p) - back; utf8.RuneStart(p[at]) {
			if !utf8.FullRune(p[at:]) {
				return at
			}
			break
		}
	}
	return len(p)
}

// wrap shows the rows that are full. The last character is only looked at when the line is whole: a mark that
// joins it may follow.
func (c *RowCutter) wrap(whole bool) {
	for c.at < len(c.text) {
		if n := c.plainRun(); n > 0 {
			c.at += n
			c.x += n
			continue
		}
		n, w := nextCharacter(c.text[c.at:])
		if c.at+n == len(c.text) && !whole {
			return
		}
		if c.x += w; c.x > c.cols {
			c.show(c.at)
			c.x = w
		}
		c.at += n
	}
}

// plainRun is how many of the next characters are ASCII, followed by ASCII, and within the row.
func (c *RowCutter) plainRun() int {
	text := c.text[c.at:min(len(c.text), c.at+c.cols-c.x+1)]
	for i := 0; i+1 < len(text); i++ {
		if text[i+1] >= utf8.RuneSelf || text[i] >= utf8.RuneSelf {
			return i
		}
	}
	return max(0, len(text)-1)
}

// show passes on the present row, which ends before an offset, and begins the next one there.
func (c *RowCutter) show(end int) {
	var styled []byte
	if c.styled {
		c.row = c.appendStyled(c.row[:0], end)
		styled = c.row
	}
	c.emit(c.text[c.from:end], styled, c.later)
	c.from, c.later = end, true
}

// compact lets go of the rows that were shown. The present one keeps the look that it has.
func (c *RowCutter) compact() {
	c.text = append(c.text[:0], c.text[c.from:]...)
	c.at -= c.from
	if kept := max(0, c.lookBehind(c.from)-1); len(c.looks) > 0 {
		c.looks = append(c.looks[:0], c.looks[kept:]...)
		past := c.looks[0].from
		c.sgr = append(c.sgr[:0], c.sgr[past:]...)
		for i := range c.looks {
			l := &c.looks[i]
			*l = look{max(0, l.at-c.from), l.from - past, l.to - past}
		}
	}
	c.from = 0
}

// lookBehind is the first look that begins behind an offset.
func (c *RowCutter) lookBehind(at int) int {
	next, _ := slices.BinarySearchFunc(c.looks, at+1, func(l look, at int) int { return cmp.Compare(l.at, at) })
	return next
}

// appendStyled appends the present row, which ends before an offset, with its looks. It begins and ends in the
// default one.
func (c *RowCutter) appendStyled(dst []byte, end int) []byte {
	next := c.lookBehind(c.from)
	now, shown := defaultLook, defaultLook
	if next > 0 {
		now = c.sgrOf(next - 1)
	}
	for from := c.from; from < end; {
		to := end
		if next < len(c.looks) {
			to = min(end, c.looks[next].at)
		}
		if to > from && !bytes.Equal(now, shown) {
			dst, shown = append(dst, now...), now
		}
		dst = append(dst, c.text[from:to]...)
		if from = to; next < len(c.looks) {
			now = c.sgrOf(next)
			next++
		}
	}
	if !bytes.Equal(shown, defaultLook) {
		dst = append(dst, defaultLook...)
	}
	return dst
}

func (c *RowCutter) sgrOf(i int) []byte { return c.sgr[c.looks[i].from:c.looks[i].to] }

// defaultLook is the SGR of the default style.
var defaultLook = appendSGR(nil, style{})

// escapeLen returns the length of the sequence that p begins with: one of those
// that history is written with, a CSI or an OSC that ends in ST. One that does not end is all of p.
func escapeLen(p []byte) (n int, ended bool) {
	switch {
	case len(p) < 2:
	case p[1] == '[':
		if i := bytes.IndexFunc(p[2:], func(r rune) bool { return r >= 0x40 }); i >= 0 {
			return i + 3, true
		}
	case p[1] == ']':
		if i := bytes.Index(p, []byte("\x1b\\")); i >= 0 {
			return i + 2, true
		}
	default:
		return 2, true
	}
	return len(p), false
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
