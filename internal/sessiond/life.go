// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"errors"
	"fmt"
	"syscall"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/lifecycle"
	"spawn/internal/sessiond/pty"
	"spawn/internal/sessiond/wire"
)

// The end of a session, in this order:
//
//	waitLoop  the program is reaped                       → reaped
//	readLoop  the terminal's last bytes are read          → ring ended (or drainMax is over, or the terminal is closed)
//	loop      OUTPUT of those bytes, then EXIT, Exited    → linger, EXIT again to each new connection
//	loop      linger is over, or KILL, or an ordered end  → Ended

// start runs the program of START. If it cannot be started the terminal says why, and the session has ended in an unknown
// way: a code would claim that a program ran.
func (w *worker) start(s wire.Start) {
	w.newScreen(int(s.Cols), int(s.Rows))
	term, err := pty.Start(pty.Options{Argv: s.Argv, Cwd: s.Cwd, Env: s.Env, Cols: s.Cols, Rows: s.Rows})
	if err != nil {
		w.output(fmt.Appendf(nil, "spawn: cannot start the program: %v\r\n", err))
		w.inbox.close()
		w.move(lifecycle.StartFailed)
		w.tellExit()
		return
	}
	w.inbox.open(term.TryWrite)
	w.term.Store(term)
	w.tasks.Go(func() { w.readLoop(term) })
	w.tasks.Go(func() { w.writeLoop(term) })
	w.tasks.Go(func() { w.waitLoop(term) })
	if pty.AdoptsOrphans() {
		w.tasks.Go(func() { term.ReapOrphans(w.quit) })
	}
	w.move(lifecycle.Started)
	failpoint.Pass(failpoint.Running)
	w.refreshForeground()
	w.tellForeground()
	w.quickenForeground()
}

// waitLoop reaps the program. An unknown status stays unknown: EXIT without members.
func (w *worker) waitLoop(term *pty.Terminal) {
	defer close(w.reaped)
	status, err := term.Wait()
	switch {
	case err != nil:
	case status.Signal != "":
		w.exit.Signal = status.Signal
	default:
		w.exit.ExitCode = &status.Code
	}
}

// programEnds is ready once, when the program was reaped and its last output has not been read yet.
func (w *worker) programEnds() <-chan struct{} {
	if w.state != lifecycle.Running || w.draining.armed() {
		return nil
	}
	return w.reaped
}

// beginDrain starts the time in which a background job may still keep the terminal open.
func (w *worker) beginDrain() {
	w.heldBack = false
	w.draining.arm(w.clock, drainMax)
	w.endOutput()
}

// endDrain closes a terminal that background jobs keep open. A time in which the supervisor held us back does not count, even
// if it reads again by now: what the program wrote is still in the kernel.
func (w *worker) endDrain() {
	held := w.heldBack
	w.heldBack = false
	w.draining.arm(w.clock, drainMax)
	if !held {
		w.term.Load().Close()
	}
}

// endOutput ends the session when the program is reaped and all of its output was taken.
func (w *worker) endOutput() {
	if !w.ended || !w.isReaped() {
		return
	}
	w.draining.disarm()
	w.ending.disarm()
	failpoint.Pass(failpoint.OutputEnded)
	w.foreground.due.disarm()
	w.foreground.unwatch()
	w.inbox.close()
	w.term.Load().Close()
	w.move(lifecycle.ChildExited)
	w.tellExit()
	failpoint.Pass(failpoint.ExitTold)
	if w.stopping {
		w.move(lifecycle.Dismissed)
	}
}

func (w *worker) tellExit() {
	if w.conn != nil {
		w.conn.send(push(w.conn.out, frameHint, w.exit, wire.AppendExit))
	}
}

// deliver carries out a lifecycle request. It runs beside the loop, so that no queue can stand before it; what has no program
// to go to is left for the loop.
func (w *worker) deliver(s endpoint.Signal) endpoint.Ack {
	term := w.term.Load()
	err := pty.ErrGone
	if term != nil {
		err = term.SignalGroup(signalOf(s))
	}
	switch {
	case err == nil:
		return endpoint.AckDelivered
	case errors.Is(err, pty.ErrGone):
		w.want(s)
		return endpoint.AckGone
	default:
		// The program has changed its user (sudo) and takes no signals of ours. But the kernel hangs up a terminal for us.
		term.Close()
		return endpoint.AckDelivered
	}
}

func signalOf(s endpoint.Signal) syscall.Signal {
	if s == endpoint.SignalKILL {
		return syscall.SIGKILL
	}
	return syscall.SIGTERM
}

// want leaves a signal for the loop. Of several the strongest stays.
func (w *worker) want(s endpoint.Signal) {
	for {
		old := w.wanted.Load()
		if old >= uint32(s) || w.wanted.CompareAndSwap(old, uint32(s)) {
			break
		}
	}
	notify(w.wants)
}

// obeyWanted lets a signal end a worker that has no program: any before START, KILL during the linger. If the program was just
// started, it gets the signal.
func (w *worker) obeyWanted() {
	s := endpoint.Signal(w.wanted.Swap(0))
	switch {
	case s == 0:
	case w.state == lifecycle.Running:
		w.term.Load().SignalGroup(signalOf(s)) // gone is as good
		if s == endpoint.SignalKILL && w.isReaped() {
			w.stopping = true
		}
	case w.state == lifecycle.Waiting, s == endpoint.SignalKILL:
		w.move(lifecycle.Dismissed)
	}
}

// beginEnd ends the session because the worker was told to end.
func (w *worker) beginEnd() {
	failpoint.Pass(failpoint.Ordered)
	w.stopping = true
	if w.state != lifecycle.Running {
		w.move(lifecycle.Dismissed)
		return
	}
	w.forceEnd()
}

// endSteps is how a program is told to end, each step graceMax after the one before: TERM is what programs clean up on; HUP
// is for interactive shells, which ignore TERM and save their history on HUP; KILL is for the rest. Together, HUP could cut
// short what TERM began.
var endSteps = [...]syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL}

// forceEnd takes the next step. With the last one the terminal is closed too, for what KILL does not reach.
func (w *worker) forceEnd() {
	w.ending.disarm()
	term := w.term.Load()
	term.SignalGroup(endSteps[w.endStep])
	failpoint.Pass(failpoint.EndStepped)
	if w.endStep++; w.endStep < len(endSteps) {
		w.ending.arm(w.clock, graceMax)
		return
	}
	term.Close()
}
