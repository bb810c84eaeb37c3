// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/verbs"
)

func (s *screen) run(ctx context.Context, r *Runs, command string) <-chan outcome[verbs.PaneRunResult] {
	return soon(func() (verbs.PaneRunResult, error) {
		return r.Run(ctx, s, verbs.PaneRunParams{Pane: "p0", Command: command})
	})
}

func TestACommandsOutputIsWhatLiesBetweenItsMarks(t *testing.T) {
	bubble(t, func(s *screen) {
		s.mark("A", "B")
		got := s.run(s.Context(), &Runs{}, "ls")
		s.print("ls\r\n")
		s.mark("C")
		s.print("one\r\n\x1b[31mtw")
		s.print("o\x1b[m\r\n")
		s.print("\x1b]133;D;")
		s.print("4\a")
		s.mark("A", "B")
		r := <-got
		if r.err != nil || r.result.Output != "one\ntwo\n" || *r.result.ExitCode != 4 || r.result.Cut || string(s.typed) != "ls\r" {
			s.Errorf("%+v, typed %q", r, s.typed)
		}
	})
}

func TestALineIsTypedInTheWayThatTheShellTakesIt(t *testing.T) {
	bubble(t, func(s *screen) {
		s.mark("A", "B")
		for _, c := range []string{"a\nb", "a\tb", "\x1b[201~x", "  ", "\n"} {
			if r := <-s.run(s.Context(), &Runs{}, c); !refused(r.err, verbs.CodeInvalidParams) || len(s.typed) > 0 {
				s.Errorf("%q: %+v, typed %q", c, r, s.typed)
			}
		}
		s.shot.Modes.BracketedPaste = true
		got := s.run(s.Context(), &Runs{}, "a\n\tb\r\n")
		s.mark("C", "D;0", "A", "B")
		if r := <-got; r.err != nil || string(s.typed) != "\x1b[200~a\r\tb\x1b[201~\r" {
			s.Errorf("%+v, typed %q", r, s.typed)
		}
	})
}

// A shell that was started to mark its prompts may be long in reading its user's files.
func TestAShellThatWillMarkIsGivenTime(t *testing.T) {
	bubble(t, func(s *screen) {
		var runs Runs
		s.heard.Prompt.Awaited = true
		run, wait := s.run(s.Context(), &runs, "ls"), s.wait(s.Context(), verbs.PaneWaitParams{Command: true})
		<-time.After(startGrace - 1)
		s.mark("A", "B")
		if r := <-wait; r.err != nil {
			s.Errorf("%+v", r)
		}
		s.mark("C", "D;0", "A", "B")
		if r := <-run; r.err != nil {
			s.Errorf("%+v", r)
		}
	})
	bubble(t, func(s *screen) {
		s.heard.Prompt.Awaited = true
		if r := <-s.wait(s.Context(), verbs.PaneWaitParams{Command: true}); !refused(r.err, verbs.CodeNoMarks) || r.result.WaitedMS != uint32(startGrace.Milliseconds()) {
			s.Errorf("%+v", r)
		}
	})
}

func TestNothingIsTypedUnlessTheShellIsAtItsPrompt(t *testing.T) {
	bubble(t, func(s *screen) {
		var runs Runs
		if r := <-s.run(s.Context(), &runs, "ls"); !refused(r.err, verbs.CodeNoMarks) {
			s.Errorf("%+v", r)
		}
		s.mark("C")
		if r := <-s.run(s.Context(), &runs, "ls"); !refused(r.err, verbs.CodeNotAtPrompt) {
			s.Errorf("%+v", r)
		}
		got := s.run(s.Context(), &runs, "ls") // the prompt comes within the grace
		<-time.After(promptGrace / 2)
		if r := <-s.run(s.Context(), &runs, "ls"); !refused(r.err, verbs.CodeNotAtPrompt) {
			s.Errorf("beside another: %+v", r)
		}
		s.mark("D", "A", "B", "C", "D;0", "A", "B")
		if r := <-got; r.err != nil || string(s.typed) != "ls\r" {
			s.Errorf("%+v, typed %q", r, s.typed)
		}
		s.exit(0)
		if r := <-s.run(s.Context(), &runs, "ls"); !refused(r.err, verbs.CodeEnded) {
			s.Errorf("%+v", r)
		}
	})
}

func TestACommandThatTakesTooLongGoesOn(t *testing.T) {
	bubble(t, func(s *screen) {
		var runs Runs
		s.mark("A", "B")
		ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
		defer cancel()
		got := s.run(ctx, &runs, "sleep")
		s.mark("C")
		if r := <-got; !refused(r.err, verbs.CodeTimeout) || !strings.Contains(r.err.Error(), "goes on") || string(s.typed) != "sleep\r" {
			s.Errorf("%+v, typed %q", r, s.typed)
		}
		s.mark("D;0", "A", "B")
		got = s.run(s.Context(), &runs, "next") // nobody is in its way
		s.mark("C", "D;0")
		if r := <-got; r.err != nil || *r.result.ExitCode != 0 { // no prompt within promptGrace
			s.Errorf("%+v", r)
		}
	})
}

