// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bytes"
	"strconv"
)

// CountFilter makes live bytes safe for a viewer: a few bytes with a huge count
// keep xterm.js busy for minutes or hours. It touches only sequences that do
// (IL, DL, SU, SD, CHT, CBT and REP), and only if their count goes beyond what
// the geometry can show, so a viewer shows the same with and without it.
//
// Nothing is held back. The digits of a number pass as they come; it is the
// final byte of a sequence whose count turned out huge that is replaced by the
// whole sequence with a smaller count: its ESC ends the first one, which had no
// effect yet. So each byte leads to its output at once, and the output doesn't
// depend on where the stream is cut.
//
// It takes the bytes of the program in order. It does no I/O and is not safe
// for concurrent use.
type CountFilter struct {
	cols, rows int
	// state is escape, csiEntry or csiParam while a sequence may become one of
	// those above, else ground, whatever the parser would be in.
	state state
	count int  // the first parameter so far, paramMax at most
	rest  bool // the first parameter is over
	// partial holds the bytes of an incomplete code point.
	partial   [3]byte
	partialN  int
	out       []byte
	rewritten uint64
}

// NewCountFilter returns a filter for a stream that is shown at a geometry.
func NewCountFilter(cols, rows int) *CountFilter {
	f := &CountFilter{}
	f.Resize(cols, rows)
	return f
}

// Resize changes the geometry, moved into the limits of a Terminal.
func (f *CountFilter) Resize(cols, rows int) { f.cols, f.rows = clampSize(cols, rows) }

// Rewritten returns how many sequences were rewritten so far.
func (f *CountFilter) Rewritten() uint64 { return f.rewritten }

// Filter returns what viewers shall get of the next bytes: p itself if nothing
// has to be rewritten, else a buffer that is valid until the next call and at
// most twice as long, plus filterSlack.
func (f *CountFilter) Filter(p []byte) []byte {
	f.out = f.out[:0]
	copied := 0
	for i := 0; i < len(p); {
		if f.state == ground && f.partialN == 0 {
			if i += skipHarmless(p[i:]); i == len(p) {
				break
			}
		}
		r, n := completeUTF8(&f.partial, &f.partialN, p[i:])
		i += n
		if r < 0 {
			continue
		}
		if count, huge := f.step(r); huge {
			f.out = append(f.out, p[copied:i-1]...)
			f.out = strconv.AppendInt(append(f.out, "\x1b["...), int64(count), 10)
			copied = i - 1 // the final byte follows
			f.rewritten++
		}
	}
	if len(f.out) == 0 {
		return p
	}
	f.out = append(f.out, p[copied:]...)
	return f.out
}

// skipHarmless returns how many bytes can pass without a look at each: up to
// an ESC or a U+009B, which begin a sequence in every state of a parser.
func skipHarmless(p []byte) int {
	for i := 0; i < len(p); {
		end := bytes.IndexByte(p[i:], 0x1b)
		if end < 0 {
			end = len(p) - i
		}
		if at := indexCSI(p[i : i+end]); at < end {
			return i + at
		}
		i += end
		n := harmlessCSI(p[i:])
		if n == 0 {
			return i
		}
		i += n
	}
	return len(p)
}

// indexCSI returns the index of the first U+009B in p, or of its first half at
// the end, or the length of p.
func indexCSI(p []byte) int {
	for i := 0; i < len(p); i++ {
		n := bytes.IndexByte(p[i:], 0xc2)
		if n < 0 {
			break
		}
		if i += n; i+1 == len(p) || p[i+1] == 0x9b {
			return i
		}
	}
	return len(p)
}

// harmlessCSI returns the length of the control sequence that p begins with if
// it is complete, has no intermediates and never repeats anything; else 0.
func harmlessCSI(p []byte) int {
	if len(p) < 3 || p[1] != '[' {
		return 0
	}
	for i, c := range p[2:] {
		if c < 0x30 || c > 0x3f {
			if c >= 0x40 && c < 0x7f && !repeats(c) {
				return i + 3
			}
			break
		}
	}
	return 0
}

// repeats reports whether a viewer does the work of a control sequence as often
// as its count says.
func repeats(final byte) bool {
	switch final {
	case 'L', 'M', 'S', 'T', 'I', 'Z', 'b':
		return true
	}
	return false
}

// step takes one transition of the parser's table. If it ends a sequence with a
// count that is too large, it returns the one to use.
func (f *CountFilter) step(r rune) (count int, huge bool) {
	tr := transitions[f.state][min(r, otherRune)]
	next := tr.next()
	switch tr.action() {
	case actClear:
		f.count, f.rest = 0, false
	case actParam:
		f.param(r)
	case actCollect:
		next = ground // none of ours has a prefix or intermediates
	case actCsiDispatch:
		count, huge = f.enough(byte(r))
	}
	switch next {
	case escape, csiEntry, csiParam:
		f.state = next
	default:
		f.state = ground
	}
	return count, huge
}

// param takes one byte of the parameters. Only the first one counts.
func (f *CountFilter) param(r rune) {
	switch {
	case r == ';' || r == ':':
		f.rest = true
	case !f.rest:
		f.count = min(f.count*10+int(r-'0'), paramMax)
	}
}

// enough returns a smaller count that has the same effect as a huge one.
func (f *CountFilter) enough(final byte) (count int, huge bool) {
	switch final {
	case 'L', 'M', 'S', 'T':
		return f.rows, f.count > f.rows
	case 'I', 'Z':
		return f.cols, f.count > f.cols
	case 'b':
		// Once the screen is full, each further line is like the last one.
		full, line := (f.rows+1)*f.cols, charactersPeriod(f.cols)
		if f.count > full+line {
			return full + (f.count-full)%line, true
		}
	}
	return 0, false
}

// charactersPeriod returns a number of characters that fill whole lines, narrow
// ones as well as wide ones.
func charactersPeriod(cols int) int {
	if cols%2 == 0 {
		return cols
	}
	return cols * (cols / 2)
}
