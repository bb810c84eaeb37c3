// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"context"
	"time"

	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/turns"
	"spawn/internal/supervisor/verbs"
)

// ending is the end of whatever command a shell runs, as its marks tell it.
type ending struct {
	scan  turns.Scanner
	voice turns.Voice
	began bool        // a command runs, or has run since
	back  bool        // and the shell shows its prompt again
	over  bool        // it has ended
	ended *turns.Mark // its D; nil without one
}

func (e *ending) hear(h fanout.Heard) {
	e.voice.Learn(h.Prompt.Voice)
	e.began = e.began || h.Prompt.Last == 'C'
	e.scan.Feed(h.Output, e.mark)
}

func (e *ending) mark(m turns.Mark) {
	switch {
	case e.over || !e.voice.Trusts(m):
	case m.Kind == 'D':
		e.over, e.ended = true, &m
	case m.Kind == 'C':
		e.began, e.over = true, e.back
	default:
		e.back = e.began
	}
}

// command waits for the end of a command, by the shell's marks. With fresh it is the end of one that ends from
// now on; else a shell that runs none has ended its last command already.
func (w *waiter) command(ctx context.Context, fresh bool) (verbs.PaneWaitResult, error) {
	first := w.f.Take()
	grace, unsaid := time.NewTimer(graceOf(first.Prompt)), time.NewTimer(promptGrace)
	defer grace.Stop()
	defer unsaid.Stop()
	unsaid.Stop()
	var end ending
	for h := first; ; h = w.f.Take() {
		back := end.back
		end.hear(h)
		switch {
		case end.over:
			return verbs.PaneWaitResult{ExitCode: told(end.ended)}, nil
		case !fresh && h.Prompt.Idle():
			return verbs.PaneWaitResult{ExitCode: told(h.Prompt.Ended)}, nil
		case h.Exit != nil || h.Ended:
			return verbs.PaneWaitResult{}, ended()
		case h.Prompt.Last != 0:
			grace.Stop()
		}
		if end.back && !back {
			unsaid.Reset(promptGrace)
		}
		select {
		case <-w.f.Ready():
		case <-unsaid.C:
			return verbs.PaneWaitResult{ExitCode: told(w.f.Take().Prompt.Ended)}, nil
		case <-grace.C:
			return verbs.PaneWaitResult{}, unmarked()
		case <-ctx.Done():
			return verbs.PaneWaitResult{}, late(ctx, "no command has ended in time")
		}
	}
}
