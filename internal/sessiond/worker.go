// SPDX-License-Identifier: Apache-2.0

// Package sessiond is the worker: one login shell on one terminal, kept whole for whoever comes, goes or crashes around it.
//
//	            candidates            commands              wanted
//	acceptLoop ────────────┐  reader ───────────┐  signals ─────────┐
//	                       ▼                    ▼                   ▼
//	PTY ──readLoop───ring───►            l o o p            ──outbox──► writer ──► supervisor
//	 ▲                              │ screen, log, state
//	 └────────writeLoop◄──inbox─────┘◄── reader (typed input)
//
// One goroutine, the loop, owns everything that has an order: the emulator, the log, the history's anchor, the watermark
// and the connection. It never waits for a peer or for the program; it only stops listening to one of them. So the frames of
// a connection are one sequence: a REPLAY's watermark counts exactly the OUTPUT before it, and its history is exactly the
// HISTORY before it.
package sessiond

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"spawn/internal/sessiond/emulator"
	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/lifecycle"
	"spawn/internal/sessiond/pty"
	"spawn/internal/sessiond/vfs"
	"spawn/internal/sessiond/wire"
)

// Config says which session a worker is, and where.
type Config struct {
	// Folder is the worker folder's path.
	Folder string
	// SessionID names the session.
	SessionID endpoint.SessionID
	// Lock is the session's lock file, locked by whoever started us. Run owns it from here on.
	Lock *os.File
	// SegmentBytes and MaxLogBytes lower the scrollback's bounds; 0 leaves its defaults.
	SegmentBytes, MaxLogBytes int
	// Ready is called once, when both endpoints listen. An error from it ends the worker. Nil does nothing.
	Ready func() error
	// Processors is called by the loop when another number of the runtime's processors is worth having; nil leaves them alone.
	Processors func(n int) int
	// Clock is where long timers come from; nil is the machine's.
	Clock Clock
	// files is where the log is kept; nil is the machine's. Only the loop uses it.
	files vfs.FS
}

// worker is one session. Fields below "loop" belong to the loop alone.
type worker struct {
	clock     Clock
	session   endpoint.SessionID
	instance  endpoint.InstanceID
	startedAt time.Time
	held      *holdings

	tasks      sync.WaitGroup // every goroutine but the loop and those of a connection
	quit       chan struct{}  // closed when the loop has ended
	candidates chan candidate
	commands   chan command
	hangups    chan uint64   // generation whose reader has ended
	wants      chan struct{} // 1 slot: see wanted
	ring       *ring
	reaped     chan struct{} // closed when the program is reaped; its exit is then in exit
	exit       wire.Exit
	inbox      *inbox
	// term is nil before START. The lifecycle listener signals through it without passing through the loop.
	term atomic.Pointer[pty.Terminal]
	// wanted is the strongest signal that came while there was nothing to signal; 0 when none.
	wanted atomic.Uint32

	// loop
	state      lifecycle.State
	expiry     alarm // of state
	screen     *emulator.Terminal
	guarded    bool // the emulator is at work, and not one of its callbacks
	theme      *emulator.Theme
	ended      bool // all output was taken
	processors processors
	counts     *emulator.CountFilter
	watermark  uint64 // bytes of output since the worker began, as viewers get them
	history    history
	notices    notices
	foreground foregroundWatch
	conn       *connection // nil while nobody is connected
	generation uint64      // of the newest connection
	draining   alarm       // armed between the program's end and the end of its output
	heldBack   bool        // output had to wait for the supervisor since draining was armed
	ending     alarm       // armed between the steps of an ordered end
	endStep    int         // the next of endSteps
	stopping   bool        // an ordered end has begun: do not linger
}

// Run is a worker's whole life: it takes the inherited reservation over, serves until the session has ended, and leaves
// nothing behind. Cancelling ctx is an order to end the session. An error before Ready means that no session existed.
func Run(ctx context.Context, cfg Config) error {
	held, err := hold(cfg)
	if err != nil {
		return err
	}
	w := newWorker(cfg, held)
	err = w.serve(ctx, cfg.Ready)
	return errors.Join(err, held.release())
}

