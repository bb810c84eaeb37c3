// SPDX-License-Identifier: Apache-2.0

// Package localattach shows one pane at a time in the terminal that the user sits at.
//
// The terminal is put into raw mode and gets the pane's bytes as they are, except what would make it
// answer or change its window: the worker has answered already, and a second answer would be typed into
// the shell. What is typed goes to the pane, but for the prefix and the key behind it, which detach or lead to
// another pane: one connection ends, the next begins, and nothing of the former pane stays. On every way out (detach, exit, loss,
// signal, panic) the terminal is made what it was.
package localattach

import (
	"context"
	"errors"
	"os"
	"time"

	"spawn/internal/sessiond/wire"
)

// Remote is the connection to a pane. Recv is called by one goroutine, the others by any.
type Remote interface {
	Recv() (wire.Kind, []byte, error)
	Input(p []byte) error
	Resize(cols, rows uint16) error
	RequestReplay(max uint32) error
	Close() error
}

// Options say where to attach, and how.
type Options struct {
	In, Out *os.File // the terminal; usually standard input and output
	// Pane is where to begin; "" leaves it to Places: the pane that was used last, or a new one. With Places it may
	// be a window or a session as well: then it is its active pane.
	Pane string
	// Places are what the keys behind the prefix lead to. Nil: there is this pane and no other.
	Places Places
	// One ends the attachment with the pane; else it goes on with the next one of the session, if there is one.
	One bool
	// Dial attaches, as a screen of the given size, and to the screen alone: history is asked for. It is called again, for as long as Retry lets, when the
	// connection breaks while the pane has not ended: spawnd may be restarting.
	Dial func(ctx context.Context, pane string, cols, rows uint16) (Remote, error)
	// Retry reports whether an error of Dial may pass. Nil: none does.
	Retry func(error) bool
	Keys  Keys // the zero value is DefaultKeys
}

// How says how an attachment ended.
type How uint8

const (
	Detached    How = 1 // by the detach key; the pane goes on
	Exited      How = 2 // the shell ended; Outcome.Exit says how
	Lost        How = 3 // the worker is gone: unknown, never success
	Interrupted How = 4 // a signal ended it, Outcome.Signal; the pane goes on
	HungUp      How = 5 // the user's terminal is gone; the pane goes on
	Unreachable How = 6 // spawnd is gone and did not come back in time; the pane goes on
)

// Outcome is how an attachment ended.
type Outcome struct {
	How    How
	Pane   string    // that was attached last
	Exit   wire.Exit // of Exited
	Signal os.Signal // of Interrupted
}

// ErrNoTerminal means that standard input or output is not a terminal.
var ErrNoTerminal = errors.New("attaching needs a terminal")

const (
	// returnTimeout is how long a lost connection is sought again.
	returnTimeout = 10 * time.Minute
	// returnPause is the pause between two attempts.
	returnPause = 200 * time.Millisecond
	// leaveTimeout bounds what a terminal that takes no output can delay the way out.
	leaveTimeout = time.Second
	inputBytes   = 4 << 10 // of one read from the terminal
	// historyMax is the most history that is asked for, in bytes. No worker keeps more.
	historyMax = 8 << 20
)