func TestALineThatIsNoCommandIsTold(t *testing.T) {
	bubble(t, func(s *screen) {
		s.mark("A", "B")
		got := s.run(s.Context(), &Runs{}, ")")
		s.print("bash: syntax error\r\n")
		s.mark("A", "B")
		if r := <-got; !refused(r.err, verbs.CodeOutcome) {
			s.Errorf("%+v", r)
		}
		got = s.run(s.Context(), &Runs{}, "ls") // a prompt that is shown again before the command begins is none
		s.mark("A", "B")
		<-time.After(refusedAfter / 2)
		s.mark("C")
		<-time.After(2 * refusedAfter)
		s.mark("D;0", "A", "B")
		if r := <-got; r.err != nil {
			s.Errorf("%+v", r)
		}
	})
}

func TestATerminalThatEndsMeanwhileHasNoResult(t *testing.T) {
	bubble(t, func(s *screen) {
		s.mark("A", "B")
		got := s.run(s.Context(), &Runs{}, "exit 0")
		s.mark("C")
		s.exit(0)
		if r := <-got; !refused(r.err, verbs.CodeEnded) {
			s.Errorf("%+v", r)
		}
	})
}

// A shell may wait for the rest of a line. Whatever is typed then is a part of that, and what ends is not its own.
func TestALineLeftOpenKeepsTheNextOneOut(t *testing.T) {
	bubble(t, func(s *screen) {
		var runs Runs
		s.mark("A", "B")
		ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
		defer cancel()
		if r := <-s.run(ctx, &runs, `echo "x`); !refused(r.err, verbs.CodeTimeout) {
			s.Errorf("%+v", r)
		}
		s.typed = nil
		if r := <-s.run(s.Context(), &runs, `touch made"`); !refused(r.err, verbs.CodeNotAtPrompt) || len(s.typed) > 0 {
			s.Errorf("%+v, typed %q", r, s.typed)
		}
		got := s.run(s.Context(), &runs, "ls") // somebody ends the line meanwhile
		s.mark("A", "B")
		s.mark("C", "D;0", "A", "B")
		if r := <-got; r.err != nil || string(s.typed) != "ls\r" {
			s.Errorf("%+v, typed %q", r, s.typed)
		}
	})
}

func TestLinesLeftOpenAreBounded(t *testing.T) {
	var runs Runs
	runs.enter("p0")
	for i := range 2 * openLinesMax {
		runs.leaveOpen(fmt.Sprintf("p%d", i), 1)
	}
	if n := len(runs.mu.open); n != openLinesMax {
		t.Errorf("%d are remembered", n)
	}
	if last := fmt.Sprintf("p%d", 2*openLinesMax-1); !runs.stillOpen(last, fanout.Prompt{Marks: 1}) || runs.stillOpen(last, fanout.Prompt{Marks: 2}) {
		t.Error("the last one is not")
	}
}

// The prompt alone shows that a command is over, and then nobody knows how.
func TestACommandWhoseEndIsNotMarkedHasNoStatus(t *testing.T) {
	bubble(t, func(s *screen) {
		s.mark("D;3", "A", "B")
		got := s.run(s.Context(), &Runs{}, "ls")
		s.mark("C")
		s.print("one\r\n")
		s.mark("A", "B")
		s.print("$ ")
		if r := <-got; r.err != nil || r.result.ExitCode != nil || r.result.Output != "one\n" || r.result.WaitedMS != uint32(promptGrace.Milliseconds()) {
			s.Errorf("%+v", r)
		}
		got = s.run(s.Context(), &Runs{}, "ls") // its end is late, and counts
		s.mark("C")
		s.print("one\r\n")
		s.mark("A", "B")
		<-time.After(promptGrace / 2)
		s.mark("D;4", "A", "B")
		if r := <-got; r.err != nil || *r.result.ExitCode != 4 || r.result.Output != "one\n" {
			s.Errorf("%+v", r)
		}
		got = s.run(s.Context(), &Runs{}, "ls") // the end of what somebody ran behind it does not
		s.mark("C", "A", "B", "C", "D;5")
		if r := <-got; r.err != nil || r.result.ExitCode != nil {
			s.Errorf("%+v", r)
		}
	})
}

