// SPDX-License-Identifier: Apache-2.0

// Package lifecycle is the life of one terminal session as a table of states and moves.
//
//	           Started                ChildExited             Dismissed, Expired (60 s)
//	Waiting ────────────► Running ────────────► Exited ────────────────────────► Ended
//	   │ │                                         ▲                               ▲
//	   │ └───────────── StartFailed ───────────────┘                               │
//	   └──────────────── Dismissed, Expired (120 s) ───────────────────────────────┘
//
// State only moves to the right. The package does no I/O and reads no clock: the worker owns one
// State, arms the timer of each state it enters and feeds what happens into Next.
package lifecycle

import (
	"fmt"
	"time"
)

const (
	// StartTimeout is how long a worker stays in Waiting. A supervisor that died between fork and
	// START leaves such a worker behind; nobody else would ever end it.
	StartTimeout = 120 * time.Second
	// ExitLinger is how long a worker stays in Exited, so that a supervisor which was away when the
	// shell ended can still connect and be told how.
	ExitLinger = 60 * time.Second
)

// State is where a session stands. The zero value is no state and has no moves.
type State uint8

// The values never leave the process; the names of the first three are Hello's state member.
const (
	Waiting State = 1 // the endpoints listen, START has not come, there is no child
	Running State = 2 // the child lives or has not been reaped
	Exited  State = 3 // the child is reaped, or could not be started; EXIT can be delivered
	Ended   State = 4 // nothing is left to serve: clean up and leave
)

// Event is what may move a session.
type Event uint8

const (
	// Started: START was valid and the child runs.
	Started Event = 1
	// StartFailed: START was valid and the child could not be started. EXIT then carries neither a
	// code nor a signal.
	StartFailed Event = 2
	// ChildExited: the child was reaped and its last output was read.
	ChildExited Event = 3
	// Dismissed: the worker is no longer wanted. TERM or KILL came to one in Waiting, KILL to one in
	// Exited, or the worker itself was told to end. A supervisor that closes its connection dismisses
	// nobody: in Exited too the next one may still want to be told how the session ended.
	Dismissed Event = 4
	// Expired: the time of the present state is over, StartTimeout in Waiting, ExitLinger in Exited.
	Expired Event = 5
)

type situation struct {
	state State
	event Event
}

// moves holds every legal move. What is absent changes nothing.
var moves = map[situation]State{
	{Waiting, Started}:     Running,
	{Waiting, StartFailed}: Exited,
	{Waiting, Dismissed}:   Ended,
	{Waiting, Expired}:     Ended,
	{Running, ChildExited}: Exited,
	{Exited, Dismissed}:    Ended,
	{Exited, Expired}:      Ended,
}

// Next returns the state that follows s after e. When e has no meaning in s (a second START, a timer
// that fired while the move that disarms it was under way) it returns s and false, and the caller
// must do nothing.
func Next(s State, e Event) (State, bool) {
	next, ok := moves[situation{s, e}]
	if !ok {
		return s, false
	}
	return next, true
}

// Timeout returns how long a session may stay in s before Expired, 0 for no limit.
func (s State) Timeout() time.Duration {
	switch s {
	case Waiting:
		return StartTimeout
	case Exited:
		return ExitLinger
	}
	return 0
}

// String returns the lower-case word that Hello, lists and logs use.
func (s State) String() string {
	switch s {
	case Waiting:
		return "waiting"
	case Running:
		return "running"
	case Exited:
		return "exited"
	case Ended:
		return "ended"
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// String returns the event's word for logs.
func (e Event) String() string {
	switch e {
	case Started:
		return "started"
	case StartFailed:
		return "start failed"
	case ChildExited:
		return "child exited"
	case Dismissed:
		return "dismissed"
	case Expired:
		return "expired"
	}
	return fmt.Sprintf("event(%d)", uint8(e))
}
