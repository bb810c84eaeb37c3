// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"spawn/internal/sessiond/wire"
)

// shot is the outcome of one Capture.
type shot struct {
	wire.Capture
	err error
}

// ask captures on a goroutine of its own.
func (x *house) ask(ctx context.Context, what string) <-chan shot {
	got := make(chan shot, 1)
	go func() {
		c, err := x.h.Capture(ctx, wire.CaptureReq{What: what})
		got <- shot{c, err}
	}()
	synctest.Wait()
	return got
}

// told is how many commands the worker has yet to carry out.
func (w *worker) told() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.commands)
}

func TestCapturesAreAnsweredInTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		x.w.print(300)
		whats := []string{wire.CaptureScreen, wire.CaptureHistory, wire.CaptureAll}
		var got []<-chan shot
		for _, what := range whats {
			got = append(got, x.ask(t.Context(), what))
		}
		for i, what := range whats {
			if n := x.w.told(); n != 1 {
				t.Errorf("%d requests are on their way, want one", n)
			}
			x.w.work(1)
			if c := <-got[i]; c.err != nil || c.Title != what || c.Watermark != 77+300 {
				t.Errorf("%s was answered by %+v", what, c)
			}
			synctest.Wait()
		}
		x.finish()
	})
}

func TestCaptureAndViewersDoNotDisturbEachOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		x.w.allow(1)
		_, s := x.attach(AttachOptions{History: true, Cols: 80, Rows: 24})
		got := x.ask(t.Context(), wire.CaptureAll) // the queue is full: it is tried again
		<-time.After(2 * busyRetry)
		x.settle()
		<-time.After(2 * busyRetry)
		x.settle()
		<-time.After(2 * busyRetry)
		x.settle()
		if c := <-got; c.err != nil {
			t.Error(c.err)
		}
		x.w.allow(-1)
		x.w.print(500)
		x.w.commit([]byte("line\r\n"))
		x.settle()
		x.expect(s, "viewer")
		x.finish()
	})
}

// A worker that does not answer costs a caller captureTimeout; its late answer is nobody's, and the next
// capture gets its own.
func TestUnansweredCaptureEndsAndItsLateAnswerIsDropped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		start := time.Now()
		first := x.ask(t.Context(), wire.CaptureScreen)
		waiting := x.ask(t.Context(), wire.CapturePrimary)
		for _, c := range []<-chan shot{first, waiting} {
			if c := <-c; !errors.Is(c.err, ErrUnanswered) || time.Since(start) != captureTimeout {
				t.Errorf("after %v: %v", time.Since(start), c.err)
			}
		}
		next := x.ask(t.Context(), wire.CaptureHistory)
		x.settle()
		if c := <-next; c.err != nil || c.Title != wire.CaptureHistory {
			t.Errorf("the next one: %+v", c)
		}
		if n := x.w.told(); n != 0 {
			t.Errorf("%d requests are left", n)
		}
		x.finish()
	})
}

func TestCaptureEndsWithItsContextAndWithTheSource(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancelled := x.ask(ctx, wire.CaptureScreen)
		ended := x.ask(t.Context(), wire.CaptureScreen)
		cancel()
		if c := <-cancelled; !errors.Is(c.err, context.Canceled) {
			t.Error(c.err)
		}
		x.finish()
		if c := <-ended; !errors.Is(c.err, ErrEnded) {
			t.Error(c.err)
		}
		if c := <-x.ask(t.Context(), wire.CaptureScreen); !errors.Is(c.err, ErrEnded) {
			t.Error(c.err)
		}
	})
}

func TestCapturesThatCannotBeAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		if c := <-x.ask(t.Context(), "everything"); !errors.Is(c.err, wire.ErrPayload) {
			t.Errorf("an unknown part: %v", c.err)
		}
		for range capturesMax {
			x.ask(t.Context(), wire.CaptureScreen)
		}
		if c := <-x.ask(t.Context(), wire.CaptureScreen); !errors.Is(c.err, ErrCaptures) {
			t.Errorf("one too many: %v", c.err)
		}
		x.finish()

		old := newWorker(80, 24)
		hello := old.hello()
		hello.Capabilities = []string{wire.CapHistory, wire.CapTheme}
		h := New(old, hello, Options{Busy: errBusy})
		if _, err := h.Capture(t.Context(), wire.CaptureReq{What: wire.CaptureScreen}); !errors.Is(err, ErrNoCapture) || old.told() != 0 {
			t.Errorf("an older worker: %v, %d requests", err, old.told())
		}
	})
}

func TestCaptureThatNobodyAskedForOrThatIsMalformedEndsTheConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		x.w.send(wire.AppendCapture(nil, wire.Capture{Cols: 1, Rows: 1}))
		<-x.ending
		if !errors.Is(x.err, ErrProtocol) {
			t.Errorf("unasked: %v", x.err)
		}

		x = open(t, Options{})
		got := x.ask(t.Context(), wire.CaptureScreen)
		x.w.send(wire.AppendFrame(nil, wire.KindCapture, []byte("{}")))
		if c := <-got; !errors.Is(c.err, ErrProtocol) {
			t.Errorf("malformed: %v", c.err)
		}
		<-x.ending
	})
}
