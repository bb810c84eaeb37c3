// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"context"
	"strings"

	"spawn/internal/supervisor/fanout"
)

// PaneState says what has become of a pane's terminal.
type PaneState string

const (
	PaneRunning PaneState = "running"
	PaneExited  PaneState = "exited" // the shell ended; exit_code or signal say how
	PaneLost    PaneState = "lost"   // its worker is gone: unknown, never success
)

// Panes is what the verbs of panes act on.
type Panes interface {
	Panes(ctx context.Context) ([]Pane, error)
	NewPane(ctx context.Context, p PaneNewParams) (Pane, error)
	// KillPane ends the pane's terminal and takes the pane away.
	KillPane(ctx context.Context, id string) error
	// RestartPane ends the pane's program and starts one in its place.
	RestartPane(ctx context.Context, p PaneRestartParams) (PaneResult, error)
	RenamePane(ctx context.Context, id, name string) (Pane, error)
	// AttachPane adds a viewer. The sink is closed with an error too.
	AttachPane(ctx context.Context, id string, sink fanout.Sink, o fanout.AttachOptions) (Viewer, error)
}

// Names of the verbs of panes.
const (
	PaneList    = "pane.list"
	PaneNew     = "pane.new"
	PaneClose   = "pane.close"
	PaneRestart = "pane.restart"
	PaneRename  = "pane.rename"
	PaneStream  = "pane.stream"
)

