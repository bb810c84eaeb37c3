// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rig

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

// Follower is a viewer that holds every live byte against what the generator must have written there, and every line
// of history too.
type Follower struct {
	stream *dial.Stream
	script Script
	done   chan error // gets the reason why following ended
	gate   sync.Mutex // held while it is to take nothing

	mu        sync.Mutex
	name      string // of the stream
	resumed   bool   // it began where another one was
	view      view
	replays   int    // whole ones, with history
	position  uint64 // of the next live byte
	checked   uint64 // live bytes that were compared
	replay    []byte // of the last snapshot
	watermark uint64 // of the last snapshot
	exit      *wire.Exit
	snapshot  chan struct{} // gets a value for each snapshot, if it has room
}

// Span is how much of a terminal a viewer begins with.
type Span bool

const (
	History Span = true  // all of it
	Screen  Span = false // what is on the screen
)

// Follow attaches a viewer to a load.
func Follow(ctx context.Context, s dial.Socket, l Load, from Span) (*Follower, error) {
	f := &Follower{}
	if err := f.attach(ctx, s, l, verbs.PaneStreamParams{History: bool(from)}); err != nil {
		return nil, err
	}
	return f, nil
}

// ComeBack attaches another viewer that goes on with what this one has, whose connection has ended: from its place when
// spawnd still has what follows, else from a snapshot, which must agree with it.
func (f *Follower) ComeBack(ctx context.Context, s dial.Socket, l Load) (next *Follower, resumed bool, err error) {
	next = &Follower{position: f.position, view: f.view}
	p := verbs.PaneStreamParams{History: true, Resume: verbs.Resume{
		Stream: f.name, Position: f.position, Epoch: f.view.epoch, Offset: f.view.offset,
	}}
	if !f.view.anchored {
		p.Resume = verbs.Resume{}
	}
	if err := next.attach(ctx, s, l, p); err != nil {
		return nil, false, err
	}
	return next, next.resumed, nil
}

func (f *Follower) attach(ctx context.Context, s dial.Socket, l Load, p verbs.PaneStreamParams) error {
	p.Pane, p.ReadOnly = l.Pane.ID, true
	stream, result, err := s.Stream(ctx, p)
	if err != nil {
		return err
	}
	f.stream, f.script, f.view.script = stream, l.Script, l.Script
	f.name, f.resumed = result.Stream, result.Resumed
	f.done, f.snapshot = make(chan error, 1), make(chan struct{}, 1)
	go func() {
		err := f.run()
		if err != nil {
			err = fmt.Errorf("terminal %s: %w", l.Pane.ID, err)
		}
		f.done <- err
	}()
	return nil
}

// Stall keeps the viewer from taking anything until the returned function is called.
func (f *Follower) Stall() (goOn func()) {
	f.gate.Lock()
	return f.gate.Unlock
}

// Replays is how many whole snapshots, with history, it has had.
func (f *Follower) Replays() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.replays
}

// SameHistory holds what two viewers have of the history against each other: both end at the same place, and say the
// same before it.
func SameHistory(a, b *Follower) error {
	x, y := a.history(), b.history()
	if !x.anchored || !y.anchored || x.epoch != y.epoch || x.offset != y.offset {
		return fmt.Errorf("one history ends at %d of epoch %d, the other at %d of epoch %d", x.offset, x.epoch, y.offset, y.epoch)
	}
	return x.agrees(&y)
}

func (f *Follower) history() view {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := f.view
	v.text = bytes.Clone(v.text)
	return v
}

// Anchor is where its history ends, and false while it has none.
func (f *Follower) Anchor() (epoch, offset uint64, anchored bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.view.epoch, f.view.offset, f.view.anchored
}

// Wait waits until the connection has ended and returns what was wrong with a byte before, and how many were
// compared. It may be called again.
func (f *Follower) Wait() (checked uint64, err error) {
	err = <-f.done
	f.done <- err
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.checked, err
}

// Close detaches the viewer.
func (f *Follower) Close() error { return f.stream.Close() }

// Checked is how many live bytes were compared so far.
func (f *Follower) Checked() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.checked
}

// Ended reports whether the connection has ended.
func (f *Follower) Ended() bool { return len(f.done) > 0 }

// Cut asks for everything and closes the socket with it under way.
func (f *Follower) Cut() {
	_ = f.stream.RequestReplay(1 << 30)
	_ = f.stream.Close()
}

// Position is that of the next live byte.
func (f *Follower) Position() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.position
}

// run returns nil when the connection ended, else what was wrong with a byte.
func (f *Follower) run() error {
	for {
		f.gate.Lock()
		f.gate.Unlock() //nolint:staticcheck // it only waits for a Stall to be over
		k, p, err := f.stream.Recv()
		if err != nil {
			return nil
		}
		if err := f.take(k, p); err != nil {
			return err
		}
	}
}

func (f *Follower) take(k wire.Kind, p []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch k {
	case wire.KindReplay:
		watermark, stream, err := wire.DecodeReplay(p)
		if err != nil {
			return err
		}
		if watermark < f.position {
			return fmt.Errorf("a snapshot at %d after live bytes up to %d", watermark, f.position)
		}
		f.position, f.watermark, f.replay = watermark, watermark, bytes.Clone(stream)
		if text, whole := historyOf(f.replay); whole {
			f.replays++
			f.view.seed(text)
		}
		select {
		case f.snapshot <- struct{}{}:
		default:
		}
	case wire.KindOutput:
		if want := f.script.bytes(f.position, len(p)); !bytes.Equal(p, want) {
			return fmt.Errorf("live bytes at %d are %.60q, want %.60q", f.position, p, want)
		}
		f.position += uint64(len(p))
		f.checked += uint64(len(p))
	case wire.KindHistory:
		piece, err := wire.DecodeHistory(p)
		if err != nil {
			return err
		}
		return f.view.take(piece)
	case wire.KindHistoryWipe:
		epoch, err := wire.DecodeHistoryWipe(p)
		if err != nil {
			return err
		}
		f.view.wipe(epoch)
	case wire.KindExit:
		exit, err := wire.DecodeExit(p)
		if err != nil {
			return err
		}
		f.exit = &exit
	}
	return nil
}

// FullSnapshot asks for history and screen, and returns them with their position. The snapshot that every
// viewer begins with comes before.
func (f *Follower) FullSnapshot() ([]byte, uint64, error) {
	if err := f.awaitSnapshot(); err != nil {
		return nil, 0, err
	}
	if err := f.stream.RequestReplay(1 << 30); err != nil {
		return nil, 0, err
	}
	if err := f.awaitSnapshot(); err != nil {
		return nil, 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.replay, f.watermark, nil
}

func (f *Follower) awaitSnapshot() error {
	select {
	case <-f.snapshot:
		return nil
	case err := <-f.done:
		f.done <- err
		return fmt.Errorf("connection ended before the snapshot: %w", err)
	}
}
