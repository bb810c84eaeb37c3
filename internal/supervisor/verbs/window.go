// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"context"
	"errors"
)

// Names of the verbs of windows.
const (
	WindowNew    = "window.new"
	WindowList   = "window.list"
	WindowRename = "window.rename"
	WindowClose  = "window.close"
	WindowMove   = "window.move"
)

type (
	// Window is a tab: a tree of splits with a pane in each leaf, and floats above it.
	Window struct {
		Window   string   `json:"window" like:"window" help:"id of the window"`
		Session  string   `json:"session" like:"session" help:"id of its session"`
		Name     string   `json:"name" help:"name that a user gave; empty when none did"`
		Revision uint64   `json:"revision" help:"grows with each change of its layout"`
		Nodes    []Node   `json:"nodes" help:"its tree in preorder: the root is 0, and a first child follows its parent"`
		Floats   []Placed `json:"floats" help:"the panes above the tree, from the back to the front"`
		Active   string   `json:"active" help:"id of the pane that somebody turned to last, in which who comes there begins; empty without panes"`
		Zoomed   string   `json:"zoomed" help:"id of the pane that fills the window; empty when none does"`
	}

	// Placed is a float with all that it takes to draw it: what was asked for, and the rest from its preset. Only
	// what it comes to in an area is left to who draws it, since each has an area of its own.
	Placed struct {
		Pane    string `json:"pane" like:"pane" help:"id of its pane"`
		Z       uint64 `json:"z" help:"its place in the stack: larger ones are in front, and no two are the same"`
		Preset  string `json:"preset,omitzero" help:"preset that was asked for; left out: floats.default"`
		Width   string `json:"width" help:"columns of the terminal without its border, or their share of the window such as 60%"`
		Height  string `json:"height" help:"rows of the terminal without its border, or their share of the window"`
		Anchor  string `json:"anchor" enum:"top_left,top,top_right,left,center,right,bottom_left,bottom,bottom_right" help:"where in the window, by the same point of the float"`
		X       int    `json:"x" help:"cells to the right of its anchor"`
		Y       int    `json:"y" help:"cells below its anchor"`
		MinCols uint16 `json:"min_cols" help:"fewest columns, as far as the window has room"`
		MinRows uint16 `json:"min_rows" help:"fewest rows, as far as the window has room"`
		Border  string `json:"border" enum:"none,single,double,rounded,heavy" help:"line around it"`
		Title   string `json:"title,omitzero" help:"title in its border: escape it where you show it"`
	}

	// Node is a split or a leaf.
	Node struct {
		Kind   string `json:"kind" enum:"split,pane" help:"what the node is"`
		Axis   string `json:"axis,omitzero" enum:"cols,rows" help:"of a split: cols has its children side by side, rows one above the other"`
		First  int    `json:"first,omitzero" help:"of a split: place of its first child"`
		Second int    `json:"second,omitzero" help:"of a split: place of its second child"`
		Ratio  uint16 `json:"ratio,omitzero" min:"1" max:"9999" help:"of a split: share of the first child in 1/10000; left out for equal ones"`
		Pane   string `json:"pane,omitzero" like:"pane" help:"of a leaf: id of its pane"`
	}

	// WindowNewParams say how a window's first terminal starts.
	WindowNewParams struct {
		Session string   `json:"session,omitzero" like:"session" help:"id of the session; left out: the first one, or a new one"`
		Name    string   `json:"name,omitzero" max:"512" fault:"invalid.name" help:"name of the window"`
		Argv    []string `json:"argv,omitzero" min:"1" max:"256" cli:"rest" help:"the command and its arguments; left out: the login shell"`
		Cwd     string   `json:"cwd,omitzero" like:"abspath" max:"4096" help:"absolute path of the folder to start in; left out: the home folder"`
		Cols    uint16   `json:"cols,omitzero" min:"1" max:"1000" fault:"invalid.size" help:"columns; left out together with rows: 80x24"`
		Rows    uint16   `json:"rows,omitzero" min:"1" max:"1000" fault:"invalid.size" help:"rows"`
	}

	WindowListParams struct {
		Session string `json:"session,omitzero" like:"session" help:"id of the session; left out: of all"`
	}

	WindowListResult struct {
		Windows []Window `json:"windows" help:"every window that the caller may read, in their order"`
	}

	WindowParams struct {
		Window string `json:"window" like:"window" help:"id of the window"`
	}

	WindowRenameParams struct {
		Window string `json:"window" like:"window" help:"id of the window"`
		Name   string `json:"name" max:"512" fault:"invalid.name" help:"its name; empty takes the name away"`
	}

	WindowMoveParams struct {
		Window  string `json:"window" like:"window" help:"id of the window"`
		Session string `json:"session,omitzero" like:"session" help:"id of the session to move to; left out: its own"`
		Index   uint16 `json:"index" help:"its new place among the windows; the first is 0, one beyond the last is the last"`
	}

	WindowResult struct {
		Window Window `json:"window" help:"the window as it is now"`
	}
)

