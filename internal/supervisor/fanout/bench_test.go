// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"testing"

	"spawn/internal/sessiond/wire"
)

// counting is a sink that takes everything at once.
type counting struct{ n atomic.Int64 }

func (c *counting) Output(p []byte) error   { c.n.Add(int64(len(p))); return nil }
func (c *counting) Snapshot(Snapshot) error { return nil }
func (c *counting) Event(Event) error       { return nil }
func (c *counting) Close()                  {}

// flood is a source that has n frames of output ready, and ends after them.
type flood struct {
	*worker
	seeds chan frame // what the worker answers before the flood
	p     []byte
	n     int
	pace  func() // called before each frame
}

func (f *flood) Recv() (wire.Kind, []byte, error) {
	select {
	case s := <-f.seeds:
		return s.kind, s.payload, nil
	default:
	}
	if f.n == 0 {
		return 0, nil, io.EOF
	}
	f.n--
	f.pace()
	return wire.KindOutput, f.p, nil
}

// BenchmarkFanOut is the way of 8 KiB frames through the hub, in bytes of the worker's output.
func BenchmarkFanOut(b *testing.B) {
	for _, c := range []struct{ well, stuck int }{{0, 0}, {1, 0}, {20, 0}, {0, 20}, {1, 20}} {
		b.Run(fmt.Sprintf("viewers=%d/stuck=%d", c.well, c.stuck), func(b *testing.B) { fanOut(b, c.well, c.stuck) })
	}
}

func fanOut(b *testing.B, well, stalled int) {
	w := newWorker(80, 24)
	w.frames = make(chan frame, 64)
	src := &flood{worker: w, seeds: w.frames, p: make([]byte, 8<<10), n: b.N}
	h := New(src, w.hello(), Options{})
	sinks := make([]*counting, well)
	for i := range sinks {
		sinks[i] = &counting{}
		if _, err := h.Attach(sinks[i], AttachOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	for range stalled {
		if _, err := h.Attach(stuck{make(chan struct{})}, AttachOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	w.work(-1)
	sent := int64(0)
	src.pace = func() { // a worker is no further ahead of its healthy viewers than a socket's buffer
		sent += int64(len(src.p))
		for _, s := range sinks {
			for sent-s.n.Load() > queueBytesMin/2 { // which drops nobody
				runtime.Gosched()
			}
		}
	}
	b.SetBytes(int64(len(src.p)))
	b.ReportAllocs()
	b.ResetTimer()
	if err := h.readLoop(); err != nil {
		b.Fatal(err)
	}
	for _, s := range sinks {
		for s.n.Load() < sent {
			runtime.Gosched()
		}
	}
	b.StopTimer()
	h.abandon()
	h.writers.Wait()
}
