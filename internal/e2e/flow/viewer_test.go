// SPDX-License-Identifier: Apache-2.0

//go:build linux

package flow

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/verbs"
)

// word is what the flood repeats. With CR LF its length is a prime, so that no shift by whole chunks goes unseen.
var word = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[:59]

const period = 61

var flood = bytes.Repeat([]byte(word+"\r\n"), wire.OutputMax/period+2)

// reader is a viewer of the flood that holds every byte against the program's at its position.
type reader struct {
	position atomic.Uint64 // of the next byte
	taken    atomic.Uint64 // live bytes
	replays  atomic.Int64
	hurry    chan struct{} // closed when it need not pause any more
	once     sync.Once
	done     chan error // gets what was wrong, or nil when the connection ended
}

// read attaches a viewer that pauses after each burst of frames; no burst is none at all.
func (h *host) read(ctx context.Context, pane, name string, burst int, pause time.Duration) *reader {
	h.T.Helper()
	stream, _, err := h.Socket().Stream(ctx, verbs.PaneStreamParams{Pane: pane, Name: name, ReadOnly: true})
	if err != nil {
		h.T.Fatal(err)
	}
	context.AfterFunc(ctx, func() { _ = stream.Close() })
	r := &reader{hurry: make(chan struct{}), done: make(chan error, 1)}
	go func() {
		for n := 1; ; n++ {
			kind, p, err := stream.Recv()
			if err != nil {
				r.done <- nil
				return
			}
			if err := r.take(kind, p); err != nil {
				r.done <- err
				return
			}
			if burst > 0 && n%burst == 0 {
				r.rest(ctx, pause)
			}
		}
	}()
	return r
}

func (r *reader) rest(ctx context.Context, pause time.Duration) {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.hurry:
	case <-ctx.Done():
	}
}

func (r *reader) run() { r.once.Do(func() { close(r.hurry) }) }

func (r *reader) take(kind wire.Kind, p []byte) error {
	at := r.position.Load()
	switch kind {
	case wire.KindReplay:
		watermark, _, err := wire.DecodeReplay(p)
		if err != nil {
			return err
		}
		if watermark < at {
			return fmt.Errorf("a snapshot at %d after bytes up to %d", watermark, at)
		}
		r.position.Store(watermark)
		r.replays.Add(1)
	case wire.KindOutput:
		if want := flood[at%period:][:len(p)]; !bytes.Equal(p, want) {
			return fmt.Errorf("bytes at %d are %.70q, want %.70q", at, p, want)
		}
		r.position.Store(at + uint64(len(p)))
		r.taken.Add(uint64(len(p)))
	}
	return nil
}

// doze attaches a viewer that reads a byte in each pause, or none when pause is zero. It reads no frame.
func (h *host) doze(ctx context.Context, pane, name string, history bool, pause time.Duration) {
	h.T.Helper()
	c, err := net.Dial("unix", h.Socket().Path)
	if err != nil {
		h.T.Fatal(err)
	}
	context.AfterFunc(ctx, func() { _ = c.Close() })
	line, err := verbs.EncodeRequest(1, verbs.PaneStream, verbs.PaneStreamParams{Pane: pane, Name: name, History: history, ReadOnly: true}, "")
	if err != nil {
		h.T.Fatal(err)
	}
	if _, err := c.Write(line); err != nil {
		h.T.Fatal(err)
	}
	var result verbs.PaneStreamResult
	answer, err := verbs.ReadLine(bufio.NewReaderSize(c, 16), verbs.AnswerBytesMax)
	if err == nil {
		err = verbs.DecodeAnswer(answer, 1, &result)
	}
	if err != nil {
		h.T.Fatal(err)
	}
	if pause == 0 {
		return
	}
	go func() {
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for one := make([]byte, 1); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if _, err := c.Read(one); err != nil {
				return
			}
		}
	}()
}
