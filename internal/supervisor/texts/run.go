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
	}
}

func (r *Runs) enter(pane string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.panes[pane] {
		return false
	}
	if r.mu.panes == nil {
		r.mu.panes = map[string]bool{}
	}
	r.mu.panes[pane] = true
	return true
}

func (r *Runs) leave(pane string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.mu.panes, pane)
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
	if err := awaitPrompt(ctx, f); err != nil {
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
	if h := f.Take(); !h.Prompt.At() {
		return verbs.PaneRunResult{}, verbs.Errorf(verbs.CodeNotAtPrompt, "the shell is not at its prompt: a command runs")
	}
	if err := t.Type(ctx, line); err != nil {
		return verbs.PaneRunResult{}, err
	}
	var of turn
	if err := of.follow(ctx, f); err != nil {
		return verbs.PaneRunResult{}, err
	}
	result := of.result(p.Max)
	result.WaitedMS = milliseconds(began)
	return result, nil
}

// awaitPrompt gives the shell a moment to start or to come back to its prompt: that news is a little late.
func awaitPrompt(ctx context.Context, f Follower) error {
	start, back := time.NewTimer(marksGrace), time.NewTimer(promptGrace)
	defer start.Stop()
	defer back.Stop()
	var h fanout.Heard
	for {
		h = f.Take()
		switch {
		case h.Exit != nil || h.Ended:
			return ended()
		case h.Prompt.At():
			return nil
		}
		var busy <-chan time.Time
		if h.Prompt.Last == 'C' {
			busy = back.C
		}
		select {
		case <-f.Ready():
		case <-busy:
			return verbs.Errorf(verbs.CodeNotAtPrompt, "the shell is not at its prompt: a command runs")
		case <-start.C:
			if h.Prompt.Last == 0 {
				return unmarked()
			}
			return verbs.Errorf(verbs.CodeNotAtPrompt, "the shell does not come back to its prompt")
		case <-ctx.Done():
			return late(ctx, "the shell did not come to its prompt in time; nothing was typed")
		}
	}
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
		case (h.Exit != nil || h.Ended) && t.stage < over:
			return verbs.Errorf(verbs.CodeEnded, "the terminal ended while the command ran")
		case h.Exit != nil || h.Ended:
			return nil
		case t.stage == before:
		case t.stage == prompted:
			clock.Reset(refusedAfter)
		case t.stage == over:
			clock.Reset(promptGrace)
		default:
			clock.Stop()
		}
		select {
		case <-f.Ready():
		case <-clock.C:
			if t.stage == prompted {
				return verbs.Errorf(verbs.CodeInvalidParams, "the shell ran no command for this line; a capture shows what it says").With("param", "command")
			}
			return nil // its prompt is slow
		case <-ctx.Done():
			return t.overdue(ctx)
		}
	}
}

// overdue is told when the time is up. A command that is over by then has its result.
func (t *turn) overdue(ctx context.Context) error {
	what := "the shell has not begun the command in time; it may yet"
	switch t.stage {
	case over:
		return nil
	case running:
		what = "the command has not ended in time; it goes on"
	}
	err := late(ctx, what)
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("run a command, which goes on: %w", err)
	}
	return err
}
