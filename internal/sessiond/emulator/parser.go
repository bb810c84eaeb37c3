// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"encoding/binary"
	"math/bits"
)

// parser is the state that outlives a Feed in the middle of a sequence. It is
// complete: the result doesn't depend on where the stream is cut.
//
// The way of a byte:
//
//  1. Feed cuts the input into slices and completes a code point that the
//     last one began.
//  2. groundRun takes what is outside sequences: runs of printable ASCII and
//     of other text go to print.go as a whole, C0 controls to control.
//  3. fastCSI takes a control sequence that is complete in the slice.
//  4. sequenceRun walks all other sequences through the table, byte by byte.
type parser struct {
	state  state
	params params
	// collect holds the prefix and intermediate bytes. The last place only
	// says that there were too many.
	collect  [collectMax + 1]byte
	collectN int
	osc      oscCollector
	// request is the body of a DECRQSS; known says that the DCS is one.
	request []byte
	known   bool
	// partial holds the bytes of an incomplete code point.
	partial  [3]byte
	partialN int
}

func (p *parser) reset() {
	p.state = ground
	p.clear()
	p.partialN = 0
}

func (p *parser) clear() {
	p.params.reset()
	p.collectN = 0
}

func (p *parser) addCollect(c byte) {
	if p.collectN < len(p.collect) {
		p.collect[p.collectN] = c
		p.collectN++
	}
}

// ident packs the collected bytes and a final byte. It is -1 when there were
// too many.
func (p *parser) ident(final byte) int {
	if p.collectN > collectMax {
		return -1
	}
	id := 0
	for _, c := range p.collect[:p.collectN] {
		id = id<<8 | int(c)
	}
	return id<<8 | int(final)
}

// Feed interprets bytes of the program.
func (t *Terminal) Feed(p []byte) {
	for len(p) > 0 {
		n := min(len(p), feedSlice)
		t.feed(p[:n])
		t.fedSince += n
		t.compactIfDue()
		p = p[n:]
	}
	t.history.flush(t)
}

func (t *Terminal) feed(p []byte) {
	for len(p) > 0 {
		switch {
		case t.parser.partialN > 0:
			p = p[t.complete(p):]
		case t.parser.state == ground:
			p = p[t.groundRun(p):]
		default:
			p = p[t.sequenceRun(p):]
		}
	}
}

// complete goes on with a code point that an earlier slice began. It returns
// how many bytes of p belong to it.
func (t *Terminal) complete(p []byte) int {
	ps := &t.parser
	r, n := completeUTF8(&ps.partial, &ps.partialN, p)
	if r >= 0 {
		t.codePoint(r)
	}
	return n
}

// keepPartial stores the bytes of an incomplete code point, which are all that
// is left of a slice.
func (t *Terminal) keepPartial(p []byte) int {
	t.parser.partialN = copy(t.parser.partial[:], p)
	return len(p)
}

// groundRun interprets p until it ends or a sequence begins that fastCSI can't
// take. It returns how many bytes it used.
func (t *Terminal) groundRun(p []byte) int {
	for i := 0; i < len(p); {
		switch c := p[i]; {
		case c >= 0x80:
			n := t.printUTF8(p[i:])
			i += n
			if t.parser.partialN > 0 || t.parser.state != ground {
				return i
			}
		case c >= 0x20 && c < 0x7f:
			n := asciiRun(p[i:])
			t.printASCII(p[i : i+n])
			i += n
		case c == 0x1b:
			n := 0
			if i+2 < len(p) && p[i+1] == '[' {
				n = t.fastCSI(p[i+2:])
			}
			if n == 0 {
				t.parser.clear()
				t.parser.state = escape
				return i + 1
			}
			i += 2 + n
		case c == 0x7f:
			i++
		default:
			t.control(c)
			i++
		}
	}
	return len(p)
}

// asciiRun returns how many bytes p begins with that are printable ASCII. The
// first one is. It looks at eight bytes at a time.
func asciiRun(p []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(p); i += 8 {
		v := binary.LittleEndian.Uint64(p[i:])
		// The upper bit of a byte tells that it is not ASCII, DEL by the second term, a control by the third. What
		// these carry and borrow reaches only the bytes after one of those.
		if odd := (v | (v + ones) | (v - 0x20*ones)) & highs; odd != 0 {
			return i + bits.TrailingZeros64(odd)/8
		}
	}
	for ; i < len(p) && p[i] >= 0x20 && p[i] < 0x7f; i++ {
	}
	return i
}

