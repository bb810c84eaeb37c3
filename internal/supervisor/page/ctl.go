// SPDX-License-Identifier: Apache-2.0

// Package page serves one browser page its panes, over the channels that the page has opened.
package page

import (
	"fmt"
	"strings"
)

// Proto is the version of spawn.ctl. A page of another version is refused at hello; loading it again brings
// the one that fits.
const Proto = 2

// The types of spawn.ctl, which web/src/wire/ctl.ts is generated from. Beside them every verb of the control
// socket can be asked that neither frames nor lines follow: its types are in web/src/wire/verbs.ts. Requests
// are answered once each: those of the page's own table in order, verbs whenever they are done. Events come
// whenever something has changed. Numbers that may exceed what JavaScript counts exactly (2^53) travel as
// decimal text.

// PaneState says what has become of a pane's worker.
type PaneState string

const (
	PaneRunning PaneState = "running"
	PaneExited  PaneState = "exited" // the shell ended; exit_code or signal say how
	PaneLost    PaneState = "lost"   // the worker is gone without a word: unknown, never success
)

// PaneInfo is what a page knows of a pane without attaching to it.
type PaneInfo struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`  // given by the user; "" when none was
	Title      string    `json:"title"` // set by the program
	State      PaneState `json:"state"`
	Cols       uint16    `json:"cols"`
	Rows       uint16    `json:"rows"`
	ExitCode   *int      `json:"exit_code"` // null while running, after a signal, and when unknown
	Signal     string    `json:"signal"`    // name without SIG; "" when none
	Argv0      string    `json:"argv0"`     // name of what it was started with; "" when that is not known
	Foreground string    `json:"foreground"`
	Window     string    `json:"window"`
	Index      int       `json:"index"`   // place of its window in its session
	Archive    *Archive  `json:"archive"` // null for a pane that has, or had, a process
}

// Archive says where a restored pane comes from, in the words of verbs.Archived.
type Archive struct {
	Checkpoint   string `json:"checkpoint"`
	PreviousPane string `json:"previous_pane"` // id that it had when it was saved
	ProcessState string `json:"process_state"` // exited or interrupted
	TextState    string `json:"text_state"`    // omitted, expired or plain
	CutRows      uint64 `json:"cut_rows"`      // saved rows that are shown cut at the last column
}

// Equal reports whether a page would see no difference.
func (p PaneInfo) Equal(q PaneInfo) bool {
	same := equal(p.ExitCode, q.ExitCode) && equal(p.Archive, q.Archive)
	p.ExitCode, q.ExitCode, p.Archive, q.Archive = nil, nil, nil, nil
	return same && p == q
}

func equal[T comparable](a, b *T) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

type (
	// Server says which spawnd answers.
	Server struct {
		Version  string `json:"version"`
		HostName string `json:"host_name"`
		Source   string `json:"source"` // new with each start of spawnd
	}

	HelloParams struct {
		Proto int `json:"proto"`
	}
	HelloResult struct {
		Server     Server `json:"server"`
		ViewerName string `json:"viewer_name"` // under which others see this browser
		Principal  string `json:"principal"`   // who it is: device: and an id, or share: and one
		Visit      *Visit `json:"visit"`       // null for a paired browser
	}
	// Visit says to a visitor what its link shows. What it may do is checked elsewhere, at each step.
	Visit struct {
		Resource  string `json:"resource"`   // a pane or a session
		Right     string `json:"right"`      // read or write
		ExpiresAt uint64 `json:"expires_at"` // Unix milliseconds
	}
	Empty      struct{}
	PaneParams struct {
		Pane string `json:"pane"`
	}
	ViewAttachParams struct {
		Pane    string `json:"pane"`
		Cols    uint16 `json:"cols"`
		Rows    uint16 `json:"rows"`
		History bool   `json:"history"` // send history_delta, history_wipe and history_gap
	}
	ViewAttachResult struct {
		Viewer string `json:"viewer"`
	}
	ViewSnapshotParams struct {
		Pane string `json:"pane"`
		Full bool   `json:"full"` // with history; otherwise the screen alone
		// Plain asks for text without styles, which no snapshot is: it is refused, so that nobody takes one for it.
		Plain bool `json:"plain,omitzero"`
	}
	ViewResizeParams struct {
		Pane string `json:"pane"`
		Cols uint16 `json:"cols"`
		Rows uint16 `json:"rows"`
	}
	ControlAnswerParams struct {
		Pane   string `json:"pane"`
		Viewer string `json:"viewer"` // the one that asked
	}
	ThemeParams struct {
		Pane       string   `json:"pane"`
		Foreground string   `json:"foreground"` // #rrggbb
		Background string   `json:"background"`
		Cursor     string   `json:"cursor"`
		Palette    []string `json:"palette"` // 16, or none
	}
)

// toOnePane reports whether how panes are arranged is none of the visitor's business.
func (v *Visit) toOnePane() bool { return v != nil && strings.HasPrefix(v.Resource, "pane:") }

// CtlError is the answer to a request that was not done. A verb's is that of the control socket.
type CtlError struct {
	Code    string            `json:"code"`
	Message string            `json:"message"`
	Data    map[string]string `json:"data"`
}

func refused(code, message string) *CtlError { return &CtlError{Code: code, Message: message} }

// Error makes it an error, so that whoever refuses picks the code that the page gets.
func (e *CtlError) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// AnswerPiece is one piece of an answer that is too long for one message; pieces come in order of seq, from
// 0. Their data together is the answer's text.
type AnswerPiece struct {
	ID   uint64 `json:"id"`
	Seq  int    `json:"seq"`
	Last bool   `json:"last"`
	Data string `json:"data"` // base64url
}

// Events. The first member of each names it.
type (
	PaneEvent struct {
		Event string   `json:"event"`
		Pane  PaneInfo `json:"pane"`
	}
	PaneRemovedEvent struct {
		Event string `json:"event"`
		Pane  string `json:"pane"`
	}
	PanesReadyEvent struct {
		Event string `json:"event"`
	}
	// ArrangedEvent says that sessions, windows or their trees have changed; window.list says how.
	ArrangedEvent struct {
		Event string `json:"event"`
	}
	// SnapshotEvent is one piece of a snapshot; pieces come in order of seq, from 0.
	SnapshotEvent struct {
		Event string `json:"event"`
		Pane  string `json:"pane"`
		Seq   int    `json:"seq"`
		Last  bool   `json:"last"`
		Data  string `json:"data"` // base64url
		*SnapshotHead
	}
	// SnapshotHead comes with the first piece alone.
	SnapshotHead struct {
		Cols        uint16 `json:"cols"`
		Rows        uint16 `json:"rows"`
		Full        bool   `json:"full"`
		Unavailable bool   `json:"unavailable"` // history was asked for, and the log cannot give it
		Watermark   string `json:"watermark"`   // decimal
		DCOffset    uint64 `json:"dc_offset"`   // bytes sent on the pane's channel before the cut
		Epoch       string `json:"epoch"`       // decimal
		Offset      uint64 `json:"offset"`      // end of the snapshot's history within the epoch
	}
	HistoryDeltaEvent struct {
		Event  string `json:"event"`
		Pane   string `json:"pane"`
		Epoch  string `json:"epoch"`  // decimal
		Offset uint64 `json:"offset"` // of the first byte within the epoch
		Data   string `json:"data"`   // base64url
	}
	HistoryWipeEvent struct {
		Event string `json:"event"`
		Pane  string `json:"pane"`
		Epoch string `json:"epoch"` // decimal; the new one
	}
	HistoryGapEvent struct {
		Event string `json:"event"`
		Pane  string `json:"pane"`
	}
	SizeEvent struct {
		Event string `json:"event"`
		Pane  string `json:"pane"`
		Cols  uint16 `json:"cols"`
		Rows  uint16 `json:"rows"`
	}
	ControlEvent struct {
		Event          string          `json:"event"`
		Pane           string          `json:"pane"`
		You            bool            `json:"you"`
		Controller     string          `json:"controller"` // viewer; "" when nobody controls
		ControllerName string          `json:"controller_name"`
		Request        *ControlRequest `json:"request"` // who asks for control; null when nobody does
	}
	ControlRequest struct {
		Viewer string `json:"viewer"`
		Name   string `json:"name"`
	}
	BellEvent struct {
		Event string `json:"event"`
		Pane  string `json:"pane"`
	}
	ExitEvent struct {
		Event    string `json:"event"`
		Pane     string `json:"pane"`
		ExitCode *int   `json:"exit_code"`
		Signal   string `json:"signal"`
	}
	LostEvent struct {
		Event string `json:"event"`
		Pane  string `json:"pane"`
	}
	DroppedEvent struct {
		Event  string `json:"event"`
		Pane   string `json:"pane"`
		Reason string `json:"reason"`
	}
)
