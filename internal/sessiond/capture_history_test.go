// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessiond

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/emulator"
	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/scrollback"
	"spawn/internal/sessiond/wire"
)

// still is a worker whose loop does not run: the test takes its turns. It has a connection that nobody reads.
func still(t testing.TB) *worker {
	t.Helper()
	folder := openTestFolder(t)
	id := endpoint.NewSessionID()
	held, err := hold(Config{Folder: folder.Path(), SessionID: id, Lock: lockFor(t, folder, id)})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorker(Config{SessionID: id, Clock: newFakeClock()}, held)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]net.Conn
	for i, fd := range pair {
		f := os.NewFile(uintptr(fd), "pair")
		if ends[i], err = net.FileConn(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	w.conn = newConnection(ends[0].(*net.UnixConn), 1)
	w.conn.out = newOutbox(nil) // the test takes what is in it
	t.Cleanup(func() {
		w.detach()
		ends[1].Close()
		if err := held.release(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// fill commits lines until the log has dropped some.
func (w *worker) fill(t testing.TB, line string) {
	t.Helper()
	batch := []byte(strings.Repeat(line, max(1, 4096/len(line))))
	for w.history.log.Stats().FirstSeq == 1 {
		w.commit(batch)
	}
	if w.history.lost {
		t.Fatal("the log is lost")
	}
}

var allText = wire.CaptureReq{What: wire.CaptureAll, MaxRows: 1 << 20, MaxBytes: wire.HistoryTextMax}

func (w *worker) begin(t testing.TB, req wire.CaptureReq) {
	t.Helper()
	payload, err := wire.AppendCaptureReq(nil, req)
	if err == nil {
		err = w.executeCapture(payload[wire.HeaderLen:])
	}
	if err != nil {
		t.Fatal(err)
	}
}

// captured takes the loop's turns until the capture is sent.
func (w *worker) captured(t *testing.T) wire.Capture {
	t.Helper()
	for w.conn.capturing != nil {
		w.continueCapture()
	}
	frames := wire.NewReader(strings.NewReader(string(w.conn.out.take())), wire.FromWorker)
	for {
		kind, payload, err := frames.Next()
		if err != nil {
			t.Fatal(err)
		}
		if kind == wire.KindCapture {
			c, err := wire.DecodeCapture(payload)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
	}
}

// However long the history is, and however it is cut into lines and records, output that has come waits for one piece of it.
func TestACaptureOfAFullLogLetsOutputPassAfterEachPiece(t *testing.T) {
	for name, line := range map[string]string{
		"lines":           strings.Repeat("text ", 15) + "\r\n",
		"empty lines":     "\r\n",
		"an endless line": strings.Repeat("text ", 15),
	} {
		t.Run(name, func(t *testing.T) {
			w := still(t)
			w.fill(t, line)
			w.begin(t, allText)
			stats := w.history.log.Stats()
			const printed = "more\r\n"
			turns := 0
			for w.conn.capturing != nil {
				w.ring.room(nil)
				copy(w.ring.room(nil), printed)
				w.ring.put(len(printed))
				before := w.watermark
				w.continueCapture()
				if w.watermark != before+uint64(len(printed)) {
					t.Fatalf("turn %d: %d bytes of output passed, %d had come", turns, w.watermark-before, len(printed))
				}
				turns++
			}
			if least := int(stats.Stored) / scrollback.PieceBytes; turns < least {
				t.Errorf("%d bytes of the log took %d turns, %d at least", stats.Stored, turns, least)
			}
		})
	}
}

// The rows of a turn are bounded by the piece, so a turn's work is: here none has more than a row for each byte of a piece.
func TestATurnOfACaptureMakesABoundedPartOfTheRows(t *testing.T) {
	w := still(t)
	w.fill(t, "\r\n")
	w.begin(t, allText)
	rows := 0
	count := func() (n int) {
		p := w.conn.capturing
		for _, s := range p.newest {
			n += len(s.rows)
		}
		if p.present != nil {
			n += len(p.present.rows)
		}
		return n
	}
	for !w.conn.capturing.done {
		w.conn.capturing.step()
		now := count()
		if now-rows > scrollback.PieceBytes/2+1 { // a line break has two bytes
			t.Fatalf("a turn made %d rows", now-rows)
		}
		rows = now
	}
	if rows < 100_000 {
		t.Errorf("only %d rows", rows)
	}
}

// What is captured is what there was at the request, and no line of later is in it.
func TestACaptureIsOfTheMomentOfItsRequest(t *testing.T) {
	w := still(t)
	for i := range 5000 {
		w.commit(fmt.Appendf(nil, "line %d \x1b[0;1mbold\x1b[0m\r\n", i))
	}
	w.feed([]byte("on the screen"))
	for _, styled := range []bool{false, true} {
		text, err := w.history.log.AppendReplay(nil, wire.HistoryTextMax)
		if err != nil {
			t.Fatal(err)
		}
		req := allText
		req.Styled, req.Wraps = styled, true
		want := emulator.RowsOf(text, 80, 1<<20, 16<<20, styled)
		w.begin(t, req)
		for i := range 3000 {
			w.commit(fmt.Appendf(nil, "later %d\r\n", i))
			if i%100 == 0 && w.conn.capturing != nil {
				w.continueCapture()
			}
		}
		w.feed([]byte("\x1b[2J"))
		c := w.captured(t)
		if !slices.Equal(c.History, want.Plain) || !slices.Equal(c.StyledHistory, want.Styled) || !slices.Equal(c.HistoryWraps, want.Continued) ||
			want.Cut || c.Clipped || c.Lost {
			t.Errorf("styled %v: %d rows and %d styled, want %d and %d; clipped %v, lost %v", styled, len(c.History), len(c.StyledHistory), len(want.Plain), len(want.Styled), c.Clipped, c.Lost)
		}
		if styled == (c.Screen[0] == "on the screen") { // it was cleared after the first
			t.Errorf("styled %v: the screen begins with %q", styled, c.Screen[0])
		}
	}
}

// The newest rows that fit are kept, wherever the limit falls within a stretch or between two.
func TestACaptureKeepsTheNewestRowsThatFit(t *testing.T) {
	w := still(t)
	for i := range 9000 {
		w.commit(fmt.Appendf(nil, "%s%d\r\n", strings.Repeat("long ", i%40), i))
	}
	text, err := w.history.log.AppendReplay(nil, wire.HistoryTextMax)
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []struct{ rows, bytes int }{
		{0, 1 << 20}, {1, 1 << 20}, {777, 1 << 20}, {5000, 1 << 20}, {1 << 20, 0}, {1 << 20, 100}, {1 << 20, 123_456}, {1 << 20, 8 << 20},
	} {
		want := emulator.RowsOf(text, 80, limit.rows, limit.bytes, false)
		w.begin(t, wire.CaptureReq{What: wire.CaptureHistory, MaxRows: uint32(limit.rows), MaxBytes: uint32(limit.bytes), Wraps: true})
		if c := w.captured(t); !slices.Equal(c.History, want.Plain) || !slices.Equal(c.HistoryWraps, want.Continued) || c.Clipped != want.Cut {
			t.Errorf("%+v: %d rows, clipped %v, want %d, %v", limit, len(c.History), c.Clipped, len(want.Plain), want.Cut)
		}
	}
}

// What a program wipes while it is captured is gone, from the capture too.
func TestAWipeEndsTheHistoryOfACapture(t *testing.T) {
	w := still(t)
	w.fill(t, "secret\r\n")
	w.feed([]byte("shown"))
	w.begin(t, allText)
	w.continueCapture()
	w.continueCapture()
	w.feed([]byte("\x1b[3J"))
	w.commit([]byte("later\r\n"))
	if c := w.captured(t); len(c.History) > 0 || c.Lost || c.Clipped || c.Screen[0] != "shown" {
		t.Errorf("%d rows of history, lost %v, clipped %v, screen %q", len(c.History), c.Lost, c.Clipped, c.Screen[0])
	}
}

func TestALogThatFailsWhileItIsCapturedIsLost(t *testing.T) {
	w := still(t)
	w.fill(t, "line\r\n")
	w.begin(t, allText)
	w.continueCapture()
	if err := w.history.log.Destroy(); err != nil {
		t.Fatal(err)
	}
	w.commit([]byte("later\r\n"))
	if c := w.captured(t); len(c.History) > 0 || !c.Lost {
		t.Errorf("%d rows of history, lost %v", len(c.History), c.Lost)
	}
}

// What was dropped meanwhile, because the log is full, was the oldest; the newer rows stand.
func TestACaptureOfAFullLogBesideAFlood(t *testing.T) {
	w := still(t)
	w.fill(t, "old line\r\n")
	w.begin(t, allText)
	w.continueCapture()
	w.continueCapture()
	for range 200 {
		w.commit([]byte(strings.Repeat("flood\r\n", 1000)))
	}
	c := w.captured(t)
	if c.Lost || !c.Clipped || slices.Contains(c.History, "flood") {
		t.Errorf("%d rows of history, lost %v, clipped %v", len(c.History), c.Lost, c.Clipped)
	}
}

// A further request waits for its turn, and is answered.
func TestASecondCaptureWaitsForTheFirst(t *testing.T) {
	w := still(t)
	w.fill(t, "line\r\n")
	w.begin(t, allText)
	second, err := wire.AppendCaptureReq(nil, wire.CaptureReq{What: wire.CaptureScreen})
	if err != nil {
		t.Fatal(err)
	}
	w.obey(command{w.conn.generation, wire.KindCaptureReq, second[wire.HeaderLen:]})
	select {
	case <-w.conn.acks:
		t.Fatal("it did not wait")
	default:
	}
	if c := w.captured(t); len(c.History) == 0 || len(c.Screen) == 0 {
		t.Errorf("the first has %d and %d rows", len(c.History), len(c.Screen))
	}
	select {
	case <-w.conn.acks:
	default:
		t.Error("the second was not taken")
	}
}

// BenchmarkCaptureTurn is what a capture of a full log makes output wait for, and how many turns it takes.
func BenchmarkCaptureTurn(b *testing.B) {
	w := still(b)
	w.fill(b, "[12345/99999] \x1b[32mCC\x1b[0m  out/obj/some/folder/file_12345.o from src/some/folder/file_12345.c\r\n")
	req := wire.CaptureReq{What: wire.CaptureAll, MaxRows: 10_000, MaxBytes: 1 << 20} // a checkpoint's
	turns, captures := 0, 0
	for b.Loop() {
		if w.conn.capturing == nil {
			if w.conn.out.all() > 0 {
				w.conn.out.done(w.conn.out.take())
			}
			w.begin(b, req)
			captures++
		}
		w.continueCapture()
		turns++
	}
	b.ReportMetric(float64(turns)/float64(captures), "turns/capture")
}