// fastCSI interprets a control sequence of which p holds what follows the
// introducer. It returns 0, having done nothing that counts, when the sequence
// isn't complete, or holds anything but a prefix, a few parameters without
// sub-parameters, and a final byte.
func (t *Terminal) fastCSI(p []byte) int {
	const digitsMax = 9 // no overflow
	pr := &t.parser.params
	pr.subN = 0
	id, i := 0, 0
	if p[0] >= 0x3c && p[0] <= 0x3f {
		id, i = int(p[0])<<8, 1
	}
	for n := range pr.v {
		v, start := int32(0), i
		for i < len(p) && p[i]-'0' < 10 {
			v = v*10 + int32(p[i]-'0')
			i++
		}
		if i == len(p) || i-start > digitsMax {
			return 0
		}
		pr.v[n] = v
		switch c := p[i]; {
		case c == ';':
			i++
		case c >= 0x40 && c < 0x7f:
			pr.n = n + 1
			t.csi(id | int(c))
			t.last = 0
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// sequenceRun walks p through the table until the sequence ends. It returns
// how many bytes it used.
func (t *Terminal) sequenceRun(p []byte) int {
	i := 0
	for i < len(p) && t.parser.state != ground {
		if n := t.bodyRun(p[i:]); n > 0 {
			i += n
			continue
		}
		if p[i] < 0x80 {
			t.codePoint(rune(p[i]))
			i++
			continue
		}
		r, n := decodeUTF8(p[i:])
		if n == 0 {
			return i + t.keepPartial(p[i:])
		}
		if r >= 0 {
			t.codePoint(r)
		}
		i += n
	}
	return i
}

// bodyRun takes the printable ASCII that p begins with when the state is the
// body of a string.
func (t *Terminal) bodyRun(p []byte) int {
	ps := &t.parser
	if ps.state != oscString && ps.state != skippedString && ps.state != dcsPassthrough || p[0] < 0x20 || p[0] > 0x7e {
		return 0
	}
	n := asciiRun(p)
	switch ps.state {
	case oscString:
		ps.osc.put(p[:n])
	case dcsPassthrough:
		ps.putRequest(p[:n])
	}
	return n
}

// codePoint takes one transition of the table.
func (t *Terminal) codePoint(r rune) {
	ps := &t.parser
	tr := transitions[ps.state][min(r, otherRune)]
	switch tr.action() {
	case actIgnore:
	case actPrint:
		t.print(r)
	case actExecute:
		t.control(byte(r))
	case actClear:
		ps.clear()
	case actCollect:
		ps.addCollect(byte(r))
	case actParam:
		ps.params.put(byte(r))
	case actEscDispatch:
		t.esc(ps.ident(byte(r)))
		t.last = 0
	case actCsiDispatch:
		t.csi(ps.ident(byte(r)))
		t.last = 0
	default:
		t.stringAction(tr.action(), r)
	}
	ps.state = tr.next()
}

// stringAction takes the actions of OSC and DCS.
func (t *Terminal) stringAction(a action, r rune) {
	ps := &t.parser
	switch a {
	case actOscStart:
		ps.osc.start()
	case actOscPut:
		ps.osc.putRune(r)
	case actOscEnd:
		if r != 0x18 && r != 0x1a {
			t.osc(ps.osc.end())
		}
		ps.osc.start()
		ps.clear()
		t.last = 0
	case actDcsHook:
		ps.known = ps.ident(byte(r)) == '$'<<8|'q'
		ps.request = ps.request[:0]
	case actDcsPut:
		ps.putRequest([]byte(string(r)))
	case actDcsUnhook:
		if ps.known && r != 0x18 && r != 0x1a {
			t.requestStatus(string(ps.request))
		}
		ps.request = ps.request[:0]
		ps.clear()
		t.last = 0
	}
}

// putRequest keeps the body of a DECRQSS. One that is too long to mean
// anything becomes one that doesn't.
func (p *parser) putRequest(b []byte) {
	switch {
	case !p.known:
	case len(p.request)+len(b) > requestBytesMax:
		p.request = append(p.request[:0], "!!!!"[:requestBytesMax]...)
	default:
		p.request = append(p.request, b...)
	}
}
