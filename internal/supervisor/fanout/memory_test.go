// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"testing"
)

// stuck is a sink that takes nothing until it is closed.
type stuck struct{ closed chan struct{} }

func (s stuck) wait() error             { <-s.closed; return io.ErrClosedPipe }
func (s stuck) Output([]byte) error     { return s.wait() }
func (s stuck) Snapshot(Snapshot) error { return s.wait() }
func (s stuck) Event(Event) error       { return s.wait() }
func (s stuck) Close()                  { close(s.closed) }

// Viewers that read nothing cost a bounded amount of memory, counted in bytes (F17, B46).
func TestStuckViewersCostBoundedMemory(t *testing.T) {
	w := newWorker(80, 24)
	h := New(w, w.hello(), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = h.Run(ctx) }()
	for range 20 {
		if _, err := h.Attach(stuck{make(chan struct{})}, AttachOptions{History: true}); err != nil {
			t.Fatal(err)
		}
	}
	well := newWatching(t)
	if _, err := h.Attach(well, AttachOptions{}); err != nil {
		t.Fatal(err)
	}
	w.work(-1)
	before := heap()
	for range 1000 {
		w.print(16 << 10)
		w.commit(bytes.Repeat([]byte("x"), 4<<10))
	}
	w.log = nil
	if grown := heap() - before; grown > 20<<20 {
		t.Errorf("20 stuck viewers hold %d MiB", grown>>20)
	}
	cancel()
	<-ended
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestTextIsWipedWithItsLastReader(t *testing.T) {
	var l lane
	p, rest := l.write([]byte("secret"), 2)
	c := p.of
	l.release(p, 1)
	if len(rest) != 0 || string(p.bytes()) != "secret" || l.tail != c {
		t.Fatal("the chunk is gone before its last reader")
	}
	l.release(p, 1)
	if l.tail != nil || bytes.Contains(c.buf[:], []byte("secret")) {
		t.Error("the text lingers")
	}
	cv := &canvas{stream: []byte("secret")}
	cv.refs.Add(2)
	cv.release()
	cv.release()
	if bytes.Contains(cv.stream, []byte("s")) {
		t.Error("the snapshot lingers")
	}
}