type (
	// Empty is for verbs without parameters, or without a result.
	Empty struct{}

	// Pane is one pane and its terminal.
	Pane struct {
		ID         string    `json:"id" like:"pane" help:"id of the pane"`
		SessionID  string    `json:"session_id" help:"id of the worker process, which names its files"`
		PID        int       `json:"pid" help:"process id of the worker; 0 when unknown"`
		State      PaneState `json:"state" enum:"running,exited,lost" help:"what has become of the terminal; lost is an unknown end, never a success"`
		Title      string    `json:"title" text:"terminal" help:"title as the program set it: escape it where you show it"`
		Name       string    `json:"name" help:"name that a user gave; empty when none did"`
		Cols       uint16    `json:"cols" help:"columns"`
		Rows       uint16    `json:"rows" help:"rows"`
		ExitCode   *int      `json:"exit_code" help:"how the shell ended; null while it runs, after a signal, and when unknown"`
		Signal     string    `json:"signal" help:"the signal that ended the shell; empty when none did"`
		Argv0      string    `json:"argv0,omitzero" help:"name of what it was started with, without its folder; left out when that is not known, as of an archive"`
		Foreground string    `json:"foreground" help:"name of the command in the foreground"`
		Viewers    int       `json:"viewers" help:"how many are attached"`
		Session    string    `json:"session" like:"session" help:"id of the session that it is in"`
		Window     string    `json:"window" like:"window" help:"id of the window that it is in"`
		Layer      string    `json:"layer" enum:"tile,float" help:"whether it is in the window's tree, or above it"`
		Tags       []Tag     `json:"tags" help:"its labels, by growing key"`
		UsedAt     int64     `json:"used_at" help:"when somebody last attached or typed, in Unix milliseconds; 0 when nobody has since this spawnd started"`
		Recovery   Archived  `json:"recovery,omitzero" help:"of an archive: where it comes from"`
	}

	PaneListResult struct {
		Panes []Pane `json:"panes" help:"every pane that the caller may read"`
	}

	// PaneNewParams say how a terminal starts.
	PaneNewParams struct {
		Argv []string `json:"argv,omitzero" max:"256" cli:"rest" help:"the command and its arguments; left out: the login shell"`
		Cwd  string   `json:"cwd,omitzero" like:"abspath" max:"4096" help:"absolute path of the folder to start in; left out: the home folder"`
		Cols uint16   `json:"cols,omitzero" min:"1" max:"1000" fault:"invalid.size" help:"columns; left out together with rows: as the settings say"`
		Rows uint16   `json:"rows,omitzero" min:"1" max:"1000" fault:"invalid.size" help:"rows"`
		Name string   `json:"name,omitzero" max:"512" fault:"invalid.name" help:"name of the pane"`
	}

	PaneResult struct {
		Pane Pane `json:"pane" help:"the pane as it is now"`
	}

	PaneCloseParams struct {
		Pane string `json:"pane" like:"pane" help:"id of the pane"`
	}

	// PaneRestartParams say what runs in the pane from now on.
	PaneRestartParams struct {
		Pane string   `json:"pane" like:"pane" help:"id of the pane"`
		Argv []string `json:"argv,omitzero" min:"1" max:"256" cli:"rest" help:"the command and its arguments; left out: as before, if this spawnd started that"`
		Cwd  string   `json:"cwd,omitzero" like:"abspath" max:"4096" help:"absolute path of the folder to start in; left out: as before, or the home folder if another spawnd started that"`
	}

	PaneRenameParams struct {
		Pane string `json:"pane" like:"pane" help:"id of the pane"`
		Name string `json:"name" max:"512" fault:"invalid.name" help:"its name; empty takes the name away"`
	}

	// PaneStreamParams say what kind of viewer the connection becomes.
	PaneStreamParams struct {
		Pane     string `json:"pane" like:"pane" help:"id of the pane"`
		Cols     uint16 `json:"cols,omitzero" min:"1" max:"1000" fault:"invalid.size" help:"columns of the viewer's own screen; left out together with rows: any size will do"`
		Rows     uint16 `json:"rows,omitzero" min:"1" max:"1000" fault:"invalid.size" help:"rows of the viewer's own screen"`
		History  bool   `json:"history,omitzero" help:"begin with the history, and send it as it grows"`
		ReadOnly bool   `json:"read_only,omitzero" help:"watch, and never type"`
		Take     bool   `json:"take,omitzero" help:"control the pane at once, whoever does now"`
		Name     string `json:"name,omitzero" max:"128" fault:"invalid.name" help:"name shown to other viewers"`
		Resume   Resume `json:"resume,omitzero" help:"where a viewer that comes back goes on"`
	}

	// Resume says up to where a viewer that comes back has everything.
	Resume struct {
		Stream   string `json:"stream" max:"64" help:"stream as the earlier result named it"`
		Position uint64 `json:"position,string" help:"of the next byte of OUTPUT: the last REPLAY's watermark and what followed"`
		Epoch    uint64 `json:"epoch,string,omitzero" help:"of the last HISTORY or HISTORY_WIPE; left out without history"`
		Offset   uint64 `json:"offset,string,omitzero" help:"where the next HISTORY begins"`
	}

	PaneStreamResult struct {
		Viewer  string `json:"viewer" like:"viewer" help:"id of the viewer"`
		Stream  string `json:"stream" help:"name of the stream, for resume"`
		Resumed bool   `json:"resumed,omitzero" help:"the frames go on where resume says; otherwise they begin with a REPLAY"`
	}
)

func (Empty) on() Resource               { return ServerRoot }
func (PaneNewParams) on() Resource       { return ServerRoot }
func (p PaneCloseParams) on() Resource   { return onPane(p.Pane) }
func (p PaneRestartParams) on() Resource { return onPane(p.Pane) }
func (p PaneRenameParams) on() Resource  { return onPane(p.Pane) }
func (p PaneStreamParams) on() Resource  { return onPane(p.Pane) }

