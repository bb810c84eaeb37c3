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
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/fleet"
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
	id      string
	worker  endpoint.SessionID
	fleet   *fleet.Fleet
	log     *slog.Logger
	changed chan struct{} // 1 slot: hubs say here that facts changed
	onFacts func(Facts)   // called by watch, one at a time
	ready   chan struct{} // closed when run has its first hub
	done    chan struct{} // closed when run has ended

	viewersMax func() int // what is in force

	archive *archive    // nil unless it was restored: then there is no worker
	asked   atomic.Bool // somebody wants its end

	mu struct {
		sync.Mutex
		handle *fleet.Handle // nil when no worker is connected
		hub    *fanout.Hub   // nil when no worker is connected
		facts  Facts         // last known, for when there is no hub
	}
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
}

// run drives the pane from its first handle to its end, and joins everything it started.
func (p *pane) run(ctx context.Context, h *fleet.Handle) {
	defer close(p.done)
	watched := make(chan struct{})
	watching, stop := context.WithCancel(ctx)
	go func() {
		defer close(watched)
		p.watch(watching)
	}()
	for h != nil {
		h = p.serve(ctx, h)
	}
	stop()
	<-watched
	if ctx.Err() == nil {
		p.onFacts(p.Facts()) // the last word
	}
}

// serve runs a hub on the handle and returns the handle to go on with, or nil at the pane's end.
func (p *pane) serve(ctx context.Context, h *fleet.Handle) *fleet.Handle {
	hub := fanout.New(h, h.Hello(), fanout.Options{Busy: fleet.ErrBusy, Changed: p.changed, Title: p.Facts().Title, ViewersMax: p.viewersMax})
	p.connect(h, hub)
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
	return p.regain(ctx)
}

// regain finds out what the loss of a connection means. The reservation decides: a worker that still
// holds it lives, whatever became of the socket.
func (p *pane) regain(ctx context.Context) *fleet.Handle {
	pause := time.NewTicker(regainPause)
	defer pause.Stop()
	for range regainTriesMax {
		h, err := p.fleet.Adopt(ctx, p.worker)
		if err == nil {
			return h
		}
		refusal := (*fleet.Refusal)(nil)
		if errors.As(err, &refusal) && refusal.Code == fleet.CodeEnded {
			break
		}
		select {
		case <-ctx.Done():
			return nil
		case <-pause.C:
		}
	}
	p.mu.Lock()
	p.mu.facts.State = StateLost
	p.mu.Unlock()
	p.log.Warn("a terminal is lost: its worker ended without a word", "pane", p.id, "session", p.worker)
	return nil
}

func (p *pane) connect(h *fleet.Handle, hub *fanout.Hub) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.handle, p.mu.hub = h, hub
	p.mu.facts.State, p.mu.facts.PID = StateRunning, h.WorkerPID()
	select {
	case <-p.ready:
	default:
		close(p.ready)
	}
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
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.changed:
			p.onFacts(p.Facts())
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
	if now.Exit != nil {
		f.State, f.Exit = StateExited, now.Exit
	}
	return f
}

// attach adds a viewer, while a worker is connected.
func (p *pane) attach(sink fanout.Sink, o fanout.AttachOptions) (*fanout.Viewer, error) {
	p.mu.Lock()
	hub := p.mu.hub
	p.mu.Unlock()
	if hub == nil {
		sink.Close()
		return nil, ErrEnded
	}
	return hub.Attach(sink, o)
}

// stats tells how the viewers stand, while a worker is connected.
func (p *pane) stats() (fanout.Stats, error) {
	p.mu.Lock()
	hub := p.mu.hub
	p.mu.Unlock()
	if hub == nil {
		return fanout.Stats{}, ErrEnded
	}
	return hub.Stats(), nil
}

// terminate ends the terminal and its worker: TERM, two seconds, KILL. It returns when the pane's run has
// ended too, so that nothing of it is left.
func (p *pane) terminate(ctx context.Context) error {
	p.asked.Store(true)
	if p.archive != nil {
		p.archive.source.Close()
	} else {
		h, err := p.connected(ctx)
		if h == nil || err != nil {
			return err // or there is nothing to end
		}
		if err := h.Terminate(ctx); err != nil {
			return err
		}
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// firstHub waits for the hub of a pane whose run has just begun.
func (p *pane) firstHub(ctx context.Context) (*fanout.Hub, error) {
	select {
	case <-p.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.hub == nil {
		return nil, ErrEnded
	}
	return p.mu.hub, nil
}

// connected returns the worker's handle, or nil when the pane's run has ended. Between the two, a worker
// whose connection broke is sought, and may come back.
func (p *pane) connected(ctx context.Context) (*fleet.Handle, error) {
	look := time.NewTicker(regainPause)
	defer look.Stop()
	for {
		p.mu.Lock()
		h := p.mu.handle
		p.mu.Unlock()
		if h != nil {
			return h, nil
		}
		select {
		case <-p.done:
			return nil, nil
		case <-look.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
