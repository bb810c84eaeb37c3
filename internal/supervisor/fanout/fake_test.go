// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"spawn/internal/sessiond/wire"
)

var errBusy = errors.New("queue full")

// worker is a worker as its connection shows it: everything it emits goes through one queue, in order.
// The test is its program and its loop.
type worker struct {
	frames chan frame // what Recv returns; small, so that a reader that waits would be seen
	closed chan struct{}
	once   sync.Once

	mu       sync.Mutex
	commands []func() // told and not yet carried out, oldest first
	room     int      // commands that are taken before Busy; negative for any number
	typed    []byte   // input, in order of carrying out
	themes   int

	// The rest belongs to the test's goroutine.
	cols, rows uint16
	position   uint64
	log        []byte // committed history of the epoch
	epoch      uint64
	damaged    bool
	subscribed bool
	resizes    int
}

type frame struct {
	kind    wire.Kind
	payload []byte
}

func newWorker(cols, rows uint16) *worker {
	return &worker{frames: make(chan frame, 1), closed: make(chan struct{}), room: -1, cols: cols, rows: rows, epoch: 1000, position: 77}
}

func (w *worker) hello() wire.Hello {
	return wire.Hello{Version: wire.ProtoVersion, State: wire.StateRunning, Cols: w.cols, Rows: w.rows, Epoch: w.epoch, History: true, Capabilities: wire.Capabilities()}
}

func (w *worker) Recv() (wire.Kind, []byte, error) {
	select {
	case f, ok := <-w.frames:
		if !ok {
			return 0, nil, io.EOF
		}
		return f.kind, f.payload, nil
	case <-w.closed:
		return 0, nil, io.EOF
	}
}

func (w *worker) Close() { w.once.Do(func() { close(w.closed) }) }

func (w *worker) command(do func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.room == 0 {
		return errBusy
	}
	w.room--
	w.commands = append(w.commands, do)
	return nil
}

func (w *worker) Input(p []byte) error {
	p = bytes.Clone(p)
	return w.command(func() { w.typed = append(w.typed, p...) })
}

func (w *worker) Resize(cols, rows uint16) error {
	return w.command(func() { w.cols, w.rows, w.resizes = cols, rows, w.resizes+1 })
}

func (w *worker) SetTheme(wire.Theme) error { return w.command(func() { w.themes++ }) }

func (w *worker) RequestReplay(limit uint32) error {
	return w.command(func() {
		switch {
		case limit > 0 && w.damaged:
			w.send(wire.AppendReplay(nil, w.position))
		case limit > 0:
			w.send(wire.AppendReplay(nil, w.position, w.log, w.screen()))
		default:
			w.send(wire.AppendReplay(nil, w.position, w.screen()))
		}
	})
}

// RequestCapture is answered with the kind of request as the title.
func (w *worker) RequestCapture(req wire.CaptureReq) error {
	return w.command(func() {
		w.send(wire.AppendCapture(nil, wire.Capture{Cols: w.cols, Rows: w.rows, Title: req.What, Watermark: w.position}))
	})
}

func (w *worker) SubscribeHistory(on bool) error {
	return w.command(func() {
		if w.subscribed = on; on {
			w.send(wire.AppendHistory(nil, wire.History{Epoch: w.epoch, Offset: uint64(len(w.log))}))
		}
	})
}

// screen is a repaint that says which one it is, and after how many changes of size.
func (w *worker) screen() []byte {
	return fmt.Appendf(nil, "\x1b[8;%d;%dt@%d#%d", w.rows, w.cols, w.position, w.resizes)
}

func (w *worker) send(whole []byte, err error) {
	if err != nil {
		panic(err)
	}
	select {
	case w.frames <- frame{wire.Kind(whole[4]), whole[wire.HeaderLen:]}:
	case <-w.closed:
	}
}

// allow sets how many commands are taken before Busy; negative for any number.
func (w *worker) allow(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.room = n
}

// work carries out up to n commands; negative for all.
func (w *worker) work(n int) {
	for ; n != 0; n-- {
		w.mu.Lock()
		if len(w.commands) == 0 {
			w.mu.Unlock()
			return
		}
		do := w.commands[0]
		w.commands = w.commands[1:]
		if w.room >= 0 {
			w.room++
		}
		w.mu.Unlock()
		do()
	}
}

// print emits n bytes that tell their position.
func (w *worker) print(n int) {
	p := outputAt(w.position, n)
	w.position += uint64(n)
	w.send(wire.AppendOutput(nil, p))
}

// period is a prime, so that no shift by a round number of bytes goes unseen.
const period = 65521

var pattern = func() []byte {
	p := make([]byte, period+wire.OutputMax)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range p {
		p[i] = byte(r.Uint32())
		if i >= period {
			p[i] = p[i-period]
		}
	}
	return p
}()

// outputAt is what the program prints at a position: at most a frame.
func outputAt(position uint64, n int) []byte {
	at := int(position % period)
	return pattern[at : at+n]
}

// commit adds text to the log.
func (w *worker) commit(text []byte) {
	at := uint64(len(w.log))
	w.log = append(w.log, text...)
	if w.subscribed && !w.damaged {
		w.send(wire.AppendHistory(nil, wire.History{Epoch: w.epoch, Offset: at, Text: text}))
	}
}

func (w *worker) wipe() {
	w.epoch++
	w.log = nil
	if w.subscribed && !w.damaged {
		w.send(wire.AppendHistoryWipe(nil, w.epoch))
	}
}

func (w *worker) notice(n wire.Notice) { w.send(wire.AppendNotice(nil, n)) }

func (w *worker) exit(code int) { w.send(wire.AppendExit(nil, wire.Exit{ExitCode: &code})) }