func newWorker(cfg Config, held *holdings) *worker {
	w := &worker{
		clock: cfg.Clock, session: cfg.SessionID, instance: held.instance, held: held,
		quit: make(chan struct{}), candidates: make(chan candidate), commands: make(chan command),
		hangups: make(chan uint64), wants: make(chan struct{}, 1), ring: newRing(),
		reaped: make(chan struct{}), inbox: newInbox(), history: newHistory(held.log),
		foreground: foregroundWatch{typed: make(chan struct{}, 1)},
	}
	if w.clock == nil {
		w.clock = systemClock{}
	}
	w.startedAt = w.clock.Now()
	w.processors = processors{set: cfg.Processors}
	w.counts = emulator.NewCountFilter(colsDefault, rowsDefault)
	w.newScreen(colsDefault, rowsDefault)
	return w
}

// serve runs the loop, and around it the goroutines that accept connections and lifecycle requests.
func (w *worker) serve(ctx context.Context, ready func() error) error {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	w.tasks.Go(w.acceptLoop)
	var signals error
	w.tasks.Go(func() { signals = w.held.ends.Lifecycle.Serve(inner, w.instance, w.deliver) })
	var err error
	if ready != nil {
		failpoint.Pass(failpoint.BeforeReady)
		err = ready()
		failpoint.Pass(failpoint.AfterReady)
	}
	if err == nil {
		w.loop(ctx.Done())
	}
	failpoint.Pass(failpoint.LoopLeft)
	close(w.quit)
	w.farewell()
	failpoint.Pass(failpoint.Parted)
	cancel()
	w.held.ends.Close()
	w.tasks.Wait()
	w.ring.wipe()
	if signals != nil && !errors.Is(signals, context.Canceled) {
		err = errors.Join(err, signals)
	}
	return err
}

// loop is the one place where things happen, in the order in which they are taken here. stop orders the session's end.
func (w *worker) loop(stop <-chan struct{}) {
	w.processors.begin()
	w.enter(lifecycle.Waiting)
	for w.state != lifecycle.Ended {
		output, commands, room, work := w.intake()
		select {
		case <-output:
			w.takeOutput()
		case c := <-commands:
			w.obey(c)
		case c := <-w.candidates:
			w.takeOver(c)
		case generation := <-w.hangups:
			w.hangUp(generation)
		case <-work:
			w.continueCapture()
		case <-room: // a batch has left: look again what may be taken
		case <-w.wants:
			w.obeyWanted()
		case <-w.programEnds():
			w.beginDrain()
		case <-w.draining.fires():
			w.endDrain()
		case <-w.expiry.fires():
			w.move(lifecycle.Expired)
		case <-w.foreground.due.fires():
			w.lookAtForeground()
		case <-w.foreground.leaderGone():
			w.leaderEnded()
		case <-w.foreground.inputCame():
			w.quickenForeground()
		case <-w.notices.pause.fires():
			w.resumeNotices()
		case <-stop:
			stop = nil
			w.beginEnd()
		case <-w.ending.fires():
			w.forceEnd()
		}
	}
	w.silence()
}

// intake decides what the loop listens to. A supervisor that does not read costs the program its output first, and itself
// its commands only when replays have piled up; connections, signals and timers are always served. Work is a capture that is
// being made.
func (w *worker) intake() (output <-chan struct{}, commands <-chan command, room, work <-chan struct{}) {
	if w.conn == nil {
		return w.ring.filled, nil, nil, nil
	}
	output, commands = w.ring.filled, w.commands
	stream, all := w.conn.out.size()
	if stream >= outboxBytesMax {
		output, room = nil, w.conn.out.room
		w.heldBack = true
	}
	if all >= outboxReplayMax {
		commands, room = nil, w.conn.out.room
	}
	return output, commands, room, w.conn.captureWork()
}

// enter makes s the state and arms its time limit.
func (w *worker) enter(s lifecycle.State) {
	w.state = s
	w.expiry.arm(w.clock, s.Timeout())
}

// move makes the state follow an event, or does nothing if the event has no meaning any more.
func (w *worker) move(e lifecycle.Event) {
	if next, ok := lifecycle.Next(w.state, e); ok {
		w.enter(next)
	}
}

// silence stops every timer.
func (w *worker) silence() {
	for _, a := range []*alarm{&w.expiry, &w.draining, &w.ending, &w.foreground.due, &w.notices.pause} {
		a.disarm()
	}
	w.foreground.unwatch()
}
