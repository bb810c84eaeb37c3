// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

const (
	// columnsMax bounds a line, in characters. What a program writes behind it is dropped.
	columnsMax = 64 << 10
	// reachMax is how far beyond what is written a cursor can be moved: no terminal is wider, and on one the
	// cursor stops at the margin. It bounds what a few bytes can make of blanks.
	reachMax = 1000
	tabWidth = 8
)

// Plain returns what a person would read of a command's output on an endless screen: lines ended by \n, with
// what a carriage return, a backspace or a sequence within the line (CHA, CUF, CUB, EL) wrote over, and without
// colours, titles and other sequences. A program that paints a whole screen is not readable in this way.
//
// Characters count one column each: only what is written over a wide one can stand in another place than on a
// terminal. Invalid UTF-8 becomes U+FFFD. At most max bytes are returned, the last ones, from the start of a
// line where there is one; clipped tells that some are missing.
func Plain(output []byte, max int) (text string, clipped bool) {
	r := renderer{max: max}
	r.feed(output)
	r.endLine(false)
	text = string(r.out)
	if len(text) <= max {
		return text, r.dropped
	}
	whole := text[len(text)-max-1] == '\n'
	text = text[len(text)-max:]
	if _, rest, ok := strings.Cut(text, "\n"); ok && !whole && rest != "" {
		return rest, true
	}
	for text != "" && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text, true
}

// renderer writes finished lines to out, of which it keeps the last max bytes at least.
type renderer struct {
	out     []byte
	max     int
	dropped bool // lines in front are gone from out
	line    []rune
	column  int
}

func (r *renderer) feed(p []byte) {
	for len(p) > 0 {
		if p[0] == 0x1b {
			p = r.sequence(p[1:])
			continue
		}
		c, n := utf8.DecodeRune(p)
		p = p[n:]
		r.character(c)
	}
}

func (r *renderer) character(c rune) {
	switch {
	case c == '\n':
		r.endLine(true)
	case c == '\r':
		r.column = 0
	case c == '\b':
		r.column = max(0, r.column-1)
	case c == '\t':
		r.move((r.column/tabWidth + 1) * tabWidth)
	case c >= 0x20 && (c < 0x7f || c > 0x9f):
		r.put(c)
	}
}

func (r *renderer) put(c rune) {
	if r.column >= columnsMax {
		return
	}
	for len(r.line) <= r.column {
		r.line = append(r.line, ' ')
	}
	r.line[r.column] = c
	r.column++
}

// endLine writes the line out. A terminal's line feed alone leaves the column, but what programs write behind a
// terminal that adds the carriage return is meant from the left.
func (r *renderer) endLine(newline bool) {
	r.out = append(r.out, string(r.line)...)
	if newline {
		r.out = append(r.out, '\n')
	}
	r.line, r.column = r.line[:0], 0
	if tail := r.max + 1; len(r.out) > 2*tail { // one more, to see that max does not hold it all
		n := copy(r.out, r.out[len(r.out)-tail:])
		r.out, r.dropped = r.out[:n], true
	}
}

// move takes the cursor to a column, if it can be there.
func (r *renderer) move(column int) {
	r.column = min(max(0, column), max(reachMax, len(r.line)), columnsMax)
}

// sequence reads what is behind ESC and returns what is behind the sequence. One that is cut off takes the rest.
func (r *renderer) sequence(p []byte) []byte {
	if len(p) == 0 {
		return nil
	}
	switch c := p[0]; {
	case c == '[':
		return r.csi(p[1:])
	case strings.IndexByte("]PX^_", c) >= 0: // OSC, DCS, SOS, PM, APC
		return skipString(p[1:])
	case c >= 0x20 && c <= 0x2f: // intermediates, then a final byte
		for len(p) > 0 && p[0] >= 0x20 && p[0] <= 0x2f {
			p = p[1:]
		}
	case c < 0x20: // a control in the middle of a sequence has its effect
		return p
	}
	return p[min(1, len(p)):]
}

// csi reads the parameters and the final byte of a control sequence.
func (r *renderer) csi(p []byte) []byte {
	n := bytes.IndexFunc(p, func(c rune) bool { return c < 0x20 || c > 0x3f })
	if n < 0 {
		return nil
	}
	if p[n] < 0x40 || p[n] > 0x7e {
		return p[n:]
	}
	r.control(p[n], p[:n])
	return p[n+1:]
}

func (r *renderer) control(final byte, parameters []byte) {
	count, given := 0, false
	for _, c := range parameters {
		if c < '0' || c > '9' {
			break
		}
		count, given = min(count*10+int(c-'0'), columnsMax), true
	}
	step := max(1, count)
	switch final {
	case 'C':
		r.move(r.column + step)
	case 'D':
		r.move(r.column - step)
	case 'G':
		r.move(step - 1)
	case 'K':
		r.erase(count, given)
	}
}

// erase does EL: 0 to the end of the line, 1 from its start, 2 all of it.
func (r *renderer) erase(what int, given bool) {
	at := min(r.column, len(r.line))
	switch {
	case !given || what == 0:
		r.line = r.line[:at]
	case what == 1:
		for i := range r.line[:min(r.column+1, len(r.line))] {
			r.line[i] = ' '
		}
	case what == 2:
		r.line = r.line[:0]
	}
}

// skipString returns what is behind BEL or ST. As in a terminal, an ESC ends the string even if no backslash follows.
func skipString(p []byte) []byte {
	n := bytes.IndexAny(p, "\x07\x1b\x18\x1a")
	switch {
	case n < 0:
		return nil
	case p[n] != 0x1b:
		return p[n+1:]
	case n+1 < len(p) && p[n+1] == '\\':
		return p[n+2:]
	}
	return p[n:]
}
