// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"spawn/internal/sessiond/emulator"
)

// sequence is one row of docs/sequences.md.
type sequence struct {
	line                           int
	name, status                   string
	after, example, answer, reason string
}

// readSequences reads the tables of docs/sequences.md.
func readSequences(t *testing.T) []sequence {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "docs", "sequences.md"))
	if err != nil {
		t.Fatal(err)
	}
	var out []sequence
	for n, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|")
		if len(cells) != 9 || strings.HasPrefix(line, "|---") || strings.Contains(line, "| status |") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		out = append(out, sequence{
			line: n + 1, name: strings.TrimSpace(cells[1] + " " + cells[2]), status: cells[3],
			after: unescape(t, cells[4]), example: unescape(t, cells[5]), answer: unescape(t, cells[6]), reason: cells[7],
		})
	}
	return out
}

var letters = regexp.MustCompile(`\{\d+\}`)

// unescape reads an example as the document writes it.
func unescape(t *testing.T, cell string) string {
	t.Helper()
	cell = strings.Trim(cell, "`")
	if strings.Contains(cell, "\x00") {
		t.Fatalf("%q holds an escaped bar", cell)
	}
	cell = strings.NewReplacer(`\\`, `\\`, `\e`, `\x1b`, `\0`, `\x00`, `"`, `\"`).Replace(cell)
	s, err := strconv.Unquote(`"` + cell + `"`)
	if err != nil {
		t.Fatalf("read %s: %v", cell, err)
	}
	return letters.ReplaceAllStringFunc(s, func(m string) string {
		n, _ := strconv.Atoi(strings.Trim(m, "{}"))
		return strings.Repeat("x", n)
	})
}

// stage is what every example finds on its screen: coloured text, a wide character, and the cursor in
// row 2, column 3 with text around it.
const stage = "\x1b[31;44mAB\r\nCDEFGHIJ\r\nK\x1b[3;5HF界G\x1b[2;3H"

// prepared returns a terminal on which an example can show what it does.
func prepared(after string) *terminal {
	term := newTerminal(20, 5)
	term.Feed([]byte(stage + after))
	term.recorder = recorder{}
	return term
}

// settled is a state without what any sequence ends: the character that a mark could join.
func settled(s emulator.State) emulator.State {
	s.Last = 0
	return s
}

func TestSequencesDoWhatTheTableSays(t *testing.T) {
	const rowsMin = 100
	rows := readSequences(t)
	if len(rows) < rowsMin {
		t.Fatalf("docs/sequences.md has %d rows, want at least %d", len(rows), rowsMin)
	}
	for _, s := range rows {
		t.Run(s.name, func(t *testing.T) {
			term := prepared(s.after)
			before := settled(term.State())
			term.Feed([]byte(s.example))
			after := settled(term.State())
			if after.Tail != "" {
				t.Errorf("line %d: the example is incomplete: %q is left", s.line, after.Tail)
			}
			changed := !reflect.DeepEqual(before, after)
			told := len(term.notices) > 0 || term.history.Len() > 0
			answers, answer := term.answers, term.replies.String()
			switch s.status {
			case "supported":
				if answers > 0 || !changed && !told {
					t.Errorf("line %d: changed %v, told %v, answered %q", s.line, changed, told, answer)
				}
			case "answered":
				if answers != 1 || answer != s.answer || changed || told {
					t.Errorf("line %d: %d answers %q, want one, %q; changed %v, told %v", s.line, answers, answer, s.answer, changed, told)
				}
			case "ignored", "refused":
				if answers > 0 || changed || told {
					t.Errorf("line %d: answered %q, changed %v, told %q", s.line, answer, changed, term.notices)
				}
			default:
				t.Errorf("line %d: the status %q is unknown", s.line, s.status)
			}
		})
	}
}

// Whatever was asked before, a repaint asks nothing and commits nothing.
func TestNoRepaintHoldsAQuery(t *testing.T) {
	for _, s := range readSequences(t) {
		term := prepared(s.after + s.example)
		again := newTerminal(20, 5)
		again.Feed(term.AppendRepaint(nil))
		if again.answers > 0 || again.history.Len() > 0 {
			t.Errorf("line %d: the repaint is answered %q and commits %q", s.line, again.replies.String(), again.history.String())
		}
		if !sameState(term.State(), again.State()) {
			t.Errorf("line %d: the repaint leads to another state: %v", s.line, stateDiff("refeed", again, term))
		}
	}
}
