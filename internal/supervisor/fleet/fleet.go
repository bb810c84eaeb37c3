// SPDX-License-Identifier: Apache-2.0

// Package fleet launches workers, finds those that an earlier spawnd launched, and drives each through
// one handle.
//
//	Launch: reserve ─ fork ─ ready ─ scope ─ dial ─ HELLO ─ START ─┐
//	                                                               ├─► Handle: Recv, Input, …, Terminate
//	Adopt:  lock held? ───────────────────── dial ─ HELLO ─ table ─┘
//
// A worker is known by its reservation and by what it says on its own socket, never by a process id.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
)

var (
	// ErrHeld means that this fleet already holds, or is just reaching for, the terminal.
	ErrHeld = errors.New("terminal is already held")
	// ErrBusy means that the worker has not taken the last commandsMax commands. The command was not
	// sent; the caller may drop it or try again after the worker's next frame.
	ErrBusy = errors.New("worker does not keep up")
	// ErrGone means that the connection to the worker has ended. Alive says whether the worker has too.
	ErrGone = errors.New("connection to worker has ended")
	// ErrCapability means that the worker, of an older build, does not know the command.
	ErrCapability = errors.New("worker does not know this command")
	// ErrTooLong means that an input is longer than InputMax. Nothing of it was sent.
	ErrTooLong = errors.New("input too long")
	// ErrDescriptors means that this process has too few file descriptors left for another terminal. Nothing was started.
	ErrDescriptors = errors.New("too few file descriptors are left for another terminal")
	// ErrUnresponsive means that a worker neither answered nor ended, and could not be killed.
	ErrUnresponsive = errors.New("worker does not answer")
)

// Options say where a fleet's workers live and how it starts new ones.
type Options struct {
	Folder     *endpoint.Folder // stays the caller's, who closes it after the last handle
	WorkerPath string           // absolute path of spawn-worker
	Scoper     Scoper           // nil is NoScope
	Log        *slog.Logger     // nil is silent
}

// Fleet is all workers of one worker folder. It is safe for concurrent use.
type Fleet struct {
	folder     *endpoint.Folder
	workerPath string
	scoper     Scoper
	log        *slog.Logger
	unscoped   sync.Once // the first failure to make a scope is logged, the others are alike
	children   children

	mu   sync.Mutex
	held map[endpoint.SessionID]*Handle // guarded by mu; nil while a launch or an adoption is under way
}

// New returns a fleet that holds nothing yet.
func New(o Options) *Fleet {
	f := &Fleet{folder: o.Folder, workerPath: o.WorkerPath, scoper: o.Scoper, log: o.Log, held: map[endpoint.SessionID]*Handle{}}
	if f.scoper == nil {
		f.scoper = NoScope{}
	}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	return f
}

// Spec is what a new terminal runs.
type Spec struct {
	Argv       []string // program and arguments
	Cwd        string   // absolute; "" leaves it to the worker
	Env        []string // the whole environment
	Cols, Rows uint16
	Limits     Limits // of the scope, where there is one
	Log        LogBounds
}

// LogBounds lower what the worker's encrypted log may cost the host, in bytes of charge: the whole log, and what is added to
// a file of it before the next one begins. 0 leaves the worker's default.
type LogBounds struct{ Max, Segment int }

func (s Spec) frame() ([]byte, error) {
	return wire.AppendStart(nil, wire.Start{Argv: s.Argv, Cwd: s.Cwd, Env: s.Env, Cols: s.Cols, Rows: s.Rows})
}

// claim keeps every other call of this fleet away from the terminal until release. A handle whose
// connection has ended holds nothing any more.
func (f *Fleet) claim(id endpoint.SessionID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.holdsLocked(id) {
		return fmt.Errorf("claim terminal %s: %w", id, ErrHeld)
	}
	f.held[id] = nil
	return nil
}

func (f *Fleet) hold(h *Handle) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held[h.id] = h
}

// release gives the terminal up, if it is this handle's still; nil is a claim that came to nothing.
func (f *Fleet) release(id endpoint.SessionID, h *Handle) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held[id] == h {
		delete(f.held, id)
	}
}

func (f *Fleet) holdsLocked(id endpoint.SessionID) bool {
	h, taken := f.held[id]
	return taken && (h == nil || !marked(h.lost))
}

func (f *Fleet) holds(id endpoint.SessionID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.holdsLocked(id)
}

// AwaitChildren waits until every worker that this process started has ended and been reaped. Workers
// outlive their supervisor, so this is for one that has terminated them all.
func (f *Fleet) AwaitChildren(ctx context.Context) error {
	select {
	case <-f.children.idle():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("await workers' end: %w", context.Cause(ctx))
	}
}

// children counts the workers that this process started and has not reaped: as many goroutines wait.
type children struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed while n is 0; nil before the first child
}

func (c *children) started() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n++; c.n == 1 {
		c.none = make(chan struct{})
	}
}

func (c *children) reaped() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n--; c.n == 0 {
		close(c.none)
	}
}

// idle is closed when there are no children.
func (c *children) idle() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.none == nil {
		c.none = make(chan struct{})
		close(c.none)
	}
	return c.none
}
