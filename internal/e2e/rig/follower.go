// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rig

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"sync"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

// Follower is a viewer that holds every live byte against what the generator must have written there.
type Follower struct {
	stream *dial.Stream
	seed   uint64
	done   chan error // gets the reason why following ended

	mu        sync.Mutex
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
	stream, _, err := s.Stream(ctx, verbs.PaneStreamParams{Pane: l.Pane.ID, History: bool(from), ReadOnly: true})
	if err != nil {
		return nil, err
	}
	f := &Follower{stream: stream, seed: l.Seed, done: make(chan error, 1), snapshot: make(chan struct{}, 1)}
	go func() {
		err := f.run()
		if err != nil {
			err = fmt.Errorf("terminal %s: %w", l.Pane.ID, err)
		}
		f.done <- err
	}()
	return f, nil
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
		select {
		case f.snapshot <- struct{}{}:
		default:
		}
	case wire.KindOutput:
		if want := KnownBytes(f.seed, f.position, len(p)); !bytes.Equal(p, want) {
			return fmt.Errorf("live bytes at %d are %.60q, want %.60q", f.position, p, want)
		}
		f.position += uint64(len(p))
		f.checked += uint64(len(p))
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

var lineMark = regexp.MustCompile(`L(\d{9}) ([0-9a-f]{35})`)

// CheckDocument holds the text of a replay, history and screen, against the generator: each line once, in
// order, from the first one that is there to the last one before the position.
func CheckDocument(seed uint64, replay []byte, position uint64) (first uint64, err error) {
	found := lineMark.FindAllSubmatch(replay, -1)
	complete := (position + 2) / LineBytes // a line shows before its CR LF has come
	if len(found) == 0 {
		return 0, fmt.Errorf("no line in a replay at %d", position)
	}
	_, err = fmt.Sscanf(string(found[0][1]), "%d", &first)
	if err != nil {
		return 0, err
	}
	for i, m := range found {
		if want := KnownLine(seed, first+uint64(i)); !bytes.Equal(m[0], want[:len(m[0])]) {
			return first, fmt.Errorf("line %d of the document is %q, want %q", i, m[0], want[:len(m[0])])
		}
	}
	if last := first + uint64(len(found)); last != complete {
		return first, fmt.Errorf("the document ends before line %d, %d were written by position %d", last, complete, position)
	}
	return first, nil
}
