// SPDX-License-Identifier: Apache-2.0

package verbs

import "context"

// Names of the verbs of sessions.
const (
	SessionNew    = "session.new"
	SessionList   = "session.list"
	SessionRename = "session.rename"
	SessionClose  = "session.close"
	SessionMove   = "session.move"
)

type (
	// Session is a named row of windows.
	Session struct {
		Session string   `json:"session" like:"session" help:"id of the session"`
		Name    string   `json:"name" help:"its name: escape it where you show it"`
		Windows []string `json:"windows" help:"ids of its windows, in their order"`
	}

	SessionNewParams struct {
		Name string `json:"name" min:"1" max:"512" fault:"invalid.name" help:"name of the session"`
	}

	SessionListResult struct {
		Sessions []Session `json:"sessions" help:"every session that the caller may read, in their order"`
	}

	SessionParams struct {
		Session string `json:"session" like:"session" help:"id of the session"`
	}

	SessionRenameParams struct {
		Session string `json:"session" like:"session" help:"id of the session"`
		Name    string `json:"name" min:"1" max:"512" fault:"invalid.name" help:"its new name"`
	}

	SessionMoveParams struct {
		Session string `json:"session" like:"session" help:"id of the session"`
		Index   uint16 `json:"index" help:"its new place among the sessions; the first is 0, one beyond the last is the last"`
	}

	SessionResult struct {
		Session Session `json:"session" help:"the session as it is now"`
	}
)

func (SessionNewParams) on() Resource      { return ServerRoot }
func (p SessionParams) on() Resource       { return onSession(p.Session) }
func (p SessionRenameParams) on() Resource { return onSession(p.Session) }
func (p SessionMoveParams) on() Resource   { return onSession(p.Session) }

var sessionVerbs = []Verb{
	row[SessionNewParams, SessionResult]{
		Name: SessionNew, Summary: "make a session without windows", Right: RightSpawn,
		Errors: []Code{CodeInvalidName, CodeFull}, Example: SessionNewParams{"work"},
		Do: via(Arrangement.NewSession),
	}.verb(),
	row[Empty, SessionListResult]{
		Name: SessionList, Summary: "list all sessions", Right: RightRead, Each: true,
		Do: func(ctx context.Context, a *ask, _ Empty) (SessionListResult, error) {
			all, err := a.Server.(Arrangement).Sessions(ctx)
			return SessionListResult{seen(a, all, func(s Session) Resource { return onSession(s.Session) })}, err
		},
	}.verb(),
	row[SessionRenameParams, SessionResult]{
		Name: SessionRename, Summary: "name a session", Right: RightWrite,
		Errors: []Code{CodeNoSession, CodeInvalidName}, Example: SessionRenameParams{"s0", "play"},
		Do: via(Arrangement.RenameSession),
	}.verb(),
	row[SessionParams, Empty]{
		Name: SessionClose, Summary: "end every terminal of a session and remove it", Right: RightAdmin,
		Errors: []Code{CodeNoSession}, Example: SessionParams{"s0"},
		Do: via(Arrangement.CloseSession),
	}.verb(),
	row[SessionMoveParams, Empty]{
		Name: SessionMove, Summary: "give a session another place among the others", Right: RightWrite,
		Errors: []Code{CodeNoSession}, Example: SessionMoveParams{"s1", 0},
		Do: via(Arrangement.MoveSession),
	}.verb(),
}
