// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessiond

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
)

// patience is how long a test waits for an event that must come. It is no measure of anything.
const patience = 20 * time.Second

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		removeBinary()
		os.Exit(code)
	}))
}

// testWorker is a worker that runs in this process.
type testWorker struct {
	t      *testing.T
	w      *worker
	folder *endpoint.Folder
	id     endpoint.SessionID
	clock  *fakeClock
	stop   context.CancelFunc
	ended  chan struct{} // closed when Run's equivalent returned
	err    error         // valid after ended
}

// launch starts a worker in a folder of its own, on a clock that stands still, and wants it to end cleanly with the test.
func launch(t *testing.T, change ...func(*Config)) *testWorker {
	t.Helper()
	return launchIn(t, openTestFolder(t), change...)
}

func launchIn(t *testing.T, folder *endpoint.Folder, change ...func(*Config)) *testWorker {
	t.Helper()
	tw, err := tryLaunch(t, folder, change...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tw.stop()
		tw.await()
	})
	return tw
}

// tryLaunch starts a worker that the caller stops, or says why it did not start. The worker knows its name and folder
// either way.
func tryLaunch(t *testing.T, folder *endpoint.Folder, change ...func(*Config)) (*testWorker, error) {
	t.Helper()
	tw := &testWorker{t: t, folder: folder, id: endpoint.NewSessionID(), clock: newFakeClock(), ended: make(chan struct{})}
	ready := make(chan struct{})
	cfg := Config{
		Folder: folder.Path(), SessionID: tw.id, Lock: lockFor(t, folder, tw.id), Clock: tw.clock,
		Ready: func() error { close(ready); return nil },
	}
	for _, c := range change {
		c(&cfg)
	}
	held, err := hold(cfg)
	if err != nil {
		return tw, err
	}
	tw.w = newWorker(cfg, held)
	ctx, stop := context.WithCancel(context.Background())
	tw.stop = stop
	go func() {
		defer close(tw.ended)
		tw.err = errors.Join(tw.w.serve(ctx, cfg.Ready), held.release())
	}()
	<-ready
	return tw, nil
}

// await waits for the worker's end and requires it to be clean.
func (tw *testWorker) await() {
	tw.t.Helper()
	tw.awaitEnd()
	if tw.err != nil {
		tw.t.Errorf("worker ended with %v", tw.err)
	}
	requireEmpty(tw.t, tw.folder)
}

func (tw *testWorker) awaitEnd() {
	tw.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case <-tw.ended:
			return
		case <-deadline:
			tw.t.Fatal("worker does not end")
		case <-tw.clock.armed:
			tw.clock.fire(graceMax) // an ordered end may have to go as far as KILL
		}
	}
}

func requireEmpty(t testing.TB, folder *endpoint.Folder) {
	t.Helper()
	entries, err := os.ReadDir(folder.Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("left behind: %s", e.Name())
	}
}

func openTestFolder(t testing.TB) *endpoint.Folder {
	t.Helper()
	dir, err := os.MkdirTemp("", "sw") // short: socket paths have 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	folder, err := endpoint.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		folder.Close()
		os.RemoveAll(dir)
	})
	return folder
}

// lockFor reserves id as a supervisor does, and returns the description that the worker inherits.
func lockFor(t testing.TB, folder *endpoint.Folder, id endpoint.SessionID) *os.File {
	t.Helper()
	r, err := folder.Reserve(id)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.FcntlInt(r.File().Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Release(); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "lock")
}

// frame is one received frame with a payload of its own.
type frame struct {
	kind    wire.Kind
	payload []byte
}

// peer is a supervisor's end of a connection. It reads only when asked to.
type peer struct {
	t       testing.TB
	conn    *net.UnixConn
	frames  *wire.Reader
	hello   wire.Hello
	output  []byte // all OUTPUT so far
	history []byte // all HISTORY of the present epoch since the anchor
	epoch   uint64
	offset  uint64 // where the next HISTORY must begin
	anchor  bool   // an anchor came
	seen    []frame
}

func (tw *testWorker) dial() *peer { return dial(tw.t, tw.folder, tw.id) }

