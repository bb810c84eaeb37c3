// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/control"
)

// Sink is one viewer's way out: a DataChannel, a local terminal, a test. The viewer's own goroutine
// calls Output, Snapshot and Event, one at a time and in order. They may block, which holds up that
// viewer alone; an error detaches it. Slices and strings of history in an argument are valid during the
// call only. No call may detach or attach viewers of the same hub and wait for it.
//
// Output begins only after the first Snapshot, or the Resumed in its place, and each Snapshot starts the
// stream anew at its Watermark: the next byte of Output is the one at that position. Events may come
// before the first Snapshot.
type Sink interface {
	Output(p []byte) error // at most 64 KiB
	Snapshot(s Snapshot) error
	Event(e Event) error
	// Close is called once, after which nothing else is. It may be called while another call blocks
	// and must release it, and it must not wait for that.
	Close()
}

// PromptSink is a Sink that can take a little output without waiting. The hub's reader calls Prompt under
// its lock while nothing waits for the viewer and no other call is under way, so that a key's echo needs
// no other goroutine.
type PromptSink interface {
	Sink
	// Prompt takes all of p, at most promptMax bytes, and returns true, or takes nothing. It must not wait.
	Prompt(p []byte) bool
}

// Snapshot is the terminal at one position of its stream.
type Snapshot struct {
	Cols, Rows uint16
	Watermark  uint64 // position in the terminal's lifetime of the first byte that Stream does not cover
	Stream     []byte // what paints it: with Full the history too, else geometry and screen
	Full       bool
	// Unavailable means that history was asked for and cannot be had: the worker's log is disabled or
	// damaged. Full is false then, and the screen is there all the same.
	Unavailable bool
	// Epoch and Offset are the history anchor after a full snapshot: the first HistoryDelta continues
	// there. Both are zero for a viewer that did not ask for history.
	Epoch, Offset uint64
}

// Event is anything beside the stream. The concrete types are those below.
type Event interface{ event() }

type (
	// Resumed means that the viewer has come back in time: its stream and its history go on where its
	// Mark says, and no first Snapshot comes.
	Resumed struct{ Position uint64 }
	// HistoryDelta is committed history that follows the anchor, or the delta before it.
	HistoryDelta struct {
		Epoch, Offset uint64 // of Text's first byte
		Text          []byte // valid during the call
	}
	// HistoryWipe means that the program erased its history; a new epoch begins at offset zero.
	HistoryWipe struct{ Epoch uint64 }
	// HistoryGap means that deltas are missing. None follow until the viewer has had a full snapshot.
	HistoryGap struct{}
	// Size is the pane's new geometry. The snapshot that paints it follows.
	Size struct{ Cols, Rows uint16 }
	// Control says who controls the pane.
	Control struct {
		You            bool
		Controller     control.ViewerID // zero when the pane is free
		ControllerName string
		Generation     control.Generation
		Request        *ControlRequest // nil when none is open
	}
	// Title is the terminal's title as the program set it: any text, to be escaped where it is shown.
	Title struct{ Text string }
	// Cwd is the working folder as the program reported it.
	Cwd struct{ Text string }
	// Foreground is the name of the command in the foreground.
	Foreground struct{ Name string }
	// Exit means that the shell has ended; all its output came before.
	Exit struct{ wire.Exit }
	// Lost means that the source ended and no exit was told: the status is unknown, never success.
	Lost struct{}
	// Removed means that the pane is taken away, and its id leads nowhere from now on. It is the last event.
	Removed struct{}
	// Dropped means that the viewer was too slow and what waited for it was thrown away. HistoryGap
	// comes right after it to who has history, then nothing but control, Exit, Lost and Removed until the viewer
	// asks for a snapshot.
	Dropped struct{ Reason string }
)

// ControlRequest is an open request that the controller may grant or deny.
type ControlRequest struct {
	Viewer control.ViewerID
	Name   string
}

// ReasonLagging is the reason of Dropped for a full queue.
const ReasonLagging = "lagging"

func (Resumed) event()      {}
func (HistoryDelta) event() {}
func (HistoryWipe) event()  {}
func (HistoryGap) event()   {}
func (Size) event()         {}
func (Control) event()      {}
func (Title) event()        {}
func (Cwd) event()          {}
func (Foreground) event()   {}
func (Exit) event()         {}
func (Lost) event()         {}
func (Removed) event()      {}
func (Dropped) event()      {}
