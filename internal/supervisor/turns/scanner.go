// SPDX-License-Identifier: Apache-2.0

// Package turns finds the commands of a shell in a terminal's output, and makes plain text of what they wrote.
//
// A turn is one command: it begins behind the mark C of OSC 133 and ends at the mark D, which may carry the
// exit status. The marks come from the shell itself (package shellmarks starts shells that send them).
// The package is pure: it sees bytes in order and holds no more of them than a mark is long.
package turns

import (
	"bytes"
	"strconv"
	"strings"
)

// markBytesMax bounds the text of a mark. Shells add parameters such as the command line; what is longer is
// no mark.
const markBytesMax = 4 << 10

// Mark is one OSC 133 in the output.
type Mark struct {
	Kind   byte   // 'A' a prompt begins, 'B' it ends, 'C' a command begins, 'D' it has ended
	Status int    // of D; meaningless unless Known
	Known  bool   // D told a status
	Nonce  string // that the mark carries; "" for none
	// Start is the position of the first byte of the mark, and End the one behind its last, counted from the
	// first byte that the Scanner was fed.
	Start, End uint64
}

// Scanner finds marks in a stream. The zero value is at its beginning.
type Scanner struct {
	position uint64
	in       place
	start    uint64 // of the sequence being read
	text     []byte // of the OSC being read
	long     bool   // that text is longer than a mark may be
}

// place is where in a sequence the stream stands.
type place uint8

const (
	ground place = iota
	escape       // behind ESC
	osc          // in the text of an OSC
	oscEnd       // behind an ESC in that text: a backslash ends it
)

// Feed reads the next bytes and calls found for each mark that ends in them, in order.
func (s *Scanner) Feed(p []byte, found func(Mark)) {
	for len(p) > 0 {
		if s.in == ground {
			skip := bytes.IndexByte(p, 0x1b)
			if skip < 0 {
				skip = len(p)
			}
			s.position += uint64(skip)
			if p = p[skip:]; len(p) == 0 {
				return
			}
		}
		c := p[0]
		p = p[1:]
		s.position++
		if s.step(c) {
			if m, ok := s.mark(); ok {
				found(m)
			}
			s.text, s.long = s.text[:0], false
		}
	}
}

// step reads one byte and reports whether it ended an OSC. As in a terminal, ESC begins a sequence wherever it
// comes, and CAN and SUB end any.
func (s *Scanner) step(c byte) (ended bool) {
	switch {
	case c == 0x18 || c == 0x1a:
		s.leave()
	case s.in == osc && c == 0x07, s.in == oscEnd && c == '\\':
		s.in = ground
		return true
	case s.in == osc && c == 0x1b:
		s.in = oscEnd
	case s.in == osc:
		if s.long = s.long || len(s.text) == markBytesMax; !s.long {
			s.text = append(s.text, c)
		}
	case c == 0x1b:
		s.leave()
		s.in, s.start = escape, s.position-1
	case s.in == oscEnd: // the ESC began another sequence, and ended the OSC without effect
		s.leave()
		s.start = s.position - 2
		s.begin(c)
	default:
		s.begin(c)
	}
	return false
}

// begin reads the byte behind ESC.
func (s *Scanner) begin(c byte) {
	s.in = ground
	if c == ']' {
		s.in = osc
	}
}

func (s *Scanner) leave() { s.in, s.text, s.long = ground, s.text[:0], false }

// mark reads the OSC that just ended.
func (s *Scanner) mark() (Mark, bool) {
	text, ok := bytes.CutPrefix(s.text, []byte("133;"))
	if !ok || s.long {
		return Mark{}, false
	}
	m, ok := Parse(string(text))
	m.Start, m.End = s.start, s.position
	return m, ok
}

// Parse reads what an OSC 133 says: a letter, and parameters behind a semicolon. The mark has no position.
func Parse(text string) (Mark, bool) {
	kind, params, _ := strings.Cut(text, ";")
	if len(kind) != 1 {
		return Mark{}, false
	}
	m := Mark{Kind: kind[0]}
	switch m.Kind {
	case 'A', 'B', 'C':
	case 'D':
		status, _, _ := strings.Cut(params, ";")
		n, err := strconv.ParseUint(status, 10, 31)
		m.Status, m.Known = int(n), err == nil
	default:
		return Mark{}, false
	}
	for param := range strings.SplitSeq(params, ";") {
		if nonce, ok := strings.CutPrefix(param, "nonce="); ok {
			m.Nonce = nonce
		}
	}
	return m, true
}
