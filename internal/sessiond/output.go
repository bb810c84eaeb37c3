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

// readLoop is the only reader of the PTY. It ends the ring when there will be no more output: at the end of file after the
// program was reaped, or when the terminal was closed. Where it waits for room, a supervisor that does not read holds the
// program back.
func (w *worker) readLoop(term *pty.Terminal) {
	defer w.ring.end()
	for {
		last := w.isReaped() // asked before reading: what was written before the end is read after it
		room := w.ring.room(w.quit)
		if room == nil {
			return
		}
		n, err := term.Read(room)
		failpoint.Pass(failpoint.OutputRead)
		if n > 0 {
			w.ring.put(n)
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

// takeOutput handles what readLoop has put by now, as far as one stride goes: under load that is one record of the log and one
// frame for many reads. It never waits for more.
func (w *worker) takeOutput() {
	p, more := w.ring.next()
	if !more {
		w.ended = true
		w.endOutput()
		return
	}
	if len(p) > 0 {
		w.processors.took(len(p), w.clock.Now())
		w.output(p)
		w.ring.done(p)
	}
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

// resize gives the program and the screen a new size. The same size again is nothing. The program comes first: the screen may
// tell it the size (mode 2048), and then the terminal has to have it.
func (w *worker) resize(cols, rows uint16) {
	if c, r := w.screen.Size(); c == int(cols) && r == int(rows) {
		return
	}
	if term := w.term.Load(); term != nil {
		// Refused only when the program has just ended; the screen gets the size all the same.
		term.Resize(cols, rows)
	}
	failpoint.Pass(failpoint.Resized)
	w.guard(func(screen *emulator.Terminal) { screen.Resize(int(cols), int(rows)) })
	w.counts.Resize(int(cols), int(rows))
	w.flushNotices()
}