func (p WindowNewParams) on() Resource    { return onSessionOrRoot(p.Session) }
func (p WindowListParams) on() Resource   { return onSessionOrRoot(p.Session) }
func (p WindowParams) on() Resource       { return onWindow(p.Window) }
func (p WindowRenameParams) on() Resource { return onWindow(p.Window) }
func (p WindowMoveParams) on() Resource   { return onWindow(p.Window) }

func (p WindowMoveParams) target() Resource {
	if p.Session == "" {
		return ""
	}
	return onSession(p.Session)
}

func (p WindowNewParams) check() *Error {
	return PaneNewParams{Argv: p.Argv, Cols: p.Cols, Rows: p.Rows}.check()
}

var windowVerbs = []Verb{
	row[WindowNewParams, WindowResult]{
		Name: WindowNew, Summary: "start a terminal in a new window", Right: RightSpawn,
		Errors:  []Code{CodeNoSession, CodeInvalidSize, CodeInvalidName, CodeStart, CodeFull},
		Example: WindowNewParams{Session: "s0", Name: "build"},
		Do:      via(Arrangement.NewWindow),
	}.verb(),
	row[WindowListParams, WindowListResult]{
		Name: WindowList, Summary: "list windows with their layout", Right: RightRead, Each: true,
		Errors: []Code{CodeNoSession}, Example: WindowListParams{"s0"},
		Do: func(ctx context.Context, a *ask, p WindowListParams) (WindowListResult, error) {
			all, err := a.Server.(Arrangement).Windows(ctx, p)
			if told := (*Error)(nil); err != nil && errors.As(a.check(RightRead, p.on()), &told) && told.Code == denied(RightRead) {
				err = nil // who may not read the session is not told whether it is there
			}
			return WindowListResult{seen(a, all, func(w Window) Resource { return onWindow(w.Window) })}, err
		},
	}.verb(),
	row[WindowRenameParams, WindowResult]{
		Name: WindowRename, Summary: "name a window", Right: RightWrite,
		Errors: []Code{CodeNoWindow, CodeInvalidName}, Example: WindowRenameParams{"w0", "build"},
		Do: via(Arrangement.RenameWindow),
	}.verb(),
	row[WindowParams, Empty]{
		Name: WindowClose, Summary: "end every terminal of a window and remove it", Right: RightAdmin,
		Errors: []Code{CodeNoWindow}, Example: WindowParams{"w0"},
		Do: via(Arrangement.CloseWindow),
	}.verb(),
	row[WindowMoveParams, WindowResult]{
		Name: WindowMove, Summary: "give a window another place, in its session or in another one that the caller may write to", Right: RightWrite,
		Errors: []Code{CodeNoWindow, CodeNoSession}, Example: WindowMoveParams{"w2", "s0", 0},
		Do: onto(WindowMoveParams.target, Arrangement.MoveWindow),
	}.verb(),
}
