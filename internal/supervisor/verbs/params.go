// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"path/filepath"
	"strings"
	"unicode/utf8"

	"spawn/internal/sessiond/wire"
)

// The parameters and results of all verbs. Members that may be left out are marked omitzero.

// PaneState says what has become of a pane's terminal.
type PaneState string

const (
	PaneRunning PaneState = "running"
	PaneExited  PaneState = "exited" // the shell ended; exit_code or signal say how
	PaneLost    PaneState = "lost"   // its worker is gone: unknown, never success
)

type (
	// Empty is for verbs without parameters, or without a result.
	Empty struct{}

	// Pane is one row of pane.list.
	Pane struct {
		ID         string    `json:"id"`
		SessionID  string    `json:"session_id"` // of the worker
		PID        int       `json:"pid"`        // of the shell; 0 when unknown
		State      PaneState `json:"state"`
		Title      string    `json:"title"` // as the program set it: escape it where it is shown
		Name       string    `json:"name"`  // given by the user; "" when none was
		Cols       uint16    `json:"cols"`
		Rows       uint16    `json:"rows"`
		ExitCode   *int      `json:"exit_code"` // null while running, after a signal, and when unknown
		Signal     string    `json:"signal"`
		Foreground string    `json:"foreground"`
		Viewers    int       `json:"viewers"`
	}
	PaneListResult struct {
		Panes []Pane `json:"panes"`
	}

	// PaneNewParams say how a terminal starts. All may be left out.
	PaneNewParams struct {
		Argv []string `json:"argv,omitzero"` // none: the login shell
		Cwd  string   `json:"cwd,omitzero"`  // absolute; "": the home folder
		Cols uint16   `json:"cols,omitzero"` // 1..1000; both 0: 80x24
		Rows uint16   `json:"rows,omitzero"`
		Name string   `json:"name,omitzero"`
	}
	PaneResult struct {
		Pane Pane `json:"pane"`
	}
	PaneKillParams struct {
		Pane string `json:"pane"`
	}
	PaneRenameParams struct {
		Pane string `json:"pane"`
		Name string `json:"name"` // "" takes the name away
	}

	// PaneStreamParams say what kind of viewer the connection becomes.
	PaneStreamParams struct {
		Pane     string `json:"pane"`
		Cols     uint16 `json:"cols,omitzero"` // of the viewer's own screen; both 0: it does not care
		Rows     uint16 `json:"rows,omitzero"`
		History  bool   `json:"history,omitzero"`   // begin with the history, and send it as it grows
		ReadOnly bool   `json:"read_only,omitzero"` // watch only
		Take     bool   `json:"take,omitzero"`      // control the pane at once, whoever does now
		Name     string `json:"name,omitzero"`      // shown to other viewers
		Resume   Resume `json:"resume,omitzero"`    // of a viewer that comes back
	}
	// Resume says up to where a viewer that comes back has everything. 64-bit numbers that scripts could
	// not hold exactly are decimal strings.
	Resume struct {
		Stream   string `json:"stream"`                 // as the earlier result named it
		Position uint64 `json:"position,string"`        // of the next byte of OUTPUT: the last REPLAY's watermark and what followed
		Epoch    uint64 `json:"epoch,string,omitzero"`  // of the last HISTORY or HISTORY_WIPE; left out without history
		Offset   uint64 `json:"offset,string,omitzero"` // where the next HISTORY begins
	}
	PaneStreamResult struct {
		Viewer  string `json:"viewer"`
		Stream  string `json:"stream"`           // for resume
		Resumed bool   `json:"resumed,omitzero"` // the frames go on where resume says; else they begin with a REPLAY
	}

	ViewerListParams struct {
		Pane string `json:"pane"`
	}
	// ViewerListResult has the pane's counters since this spawnd was connected to it.
	ViewerListResult struct {
		Viewers   []Viewing `json:"viewers"`
		Snapshots uint64    `json:"snapshots"` // that viewers were given
		Resumes   uint64    `json:"resumes"`   // viewers that came back and needed none
		Drops     uint64    `json:"drops"`     // times that a viewer was too slow
		Bytes     uint64    `json:"bytes"`     // given to viewers
	}
	// Viewing is one attached viewer.
	Viewing struct {
		Viewer  string `json:"viewer"`
		Name    string `json:"name"` // as the viewer calls itself: escape it where it is shown
		Control bool   `json:"control"`
		Resumed bool   `json:"resumed"`
		Drops   uint64 `json:"drops"`
		Bytes   uint64 `json:"bytes"`
		Waiting int    `json:"waiting"` // bytes that wait for it, snapshots apart
		Bound   int    `json:"bound"`   // bytes that may wait, by the pace at which it takes them
	}

	PairNewResult struct {
		URL string `json:"url"` // opens once, within ten minutes
	}

	ServerInfoResult struct {
		Version   string   `json:"version"`
		HostName  string   `json:"host_name"`
		Source    string   `json:"source"` // new with each start of spawnd
		PID       int      `json:"pid"`
		StartedAt int64    `json:"started_at"` // Unix milliseconds
		Addresses []string `json:"addresses"`  // where the page is served
		Panes     int      `json:"panes"`
	}
)

