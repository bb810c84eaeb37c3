// SPDX-License-Identifier: Apache-2.0

// Package fanout gives one worker's stream to many viewers and one viewer's input to the worker.
//
// Out, in this order:
//
//	1 Run's goroutine, the only reader: Source.Recv        (blocks; holds no lock)
//	2 the frame is applied under Hub.mu                    (reader.go); a little output goes from here
//	  to the PromptSinks of viewers for whom nothing waits, and for them that is all
//	3 its bytes are copied once into a shared chunk        (chunk.go)
//	4 each viewer's queue gets a piece of it, or overflows (queue.go, pace.go; never waits), and the
//	  ring keeps one for viewers that come back             (ring.go, resume.go)
//	5 each viewer's writer takes pieces and calls Sink     (viewer.go; blocks as it likes)
//
// Followers, who wait for something in the output, get a copy at 4 and take it themselves (follow.go).
//
// In: the viewer's own goroutine asks control under Hub.mu and hands the bytes to Source.Input there,
// so that no input passes a change of the controller (steer.go).
//
// Locks, in this order: Hub.mu, queue.mu, lane.mu. Sinks are called with none of them held, but for Prompt; it and
// the Source's commands are called under Hub.mu and must not block.
package fanout

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/control"
)

// Source is the connection to one worker. Recv is called by one goroutine; a payload is valid until the
// next call. The commands return at once and take effect in the order in which they were called.
type Source interface {
	Recv() (wire.Kind, []byte, error)
	Input(p []byte) error // copies p
	Resize(cols, rows uint16) error
	RequestReplay(max uint32) error
	RequestCapture(req wire.CaptureReq) error
	SubscribeHistory(on bool) error
	SetTheme(t wire.Theme) error
	Close() // releases Recv; the worker goes on. It is called more than once, and beside the others.
}

// Options tune a Hub. The zero value works.
type Options struct {
	// Busy is the error by which the Source says that its command queue is full: the command is tried
	// again. Nil when it never is.
	Busy error
	// Changed gets a value, if it has room for one, after each change of Facts. Nil when nobody looks.
	Changed chan<- struct{}
	// ViewersMax, when set, is asked at each Attach how many viewers there may be; viewersMax is the bound
	// all the same.
	ViewersMax func() int
	// Report, when set, is told in order what happens beside the stream. It is called under the hub's lock: it
	// must not wait, and not ask the hub for anything.
	Report func(Report)
	// Removed, when set, is asked at the end whether the pane is taken away, so that there is nothing to come
	// back to. It must not wait.
	Removed func() bool
	// Title and Cwd are what is known from before, until the program says otherwise.
	Title, Cwd string
	// Nonce is what the shell was given to put into its marks; "" for nothing. It is logged nowhere.
	Nonce string
	// Marks says that the shell has just been started with a script that makes it mark its prompts.
	Marks bool
}

func (o Options) viewersMax() int {
	if o.ViewersMax == nil {
		return viewersMax
	}
	return min(o.ViewersMax(), viewersMax)
}

// Facts are what is shown of a pane without attaching to it.
type Facts struct {
	Title      string // as the program set it: to be escaped
	Cwd        string
	Foreground string
	Cols, Rows uint16
	Exit       *wire.Exit // nil while the shell runs
	Viewers    int
	Used       time.Time // when a viewer last came or typed; zero when none has
}

// Ending says how a source ended.
type Ending struct {
	Exit *wire.Exit // nil when none was told: the worker was lost, or the connection was
}

var (
	// ErrEnded means that the hub's source has ended: nothing can be attached or asked any more.
	ErrEnded = errors.New("the terminal's connection has ended")
	// ErrFull means that as many viewers are attached as may be.
	ErrFull = errors.New("too many viewers of this pane")
	// ErrDetached means that the viewer has been detached.
	ErrDetached = errors.New("viewer is detached")
	// ErrGuest means that the viewer was attached to look, and to type at most: what the terminal looks like is
	// for those whose it is.
	ErrGuest = errors.New("a visitor gives a terminal neither size nor colours")
	// ErrSize means that a geometry is out of bounds, or input is larger than one frame carries.
	ErrSize = errors.New("size out of bounds")
	// ErrProtocol means that the worker broke its promises; its connection is given up.
	ErrProtocol = errors.New("worker broke the protocol")
)

// Hub is one pane's fan-out. Run must be called once; the other methods may be called from anywhere,
// before and after it too.
type Hub struct {
	src     Source
	name    string // of this hub's stream: unlike any other's
	o       Options
	hello   wire.Hello
	output  lane
	history lane
	done    chan struct{}  // closed when nothing can be asked any more
	writers sync.WaitGroup // one for each viewer that was ever attached

	mu struct {
		sync.Mutex
		viewers []*Viewer // in order of attaching
		lastID  control.ViewerID
		control control.State
		expiry  *time.Timer // grants the open request; nil before the first
		facts   Facts
		stream  stream
		orders  orders
		output  ring
		history ring
		active  time.Time   // when output was reported last
		lapse   *time.Timer // forgets what the rings keep; nil before the first departure
		counts  counts
		ended   bool
		scratch []*Viewer // reused by targets

		followers []*Follower
		typing    int // calls of Type that wait
		prompt    Prompt

		foreground foregroundPace
	}
}

