// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"spawn/tools/term-conformance/grid"
)

// The checks. The first three need the emulator alone, the others the oracle.
const (
	checkSplit   = "split"   // byte by byte the stream leads to the same as in one piece
	checkRefeed  = "refeed"  // our emulator fed with its own repaint is in the same state
	checkSuite   = "suite"   // our emulator does what the suite wants
	checkOracle  = "oracle"  // our emulator shows what xterm.js shows
	checkRepaint = "repaint" // xterm.js fed with our repaint shows what it shows of the raw bytes
	checkWitness = "witness" // where our emulator doesn't do what the suite wants, xterm.js does as we do
)

// verdict is the result of one check on one case.
type verdict struct {
	check string
	c     *testCase
	diffs []string // none: they agree
}

// local runs the checks that need no oracle.
func local(cases []*testCase, checks map[string]bool) []verdict {
	var out []verdict
	for _, run := range []struct {
		name string
		of   func(*testCase) []string
	}{{checkSplit, (*testCase).splits}, {checkRefeed, (*testCase).refeeds}, {checkSuite, (*testCase).unmet}} {
		if !checks[run.name] {
			continue
		}
		for _, c := range cases {
			if run.name != checkSuite || c.wants() {
				out = append(out, verdict{run.name, c, run.of(c)})
			}
		}
	}
	return out
}

// wants reports whether the suite expects anything of the case.
func (c *testCase) wants() bool {
	for i := range c.Steps {
		if !c.Steps[i].empty() {
			return true
		}
	}
	return false
}

// splits compares a life fed in one piece with one fed byte by byte.
func (c *testCase) splits() []string {
	var out []string
	for _, s := range c.sessions() {
		whole, bytewise := s.run(false), s.run(true)
		if !sameState(whole.State(), bytewise.State()) {
			out = append(out, stateDiff("split", whole, bytewise)...)
		}
		if !bytes.Equal(whole.history.Bytes(), bytewise.history.Bytes()) {
			out = append(out, fmt.Sprintf("history: %q, byte by byte %q", whole.history.String(), bytewise.history.String()))
		}
		if !bytes.Equal(whole.replies.Bytes(), bytewise.replies.Bytes()) {
			out = append(out, fmt.Sprintf("replies: %q, byte by byte %q", whole.replies.String(), bytewise.replies.String()))
		}
	}
	return out
}

// stateDiff names what differs between two states that aren't equal.
func stateDiff(what string, a, b *terminal) []string {
	if d := grid.Diff(grid.FromState(a.State()), grid.FromState(b.State())); len(d) > 0 {
		return d
	}
	v, w := reflect.ValueOf(a.State()), reflect.ValueOf(b.State())
	for i := range v.NumField() {
		if !reflect.DeepEqual(v.Field(i).Interface(), w.Field(i).Interface()) {
			return []string{what + ": the state differs in " + v.Type().Field(i).Name}
		}
	}
	return nil
}

// furtherBytes go on from a state in a way that shows what a screen alone does not: pen, register,
// character sets, tab stops, margins, modes and the other screen.
const furtherBytes = "x\u0301\x1b[bY\ty`a\x0e`a\x0f`a\r\nZ\x1b8S\x1b[2g\x1b[1;1H\x1b[99;99H\n\n\x1b[?47hA\x1b8B\x1b[?47lC\x1b[4lD\x1b[?6lE\x1b[c"

// refeeds compares our emulator, after each chunk, with one that its repaint was fed to, and both again
// after further bytes.
func (c *testCase) refeeds() []string {
	for n, s := range c.sessions() {
		t := newTerminal(s.cols, s.rows)
		for i, k := range s.chunks {
			t.take(k, false)
			if d := t.refeed(i == len(s.chunks)-1); len(d) > 0 {
				return append([]string{fmt.Sprintf("life %d, chunk %d", n, i)}, d...)
			}
		}
	}
	return nil
}

