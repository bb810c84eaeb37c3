// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"fmt"

	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/texts"
	"spawn/internal/supervisor/verbs"
)

// terminal is a hub as package texts sees it.
type terminal struct{ *fanout.Hub }

func (t terminal) Follow() (texts.Follower, error) {
	f, err := t.Hub.Follow()
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (t terminal) Exited() bool { return t.Facts().Exit != nil }

// terminal returns the pane's terminal while a worker is connected: a shell that has ended can be read for as
// long as its worker lingers, an archive always, as far as its text may still be shown.
func (ps *panes) terminal(id string) (terminal, error) {
	if ps.isArchive(id) {
		ps.expireTexts(ps.keeper.now(), ps.keeper.policy())
	}
	hub, err := ps.hub(id)
	if err != nil {
		return terminal{}, fmt.Errorf("look at %q: %w", id, err)
	}
	return terminal{hub}, nil
}

// on does something to a pane's terminal, and gives an error of ours its code.
func on[P, R any](ctx context.Context, s verbServer, pane string, p P, do func(context.Context, texts.Terminal, P) (R, error)) (R, error) {
	t, err := s.panes.terminal(pane)
	if err != nil {
		var none R
		return none, verbError(err)
	}
	result, err := do(ctx, t, p)
	return result, verbError(err)
}

func (s verbServer) SendPane(ctx context.Context, p verbs.PaneSendParams) (verbs.PaneSendResult, error) {
	return on(ctx, s, p.Pane, p, texts.Send)
}

func (s verbServer) CapturePane(ctx context.Context, p verbs.PaneCaptureParams) (verbs.PaneCaptureResult, error) {
	result, err := on(ctx, s, p.Pane, p, texts.Capture)
	if row, gone := s.panes.Row(p.Pane); err == nil && gone == nil {
		result.Recovered = verbArchived(row.Archive)
	}
	result.Pane = p.Pane
	return result, err
}

// WaitPane answers for a terminal that is gone what is known of its end.
func (s verbServer) WaitPane(ctx context.Context, p verbs.PaneWaitParams) (verbs.PaneWaitResult, error) {
	if row, err := s.panes.Row(p.Pane); err == nil && p.Exit && row.State != StateRunning {
		return texts.Ending(row.Exit), nil
	}
	return on(ctx, s, p.Pane, p, texts.Wait)
}

func (s verbServer) RunInPane(ctx context.Context, p verbs.PaneRunParams) (verbs.PaneRunResult, error) {
	return on(ctx, s, p.Pane, p, s.runs.Run)
}

func (s verbServer) SearchPane(ctx context.Context, p verbs.PaneSearchParams) (verbs.PaneSearchResult, error) {
	return on(ctx, s, p.Pane, p, texts.Search)
}

func (s verbServer) ExportPane(ctx context.Context, p verbs.PaneExportParams) (verbs.PaneExportResult, error) {
	return on(ctx, s, p.Pane, p, texts.Export)
}