var paneVerbs = []Verb{
	row[Empty, PaneListResult]{
		Name: PaneList, Summary: "list all panes", Right: RightRead, Each: true,
		Do: listPanes,
	}.verb(),
	row[PaneNewParams, PaneResult]{
		Name: PaneNew, Summary: "start a terminal in a new pane", Right: RightSpawn,
		Errors:  []Code{CodeInvalidSize, CodeInvalidName, CodeStart, CodeFull},
		Example: PaneNewParams{Argv: []string{"top", "-d", "1"}, Cwd: "/tmp", Name: "load"},
		Do: func(ctx context.Context, a *ask, p PaneNewParams) (PaneResult, error) {
			pane, err := a.NewPane(ctx, p)
			return PaneResult{pane}, err
		},
	}.verb(),
	row[PaneCloseParams, Empty]{
		Name: PaneClose, Summary: "end a pane's terminal and remove the pane: TERM, and KILL two seconds later", Right: RightAdmin,
		Errors: []Code{CodeNoPane}, Example: PaneCloseParams{"p0"},
		Do: func(ctx context.Context, a *ask, p PaneCloseParams) (Empty, error) {
			return Empty{}, a.KillPane(ctx, p.Pane)
		},
	}.verb(),
	row[PaneRestartParams, PaneResult]{
		Name: PaneRestart, Summary: "end a pane's program, by TERM and by KILL two seconds later, and start one in its place", Right: RightSpawn,
		Also:    []also[PaneRestartParams]{{Right: RightAdmin}},
		Errors:  []Code{CodeNoPane, CodeArchive, CodeNoCommand, CodeStart},
		Example: PaneRestartParams{Pane: "p0"},
		Do: func(ctx context.Context, a *ask, p PaneRestartParams) (PaneResult, error) {
			return a.RestartPane(ctx, p)
		},
	}.verb(),
	row[PaneRenameParams, PaneResult]{
		Name: PaneRename, Summary: "name a pane", Right: RightWrite, Also: []also[PaneRenameParams]{{Right: RightRead}},
		Errors: []Code{CodeNoPane, CodeInvalidName}, Example: PaneRenameParams{"p0", "build"},
		Do: func(ctx context.Context, a *ask, p PaneRenameParams) (PaneResult, error) {
			pane, err := a.RenamePane(ctx, p.Pane, p.Name)
			return PaneResult{pane}, err
		},
	}.verb(),
	row[PaneStreamParams, PaneStreamResult]{
		Name: PaneStream, Summary: "make the connection a viewer of a pane", Right: RightRead, Stream: true, Types: true,
		Also: []also[PaneStreamParams]{{RightWrite, "unless read_only is set", PaneStreamParams.types}},
		Errors: []Code{
			CodeNoPane, CodeInvalidSize, CodeInvalidName, CodeEnded, CodeFull, CodeNoViewer, CodeOwnPane,
		},
		Example: PaneStreamParams{Pane: "p0", Cols: 120, Rows: 40, History: true},
		Do:      attach,
	}.verb(),
}

// listPanes leaves out what the caller may not read, as if it were not there.
func listPanes(ctx context.Context, a *ask, _ Empty) (PaneListResult, error) {
	all, err := a.Panes(ctx)
	if err != nil {
		return PaneListResult{}, err
	}
	var seen []Pane
	for _, p := range all {
		if a.may(RightRead, onPane(p.ID)) {
			seen = append(seen, p)
		}
	}
	return PaneListResult{seen}, nil
}

// argvBytesMax bounds all words of a command together: what fits a request.
const argvBytesMax = 48 << 10

func (p PaneNewParams) check() *Error {
	total := 0
	for _, word := range p.Argv {
		total += len(word)
	}
	switch {
	case total > argvBytesMax:
		return Errorf(CodeInvalidParams, "argv has at most %d bytes", argvBytesMax).With("param", "argv")
	case len(p.Argv) > 0 && p.Argv[0] == "":
		return Errorf(CodeInvalidParams, "argv begins with the program, which is not empty").With("param", "argv")
	case strings.Contains(strings.Join(p.Argv, ""), "\x00"):
		return Errorf(CodeInvalidParams, "argv holds a NUL").With("param", "argv")
	}
	return checkSize(p.Cols, p.Rows)
}

func (p PaneRestartParams) check() *Error { return PaneNewParams{Argv: p.Argv}.check() }

func (p PaneStreamParams) check() *Error {
	if p.ReadOnly && p.Take {
		return Errorf(CodeInvalidParams, "who only watches can't take control").With("param", "take")
	}
	return checkSize(p.Cols, p.Rows)
}

// types reports whether the viewer is one that can type.
func (p PaneStreamParams) types() bool { return !p.ReadOnly }

// checkSize refuses half a size. What each half may be, the tags say.
func checkSize(cols, rows uint16) *Error {
	if (cols == 0) == (rows == 0) {
		return nil
	}
	missing := "rows"
	if cols == 0 {
		missing = "cols"
	}
	return Errorf(CodeInvalidSize, "columns and rows come together").With("param", missing)
}