// refeed compares a terminal with one that its repaint was fed to. With further, t has gone on when it
// returns.
func (t *terminal) refeed(further bool) []string {
	cols, rows := t.Size()
	again := newTerminal(cols, rows)
	again.Feed(t.AppendRepaint(nil))
	if again.answers > 0 || again.history.Len() > 0 {
		return []string{fmt.Sprintf("the repaint is answered %q and commits %q", again.replies.String(), again.history.String())}
	}
	if !sameState(t.State(), again.State()) {
		return stateDiff("refeed", again, t)
	}
	if !further {
		return nil
	}
	t.replies.Reset()
	t.Feed([]byte(furtherBytes))
	again.Feed([]byte(furtherBytes))
	if t.replies.String() != again.replies.String() {
		return []string{fmt.Sprintf("further replies: %q, not %q", again.replies.String(), t.replies.String())}
	}
	if !sameState(t.State(), again.State()) {
		return append([]string{"after further bytes"}, stateDiff("refeed", again, t)...)
	}
	return nil
}

// question is one life for the oracle to live, and what becomes of its screen.
type question struct {
	life  session
	judge func(*screen) []string
}

// withOracle runs the checks that need the oracle, all in one process of it.
func withOracle(ctx context.Context, root string, cases []*testCase, checks map[string]bool) ([]verdict, error) {
	var verdicts []verdict
	var questions []question
	var answers []int // the verdict that each question belongs to
	for _, c := range cases {
		for _, of := range []struct {
			check string
			ask   func(*testCase) []question
		}{{checkOracle, askScreens}, {checkRepaint, askRepaints}, {checkWitness, askWitness}} {
			if !checks[of.check] {
				continue
			}
			asked := of.ask(c)
			if len(asked) == 0 {
				continue
			}
			for range asked {
				answers = append(answers, len(verdicts))
			}
			questions = append(questions, asked...)
			verdicts = append(verdicts, verdict{check: of.check, c: c})
		}
	}
	lives := make([]session, len(questions))
	for i, q := range questions {
		lives[i] = q.life
	}
	screens, err := askOracle(ctx, root, lives)
	if err != nil {
		return nil, err
	}
	for i, q := range questions {
		v := &verdicts[answers[i]]
		v.diffs = append(v.diffs, q.judge(&screens[i])...)
	}
	slices.SortStableFunc(verdicts, func(a, b verdict) int { return cmp.Compare(a.check, b.check) })
	return verdicts, nil
}

func askScreens(c *testCase) []question {
	var out []question
	for _, s := range c.sessions() {
		t := s.run(false)
		out = append(out, question{s, func(raw *screen) []string { return compareScreen(t, raw) }})
	}
	return out
}

// askRepaints asks for the raw bytes and for the repaint, and compares when it has both.
func askRepaints(c *testCase) []question {
	var out []question
	for _, s := range c.sessions() {
		t := s.run(false)
		cols, rows := t.Size()
		painted := session{cols, rows, []chunk{{feed: t.AppendRepaint(nil)}}}
		var raw *screen
		out = append(out,
			question{s, func(answer *screen) []string { raw = answer; return nil }},
			question{painted, func(answer *screen) []string { return compareRepaint(answer, raw) }})
	}
	return out
}

// askWitness asks for each expectation that isn't met what the oracle shows there.
func askWitness(c *testCase) []question {
	var out []question
	_, steps := c.unmetSteps()
	for _, n := range steps {
		lives := (&testCase{Cols: c.Cols, Rows: c.Rows, Steps: c.Steps[:n+1]}).sessions()
		s := lives[len(lives)-1]
		t := s.run(false)
		out = append(out, question{s, func(raw *screen) []string { return compareScreen(t, raw) }})
	}
	return out
}

// compareScreen compares our emulator with the oracle, answers to queries included.
func compareScreen(t *terminal, raw *screen) []string {
	theirs, err := raw.grid()
	if err != nil {
		return []string{err.Error()}
	}
	out := grid.Diff(grid.FromState(t.State()), theirs)
	ours, answered := foreignReplies.ReplaceAllString(t.replies.String(), ""), foreignReplies.ReplaceAllString(raw.Replies, "")
	if ours != answered {
		out = append(out, fmt.Sprintf("replies: %q, not %q", ours, answered))
	}
	return out
}

// compareRepaint compares the oracle fed with our repaint with the oracle fed with the raw bytes.
func compareRepaint(painted, raw *screen) []string {
	theirs, err := raw.grid()
	if err != nil {
		return []string{err.Error()}
	}
	ours, err := painted.grid()
	if err != nil {
		return []string{err.Error()}
	}
	out := grid.Diff(ours, theirs)
	if painted.Replies != "" {
		out = append(out, fmt.Sprintf("the repaint is answered %q", painted.Replies))
	}
	return out
}