// checker is what each type of parameters has: limits that its members' types do not say.
type checker interface{ check() *Error }

func (Empty) check() *Error { return nil }

func (p PaneNewParams) check() *Error {
	total := 0
	for _, word := range p.Argv {
		total += len(word)
	}
	switch {
	case len(p.Argv) > argvMax || total > argvBytesMax:
		return Errorf(CodeInvalidParams, "argv has at most %d words and %d bytes", argvMax, argvBytesMax)
	case len(p.Argv) > 0 && p.Argv[0] == "":
		return Errorf(CodeInvalidParams, "argv begins with the program, which is not empty")
	case strings.Contains(strings.Join(p.Argv, ""), "\x00"):
		return Errorf(CodeInvalidParams, "argv holds a NUL")
	case p.Cwd != "" && !filepath.IsAbs(p.Cwd):
		return Errorf(CodeInvalidParams, "cwd is an absolute path")
	case len(p.Cwd) > pathBytesMax || strings.Contains(p.Cwd, "\x00"):
		return Errorf(CodeInvalidParams, "cwd has at most %d bytes and no NUL", pathBytesMax)
	}
	if err := checkName(p.Name); err != nil {
		return err
	}
	return checkSize(p.Cols, p.Rows)
}

func (p PaneKillParams) check() *Error { return checkPane(p.Pane) }

func (p ViewerListParams) check() *Error { return checkPane(p.Pane) }

func (p PaneRenameParams) check() *Error {
	if err := checkPane(p.Pane); err != nil {
		return err
	}
	return checkName(p.Name)
}

func (p PaneStreamParams) check() *Error {
	if err := checkPane(p.Pane); err != nil {
		return err
	}
	if p.ReadOnly && p.Take {
		return Errorf(CodeInvalidParams, "who only watches can't take control")
	}
	if len(p.Resume.Stream) > streamNameMax {
		return Errorf(CodeInvalidParams, "a stream's name has at most %d bytes", streamNameMax)
	}
	if len(p.Name) > viewerNameMax {
		return Errorf(CodeInvalidName, "a viewer's name has at most %d bytes", viewerNameMax)
	}
	return checkSize(p.Cols, p.Rows)
}

// checkPane accepts what looks like a pane's id. Whether there is one, the server knows.
func checkPane(id string) *Error {
	if len(id) < 2 || len(id) > paneIDMax || id[0] != 'p' || strings.Trim(id[1:], "0123456789") != "" {
		return Errorf(CodeInvalidParams, "a pane's id looks like p0")
	}
	return nil
}

func checkName(name string) *Error {
	if len(name) > nameBytesMax || !utf8.ValidString(name) {
		return Errorf(CodeInvalidName, "a name has at most %d bytes", nameBytesMax)
	}
	return nil
}

func checkSize(cols, rows uint16) *Error {
	if cols == 0 && rows == 0 {
		return nil
	}
	if cols < 1 || cols > wire.SizeMax || rows < 1 || rows > wire.SizeMax {
		return Errorf(CodeInvalidSize, "columns and rows are between 1 and %d", wire.SizeMax)
	}
	return nil
}