func dial(t testing.TB, folder *endpoint.Folder, id endpoint.SessionID) *peer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := folder.Dial(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	p := &peer{t: t, conn: conn, frames: wire.NewReader(conn, wire.FromWorker)}
	first := p.next()
	if first.kind != wire.KindHello {
		t.Fatalf("first frame is %v", first.kind)
	}
	if p.hello, err = wire.DecodeHello(first.payload); err != nil {
		t.Fatal(err)
	}
	return p
}

// read returns the next frame, or why there is none.
func (p *peer) read() (frame, error) {
	p.t.Helper()
	p.conn.SetReadDeadline(time.Now().Add(patience))
	kind, payload, err := p.frames.Next()
	if err != nil {
		return frame{}, err
	}
	f := frame{kind, slices.Clone(payload)}
	p.note(f)
	return f, nil
}

func (p *peer) next() frame {
	p.t.Helper()
	f, err := p.read()
	if err != nil {
		p.t.Fatalf("no frame: %v (output so far %q)", err, tail(p.output))
	}
	return f
}

func tail(b []byte) []byte { return b[max(0, len(b)-400):] }

// note keeps the books of what came, and requires history to come without a hole.
func (p *peer) note(f frame) {
	p.t.Helper()
	switch f.kind {
	case wire.KindOutput:
		p.output = append(p.output, f.payload...)
	case wire.KindHistory:
		p.noteHistory(f.payload)
	case wire.KindHistoryWipe:
		epoch, err := wire.DecodeHistoryWipe(f.payload)
		if err != nil || epoch != p.epoch+1 {
			p.t.Fatalf("wipe to epoch %d after %d, %v", epoch, p.epoch, err)
		}
		p.epoch, p.offset, p.history = epoch, 0, nil
	}
	p.seen = append(p.seen, f)
}

func (p *peer) noteHistory(payload []byte) {
	p.t.Helper()
	h, err := wire.DecodeHistory(payload)
	switch {
	case err != nil:
		p.t.Fatal(err)
	case !p.anchor:
		if len(h.Text) != 0 {
			p.t.Fatalf("first HISTORY has %d bytes of text, want an anchor", len(h.Text))
		}
		p.anchor, p.epoch, p.offset = true, h.Epoch, h.Offset
	case h.Epoch != p.epoch || h.Offset != p.offset:
		p.t.Fatalf("HISTORY at %d/%d, want %d/%d", h.Epoch, h.Offset, p.epoch, p.offset)
	}
	p.history = append(p.history, h.Text...)
	p.offset += uint64(len(h.Text))
}

// until reads frames up to and with the first of kind.
func (p *peer) until(kind wire.Kind) []byte {
	p.t.Helper()
	for {
		if f := p.next(); f.kind == kind {
			return f.payload
		}
	}
}

// untilOutput reads until the output contains text.
func (p *peer) untilOutput(text string) {
	p.t.Helper()
	for !strings.Contains(string(p.output), text) {
		p.next()
	}
}

// untilNotice reads until a notice of kind with text comes.
func (p *peer) untilNotice(kind, text string) {
	p.t.Helper()
	for {
		n, err := wire.DecodeNotice(p.until(wire.KindNotice))
		if err != nil {
			p.t.Fatal(err)
		}
		if n.Kind == kind && n.Text == text {
			return
		}
	}
}

// requireEnd reads until the worker has ended the connection.
func (p *peer) requireEnd() {
	p.t.Helper()
	for {
		_, err := p.read()
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			p.t.Fatal("the connection lives on")
		default:
			return
		}
	}
}

// send encodes one frame and writes it.
func (p *peer) send(frame []byte, err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	p.conn.SetWriteDeadline(time.Now().Add(patience))
	if _, err := p.conn.Write(frame); err != nil {
		p.t.Fatalf("write frame: %v", err)
	}
}

func (p *peer) type_(text string) { p.t.Helper(); p.send(wire.AppendInput(nil, []byte(text))) }

// startScript starts /bin/sh -c script.
func (p *peer) startScript(script string, args ...any) {
	p.t.Helper()
	p.start([]string{"/bin/sh", "-c", fmt.Sprintf(script, args...)})
}

func (p *peer) start(argv []string) { p.t.Helper(); p.startSized(80, 24, argv) }

func (p *peer) startSized(cols, rows uint16, argv []string) {
	p.t.Helper()
	p.send(wire.AppendStart(nil, wire.Start{
		Argv: argv, Cwd: "/", Cols: cols, Rows: rows,
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "TERM=xterm-256color", "PS1=prompt>", "LANG=C.UTF-8"},
	}))
}

