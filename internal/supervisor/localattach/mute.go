// SPDX-License-Identifier: Apache-2.0

package localattach

import "bytes"

// The control characters that matter here.
const (
	enq = 0x05
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b
)

// heldBytesMax bounds a sequence that is kept back until it is known what it asks. Longer ones that could
// ask are taken out: none that a program needs is as long.
const heldBytesMax = 256

// mute takes out of a stream what would make the user's terminal answer, and what would change its
// window: CSI … t, among them the geometry marks of replays. Of the modes that are set together it takes out
// those under which the terminal reports by itself what the worker reports. The rest passes as it is, and
// however the stream is cut into calls, the same passes.
type mute struct {
	state muteState
	held  []byte // the sequence so far, from its ESC on; empty in ground, passing and dropping
	kind  byte   // the second byte of a string: one of ] P _ ^ X
	ended bool   // in escape: a string that was taken out stands before, whose end this may be
	long  bool   // in sequence: held was too small, and the sequence is taken out
}

type muteState uint8

const (
	ground   muteState = iota
	escape             // behind ESC
	sequence           // in CSI
	text               // in a string that is kept back
	passing            // in a string that is let through
	dropping           // in a string that is taken out
)

// append appends what of p the terminal may see.
func (m *mute) append(dst, p []byte) []byte {
	for len(p) > 0 {
		if m.state == ground {
			n := plain(p)
			dst, p = append(dst, p[:n]...), p[n:]
			if len(p) == 0 {
				break
			}
		}
		dst = m.step(dst, p[0])
		p = p[1:]
	}
	return dst
}

// plain is how many bytes of p come before the first that means something in ground.
func plain(p []byte) int {
	if i := bytes.IndexByte(p, esc); i >= 0 {
		p = p[:i]
	}
	if i := bytes.IndexByte(p, enq); i >= 0 {
		return i
	}
	return len(p)
}

func (m *mute) step(dst []byte, b byte) []byte {
	switch b {
	case esc:
		return m.begin(dst)
	case can, sub: // end whatever there is, without effect
		return append(m.release(dst), b)
	case enq: // outside of strings a terminal answers it with its name, at once
		if m.state != text && m.state != passing && m.state != dropping {
			return dst
		}
	}
	switch m.state {
	case escape:
		return m.introduce(dst, b)
	case sequence:
		return m.parameter(dst, b)
	case text:
		return m.character(dst, b)
	case passing:
		dst = append(dst, b)
	}
	if b == bel && m.kind == ']' {
		m.state = ground
	}
	return dst
}

// release lets through what is held.
func (m *mute) release(dst []byte) []byte {
	dst = append(dst, m.held...)
	m.discard()
	return dst
}

func (m *mute) discard() {
	clear(m.held)
	m.held, m.state, m.long = m.held[:0], ground, false
}

// begin starts a sequence with ESC. What was under way ends here.
func (m *mute) begin(dst []byte) []byte {
	out := m.state == dropping || m.state == text && stringAsks(m.kind, m.held[2:], true) != harmless
	if out || m.long {
		m.discard()
	}
	dst = m.release(dst)
	m.held, m.state, m.ended = append(m.held, esc), escape, out
	return dst
}

// introduce takes the byte behind ESC, or behind its intermediates.
func (m *mute) introduce(dst []byte, b byte) []byte {
	first := len(m.held) == 1
	m.held = append(m.held, b)
	switch {
	case b < 0x30 && len(m.held) < heldBytesMax: // controls, which the terminal does at once, and intermediates
		return dst
	case first && b == '[':
		m.state = sequence
		return dst
	case first && (b == ']' || b == 'P'):
		m.state, m.kind = text, b
		return dst
	case first && (b == '_' || b == '^' || b == 'X'): // APC, PM, SOS: nothing that a terminal shows
		m.discard()
		m.state, m.kind = dropping, b
		return dst
	case first && (b == 'Z' || b == '\\' && m.ended): // DECID asks; the end of a string goes with it
		m.discard()
		return dst
	}
	return m.release(dst)
}

// parameter takes a byte of a control sequence.
func (m *mute) parameter(dst []byte, b byte) []byte {
	if len(m.held) == heldBytesMax {
		m.long = true
	} else {
		m.held = append(m.held, b)
	}
	if b < 0x40 || b > 0x7e {
		return dst
	}
	if m.long || sequenceAsks(m.held[2:]) {
		m.discard()
		return dst
	}
	if named, ok := withoutReports(m.held[2:]); ok {
		if len(named) > 0 {
			dst = append(append(append(dst, "\x1b[?"...), named...), 'h')
		}
		m.discard()
		return dst
	}
	return m.release(dst)
}

// character takes a byte of a string that is kept back. The string is let through, or taken out, as soon
// as it is known to be harmless, or to ask.
func (m *mute) character(dst []byte, b byte) []byte {
	ends := b == bel && m.kind == ']'
	if !ends {
		m.held = append(m.held, b)
	}
	switch verdict := stringAsks(m.kind, m.held[2:], ends); {
	case verdict == harmless && ends:
		return append(m.release(dst), b)
	case verdict == harmless:
		dst = m.release(dst)
		m.state = passing
	case ends:
		m.discard()
	case verdict == asking || len(m.held) == heldBytesMax:
		m.discard()
		m.state = dropping
	}
	return dst
}
