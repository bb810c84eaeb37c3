// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"os"
	"time"

	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/topology"
	"spawn/internal/supervisor/verbs"
)

// verbServer is what the control socket acts on, in the words of its verbs.
type verbServer struct{ *Supervisor }

func (s verbServer) Panes(context.Context) ([]verbs.Pane, error) {
	return mapped(s.panes.Rows(), verbPane), nil
}

func (s verbServer) NewPane(ctx context.Context, p verbs.PaneNewParams) (verbs.Pane, error) {
	row, err := s.panes.New(ctx, NewPane{Argv: p.Argv, Cwd: p.Cwd, Cols: p.Cols, Rows: p.Rows, Name: p.Name, Owner: owner(ctx)})
	return verbPane(row), verbError(err)
}

func (s verbServer) KillPane(ctx context.Context, id string) error {
	return verbError(s.panes.Close(ctx, id))
}

func (s verbServer) RestartPane(ctx context.Context, p verbs.PaneRestartParams) (verbs.PaneResult, error) {
	row, err := s.panes.restart(ctx, p.Pane, NewPane{Argv: p.Argv, Cwd: p.Cwd})
	return verbs.PaneResult{Pane: verbPane(row)}, verbError(err)
}

func (s verbServer) RenamePane(_ context.Context, id, name string) (verbs.Pane, error) {
	if err := s.panes.Rename(id, name); err != nil {
		return verbs.Pane{}, verbError(err)
	}
	row, err := s.panes.Row(id)
	return verbPane(row), verbError(err)
}

func (s verbServer) AttachPane(ctx context.Context, id string, sink fanout.Sink, o fanout.AttachOptions) (verbs.Viewer, error) {
	v, err := s.attach(principalOf(ctx), s.insideOf(ctx), id, sink, o)
	if err != nil {
		return nil, verbError(err)
	}
	if s.panes.isArchive(id) {
		return onlooker{v}, nil
	}
	return v, nil
}

// onlooker is a viewer of an archive, where there is nothing to take: it just goes on watching.
type onlooker struct{ *fanout.Viewer }

func (onlooker) Take() error { return nil }

func (s verbServer) Viewers(_ context.Context, id string) (fanout.Stats, error) {
	stats, err := s.panes.Viewers(id)
	return stats, verbError(err)
}

func (s verbServer) PairURL(context.Context) (string, error) { return s.Supervisor.PairURL() }

func (s verbServer) Info(ctx context.Context) (verbs.ServerInfoResult, error) {
	return verbs.ServerInfoResult{
		Version: s.o.Version, HostName: s.pages.server.HostName, Source: s.pages.server.Source, PID: os.Getpid(),
		StartedAt: s.started.UnixMilli(), Addresses: []string{s.server.URL()}, Panes: len(s.panes.Rows()), Pane: s.insideOf(ctx),
	}, nil
}

// verbError gives an error of ours the code that scripts know it by. One without a code is not told to
// the caller but logged.
func verbError(err error) error {
	if denied := (*access.DeniedError)(nil); errors.As(err, &denied) {
		return verbs.Errorf(verbs.Code(denied.Code()), "%s", denied).
			With("right", denied.Right.String()).With("resource", denied.Resource.String()).With("principal", denied.Principal)
	}
	if code, ok := codeOf(err); ok {
		return verbs.Errorf(code, "%s", err)
	}
	return err
}

func usedAt(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func verbPane(r Row) verbs.Pane {
	p := verbs.Pane{
		ID: r.ID, SessionID: string(r.Worker), PID: r.PID, State: verbs.PaneState(r.State), Title: r.Title, Name: r.Name,
		Cols: r.Cols, Rows: r.Rows, Argv0: r.Argv0, Foreground: r.Foreground, Viewers: r.Viewers,
		Session: r.Session, Window: r.Window, Layer: string(r.Layer), Tags: verbTags(r.Tags), UsedAt: usedAt(r.Used),
	}
	p.Recovery = verbArchived(r.Archive)
	if r.Exit != nil {
		p.ExitCode, p.Signal = r.Exit.ExitCode, r.Exit.Signal
	}
	return p
}

// verbArchived is zero for a pane that was not restored.
func verbArchived(a *topology.Archive) verbs.Archived {
	if a == nil {
		return verbs.Archived{}
	}
	return verbs.Archived{
		Checkpoint: a.Checkpoint, PreviousPane: a.PreviousPane, ProcessState: string(a.ProcessState), TextState: string(a.TextState), CutRows: a.CutRows,
	}
}
