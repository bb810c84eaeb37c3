// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/verbs"
)

func (s *screen) wait(ctx context.Context, p verbs.PaneWaitParams) <-chan outcome[verbs.PaneWaitResult] {
	return soon(func() (verbs.PaneWaitResult, error) { return Wait(ctx, s, p) })
}

func TestATextIsFoundWhereverItComes(t *testing.T) {
	for name, c := range map[string]struct {
		p    verbs.PaneWaitParams
		show func(*screen)
		line string
	}{
		"on the screen before":      {verbs.PaneWaitParams{Text: "ready"}, func(*screen) {}, "it is ready"},
		"on the screen later":       {verbs.PaneWaitParams{Text: "set"}, func(s *screen) { s.print("\x1b[2;1Hset", "it is ready", "set", "") }, "set"},
		"in a line that scrolls by": {verbs.PaneWaitParams{Text: "needle"}, func(s *screen) { s.print("a\r\nthe \x1b[1mnee\x1b[mdle\r\nb\r\n", "x", "y", "z") }, "the needle"},
		"over two pieces":           {verbs.PaneWaitParams{Text: "needle", New: true}, func(s *screen) { s.print("nee"); s.print("dle\r\n") }, "needle"},
		"a question without an end": {verbs.PaneWaitParams{Regex: `\? $|\?$`, New: true}, func(s *screen) { s.print("Continue?") }, "Continue?"},
		"new alone":                 {verbs.PaneWaitParams{Text: "ready", New: true}, func(s *screen) { s.print("ready again\r\n") }, "ready again"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(s *screen) {
				s.shot.Screen = []string{"it is ready   ", "", ""}
				got := s.wait(s.Context(), c.p)
				c.show(s)
				if r := <-got; r.err != nil || r.result.Line != c.line {
					t.Errorf("%+v, want %q", r, c.line)
				}
			})
		})
	}
}

func TestWhatIsOnTheScreenIsNotNew(t *testing.T) {
	bubble(t, func(s *screen) {
		s.shot.Screen = []string{"ready", "", ""}
		ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
		defer cancel()
		r := <-s.wait(ctx, verbs.PaneWaitParams{Text: "ready", New: true})
		if !refused(r.err, verbs.CodeTimeout) || s.looks != 0 || len(s.typed) != 0 || r.result.WaitedMS != 60000 {
			s.Errorf("%+v, %d looks", r, s.looks)
		}
	})
}

// However much comes, the screen is looked at ten times a second, and once more behind the last of it.
func TestLooksAreBoundedAndTheLastIsAfterTheLastOutput(t *testing.T) {
	bubble(t, func(s *screen) {
		got := s.wait(s.Context(), verbs.PaneWaitParams{Text: "at last"})
		began := time.Now()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for range 2000 {
			<-tick.C
			s.print("noise\r\n")
		}
		s.print("\x1b[H", "at last", "", "") // painted, so that the line alone does not tell
		if r := <-got; r.err != nil || r.result.Line != "at last" {
			s.Errorf("%+v", r)
		}
		if most := int(time.Since(began)/lookEvery) + 2; s.looks > most || s.looks < 10 {
			s.Errorf("%d looks, at most %d", s.looks, most)
		}
	})
}

func TestALookThatOthersDelayIsMadeLater(t *testing.T) {
	bubble(t, func(s *screen) {
		s.refuse = fanout.ErrCaptures
		got := s.wait(s.Context(), verbs.PaneWaitParams{Text: "there"})
		<-time.After(10 * lookEvery)
		s.mu.Lock()
		s.refuse, s.shot.Screen = nil, []string{"there", "", ""}
		s.mu.Unlock()
		if r := <-got; r.err != nil || r.result.Line != "there" {
			s.Errorf("%+v", r)
		}
	})
}

func TestATextThatCannotComeAnyMoreIsTold(t *testing.T) {
	bubble(t, func(s *screen) {
		got := s.wait(s.Context(), verbs.PaneWaitParams{Text: "last words"})
		s.change(func() { s.shot.Screen = []string{"last words", "", ""}; s.output = []byte("\x1b[H") })
		s.exit(0)
		if r := <-got; r.err != nil {
			s.Error(r.err) // the look after the last output has found it
		}
		if r := <-s.wait(s.Context(), verbs.PaneWaitParams{Text: "more"}); !refused(r.err, verbs.CodeEnded) {
			s.Error(r.err)
		}
	})
}

func TestIdleIsCountedFromTheLastOutput(t *testing.T) {
	bubble(t, func(s *screen) {
		began := time.Now()
		got := s.wait(s.Context(), verbs.PaneWaitParams{Idle: 1000})
		for range 5 {
			<-time.After(900 * time.Millisecond)
			s.print(".")
		}
		if r := <-got; r.err != nil || time.Since(began) != 5500*time.Millisecond || r.result.WaitedMS != 5500 {
			s.Errorf("%+v after %v", r, time.Since(began))
		}
	})
}