// A prompt that somebody has replaced has no marks. That the last command has ended says that there is one.
func TestAPromptWithoutMarksIsOneAfterAWhile(t *testing.T) {
	bubble(t, func(s *screen) {
		s.mark("A", "B", "C", "D;0")
		s.Take()
		got := s.run(s.Context(), &Runs{}, "ls")
		<-time.After(marksGrace - 1)
		s.mu.Lock()
		if len(s.typed) > 0 {
			s.Errorf("typed %q: the prompt may be slow", s.typed)
		}
		s.mu.Unlock()
		<-time.After(1)
		synctest.Wait() // it has typed
		s.mark("C", "D;2")
		if r := <-got; r.err != nil || *r.result.ExitCode != 2 || string(s.typed) != "ls\r" {
			s.Errorf("%+v, typed %q", r, s.typed)
		}
	})
}

// Fish marks the beginning of its prompt alone.
func TestAPromptWithoutAnEndIsNotWaitedFor(t *testing.T) {
	bubble(t, func(s *screen) {
		s.mark("A")
		got := s.run(s.Context(), &Runs{}, "true")
		s.mark("C", "D;0", "A")
		if r := <-got; r.err != nil || r.result.WaitedMS != 0 {
			s.Errorf("%+v", r)
		}
		got = s.run(s.Context(), &Runs{}, ")")
		s.mark("A")
		if r := <-got; !refused(r.err, verbs.CodeOutcome) {
			s.Errorf("%+v", r)
		}
	})
}

// Once the shell has marked something with its nonce, nobody else's marks count.
func TestAProgramEndsNoCommandInTheShellsName(t *testing.T) {
	bubble(t, func(s *screen) {
		s.heard.Prompt.Voice.Nonce = "n"
		s.mark("A", "B") // of the user's own, as long as there are no others
		got := s.run(s.Context(), &Runs{}, "ls")
		s.mark("C;nonce=n")
		s.mark("D;0", "A", "B", "D;0;nonce=m", "D;0;nonce=")
		<-time.After(time.Hour)
		s.print("late\r\n")
		s.mark("D;3;nonce=n", "A;nonce=n", "B;nonce=n")
		if r := <-got; r.err != nil || *r.result.ExitCode != 3 || r.result.Output != "late\n" {
			s.Errorf("%+v", r)
		}
	})
}

// Where output is missing its marks may be too: what the shell says beside it counts then.
func TestACommandEndsOverAGap(t *testing.T) {
	bubble(t, func(s *screen) {
		s.mark("A", "B")
		got := s.run(s.Context(), &Runs{}, "yes")
		s.mark("C")
		s.change(func() {
			s.heard.Gap, s.output = true, []byte("y\r\ny\r\n")
			s.sayLocked("D;1")
		})
		s.mark("A", "B")
		if r := <-got; r.err != nil || r.result.Output != "y\n" || !r.result.Cut || *r.result.ExitCode != 1 {
			s.Errorf("%+v", r)
		}
	})
}

func TestATurnHoldsTheEndOfItsOutput(t *testing.T) {
	var of turn
	of.feed([]byte("\x1b]133;C\a"))
	line := strings.Repeat("x", 1<<12-1) + "\n"
	for range 3 * rawBytesMax / len(line) {
		of.hear(fanout.Heard{Output: []byte(line)})
		if len(of.raw) > 2*rawBytesMax+len(line) {
			t.Fatalf("%d bytes are held", len(of.raw))
		}
	}
	of.feed([]byte("end\x1b[1m\x1b[7m%\x1b[27m\x1b[1m\x1b[0m" + strings.Repeat(" ", 79) + "\r \r\x1b]133;D;0\a"))
	r := of.result(0)
	if !strings.HasSuffix(r.Output, "x\nend") || !r.Cut || len(r.Output) > runBytesDefault || of.stage != over {
		t.Errorf("%d bytes, %q, stage %d", len(r.Output), r.Output[max(0, len(r.Output)-100):], of.stage)
	}
}

// However the output is cut into pieces, a turn is the same.
func FuzzTurnIsSplitInvariant(f *testing.F) {
	f.Add([]byte("ls\r\n\x1b]133;C\x07one\r\n\x1b]133;D;1\x1b\\\x1b]133;A\x07\x1b]133;B\x07"), 9)
	f.Fuzz(func(t *testing.T, stream []byte, cut int) {
		if len(stream) == 0 {
			return
		}
		cut = int(uint(cut) % uint(len(stream)))
		var whole, parts turn
		whole.feed(stream)
		parts.feed(stream[:cut])
		parts.feed(stream[cut:])
		a, b := whole.result(100), parts.result(100)
		if whole.stage != parts.stage || a.Output != b.Output || (a.ExitCode == nil) != (b.ExitCode == nil) {
			t.Fatalf("%+v whole, %+v cut at %d", a, b, cut)
		}
	})
}
