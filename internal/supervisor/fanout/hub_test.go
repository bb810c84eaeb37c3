// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// house runs a hub over a fake worker inside a bubble.
type house struct {
	*testing.T
	w      *worker
	h      *Hub
	ending chan Ending
	err    error
}

func open(t *testing.T, o Options) *house {
	w := newWorker(80, 24)
	o.Busy = errBusy
	x := &house{T: t, w: w, h: New(w, w.hello(), o), ending: make(chan Ending, 1)}
	go func() {
		var e Ending
		e, x.err = x.h.Run(t.Context())
		x.ending <- e
	}()
	return x
}

func (x *house) attach(o AttachOptions) (*Viewer, *watching) {
	x.Helper()
	s := newWatching(x.T)
	v, err := x.h.Attach(s, o)
	if err != nil {
		x.Fatal(err)
	}
	return v, s
}

// settle lets everybody do what they can.
func (x *house) settle() {
	synctest.Wait()
	for range 20 {
		x.w.work(-1)
		synctest.Wait()
	}
}

func (x *house) finish() Ending {
	close(x.w.frames)
	return <-x.ending
}

func bubble(t *testing.T, f func(t *testing.T)) { synctest.Test(t, f) }

func (x *house) expect(s *watching, what string) {
	x.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.seeded || s.position != x.w.position {
		x.Errorf("%s: seeded %t, at %d, worker at %d", what, s.seeded, s.position, x.w.position)
	}
	if s.anchored && (s.epoch != x.w.epoch || !bytes.Equal(s.history, x.w.log)) {
		x.Errorf("%s: history view %d/%q differs from the log %d/%q", what, s.epoch, clip(s.history), x.w.epoch, clip(x.w.log))
	}
}

func TestViewerContinuesExactlyAtItsSnapshot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		x.w.print(500)
		x.w.commit([]byte("one\r\n"))
		_, s := x.attach(AttachOptions{History: true, Cols: 80, Rows: 24})
		x.w.print(300) // after the request, before the worker has answered it
		x.w.commit([]byte("two\r\n"))
		x.settle()
		x.w.print(40 << 10)
		x.w.commit([]byte("three\r\n"))
		x.settle()
		x.expect(s, "viewer")
		if len(s.snapshots) != 1 || s.snapshots[0].Watermark != 77+800 || !s.anchored {
			t.Errorf("snapshots %+v, anchored %t", s.snapshots, s.anchored)
		}
		if s.got != 40<<10 || s.largest > chunkBytes {
			t.Errorf("%d bytes of output, largest %d", s.got, s.largest)
		}
		x.finish()
	})
}

func TestWaitingViewersShareOneReplay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		var sinks []*watching
		for range 10 {
			_, s := x.attach(AttachOptions{History: true})
			sinks = append(sinks, s)
		}
		x.w.mu.Lock()
		told := len(x.w.commands)
		x.w.mu.Unlock()
		if told != 2 {
			t.Errorf("%d commands, want one subscription and one request", told)
		}
		x.settle()
		x.w.print(10)
		x.settle()
		for i, s := range sinks {
			x.expect(s, fmt.Sprint("viewer ", i))
		}
		x.finish()
	})
}

func TestResizeRepaintsEveryViewerAtTheNewSize(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		v, s := x.attach(AttachOptions{Cols: 80, Rows: 24})
		_, other := x.attach(AttachOptions{Cols: 10, Rows: 5, History: true})
		x.settle()
		if err := v.Resize(100, 30); err != nil {
			t.Fatal(err)
		}
		x.settle()
		for _, s := range []*watching{s, other} {
			if last := s.snapshots[len(s.snapshots)-1]; len(s.snapshots) != 2 || last.Cols != 100 || last.Rows != 30 || last.Full {
				t.Errorf("snapshots %+v", s.snapshots)
			}
			if e, n := has[Size](s); n != 1 || e != (Size{100, 30}) {
				t.Errorf("size %+v, %d times", e, n)
			}
		}
		if err := v.Resize(100, 30); err != nil {
			t.Fatal(err)
		}
		x.settle()
		if len(s.snapshots) != 2 {
			t.Error("an unchanged size was sent")
		}
		if f := x.h.Facts(); f.Cols != 100 || f.Rows != 30 || f.Viewers != 2 {
			t.Errorf("facts %+v", f)
		}
		x.finish()
	})
}

func TestDamagedLogLeavesTheScreen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		x.w.damaged = true
		_, s := x.attach(AttachOptions{History: true})
		x.settle()
		x.w.print(5)
		x.settle()
		if len(s.snapshots) != 1 || !s.snapshots[0].Unavailable || s.snapshots[0].Full {
			t.Errorf("snapshots %+v", s.snapshots)
		}
		x.expect(s, "viewer")
		x.finish()
	})
}