func TestAnEndIsToldAsItWas(t *testing.T) {
	bubble(t, func(s *screen) {
		got := s.wait(s.Context(), verbs.PaneWaitParams{Exit: true})
		s.print("more")
		s.exit(7)
		if r := <-got; r.err != nil || r.result.ExitCode == nil || *r.result.ExitCode != 7 {
			s.Errorf("%+v", r)
		}
	})
	bubble(t, func(s *screen) { // the connection broke: whether the terminal lives is not known
		got := s.wait(s.Context(), verbs.PaneWaitParams{Exit: true})
		s.change(func() { s.heard.Ended = true })
		if r := <-got; !refused(r.err, verbs.CodeEnded) {
			s.Errorf("%+v", r)
		}
	})
}

func TestACommandsEndComesByMarks(t *testing.T) {
	bubble(t, func(s *screen) {
		if r := <-s.wait(s.Context(), verbs.PaneWaitParams{Command: true}); !refused(r.err, verbs.CodeNoMarks) || r.result.WaitedMS != uint32(marksGrace.Milliseconds()) {
			s.Errorf("%+v", r)
		}
		s.mark("A", "B", "C")
		s.Take()
		got := s.wait(s.Context(), verbs.PaneWaitParams{Command: true})
		<-time.After(time.Hour)
		s.mark("D;2", "A", "B")
		if r := <-got; r.err != nil || *r.result.ExitCode != 2 {
			s.Errorf("%+v", r)
		}
		if r := <-s.wait(s.Context(), verbs.PaneWaitParams{Command: true}); r.err != nil || *r.result.ExitCode != 2 {
			s.Errorf("at the prompt: %+v", r)
		}
		got = s.wait(s.Context(), verbs.PaneWaitParams{Command: true, New: true})
		s.mark("C", "D", "A", "B")
		if r := <-got; r.err != nil || r.result.ExitCode != nil {
			s.Errorf("a new one without a status: %+v", r)
		}
		got = s.wait(s.Context(), verbs.PaneWaitParams{Command: true, New: true})
		s.mark("C", "A", "B")
		if r := <-got; r.err != nil || r.result.ExitCode != nil || r.result.WaitedMS != uint32(promptGrace.Milliseconds()) {
			s.Errorf("a new one that the prompt alone ends: %+v", r)
		}
		if r := <-s.wait(s.Context(), verbs.PaneWaitParams{Command: true}); r.err != nil || r.result.ExitCode != nil {
			s.Errorf("its status is that of the one before: %+v", r)
		}
		s.heard.Prompt.Voice.Nonce = "n"
		s.mark("C;nonce=n")
		got = s.wait(s.Context(), verbs.PaneWaitParams{Command: true})
		s.mark("D;0", "A", "B")
		<-time.After(time.Hour)
		s.mark("D;1;nonce=n")
		if r := <-got; r.err != nil || *r.result.ExitCode != 1 {
			s.Errorf("a program ends it: %+v", r)
		}
	})
}

func TestAnExpressionIsOneOfRE2(t *testing.T) {
	bubble(t, func(s *screen) {
		if r := <-s.wait(s.Context(), verbs.PaneWaitParams{Regex: `(?=x)`}); !refused(r.err, verbs.CodeRegex) {
			s.Error(r.err)
		}
	})
}

func TestACallerThatGoesIsNotWaitedFor(t *testing.T) {
	bubble(t, func(s *screen) {
		ctx, cancel := context.WithCancel(s.Context())
		var all []<-chan outcome[verbs.PaneWaitResult]
		for _, p := range []verbs.PaneWaitParams{{Text: "x"}, {Idle: 100000}, {Exit: true}} {
			all = append(all, s.wait(ctx, p))
		}
		cancel()
		synctest.Wait()
		for _, got := range all {
			if r := <-got; r.err == nil || refused(r.err, verbs.CodeTimeout) {
				s.Errorf("%+v", r)
			}
		}
	})
}

// An unfinished line is held within bounds, and a gap makes no line of two halves.
func TestLinesAreBounded(t *testing.T) {
	re, err := pattern("needle", "", false)
	if err != nil {
		t.Fatal(err)
	}
	l := lines{match: re}
	l.feed([]byte(strings.Repeat("x", 3*partialBytesMax)), false)
	if len(l.partial) > partialBytesMax {
		t.Errorf("%d bytes", len(l.partial))
	}
	l.feed([]byte("\nnee"), false)
	if _, ok := l.feed([]byte("dle\n"), true); ok {
		t.Error("a text was found over a gap")
	}
}
