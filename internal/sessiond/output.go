// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"errors"
	"io"
	"time"

	"spawn/internal/sessiond/emulator"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/pty"
	"spawn/internal/sessiond/secret"
	"spawn/internal/sessiond/wire"
)

// chunk is one read of the PTY. The buffer goes back to the pool, wiped, when the loop has used it.
type chunk struct {
	buf *[chunkBytes]byte
	n   int
}

// chunkPool holds the buffers that are not under way: at most as many as the queue, the reader and the loop can have.
type chunkPool struct{ free chan *[chunkBytes]byte }

func newChunkPool() *chunkPool {
	return &chunkPool{make(chan *[chunkBytes]byte, chunksQueuedMax+2)}
}

func (p *chunkPool) get() *[chunkBytes]byte {
	select {
	case buf := <-p.free:
		return buf
	default:
		return new([chunkBytes]byte)
	}
}

// put takes back a buffer of which the first n bytes were used.
func (p *chunkPool) put(buf *[chunkBytes]byte, n int) {
	secret.Wipe(buf[:n])
	select {
	case p.free <- buf:
	default:
	}
}

// readLoop is the only reader of the PTY. It closes chunks when there will be no more output: at the end of file after the
// program was reaped, or when the terminal was closed.
func (w *worker) readLoop(term *pty.Terminal, chunks chan<- chunk) {
	defer close(chunks)
	for {
		last := w.isReaped() // asked before reading: what was written before the end is read after it
		buf := w.pool.get()
		n, err := term.Read(buf[:])
		if n >= readMoreBytes {
			n += term.ReadMore(buf[n:])
		}
		failpoint.Pass(failpoint.OutputRead)
		if n == 0 {
			w.pool.put(buf, 0)
		} else if !w.handOver(chunks, chunk{buf, n}) {
			return
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) && !last:
			w.awaitReopening()
		default:
			return
		}
	}
}

// handOver waits until the loop has a place for c. This is where a supervisor that does not read holds the program back.
func (w *worker) handOver(chunks chan<- chunk, c chunk) bool {
	select {
	case chunks <- c:
		return true
	case <-w.quit:
		w.pool.put(c.buf, c.n)
		return false
	}
}

func (w *worker) isReaped() bool {
	select {
	case <-w.reaped:
		return true
	default:
		return false
	}
}

// awaitReopening lets some time pass while nobody has the terminal open and the program lives.
func (w *worker) awaitReopening() {
	pause := time.NewTimer(reopenEvery)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-w.reaped:
	case <-w.quit:
	}
}

// takeChunk handles what readLoop sent; more is false when it has ended.
func (w *worker) takeChunk(c chunk, more bool) {
	if more {
		more = w.takeQueued(c)
	}
	if !more {
		w.chunks = nil
		w.endOutput()
	}
}

// takeQueued handles first together with the chunks that queue behind it: under load that is one stride of the emulator, one
// record of the log and one frame instead of eight. It never waits for more. It reports false when readLoop has ended.
func (w *worker) takeQueued(first chunk) (more bool) {
	w.join(first)
	more = true
	for joined := 1; more && joined < chunksQueuedMax; joined++ {
		select {
		case c, ok := <-w.chunks:
			if more = ok; ok {
				w.join(c)
			}
		default:
			joined = chunksQueuedMax
		}
	}
	w.output(w.batch)
	secret.Wipe(w.batch)
	w.batch = w.batch[:0]
	return more
}

// join appends a chunk to the batch, and its buffer is free for the reader again.
func (w *worker) join(c chunk) {
	w.batch = append(w.batch, c.buf[:c.n]...)
	w.pool.put(c.buf, c.n)
}

// output lets some of the program's bytes take effect. They are only looked at, but for counts that would freeze a
// viewer for seconds: those leave smaller, with the same effect (emulator.CountFilter).
//
// hop out 2/6: screen, then log, then frame.
func (w *worker) output(p []byte) {
	w.feed(p) // commits lines to the log through sink, and answers queries
	failpoint.Pass(failpoint.OutputShown)
	shown := w.counts.Filter(p)
	w.watermark += uint64(len(shown))
	w.sendOutput(shown)
	if len(shown) > 0 && &shown[0] != &p[0] {
		secret.Wipe(shown)
	}
	w.flushNotices()
	w.quickenForeground()
}

// sendOutput sends one frame, or two when the filter has made more of a full batch than a frame carries.
func (w *worker) sendOutput(p []byte) {
	for len(p) > 0 && w.conn != nil {
		n := min(len(p), wire.OutputMax)
		w.conn.send(push(w.conn.out, wire.HeaderLen+n, p[:n], wire.AppendOutput))
		p = p[n:]
	}
}

// feed shows p to the emulator. If the emulator breaks, the screen is lost and the session goes on: the next snapshot is
// drawn from what comes after.
func (w *worker) feed(p []byte) {
	w.guard(func(screen *emulator.Terminal) { screen.Feed(p) })
}

// guard runs f on the screen and replaces the screen if f panics, which it reports. A panic in one of the emulator's
// callbacks is not the emulator's and goes on.
func (w *worker) guard(f func(screen *emulator.Terminal)) (whole bool) {
	cols, rows := w.screen.Size()
	w.guarded = true
	defer func() {
		mine := w.guarded
		w.guarded = false
		if !mine {
			return
		}
		if recover() != nil {
			w.newScreen(cols, rows)
		}
	}()
	f(w.screen)
	return true
}

// newScreen makes an empty screen that answers with the theme we were told, and bounds counts by its size.
func (w *worker) newScreen(cols, rows int) {
	w.screen = emulator.New(cols, rows, sink{w})
	w.counts.Resize(cols, rows)
	if w.theme != nil {
		w.screen.SetTheme(*w.theme)
	}
}

// resize gives the program and the screen a new size. The same size again is nothing.
func (w *worker) resize(cols, rows uint16) {
	if c, r := w.screen.Size(); c == int(cols) && r == int(rows) {
		return
	}
	w.guard(func(screen *emulator.Terminal) { screen.Resize(int(cols), int(rows)) })
	w.counts.Resize(int(cols), int(rows))
	failpoint.Pass(failpoint.Resized)
	if term := w.term.Load(); term != nil {
		// Refused only when the program has just ended; the screen has the size all the same.
		term.Resize(cols, rows)
	}
	w.flushNotices()
}