// replay asks for a replay and returns its watermark and stream.
func (p *peer) replay(maxBytes uint32) (uint64, string) {
	p.t.Helper()
	p.send(wire.AppendReplayReq(nil, maxBytes))
	watermark, stream, err := wire.DecodeReplay(p.until(wire.KindReplay))
	if err != nil {
		p.t.Fatal(err)
	}
	return watermark, string(stream)
}

// exit returns the connection's EXIT. It may have come already, before the answer to an earlier request.
func (p *peer) exit() wire.Exit {
	p.t.Helper()
	var payload []byte
	if i := slices.IndexFunc(p.seen, func(f frame) bool { return f.kind == wire.KindExit }); i >= 0 {
		payload = p.seen[i].payload
	} else {
		payload = p.until(wire.KindExit)
	}
	e, err := wire.DecodeExit(payload)
	if err != nil {
		p.t.Fatal(err)
	}
	return e
}

func (tw *testWorker) signal(p *peer, s endpoint.Signal) endpoint.Ack {
	tw.t.Helper()
	instance, err := endpoint.ParseInstanceID(p.hello.InstanceID)
	if err != nil {
		tw.t.Fatal(err)
	}
	ack, err := tw.folder.Signal(context.Background(), tw.id, instance, s)
	if err != nil {
		tw.t.Fatal(err)
	}
	return ack
}

var geometry = regexp.MustCompile(`\x1b\[8;\d+;\d+t`)

// splitReplay cuts a v2 stream into its history and its screen section.
func splitReplay(t *testing.T, stream string) (history, screen string) {
	t.Helper()
	const sentinel, ascii = "\x1b_sp:h1\x1b\\", "\x1b(B\x1b)B\x1b*B\x1b+B\x0f"
	_, rest, found := strings.Cut(stream, sentinel+ascii)
	if !found {
		t.Fatalf("no history head in %q", tail([]byte(stream)))
	}
	at := geometry.FindStringIndex(rest) // committed lines hold no such sequence
	if at == nil {
		t.Fatal("no screen section")
	}
	return rest[:at[0]], rest[at[0]:]
}

// fakeClock stands still until told otherwise.
type fakeClock struct {
	armed  chan struct{} // 1 slot: a timer was armed
	mu     sync.Mutex
	now    time.Time
	timers []*fakeTimer
}

type fakeTimer struct {
	clock *fakeClock
	d     time.Duration
	c     chan time.Time
}

func newFakeClock() *fakeClock {
	return &fakeClock{armed: make(chan struct{}, 1), now: time.Unix(1_700_000_000, 0)}
}

func (c *fakeClock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }

func (c *fakeClock) NewTimer(d time.Duration) Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	timer := &fakeTimer{c, d, make(chan time.Time, 1)}
	c.timers = append(c.timers, timer)
	notify(c.armed)
	return timer
}

func (t *fakeTimer) C() <-chan time.Time { return t.c }

func (t *fakeTimer) Stop() {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.clock.timers = slices.DeleteFunc(t.clock.timers, func(o *fakeTimer) bool { return o == t })
}

// fire lets every armed timer of exactly d go off, and reports whether there was one.
func (c *fakeClock) fire(d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := false
	c.timers = slices.DeleteFunc(c.timers, func(t *fakeTimer) bool {
		if t.d == d {
			t.c <- c.now
			found = true
		}
		return t.d == d
	})
	return found
}

// awaitFire fires timers of d as soon as one is armed.
func (c *fakeClock) awaitFire(t *testing.T, d time.Duration) {
	t.Helper()
	deadline := time.After(patience)
	for !c.fire(d) {
		select {
		case <-c.armed:
		case <-deadline:
			t.Fatalf("no timer of %v is armed", d)
		}
	}
}

// soon is a deadline for a write that is meant to get stuck.
func (tw *testWorker) soon() time.Time { return time.Now().Add(300 * time.Millisecond) }

// pid waits for the program and returns its process id.
func (tw *testWorker) pid() int {
	tw.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if term := tw.w.term.Load(); term != nil {
			return term.Pid()
		}
	}
	tw.t.Fatal("no program")
	return 0
}
