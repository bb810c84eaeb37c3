// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/fleet"
	"spawn/internal/supervisor/shellmarks"
)

const (
	// regainTriesMax and regainPause bound how long a worker that is alive, but whose connection broke, is
	// sought again before its pane is given up until the next start of spawnd.
	regainTriesMax = 20
	regainPause    = 100 * time.Millisecond
)

// State is what has become of a pane's terminal.
type State string

const (
	StateRunning State = "running"
	StateExited  State = "exited" // the shell ended and how is known
	StateLost    State = "lost"   // its worker is gone or out of reach: unknown, never success
)

// A pane is one terminal as spawnd sees it: a hub while a worker is connected, and what is known of it
// before, between and after.
//
//	   ┌──── connection broke, worker lives: adopt again ────┐
//	   ▼                                                     │
//	running ──EXIT──► exited (the hub goes on while the worker lingers)
//	   └─────worker gone, no EXIT──► lost
type pane struct {
	id       string
	worker   endpoint.SessionID
	argv0    string // first word of what was started for it; "" when its worker was adopted
	fleet    *fleet.Fleet
	log      *slog.Logger
	changed  chan struct{}       // 1 slot: hubs say here that facts changed
	onFacts  func(Facts)         // called by watch, one at a time
	onReport func(fanout.Report) // called under the hub's lock
	begun    chan struct{}       // closed when it is known that the program runs, or what became of it
	done     chan struct{}       // closed when run has ended

	viewersMax func() int // what is in force
	nonce      string     // of its shell's marks; logged nowhere

	archive *archive    // nil unless it was restored: then there is no worker
	asked   atomic.Bool // somebody wants its end
	stays   atomic.Bool // and another program in its place: the pane stays

	mu struct {
		sync.Mutex
		handle *fleet.Handle // nil when no worker is connected
		hub    *fanout.Hub   // nil when no worker is connected
		facts  Facts         // last known, for when there is no hub
		turn   chan struct{} // closed, and replaced, when a worker is connected
		shell  int           // pid of the program; 0 when the worker did not say
		adopts bool          // the worker is among the parents of all that came of its terminal
		began  *fleet.Spec   // what it was launched with; nil when another spawnd launched it
	}
}

func newPane(id string, worker endpoint.SessionID, f *fleet.Fleet, log *slog.Logger) *pane {
	p := &pane{
		id: id, worker: worker, fleet: f, log: log,
		changed: make(chan struct{}, 1), begun: make(chan struct{}), done: make(chan struct{}),
	}
	p.mu.turn = make(chan struct{})
	return p
}

// Facts are what is shown of a pane without attaching to it.
type Facts struct {
	State      State
	PID        int // of the worker, for people to look at; 0 when it is gone or unknown
	Title      string
	Foreground string
	Cols, Rows uint16
	Exit       *wire.Exit // nil unless exited
	Viewers    int
	Used       time.Time // when somebody last attached or typed; zero when nobody has
}

// unstarted reports whether the program could not be started: it has ended, and nobody knows how, before
// anything ran.
func (f Facts) unstarted() bool {
	return f.Exit != nil && f.Exit.ExitCode == nil && f.Exit.Signal == "" && f.Foreground == ""
}

// run drives the pane from its first hub, which connect has made, to its end, and joins everything it started.
func (p *pane) run(ctx context.Context, hub *fanout.Hub) {
	defer close(p.done)
	watched := make(chan struct{})
	watching, stop := context.WithCancel(ctx)
	go func() {
		defer close(watched)
		p.watch(watching)
	}()
	for hub != nil {
		hub = p.serve(ctx, hub)
	}
	stop()
	<-watched
	if ctx.Err() == nil {
		p.onFacts(p.Facts()) // the last word
	}
}

// serve runs a hub and returns the one to go on with, or nil at the pane's end.
func (p *pane) serve(ctx context.Context, hub *fanout.Hub) *fanout.Hub {
	ending, err := hub.Run(ctx)
	p.disconnect(hub)
	if ctx.Err() != nil {
		return nil // detached: the worker goes on without us
	}
	if err != nil {
		p.log.Error("a worker's connection was given up", "pane", p.id, "session", p.worker, "error", err)
	}
	if ending.Exit != nil {
		return nil
	}
	if h := p.regain(ctx); h != nil {
		return p.connect(h)
	}
	return nil
}