func TestStalledViewerAloneIsDroppedAndComesBackExact(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		v, slow := x.attach(AttachOptions{History: true})
		_, well := x.attach(AttachOptions{History: true})
		x.settle()
		resume := slow.stall()
		for range 40 {
			x.w.print(60 << 10)
			x.w.commit([]byte("line\r\n"))
			synctest.Wait() // who is healthy keeps up, however busy the machine is
		}
		x.expect(well, "healthy viewer")
		if waits := v.queue.bytes; waits > 4*itemCharge {
			t.Errorf("%d bytes wait for the dropped viewer", waits)
		}
		resume()
		x.settle()
		if d, n := has[Dropped](slow); n != 1 || d.Reason != ReasonLagging {
			t.Fatalf("dropped %d times, %+v", n, d)
		}
		if _, n := has[HistoryGap](slow); n != 1 {
			t.Errorf("%d gaps told", n)
		}
		x.w.print(100)
		x.settle()
		if err := v.Snapshot(true); err != nil {
			t.Fatal(err)
		}
		x.settle()
		x.w.print(100)
		x.w.commit([]byte("more\r\n"))
		x.settle()
		x.expect(slow, "viewer that came back")
		if _, n := has[Dropped](well); n != 0 || !slow.anchored || !well.anchored {
			t.Error("the healthy viewer noticed, or a view is not anchored")
		}
		x.finish()
	})
}

func TestSlowViewerOfAResizeStormIsOwedOnePainting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		v, s := x.attach(AttachOptions{})
		x.settle()
		resume := s.stall()
		for i := range 200 {
			x.w.print(10)
			if err := v.Resize(uint16(80+i%2), 24); err != nil {
				t.Fatal(err)
			}
			x.settle()
		}
		resume()
		x.settle()
		x.w.print(10)
		x.settle()
		if n := len(s.snapshots); n > 3 {
			t.Errorf("%d snapshots", n)
		}
		x.expect(s, "viewer")
		x.finish()
	})
}

func TestFullCommandQueueDelaysAndLosesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		x.w.allow(0)
		v, s := x.attach(AttachOptions{Cols: 90, Rows: 20, History: true})
		if err := v.Resize(91, 21); err != nil {
			t.Fatal(err)
		}
		x.settle()
		if len(s.snapshots) != 0 {
			t.Fatal("a snapshot without a request")
		}
		for range 12 { // one command at a time
			x.w.allow(1)
			<-time.After(2 * busyRetry)
			x.w.work(-1)
			synctest.Wait()
		}
		if len(s.snapshots) == 0 || x.w.cols != 91 || !s.anchored {
			t.Errorf("snapshots %+v, cols %d", s.snapshots, x.w.cols)
		}
		x.expect(s, "viewer")
		x.finish()
	})
}

// A viewer's first snapshot is of the kind it asked for, although one of the screen comes by before it.
func TestScreenForOthersDoesNotSeed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		first, _ := x.attach(AttachOptions{Cols: 80, Rows: 24})
		x.settle()
		x.attach(AttachOptions{})                      // a full replay is on its way,
		_, s := x.attach(AttachOptions{History: true}) // which is too old for this one,
		if err := first.Resize(90, 24); err != nil {   // and overtaken by one of the screen
			t.Fatal(err)
		}
		x.settle()
		if len(s.snapshots) == 0 || !s.snapshots[0].Full || s.snapshots[0].Cols != 90 {
			t.Errorf("snapshots %+v", s.snapshots)
		}
		x.finish()
	})
}

func TestViewersAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		for range viewersMax {
			x.attach(AttachOptions{})
		}
		s := newWatching(t)
		if _, err := x.h.Attach(s, AttachOptions{}); !errors.Is(err, ErrFull) {
			t.Errorf("one too many: %v", err)
		}
		<-s.closed
		if _, err := x.h.Attach(newWatching(t), AttachOptions{Cols: 80}); !errors.Is(err, ErrSize) {
			t.Errorf("half a size: %v", err)
		}
		x.settle()
		x.finish()
	})
}

// A bound that is lowered counts for who comes next, and none lifts the bound of the hub itself.
func TestFewerViewersMayBeAllowed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		allowed := 1
		x := open(t, Options{ViewersMax: func() int { return allowed }})
		x.attach(AttachOptions{})
		if _, err := x.h.Attach(newWatching(t), AttachOptions{}); !errors.Is(err, ErrFull) {
			t.Errorf("one too many: %v", err)
		}
		allowed = viewersMax + 1
		for range viewersMax - 1 {
			x.attach(AttachOptions{})
		}
		if _, err := x.h.Attach(newWatching(t), AttachOptions{}); !errors.Is(err, ErrFull) {
			t.Errorf("more than a hub has room for: %v", err)
		}
		x.settle()
		x.finish()
	})
}

// An echo reaches a viewer that waits for it without another goroutine, and passes nothing that waits.
func TestLittleOutputPassesNoQueueAndNoOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		_, quick := x.attach(AttachOptions{})
		_, plain := x.attach(AttachOptions{})
		quick.setQuick(true)
		x.settle()
		x.w.print(10)
		x.settle()
		if quick.prompted != 1 || plain.prompted != 0 {
			t.Errorf("%d and %d prompt calls, want 1 and 0", quick.prompted, plain.prompted)
		}
		resume := quick.stall()
		x.w.print(promptMax + 1) // waits in the sink
		x.settle()
		x.w.print(10) // and this behind it
		x.settle()
		resume()
		x.settle()
		if quick.prompted != 1 {
			t.Error("output passed what waited")
		}
		x.w.print(10)
		x.settle()
		if quick.prompted != 2 {
			t.Error("output takes the long way although nothing waits")
		}
		x.expect(quick, "the quick viewer")
		x.expect(plain, "the plain viewer")
		x.finish()
	})
}