// stream is how far the reader has come. It is written by the reader alone.
type stream struct {
	position   uint64 // of the next output byte in the terminal's lifetime
	positioned bool   // a replay has told the absolute position
	epoch      uint64 // history anchor: the next delta's
	offset     uint64
	painted    uint64 // the least position that only who has seen the present size can have reached
	anchored   bool   // an anchor has come; each subscription is answered by one, before any replay asked for later
}

// New returns the hub of a worker that has said hello. The Hub owns src from now on.
func New(src Source, hello wire.Hello, o Options) *Hub {
	h := &Hub{src: src, name: rand.Text(), o: o, hello: hello, done: make(chan struct{})}
	h.mu.output.lane, h.mu.history.lane = &h.output, &h.history
	h.mu.prompt.Voice.Nonce = o.Nonce
	h.mu.prompt.Awaited = o.Marks
	h.mu.facts = Facts{Title: o.Title, Cwd: o.Cwd, Cols: hello.Cols, Rows: hello.Rows}
	h.mu.orders.sent.size = size{hello.Cols, hello.Rows}
	h.mu.orders.wanted.size = h.mu.orders.sent.size
	return h
}

// Facts returns the present state.
func (h *Hub) Facts() Facts {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.mu.facts
	f.Viewers = len(h.mu.viewers)
	return f
}

func (h *Hub) changed() {
	select {
	case h.o.Changed <- struct{}{}:
	default: // nobody looks, or a value waits there already
	}
}

// Run reads the source until it ends or ctx does, then lets the viewers take what is queued, closes the
// source and all sinks, and returns when every goroutine of the hub has ended. The error is nil when
// the source just ended, ctx's when that did, else what was wrong with the source.
func (h *Hub) Run(ctx context.Context) (Ending, error) {
	released := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(released)
		h.abandon()
		h.src.Close()
	})
	err := h.readLoop()
	h.src.Close()
	ending := h.end(ctx.Err() != nil)
	if !stop() {
		<-released
		return ending, ctx.Err()
	}
	return ending, err
}

// readLoop returns nil when the source ended by itself.
func (h *Hub) readLoop() error {
	for {
		kind, payload, err := h.src.Recv()
		if err != nil {
			return nil
		}
		failpoint.Pass(failpoint.FrameReceived)
		if err := h.apply(kind, payload); err != nil {
			return fmt.Errorf("apply frame %v: %w", kind, err)
		}
		failpoint.Pass(failpoint.FrameApplied)
	}
}

// end tells the viewers, gives them time, and joins their writers.
func (h *Hub) end(abandoned bool) Ending {
	h.mu.Lock()
	h.mu.ended = true
	h.stopTimersLocked()
	h.mu.output.wipe()
	h.mu.history.wipe()
	exit := h.mu.facts.Exit
	removed := h.o.Removed != nil && h.o.Removed()
	h.rouseLocked()
	viewers := slices.Clone(h.mu.viewers)
	for _, v := range viewers {
		if !abandoned {
			h.partLocked(v, removed)
		}
		v.queue.finish()
	}
	h.mu.Unlock()
	close(h.done)
	grace := time.AfterFunc(drainTimeout, h.abandon)
	defer grace.Stop()
	h.writers.Wait()
	for _, v := range viewers {
		v.Detach()
	}
	return Ending{Exit: exit}
}

// partLocked tells a viewer the last of what it is told.
func (h *Hub) partLocked(v *Viewer, removed bool) {
	exit := h.mu.facts.Exit
	if exit != nil && v.phase == seeding { // its snapshot does not come any more
		h.tellLocked(v, Exit{*exit})
	}
	switch {
	case removed:
		h.tellLocked(v, Removed{})
	case exit == nil:
		h.tellLocked(v, Lost{})
	}
}

// abandon detaches every viewer at once, whatever still waits for it.
func (h *Hub) abandon() {
	h.mu.Lock()
	h.mu.ended = true
	h.rouseLocked()
	viewers := slices.Clone(h.mu.viewers)
	h.mu.Unlock()
	for _, v := range viewers {
		v.Detach()
	}
}

func (h *Hub) stopTimersLocked() {
	for _, t := range []*time.Timer{h.mu.expiry, h.mu.orders.retry, h.mu.lapse, h.mu.foreground.timer} {
		if t != nil {
			t.Stop()
		}
	}
}
