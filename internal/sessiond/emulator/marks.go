// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"strconv"
	"strings"
)

// promptMarks are the marks of OSC 133 on one row, a bit for each letter: at A
// a prompt begins, at B what is typed, at C what the command prints; at D it has
// ended. They stay with the row when it scrolls and with its first character
// when a resize wraps it anew, and go with what the row shows when all of it is
// erased. An erase that finds nothing leaves them: shells mark a line and then
// clear it for their prompt. See the proposal semantic-prompts of
// gitlab.freedesktop.org/Per_Bothner/specifications.
type promptMarks uint8

// promptLetters has the letter of each bit, the lowest first.
const promptLetters = "ABCD"

// String returns the letters, "" for none.
func (m promptMarks) String() string {
	var out strings.Builder
	for bit := range len(promptLetters) {
		if m>>bit&1 != 0 {
			out.WriteByte(promptLetters[bit])
		}
	}
	return out.String()
}

// promptMark returns the mark that a payload of OSC 133 sets: one of the letters,
// alone or with parameters. It is 0 for all others.
func promptMark(payload string) promptMarks {
	letter, _, _ := strings.Cut(payload, ";")
	if bit := strings.Index(promptLetters, letter); bit >= 0 && len(letter) == 1 {
		return 1 << bit
	}
	return 0
}

// restoredMarks begins the payload that says which marks the cursor's row has,
// as a number, and tells nobody: a repaint must not look like a prompt. The form
// is our own, and unknown to all other terminals.
const restoredMarks = "="

// mark carries out OSC 133.
func (t *Terminal) mark(payload string) {
	line := t.active.row(t.active.y)
	if bits, ok := strings.CutPrefix(payload, restoredMarks); ok {
		if n, err := strconv.ParseUint(bits, 10, len(promptLetters)); err == nil {
			line.prompt = promptMarks(n)
		}
		return
	}
	line.prompt |= promptMark(payload)
	t.notice(NoticeMark, payload)
}

// promptMarks gives the shown screen, which is being painted, the marks of s.
func (p *painter) promptMarks(s *screen) {
	for y := range s.order {
		if m := s.row(y).prompt; m != 0 {
			p.moveTo(0, y)
			p.osc(oscMark, restoredMarks+strconv.Itoa(int(m)))
		}
	}
}
