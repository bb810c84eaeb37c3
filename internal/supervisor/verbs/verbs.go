// SPDX-License-Identifier: Apache-2.0

// Package verbs is spawnd's control socket: one table of what can be asked, and the server that answers.
//
// One request is one line, {"id":1,"verb":"pane.list","params":{}}, and so is its answer:
// {"id":1,"ok":{…}} or {"id":1,"error":{"code":"not_found.pane","message":"…","data":{}}}. Requests of one
// connection are answered in order. After the answer to a streaming verb the connection carries the
// frames of package wire instead, and no more lines.
package verbs

import (
	"context"
	"slices"
	"strconv"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/control"
	"spawn/internal/supervisor/fanout"
)

// Server is what the verbs act on. Its methods may be called from many goroutines at once. They return
// an *Error for what the caller should know.
type Server interface {
	Panes(ctx context.Context) ([]Pane, error)
	NewPane(ctx context.Context, p PaneNewParams) (Pane, error)
	KillPane(ctx context.Context, id string) error
	RenamePane(ctx context.Context, id, name string) (Pane, error)
	// AttachPane adds a viewer. The sink is closed with an error too.
	AttachPane(ctx context.Context, id string, sink fanout.Sink, o fanout.AttachOptions) (Viewer, error)
	// Viewers tells how a pane's viewers stand.
	Viewers(ctx context.Context, id string) (fanout.Stats, error)
	PairURL(ctx context.Context) (string, error)
	Info(ctx context.Context) (ServerInfoResult, error)
}

// Viewer is an attached viewer: what fanout.Viewer has of it here.
type Viewer interface {
	ID() control.ViewerID
	Stream() string
	Resumed() bool
	Input(p []byte) error
	Resize(cols, rows uint16) error
	Snapshot(full bool) error
	Take() error
	Detach()
}

var _ Viewer = (*fanout.Viewer)(nil)

// Right is what a caller must have. Who connects to the socket is the owner, and has all of them.
type Right uint8

const (
	RightRead  Right = 1 // see what is there
	RightWrite Right = 2 // type into a pane, size it, name it
	RightSpawn Right = 3 // start processes
	RightAdmin Right = 4 // end terminals, let others in
)

func (r Right) String() string {
	return [...]string{"none", "read", "write", "spawn", "admin"}[r]
}

// Verb is one row of the table.
type Verb struct {
	Name    string
	Summary string // one line, for help
	Right   Right
	Params  any    // zero value of the type of its parameters
	Result  any    // zero value of the type of its result
	Errors  []Code // that it may give beside those of every verb
	Stream  bool   // frames follow the result

	run func(ctx context.Context, c *conn, params unread) (any, error)
}

// Table returns every verb, in the order of help.
func Table() []Verb { return slices.Clone(table) }

// Lookup finds a verb by its name.
func Lookup(name string) (Verb, bool) {
	i := slices.IndexFunc(table, func(v Verb) bool { return v.Name == name })
	if i < 0 {
		return Verb{}, false
	}
	return table[i], true
}

// Names of the verbs, for those who call them.
const (
	PaneList   = "pane.list"
	PaneNew    = "pane.new"
	PaneKill   = "pane.kill"
	PaneRename = "pane.rename"
	PaneStream = "pane.stream"
	ViewerList = "viewer.list"
	PairNew    = "pair.new"
	ServerInfo = "server.info"
)

var table = []Verb{
	declare(PaneList, "list all panes", RightRead, nil,
		func(ctx context.Context, s Server, _ Empty) (PaneListResult, error) {
			panes, err := s.Panes(ctx)
			return PaneListResult{panes}, err
		}),
	declare(PaneNew, "start a terminal", RightSpawn, []Code{CodeInvalidSize, CodeInvalidName, CodeStart, CodeFull},
		func(ctx context.Context, s Server, p PaneNewParams) (PaneResult, error) {
			pane, err := s.NewPane(ctx, p)
			return PaneResult{pane}, err
		}),
	declare(PaneKill, "end a pane's terminal and remove the pane", RightAdmin, []Code{CodeNoPane, CodeTimeout},
		func(ctx context.Context, s Server, p PaneKillParams) (Empty, error) {
			return Empty{}, s.KillPane(ctx, p.Pane)
		}),
	declare(PaneRename, "name a pane", RightWrite, []Code{CodeNoPane, CodeInvalidName},
		func(ctx context.Context, s Server, p PaneRenameParams) (PaneResult, error) {
			pane, err := s.RenamePane(ctx, p.Pane, p.Name)
			return PaneResult{pane}, err
		}),
	{
		Name: PaneStream, Summary: "attach to a pane", Right: RightWrite, Stream: true,
		Params: PaneStreamParams{}, Result: PaneStreamResult{},
		Errors: []Code{CodeNoPane, CodeInvalidSize, CodeInvalidName, CodeEnded, CodeFull},
		run: func(ctx context.Context, c *conn, params unread) (any, error) {
			p, err := decode[PaneStreamParams](params)
			if err != nil {
				return nil, err
			}
			return c.attach(ctx, p)
		},
	},
	declare(ViewerList, "list who is attached to a pane, and how they keep up", RightRead, []Code{CodeNoPane, CodeEnded},
		func(ctx context.Context, s Server, p ViewerListParams) (ViewerListResult, error) {
			stats, err := s.Viewers(ctx, p.Pane)
			return viewerList(stats), err
		}),
	declare(PairNew, "make an address that pairs one more browser", RightAdmin, []Code{CodeFull},
		func(ctx context.Context, s Server, _ Empty) (PairNewResult, error) {
			url, err := s.PairURL(ctx)
			return PairNewResult{url}, err
		}),
	declare(ServerInfo, "tell about the running spawnd", RightRead, nil,
		func(ctx context.Context, s Server, _ Empty) (ServerInfoResult, error) { return s.Info(ctx) }),
}

// declare makes the row of a verb that answers and is done.
func declare[P checker, R any](name, summary string, right Right, errs []Code, do func(context.Context, Server, P) (R, error)) Verb {
	var p P
	var r R
	return Verb{
		Name: name, Summary: summary, Right: right, Params: p, Result: r, Errors: errs,
		run: func(ctx context.Context, c *conn, params unread) (any, error) {
			p, err := decode[P](params)
			if err != nil {
				return nil, err
			}
			return do(ctx, c.s.o.Server, p)
		},
	}
}

// decode reads parameters, which may be left out as a whole, and checks their limits.
func decode[P checker](params unread) (P, error) {
	var p P
	if params == nil {
		params = unread("{}")
	}
	if err := strictjson.Unmarshal(params, &p); err != nil {
		return p, Errorf(CodeInvalidParams, "the parameters are not those of this verb")
	}
	if err := p.check(); err != nil {
		return p, err
	}
	return p, nil
}

func viewerName(id control.ViewerID) string { return strconv.FormatUint(uint64(id), 10) }
