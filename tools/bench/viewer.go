// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

// viewer is a local viewer of a pane: a stream of the control socket, and how far it has come.
type viewer struct {
	stream   *dial.Stream
	stop     func() bool
	position uint64 // output bytes of the terminal's life that it has seen, or been repainted past
	received int    // output bytes that came
	replays  int
	screen   int // bytes of the last replay
}

// attach makes a viewer, which has seen nothing yet. When ctx ends it is detached, and reads fail.
func attach(ctx context.Context, l *lab, pane string, history bool) (*viewer, error) {
	s, _, err := l.socket().Stream(ctx, verbs.PaneStreamParams{Pane: pane, History: history, Name: "bench"})
	if err != nil {
		return nil, fmt.Errorf("attach to %s: %w", pane, err)
	}
	return &viewer{stream: s, stop: context.AfterFunc(ctx, func() { _ = s.Close() })}, nil
}

// attachShown makes a viewer and waits for its first screen.
func attachShown(ctx context.Context, l *lab, pane string, history bool) (*viewer, error) {
	v, err := attach(ctx, l, pane, history)
	if err != nil {
		return nil, err
	}
	if err := v.show(); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// next takes one frame. It returns the output in it, if it is output.
func (v *viewer) next() ([]byte, error) {
	kind, payload, err := v.stream.Recv()
	if err != nil {
		return nil, fmt.Errorf("read viewer: %w", err)
	}
	switch kind {
	case wire.KindOutput:
		v.position += uint64(len(payload))
		v.received += len(payload)
		return payload, nil
	case wire.KindReplay:
		watermark, stream, err := wire.DecodeReplay(payload)
		if err != nil {
			return nil, fmt.Errorf("read viewer: %w", err)
		}
		v.position, v.screen = watermark, len(stream)
		v.replays++
	}
	return nil, nil
}

// show waits for a replay.
func (v *viewer) show() error {
	for before := v.replays; v.replays == before; {
		if _, err := v.next(); err != nil {
			return err
		}
	}
	return nil
}

// reach waits until the viewer has come as far as a position.
func (v *viewer) reach(position uint64) error {
	for v.position < position {
		if _, err := v.next(); err != nil {
			return err
		}
	}
	return nil
}

// find waits until text has come as output.
func (v *viewer) find(text string) error {
	s := search{text: []byte(text)}
	for {
		p, err := v.next()
		if err != nil {
			return err
		}
		if len(p) > 0 && s.found(p) {
			return nil
		}
	}
}

// findByte is find for a single key, and costs less.
func (v *viewer) findByte(key byte) error {
	for {
		p, err := v.next()
		if err != nil {
			return err
		}
		if bytes.IndexByte(p, key) >= 0 {
			return nil
		}
	}
}

func (v *viewer) close() {
	v.stop()
	_ = v.stream.Close()
}

// position is how much output a pane's worker has taken, as its screen says.
func position(ctx context.Context, l *lab, pane string) (uint64, error) {
	v, err := attachShown(ctx, l, pane, false)
	if err != nil {
		return 0, err
	}
	defer v.close()
	return v.position, nil
}
