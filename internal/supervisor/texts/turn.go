// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"bytes"
	"regexp"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/turns"
	"spawn/internal/supervisor/verbs"
)

// stage is how far a command has come.
//
//	typed ──A, B──► prompted       the shell shows a prompt again, and may have refused the line
//	  └──────C──────────┴──► running ──D──► over ──A, B──► settled
//	                            └──A, B──► unsaid      the shell is back and has not said how it ended
//	                                         ├──D──► over
//	                                         └──C──► settled      with the next command
type stage uint8

const (
	typed    stage = 0
	prompted stage = 1
	running  stage = 2
	unsaid   stage = 3
	over     stage = 4
	settled  stage = 5
)

// turn is one command and what it put out. It sees output and marks in order, and knows no time.
type turn struct {
	stage stage
	scan  turns.Scanner
	voice turns.Voice
	ends  bool   // prompts of this shell have an end: B is waited for, not A
	fed   uint64 // bytes that scan has seen
	raw   []byte // output that may be the command's; its last byte is the one before fed, until the end is known
	ended *turns.Mark
	cut   bool // the front of raw is gone
	gap   bool // bytes are missing, marks perhaps among them
	began bool // the shell has said, beside the output, that a command runs
}

func (t *turn) hear(h fanout.Heard) {
	if h.Gap {
		t.miss()
	}
	t.voice.Learn(h.Prompt.Voice)
	t.ends = t.ends || h.Prompt.Ends
	t.feed(h.Output)
	t.began = t.began || h.Prompt.Last == 'C'
	if t.gap && t.began && t.stage == running && h.Prompt.Last != 'C' { // its D was in the gap
		t.stage, t.ended = over, h.Prompt.Ended
	}
}

// miss begins anew after a gap. That much output is a command's.
func (t *turn) miss() {
	t.gap, t.cut = true, true
	t.scan, t.fed, t.raw = turns.Scanner{}, 0, t.raw[:0]
	if t.stage < running {
		t.stage = running
	}
}

func (t *turn) feed(output []byte) {
	t.fed += uint64(len(output))
	if t.stage <= running {
		t.raw = append(t.raw, output...)
	}
	t.scan.Feed(output, t.mark)
	if len(t.raw) > 2*rawBytesMax && t.stage <= running { // seldom, because all that stays is moved
		t.raw = append(t.raw[:0], t.raw[len(t.raw)-rawBytesMax:]...)
		t.cut = t.cut || t.stage == running
	}
}

// mark takes one mark. The positions in raw count from its end.
func (t *turn) mark(m turns.Mark) {
	if !t.voice.Trusts(m) {
		return
	}
	back := m.Kind == 'A' || m.Kind == 'B'
	ready := m.Kind == 'B' || m.Kind == 'A' && !t.ends
	switch {
	case t.stage <= prompted && m.Kind == 'C':
		t.raw = t.raw[t.at(m.End):]
		t.stage = running
	case t.stage == running && m.Kind == 'D':
		t.raw = t.raw[:t.at(m.Start)]
		t.stage, t.ended = over, &m
	case t.stage == running && back:
		t.raw = t.raw[:t.at(m.Start)]
		t.stage = unsaid
	case t.stage == unsaid && m.Kind == 'D':
		t.stage, t.ended = over, &m
	case t.stage == unsaid && m.Kind == 'C':
		t.stage = settled
	case t.stage == over && ready:
		t.stage = settled
	case t.stage == typed && ready:
		t.stage = prompted
	}
}

// at is where in raw a position of the scanner lies.
func (t *turn) at(position uint64) int {
	return max(0, len(t.raw)-int(t.fed-position))
}

// endOfLine is what zsh writes at the end of output without a newline, and in the way that the terminal wraps it:
// a sign in a style of its own, blanks to the margin, and back (zshoptions, PROMPT_SP). Where the prompt's own mark
// is the first one behind it, the prompt has been begun too.
var endOfLine = regexp.MustCompile(`(?:\x1b\[[0-9;]*m)*[%#]?(?:\x1b\[[0-9;]*m)* +\r \r(?:\r|\x1b\[[0-9;]*[mJK])*$`)

// endBytesMax is more than that takes on the widest terminal.
const endBytesMax = 2 * wire.SizeMax

func (t *turn) result(most uint32) verbs.PaneRunResult {
	if most == 0 {
		most = runBytesDefault
	}
	raw := t.raw
	if t.cut {
		if n := bytes.IndexByte(raw, '\n'); n >= 0 {
			raw = raw[n+1:] // the first line is a part of one
		}
	}
	last := max(0, len(raw)-endBytesMax)
	if at := endOfLine.FindIndex(raw[last:]); at != nil {
		raw = raw[:last+at[0]]
	}
	text, clipped := turns.Plain(raw, int(most))
	text, more := fitting(text, answerBytes)
	return verbs.PaneRunResult{Output: text, Cut: clipped || more || t.cut, ExitCode: told(t.ended)}
}
