// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"spawn/internal/sessiond/wire"
)

func TestExitComesAfterAllOutput(t *testing.T) {
	bubble(t, func(t *testing.T) {
		changed := make(chan struct{}, 1)
		x := open(t, Options{Changed: changed})
		_, s := x.attach(AttachOptions{})
		x.settle()
		<-changed
		resume := s.stall()
		x.w.print(100)
		x.w.exit(3)
		synctest.Wait()
		<-changed
		if f := x.h.Facts(); f.Exit == nil || *f.Exit.ExitCode != 3 {
			t.Errorf("facts %+v", f)
		}
		resume()
		x.settle()
		if e, n := has[Exit](s); n != 1 || *e.ExitCode != 3 || s.got != 100 {
			t.Errorf("exit told %d times after %d bytes", n, s.got)
		}
		_, late := x.attach(AttachOptions{})
		x.settle()
		if _, n := has[Exit](late); n != 1 || !late.seeded {
			t.Errorf("a late viewer was told %d times", n)
		}
		if e := x.finish(); e.Exit == nil || x.err != nil {
			t.Errorf("ending %+v, %v", e, x.err)
		}
		if _, n := has[Lost](s); n != 0 {
			t.Error("an exit was told as a loss")
		}
	})
}

func TestLostIsNotAnExit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		_, s := x.attach(AttachOptions{})
		_, waits := x.attach(AttachOptions{}) // never seeded
		resume := s.stall()
		if e := func() Ending { resume(); return x.finish() }(); e.Exit != nil {
			t.Errorf("ending %+v", e)
		}
		for _, s := range []*watching{s, waits} {
			if _, n := has[Lost](s); n != 1 {
				t.Errorf("loss told %d times", n)
			}
			<-s.closed
		}
		if _, err := x.h.Attach(newWatching(t), AttachOptions{}); !errors.Is(err, ErrEnded) {
			t.Errorf("attach afterwards: %v", err)
		}
	})
}

// Who looks at a pane that is taken away is told so last, and not that anything was lost.
func TestAPaneThatIsTakenAwayIsToldOfLast(t *testing.T) {
	for name, ended := range map[string]bool{"ended before": true, "ended with it": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var removed atomic.Bool
				x := open(t, Options{Removed: removed.Load})
				_, s := x.attach(AttachOptions{})
				x.settle()
				_, waits := x.attach(AttachOptions{}) // never seeded
				if ended {
					x.w.exit(3)
				}
				removed.Store(true)
				x.finish()
				for _, s := range []*watching{s, waits} {
					<-s.closed
					_, lost := has[Lost](s)
					_, exits := has[Exit](s)
					if last, ok := s.events[len(s.events)-1].(Removed); !ok || lost != 0 || (exits == 1) != ended {
						t.Errorf("told of %d losses, %d exits, and last of %T", lost, exits, last)
					}
				}
			})
		})
	}
}

func TestEndReleasesStuckSinks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		_, s := x.attach(AttachOptions{})
		x.settle()
		s.stall()
		x.w.print(10)
		begin := time.Now()
		x.finish()
		if took := time.Since(begin); took != drainTimeout {
			t.Errorf("ended after %v", took)
		}
		<-s.closed
	})
}

func TestCancelDetachesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorker(80, 24)
		h := New(w, w.hello(), Options{})
		ctx, cancel := context.WithCancel(t.Context())
		s := newWatching(t)
		if _, err := h.Attach(s, AttachOptions{}); err != nil {
			t.Fatal(err)
		}
		s.stall()
		begin := time.Now()
		cancel()
		if _, err := h.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
		<-s.closed
		if _, n := has[Lost](s); n != 0 || time.Since(begin) != 0 {
			t.Error("a viewer was told of a loss, or waited for")
		}
	})
}

func TestFailingSinkIsDetached(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		v, s := x.attach(AttachOptions{})
		x.settle()
		s.mu.Lock()
		s.fails = io.ErrClosedPipe
		s.mu.Unlock()
		x.w.print(10)
		x.settle()
		<-s.closed
		if err := v.Snapshot(true); !errors.Is(err, ErrDetached) || x.h.Facts().Viewers != 0 {
			t.Errorf("snapshot afterwards: %v", err)
		}
		v.Detach()
		x.finish()
	})
}

func TestBrokenWorkerEndsItsHubAlone(t *testing.T) {
	for name, send := range map[string]func(w *worker){
		"watermark that does not fit": func(w *worker) { w.position++; w.work(-1) },
		"replay nobody asked for":     func(w *worker) { w.send(wire.AppendReplay(nil, w.position)) },
		"second hello":                func(w *worker) { w.send(wire.AppendFrame(nil, wire.KindHello, []byte("{}"))) },
		"history without an anchor":   func(w *worker) { w.send(wire.AppendHistory(nil, wire.History{Text: []byte("x")})) },
		"malformed notice":            func(w *worker) { w.send(wire.AppendFrame(nil, wire.KindNotice, []byte("{}"))) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				x := open(t, Options{})
				v, s := x.attach(AttachOptions{})
				x.settle()
				if err := v.Snapshot(false); name != "replay nobody asked for" && err != nil {
					t.Fatal(err)
				}
				if name == "replay nobody asked for" {
					x.settle()
				}
				send(x.w)
				<-x.ending
				if x.err == nil {
					t.Error("no error")
				}
				<-s.closed
			})
		})
	}
}