// regain finds out what the loss of a connection means. The reservation decides: a worker that still
// holds it lives, whatever became of the socket.
func (p *pane) regain(ctx context.Context) *fleet.Handle {
	pause := time.NewTicker(regainPause)
	defer pause.Stop()
	var last error
	for range regainTriesMax {
		h, err := p.fleet.Adopt(ctx, p.worker)
		if err == nil {
			return h
		}
		if last = err; isOver(err) {
			break
		}
		select {
		case <-ctx.Done():
			return nil
		case <-pause.C:
		}
	}
	failpoint.Pass(failpoint.WorkerLost)
	p.mu.Lock()
	p.mu.facts.State = StateLost
	if isOver(last) {
		p.mu.facts.PID = 0 // it may be another process's by now
	}
	p.mu.Unlock()
	if isOver(last) {
		p.log.Warn("a terminal is lost: its worker ended without a word", "pane", p.id, "session", p.worker)
	} else {
		p.log.Warn("a terminal is lost: its worker may live, but is out of reach; the next start of spawnd seeks it again",
			"pane", p.id, "session", p.worker, "error", last)
	}
	return nil
}

// isOver reports whether an adoption found out that no worker lives. Of any other refusal that is not known.
func isOver(err error) bool {
	refusal := (*fleet.Refusal)(nil)
	return errors.As(err, &refusal) && !refusal.Held()
}

// marksPrompts reports whether the worker was started with a shell that marks its prompts. Of an adopted one that is not known.
func marksPrompts(h *fleet.Handle) bool {
	spec, launched := h.Launched()
	return launched && shellmarks.Dressed(spec.Env)
}

// connect gives a handle its hub. From here on viewers can attach, whether the hub runs already or not.
func (p *pane) connect(h *fleet.Handle) *fanout.Hub {
	hub := fanout.New(h, h.Hello(), fanout.Options{
		Busy: fleet.ErrBusy, Changed: p.changed, Title: p.Facts().Title, ViewersMax: p.viewersMax, Report: p.onReport,
		Removed: func() bool { return p.asked.Load() && !p.stays.Load() }, Nonce: p.nonce, Marks: marksPrompts(h),
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.handle, p.mu.hub = h, hub
	p.mu.facts.State, p.mu.facts.PID = StateRunning, h.WorkerPID()
	close(p.mu.turn)
	p.mu.turn = make(chan struct{})
	p.mu.shell, p.mu.adopts = h.Hello().PID, adoptsOrphans(h)
	if s, known := h.Launched(); known {
		p.mu.began = &s
	}
	return hub
}

// giveUp says of a pane whose run has ended that nobody knows how.
func (p *pane) giveUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.facts.State, p.mu.facts.Exit, p.mu.facts.PID = StateLost, nil, 0
}

func (p *pane) disconnect(hub *fanout.Hub) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.facts = p.factsLocked()
	p.mu.facts.Viewers = 0
	p.mu.handle, p.mu.hub = nil, nil
}

// watch tells onFacts of each change, until ctx ends.
func (p *pane) watch(ctx context.Context) {
	begun := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.changed:
			f := p.Facts()
			if !begun && (f.Foreground != "" || f.Exit != nil) {
				begun = true
				close(p.begun)
			}
			p.onFacts(f)
		}
	}
}

// Facts returns what is known now.
func (p *pane) Facts() Facts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.factsLocked()
}

func (p *pane) factsLocked() Facts {
	f := p.mu.facts
	if p.mu.hub == nil {
		return f
	}
	now := p.mu.hub.Facts()
	f.Title, f.Foreground, f.Cols, f.Rows, f.Viewers = now.Title, now.Foreground, now.Cols, now.Rows, now.Viewers
	if now.Used.After(f.Used) {
		f.Used = now.Used
	}
	if now.Exit != nil {
		f.State, f.Exit = StateExited, now.Exit
	}
	return f
}

// terminate ends the terminal and its worker: TERM, two seconds, KILL. It returns when the pane's run has
// ended too, so that nothing of it is left. A worker whose connection is being sought again is waited for,
// and one that was given up is sought once more: it may live.
func (p *pane) terminate(ctx context.Context) error {
	p.asked.Store(true)
	err := p.end(ctx)
	if err != nil { // the pane stays, and whatever becomes of it now is its own doing
		p.asked.Store(false)
	}
	return err
}

// takeAway ends the show of an archive, for good.
func (p *pane) takeAway() {
	p.asked.Store(true)
	p.archive.source.Close()
}

// end is terminate, when it is known that it is wanted.
func (p *pane) end(ctx context.Context) error {
	if p.archive != nil {
		p.takeAway()
		select {
		case <-p.done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	h, err := p.reach(ctx)
	if err != nil {
		return err
	}
	if h == nil {
		if f := p.Facts(); f.Exit != nil {
			return nil // there is nothing to end
		}
		return endUnheld(ctx, p.fleet, p.worker)
	}
	if err := h.Terminate(ctx); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reach returns the handle of the pane's worker; nil when its run has ended.
func (p *pane) reach(ctx context.Context) (*fleet.Handle, error) {
	for {
		p.mu.Lock()
		h, turn := p.mu.handle, p.mu.turn
		p.mu.Unlock()
		if h != nil {
			return h, nil
		}
		select {
		case <-p.done:
			return nil, nil
		case <-turn:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
