// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"spawn/internal/sessiond/foreground"
	"spawn/internal/sessiond/lifecycle"
	"spawn/internal/sessiond/wire"
)

// foregroundWatch is what we know about who owns the keyboard. The kernel has no event for it, so it is looked at: once a
// second while something may have changed it, and somebody is connected. That is so for some looks after
//
//	a byte of output   a program that takes the screen paints it, a shell that has it back prompts
//	a byte of input    it may start something and not be echoed, as behind "read -s"
//	a connection       which is told at once besides
//	the end of the group's leader   whoever gets the keyboard then gets it without a byte, as tail does in "sleep 9; tail -f x"
//
// One look wakes the whole process up, and that is what it costs (docs/protocol.md has the figures). What is left is a program that
// puts another in its place (exec), or passes the keyboard on, without a byte and without ending; that is found by a look
// every foregroundIdleEvery.
type foregroundWatch struct {
	due    alarm
	name   string        // "" while unknown
	typed  chan struct{} // 1 slot: input came since the last look, says the connection's reader
	moved  bool          // something else came since then
	quiet  int           // looks in a row with nothing before them
	group  int           // whose leader is watched
	leader *foreground.Leader
}

// leaderGone is ready when the leader that is watched has ended; nil, which never is ready, while there is none.
func (f *foregroundWatch) leaderGone() <-chan struct{} {
	if f.leader == nil {
		return nil
	}
	return f.leader.Gone()
}

// inputCame is ready when input came while the pace was slow. A key at the quick one wakes nobody for this.
func (f *foregroundWatch) inputCame() <-chan struct{} {
	if f.quiet < foregroundQuietMax {
		return nil
	}
	return f.typed
}

// unwatch lets go of the leader.
func (f *foregroundWatch) unwatch() {
	if f.leader != nil {
		f.leader.Close()
	}
	f.leader, f.group = nil, 0
}

// lookAtForeground is the timer's turn: tell a change, and choose when to look again.
func (w *worker) lookAtForeground() {
	f := &w.foreground
	f.due.disarm()
	if w.conn == nil {
		f.unwatch()
		return // the next connection begins with a look
	}
	w.conn.out.trim() // a matter of the same pace
	if w.refreshForeground() {
		w.tellForeground()
	}
	select {
	case <-f.typed:
		f.moved = true
	default:
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
	w.foreground.watch(pgid)
	name, err := foreground.Name(pgid)
	if err != nil || name == "" || name == w.foreground.name {
		return false
	}
	w.foreground.name = name
	return true
}

// watch waits for the end of the group's leader. One that cannot be watched is found gone, or moved, by a slow look.
func (f *foregroundWatch) watch(pgid int) {
	if f.leader != nil && f.group == pgid {
		return
	}
	f.unwatch()
	if l, err := foreground.Watch(pgid); err == nil {
		f.leader, f.group = l, pgid
	}
}

// quickenForeground brings the quick pace back: output came, input, a connection, or the leader has ended.
func (w *worker) quickenForeground() {
	f := &w.foreground
	f.moved = true
	if w.state == lifecycle.Running && w.conn != nil && (f.quiet >= foregroundQuietMax || !f.due.armed()) {
		f.quiet = 0
		f.due.arm(w.clock, foregroundEvery)
	}
}

// leaderEnded is the news that whoever had the keyboard has ended: somebody else gets it about now.
func (w *worker) leaderEnded() {
	w.foreground.unwatch()
	w.quickenForeground()
}

func (w *worker) tellForeground() {
	if w.conn != nil && w.foreground.name != "" {
		w.conn.send(push(w.conn.out, frameHint, w.foreground.name, wire.AppendForeground))
	}
}
