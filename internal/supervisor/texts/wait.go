// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"context"
	"errors"
	"slices"
	"time"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/turns"
	"spawn/internal/supervisor/verbs"
)

// Wait returns when what was asked for has come. It types nothing and changes nothing.
func Wait(ctx context.Context, t Terminal, p verbs.PaneWaitParams) (verbs.PaneWaitResult, error) {
	began := time.Now()
	w := waiter{t: t}
	condition, err := w.condition(p)
	if err != nil {
		return verbs.PaneWaitResult{}, err
	}
	if w.f, err = t.Follow(); err != nil { // first of all: what comes from here on is not missed
		return verbs.PaneWaitResult{}, err
	}
	defer w.f.Close()
	result, err := condition(ctx)
	result.WaitedMS = milliseconds(began)
	return result, err
}

func milliseconds(since time.Time) uint32 { return uint32(time.Since(since).Milliseconds()) }

// waiter is one Wait.
type waiter struct {
	t Terminal
	f Follower
}

func (w *waiter) condition(p verbs.PaneWaitParams) (func(context.Context) (verbs.PaneWaitResult, error), error) {
	switch {
	case p.Exit:
		return w.exit, nil
	case p.Command:
		return func(ctx context.Context) (verbs.PaneWaitResult, error) { return w.command(ctx, p.New) }, nil
	case p.Idle != 0:
		quiet := time.Duration(p.Idle) * time.Millisecond
		return func(ctx context.Context) (verbs.PaneWaitResult, error) { return w.idle(ctx, quiet) }, nil
	}
	match, err := pattern(p.Text, p.Regex, false)
	if err != nil {
		return nil, err
	}
	s := &sight{waiter: w, lines: lines{match: match}, screen: !p.New, due: true}
	return s.wait, nil
}

// exit waits for the terminal's end.
func (w *waiter) exit(ctx context.Context) (verbs.PaneWaitResult, error) {
	for {
		h := w.f.Take()
		switch {
		case h.Exit != nil:
			return Ending(h.Exit), nil
		case h.Ended:
			return verbs.PaneWaitResult{}, ended()
		}
		select {
		case <-w.f.Ready():
		case <-ctx.Done():
			return verbs.PaneWaitResult{}, late(ctx, "the terminal has not ended in time")
		}
	}
}

// Ending is the result of a wait for a terminal that has ended; nil when nobody knows how.
func Ending(e *wire.Exit) verbs.PaneWaitResult {
	if e == nil {
		return verbs.PaneWaitResult{}
	}
	return verbs.PaneWaitResult{ExitCode: e.ExitCode, Signal: e.Signal}
}

// idle waits until nothing has come for a while, counted from now at the earliest.
func (w *waiter) idle(ctx context.Context, quiet time.Duration) (verbs.PaneWaitResult, error) {
	still := time.NewTimer(quiet)
	defer still.Stop()
	for {
		select {
		case <-still.C:
			return verbs.PaneWaitResult{}, nil
		case <-w.f.Ready():
			h := w.f.Take()
			if h.Ended {
				return verbs.PaneWaitResult{}, ended()
			}
			if len(h.Output) > 0 || h.Gap {
				still.Reset(quiet)
			}
		case <-ctx.Done():
			return verbs.PaneWaitResult{}, late(ctx, "the terminal was not idle in time")
		}
	}
}

func unmarked() error {
	return verbs.Errorf(verbs.CodeNoMarks, "the shell has not marked a prompt (OSC 133)")
}

// told is the status that a mark D carries; nil without one.
func told(m *turns.Mark) *int {
	if m == nil || !m.Known {
		return nil
	}
	n := m.Status
	return &n
}

// sight waits for a text: in each line of output, and on the screen, where programs write that move the cursor.
type sight struct {
	*waiter
	lines
	screen bool // looks at the screen too
	due    bool // something came since the last look
}

func (s *sight) wait(ctx context.Context) (verbs.PaneWaitResult, error) {
	pause := time.NewTimer(0) // between two looks
	defer pause.Stop()
	free := false
	for {
		h := s.f.Take()
		if line, ok := s.feed(h.Output, h.Gap); ok {
			return verbs.PaneWaitResult{Line: line}, nil
		}
		over := h.Exit != nil || h.Ended
		s.due = s.due || len(h.Output) > 0 || h.Gap
		if s.due && (free || over) { // over: all output is there, and one more look is the last
			line, ok, err := s.look(ctx)
			if ok || err != nil {
				return verbs.PaneWaitResult{Line: line}, err
			}
			free = false
			pause.Reset(lookEvery)
		}
		if over && !s.due {
			return verbs.PaneWaitResult{}, ended()
		}
		select {
		case <-s.f.Ready():
		case <-pause.C:
			free = true
		case <-ctx.Done():
			return verbs.PaneWaitResult{}, late(ctx, "the text has not come in time")
		}
	}
}

// look looks into what has no end yet and at the screen. When others look at it already, it is due again.
func (s *sight) look(ctx context.Context) (string, bool, error) {
	s.due = false
	if line, ok := s.unfinished(); ok || !s.screen {
		return line, ok, nil
	}
	shot, err := s.t.Capture(ctx, wire.CaptureReq{What: wire.CaptureScreen, Wraps: true})
	if err == nil && !shot.Alternate && slices.Contains(shot.ScreenWraps, 0) { // the line at the top begins above it
		shot, err = s.t.Capture(ctx, wire.CaptureReq{What: wire.CaptureAll, MaxRows: aboveRowsMax, MaxBytes: partialBytesMax, Wraps: true})
	}
	switch {
	case errors.Is(err, fanout.ErrCaptures):
		s.due = true
		return "", false, nil
	case errors.Is(err, context.DeadlineExceeded):
		return "", false, late(ctx, "the text has not come in time")
	case err != nil:
		return "", false, err
	}
	line, ok := onScreen(sheetOf(shot), s.match)
	return line, ok, nil
}
