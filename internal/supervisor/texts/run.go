// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/keys"
)

// Runs are the commands that are being run: at most one in each pane, because the marks of a shell do not say
// whose command they belong to. The zero value has none.
type Runs struct {
	mu struct {
		sync.Mutex
		panes map[string]bool
		// open are the lines that were typed and that no command began for, by pane, with the number of marks that
		// had come by then. The shell may wait for the rest of one, and would take the next for that.
		open map[string]uint64
	}
}

func (r *Runs) enter(pane string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.panes[pane] {
		return false
	}
	if r.mu.panes == nil {
		r.mu.panes, r.mu.open = map[string]bool{}, map[string]uint64{}
	}
	r.mu.panes[pane] = true
	return true
}

func (r *Runs) leave(pane string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.mu.panes, pane)
}

// leaveOpen notes that nothing has come of a line that was typed. Where there are too many such panes one is
// forgotten: most of them are long gone.
func (r *Runs) leaveOpen(pane string, marks uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other := range r.mu.open {
		if len(r.mu.open) < openLinesMax {
			break
		}
		delete(r.mu.open, other)
	}
	r.mu.open[pane] = marks
}

// stillOpen reports whether the shell has not marked anything since such a line was typed.
func (r *Runs) stillOpen(pane string, p fanout.Prompt) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	marks, open := r.mu.open[pane]
	if open && marks != p.Marks {
		delete(r.mu.open, pane)
	}
	return open && marks == p.Marks
}

// Run types a command at the shell's prompt and returns what it put out, and its status. When ctx ends first the
// command goes on.
func (r *Runs) Run(ctx context.Context, t Terminal, p verbs.PaneRunParams) (verbs.PaneRunResult, error) {
	began := time.Now()
	if !r.enter(p.Pane) {
		return verbs.PaneRunResult{}, verbs.Errorf(verbs.CodeNotAtPrompt, "another pane.run waits for this shell")
	}
	defer r.leave(p.Pane)
	f, err := t.Follow()
	if err != nil {
		return verbs.PaneRunResult{}, err
	}
	defer f.Close()
	if err := r.awaitPrompt(ctx, p.Pane, f); err != nil {
		return verbs.PaneRunResult{}, err
	}
	m, err := modes(ctx, t)
	if err != nil {
		return verbs.PaneRunResult{}, err
	}
	line, err := commandLine(p.Command, m)
	if err != nil {
		return verbs.PaneRunResult{}, err
	}
	// The capture came behind every mark of the output that it shows, so now the news is not late any more. What
	// was put out before belongs to nobody here.
	h := f.Take()
	if !h.Prompt.Idle() {
		return verbs.PaneRunResult{}, busy()
	}
	if err := t.Type(ctx, line); err != nil {
		return verbs.PaneRunResult{}, err
	}
	of := turn{voice: h.Prompt.Voice, ends: h.Prompt.Ends}
	if err := of.follow(ctx, f); err != nil {
		if of.stage == typed {
			r.leaveOpen(p.Pane, h.Prompt.Marks)
		}
		return verbs.PaneRunResult{}, err
	}
	result := of.result(p.Max)
	result.WaitedMS = milliseconds(began)
	return result, nil
}

func busy() error {
	return verbs.Errorf(verbs.CodeNotAtPrompt, "the shell is not at its prompt: a command runs")
}

// awaitPrompt gives the shell a moment to start or to come back to its prompt: that news is a little late.
func (r *Runs) awaitPrompt(ctx context.Context, pane string, f Follower) error {
	h := f.Take()
	start, back := time.NewTimer(graceOf(h.Prompt)), time.NewTimer(promptGrace)
	defer start.Stop()
	defer back.Stop()
	for ; ; h = f.Take() {
		open := r.stillOpen(pane, h.Prompt)
		switch {
		case h.Exit != nil || h.Ended:
			return ended()
		case h.Prompt.At() && !open:
			return nil
		}
		var soon <-chan time.Time
		if h.Prompt.Last == 'C' || open {
			soon = back.C
		}
		select {
		case <-f.Ready():
		case <-soon:
			if open {
				return verbs.Errorf(verbs.CodeNotAtPrompt, "the shell has begun nothing for the line before this one, and may wait for the rest of it: look at a capture; C-c ends the line")
			}
			return busy()
		case <-start.C:
			if h.Prompt.Idle() {
				return nil // it has marked an end, and does not mark this prompt
			}
			return unmarked()
		case <-ctx.Done():
			return late(ctx, "the shell did not come to its prompt in time; nothing was typed")
		}
	}
}

// graceOf is how long the first mark of a shell is waited for.
func graceOf(p fanout.Prompt) time.Duration {
	if p.Awaited && p.Last == 0 {
		return startGrace
	}
	return marksGrace
}

// commandLine is what is typed for a command. A shell that takes pastes gets one, so that several lines are one
// command and a tab completes nothing.
func commandLine(command string, m keys.Modes) ([]byte, error) {
	command = strings.TrimRight(strings.ReplaceAll(command, "\r\n", "\n"), "\n")
	wrong := ""
	switch {
	case strings.TrimSpace(command) == "":
		wrong = "the command is blank"
	case hasControl(command, "\n\t"):
		wrong = "the command has a control character"
	case !m.BracketedPaste && strings.ContainsAny(command, "\n\t"):
		wrong = "this shell takes no bracketed pastes, so a command is one line without tabs"
	}
	if wrong != "" {
		return nil, verbs.Errorf(verbs.CodeInvalidParams, "%s", wrong).With("param", "command")
	}
	return append(keys.Paste(command, m), '\r'), nil
}

// follow hears the command to its end, and the shell back to its prompt, so that the next command finds it there.
func (t *turn) follow(ctx context.Context, f Follower) error {
	clock := time.NewTimer(refusedAfter)
	clock.Stop()
	defer clock.Stop()
	for {
		h := f.Take()
		before := t.stage
		t.hear(h)
		switch {
		case t.stage == settled:
			return nil
		case (h.Exit != nil || h.Ended) && t.stage <= running:
			return verbs.Errorf(verbs.CodeEnded, "the terminal ended while the command ran")
		case h.Exit != nil || h.Ended:
			return nil
		case t.stage == before:
		case t.stage == prompted:
			clock.Reset(refusedAfter)
		case t.stage >= unsaid:
			clock.Reset(promptGrace)
		default:
			clock.Stop()
		}
		select {
		case <-f.Ready():
		case <-clock.C:
			if t.stage == prompted {
				return verbs.Errorf(verbs.CodeOutcome, "the shell is at its prompt again and has marked no command for this line: it may have refused it, and whether something ran is not known; look at a capture")
			}
			return nil // its prompt is slow, or it does not say how the command ended
		case <-ctx.Done():
			return t.overdue(ctx)
		}
	}
}

// overdue is told when the time is up. A command that is over by then has its result.
func (t *turn) overdue(ctx context.Context) error {
	what := "the shell has not begun the command in time; it may yet"
	switch t.stage {
	case unsaid, over:
		return nil
	case prompted:
		what = "the shell is at its prompt again and has marked no command for this line; whether one ran is not known"
	case running:
		what = "the command has not ended in time; it goes on"
	}
	err := late(ctx, what)
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("run a command, which goes on: %w", err)
	}
	return err
}