// watching is a sink that checks everything it is given against what the worker must have sent, and
// builds the view that a page would show.
type watching struct {
	t *testing.T

	mu        sync.Mutex
	gate      chan struct{} // nil when open; else each call waits for it
	seeded    bool
	position  uint64
	got       int // bytes of output
	largest   int
	snapshots []Snapshot // without streams
	resizes   int        // of the worker, as the last snapshot shows it
	before    *watching  // the view that this one continues if the hub lets it; nil for a new viewer
	history   []byte
	epoch     uint64
	anchored  bool // history is what the worker's log is
	events    []Event
	closed    chan struct{}
	fails     error // what the next call returns
	quick     bool  // takes output promptly, unless it is stalled
	prompted  int   // how often it did
}

func newWatching(t *testing.T) *watching { return &watching{t: t, closed: make(chan struct{})} }

// stall makes each further call wait; the result lets them go on.
func (s *watching) stall() (resume func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := make(chan struct{})
	s.gate = gate
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gate = nil
		close(gate)
	}
}

// enter waits at the gate and takes the lock.
func (s *watching) enter() error {
	s.mu.Lock()
	gate := s.gate
	s.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-s.closed:
			s.mu.Lock()
			return io.ErrClosedPipe
		}
	}
	s.mu.Lock()
	return s.fails
}

func (s *watching) Output(p []byte) error {
	err := s.enter()
	defer s.mu.Unlock()
	if err != nil {
		return err
	}
	if !s.seeded {
		s.t.Error("output before a snapshot")
	}
	if !bytes.Equal(p, outputAt(s.position, len(p))) {
		s.t.Errorf("%d bytes at %d are not the worker's", len(p), s.position)
		return io.ErrUnexpectedEOF
	}
	s.position += uint64(len(p))
	s.got += len(p)
	s.largest = max(s.largest, len(p))
	return nil
}

// Prompt is called with the hub's lock: a wait in here would be seen by all tests that stall a sink.
func (s *watching) Prompt(p []byte) bool {
	s.mu.Lock()
	takes := s.quick && s.gate == nil
	if takes {
		s.prompted++
	}
	s.mu.Unlock()
	if len(p) > promptMax {
		s.t.Errorf("%d bytes are offered at once", len(p))
	}
	return takes && s.Output(p) == nil
}

func (s *watching) Snapshot(sn Snapshot) error {
	err := s.enter()
	defer s.mu.Unlock()
	if err != nil {
		return err
	}
	at := bytes.LastIndex(sn.Stream, []byte("\x1b[8;"))
	want := fmt.Sprintf("\x1b[8;%d;%dt@%d#%%d", sn.Rows, sn.Cols, sn.Watermark)
	if at < 0 || !scans(string(sn.Stream[at:]), want, &s.resizes) {
		s.t.Errorf("snapshot %q, want it to end in %q", clip(sn.Stream), want)
	}
	if s.seeded && sn.Watermark < s.position {
		s.t.Errorf("snapshot at %d after output up to %d", sn.Watermark, s.position)
	}
	if sn.Full && sn.Epoch != 0 {
		if uint64(at) != sn.Offset {
			s.t.Errorf("%d bytes of history, anchor at %d", at, sn.Offset)
		}
		s.history, s.epoch, s.anchored = bytes.Clone(sn.Stream[:at]), sn.Epoch, true
	}
	if sn.Unavailable {
		s.anchored = false
	}
	s.seeded, s.position = true, sn.Watermark
	sn.Stream = nil
	s.snapshots = append(s.snapshots, sn)
	return nil
}

func scans(text, format string, into *int) bool {
	_, err := fmt.Sscanf(text, format, into)
	return err == nil
}

func clip(p []byte) []byte { return p[:min(len(p), 60)] }

func (s *watching) Event(e Event) error {
	err := s.enter()
	defer s.mu.Unlock()
	if err != nil {
		return err
	}
	switch e := e.(type) {
	case Resumed:
		s.resumeLocked(e)
	case HistoryDelta:
		if !s.anchored || e.Epoch != s.epoch || e.Offset != uint64(len(s.history)) {
			s.t.Errorf("delta at %d/%d, view at %d/%d (anchored %t)", e.Epoch, e.Offset, s.epoch, len(s.history), s.anchored)
		}
		s.history = append(s.history, e.Text...)
		return nil
	case HistoryWipe:
		s.history, s.epoch = nil, e.Epoch
	case HistoryGap:
		s.anchored = false
	case Dropped:
		s.seeded = false
	}
	s.events = append(s.events, e)
	return nil
}

// heir is the sink of the same viewer when it comes back, and the mark that it comes with.
func (s *watching) heir(stream string) (*watching, Mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := newWatching(s.t)
	h.before, h.quick = s, s.quick
	m := Mark{Stream: stream, Position: s.position}
	if s.anchored {
		m.Epoch, m.Offset = s.epoch, uint64(len(s.history))
	}
	return h, m
}

func (s *watching) resumeLocked(e Resumed) {
	b := s.before
	if b == nil || s.seeded || e.Position != b.position {
		s.t.Errorf("resumed at %d, before: %+v", e.Position, b)
		return
	}
	s.seeded, s.position, s.snapshots, s.resizes = true, b.position, b.snapshots, b.resizes
	s.history, s.epoch, s.anchored = bytes.Clone(b.history), b.epoch, b.anchored
}

func (s *watching) Close() { close(s.closed) }

// has reports whether an event like e has come.
func has[E Event](s *watching) (last E, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e, ok := e.(E); ok {
			last = e
			n++
		}
	}
	return last, n
}
