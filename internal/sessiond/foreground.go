// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"spawn/internal/sessiond/foreground"
	"spawn/internal/sessiond/lifecycle"
	"spawn/internal/sessiond/wire"
)

// foregroundWatch is what we know about who owns the keyboard. The kernel has no event for it, so it is looked at: once a
// second while the terminal moves and somebody is connected. One look costs more than it seems (the whole process wakes up),
// and there may be a thousand idle terminals: where nothing moves the pace is slow, and a program that takes the keyboard
// without a byte of output is noticed late.
type foregroundWatch struct {
	due   alarm
	name  string // "" while unknown
	moved bool   // output came since the last look
	quiet int    // looks in a row without output before them
}

// lookAtForeground is the timer's turn: tell a change, and choose when to look again.
func (w *worker) lookAtForeground() {
	f := &w.foreground
	f.due.disarm()
	if w.conn == nil {
		return // the next connection begins with a look
	}
	w.conn.out.trim() // a matter of the same pace
	if w.refreshForeground() {
		w.tellForeground()
	}
	if f.quiet++; f.moved {
		f.quiet = 0
	}
	f.moved = false
	if f.quiet < foregroundQuietMax {
		f.due.arm(w.clock, foregroundEvery)
	} else {
		f.due.arm(w.clock, foregroundIdleEvery)
	}
}

// refreshForeground asks the kernel and reports a change. A group whose leader has gone keeps the name it had.
func (w *worker) refreshForeground() bool {
	if w.state != lifecycle.Running {
		return false
	}
	pgid, err := w.term.Load().ForegroundGroup()
	if err != nil {
		return false
	}
	name, err := foreground.Name(pgid)
	if err != nil || name == "" || name == w.foreground.name {
		return false
	}
	w.foreground.name = name
	return true
}

// quickenForeground brings the quick pace back: output came, or a connection.
func (w *worker) quickenForeground() {
	f := &w.foreground
	f.moved = true
	if w.state == lifecycle.Running && w.conn != nil && (f.quiet >= foregroundQuietMax || !f.due.armed()) {
		f.quiet = 0
		f.due.arm(w.clock, foregroundEvery)
	}
}

func (w *worker) tellForeground() {
	if w.conn != nil && w.foreground.name != "" {
		w.conn.send(push(w.conn.out, frameHint, w.foreground.name, wire.AppendForeground))
	}
}
