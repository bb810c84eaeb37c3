// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/control"
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

func TestNoticesReachViewersAndFacts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{Title: "before"})
		_, s := x.attach(AttachOptions{})
		x.settle()
		if e, _ := has[Title](s); e.Text != "before" {
			t.Errorf("title %q", e.Text)
		}
		x.w.notice(wire.Notice{Kind: wire.NoticeTitle, Text: "now"})
		x.w.notice(wire.Notice{Kind: wire.NoticeCwd, Text: "/tmp"})
		x.w.notice(wire.Notice{Kind: wire.NoticeBell})
		x.w.send(wire.AppendForeground(nil, "vim"))
		x.settle()
		title, _ := has[Title](s)
		cwd, _ := has[Cwd](s)
		fg, _ := has[Foreground](s)
		_, bells := has[Bell](s)
		if title.Text != "now" || cwd.Text != "/tmp" || fg.Name != "vim" || bells != 1 {
			t.Errorf("%+v %+v %+v, %d bells", title, cwd, fg, bells)
		}
		if f := x.h.Facts(); f.Title != "now" || f.Cwd != "/tmp" || f.Foreground != "vim" {
			t.Errorf("facts %+v", f)
		}
		x.finish()
	})
}

func TestTitleStormStarvesNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		_, s := x.attach(AttachOptions{})
		x.settle()
		resume := s.stall()
		for i := range 10_000 {
			x.w.notice(wire.Notice{Kind: wire.NoticeTitle, Text: fmt.Sprint(i)})
		}
		x.w.print(10)
		synctest.Wait()
		resume()
		x.settle()
		if e, n := has[Title](s); e.Text != "9999" || n > 3 || s.got != 10 {
			t.Errorf("%d titles, last %q, %d bytes", n, e.Text, s.got)
		}
		x.finish()
	})
}

func TestHistoryIsSubscribedOnlyForWhoWantsIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		x.attach(AttachOptions{})
		x.settle()
		if x.w.subscribed {
			t.Error("nobody wants history")
		}
		v, s := x.attach(AttachOptions{History: true})
		x.settle()
		x.w.commit([]byte("a\r\n"))
		x.settle()
		x.expect(s, "first")
		v.Detach()
		x.settle()
		if !x.w.subscribed {
			t.Error("the viewer may come back")
		}
		<-time.After(resumeTimeout)
		x.settle()
		if x.w.subscribed {
			t.Error("nobody wants history any more")
		}
		x.w.commit([]byte("b\r\n"))
		_, s = x.attach(AttachOptions{History: true})
		x.settle()
		x.w.commit([]byte("c\r\n"))
		x.settle()
		x.expect(s, "second")
		if !s.anchored {
			t.Error("not anchored")
		}
		x.finish()
	})
}

func TestHoleInTheDeltasIsAGap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		v, s := x.attach(AttachOptions{History: true})
		x.settle()
		x.w.log = append(x.w.log, "never sent"...)
		x.w.commit([]byte("after\r\n"))
		x.settle()
		if _, n := has[HistoryGap](s); n != 1 || s.anchored {
			t.Errorf("%d gaps", n)
		}
		if err := v.Snapshot(true); err != nil {
			t.Fatal(err)
		}
		x.settle()
		x.w.commit([]byte("healed\r\n"))
		x.settle()
		x.expect(s, "healed")
		if !s.anchored {
			t.Error("not healed")
		}
		x.finish()
	})
}

// A gap that is thrown away with everything else that waited is told all the same.
func TestGapOutlivesADrop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		_, s := x.attach(AttachOptions{History: true})
		x.settle()
		resume := s.stall()
		x.w.print(1) // keeps the sink in a call
		synctest.Wait()
		x.w.log = append(x.w.log, "never sent"...)
		x.w.commit([]byte("after\r\n"))
		for range queueBytesMax/(60<<10) + 1 {
			x.w.print(60 << 10)
		}
		synctest.Wait()
		resume()
		x.settle()
		if _, n := has[Dropped](s); n != 1 || s.anchored {
			t.Errorf("dropped %d times, anchored %t", n, s.anchored)
		}
		x.finish()
	})
}

func TestLostHistoryIsAGap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		v, s := x.attach(AttachOptions{History: true})
		x.settle()
		x.w.damaged = true
		x.w.notice(wire.Notice{Kind: wire.NoticeHistoryLost})
		x.settle()
		if _, n := has[HistoryGap](s); n != 1 {
			t.Errorf("%d gaps", n)
		}
		if err := v.Snapshot(true); err != nil {
			t.Fatal(err)
		}
		x.settle()
		if last := s.snapshots[len(s.snapshots)-1]; !last.Unavailable {
			t.Errorf("snapshot %+v", last)
		}
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

var seedFlag = flag.Uint64("seed", 0, "run the random test with this seed alone")

// TestAnyInterleavingIsExact: whatever happens in whatever order, what a viewer has is a snapshot at W
// and exactly the bytes after W, and its history view is the worker's log.
func TestAnyInterleavingIsExact(t *testing.T) {
	seeds := []uint64{*seedFlag}
	if *seedFlag == 0 {
		seeds = nil
		for range 40 {
			seeds = append(seeds, rand.Uint64())
		}
	}
	var total Stats
	for _, seed := range seeds {
		ok := t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := interleave(t, rand.New(rand.NewPCG(seed, 0)))
				total.Resumes, total.Drops, total.Snapshots = total.Resumes+s.Resumes, total.Drops+s.Drops, total.Snapshots+s.Snapshots
			})
		})
		if !ok {
			return
		}
	}
	t.Logf("%d snapshots, %d drops, %d resumes", total.Snapshots, total.Drops, total.Resumes)
	if *seedFlag == 0 && (total.Resumes < 20 || total.Drops < 20) {
		t.Error("too few drops or resumes: the test says little")
	}
}

func (s *watching) setQuick(quick bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quick = quick
}

type player struct {
	v      *Viewer
	s      *watching
	resume func()
	wants  bool // history
	o      AttachOptions
}

// leave detaches the player, whose sink takes nothing more.
func (p *player) leave() {
	p.v.Detach()
	if p.resume != nil {
		p.resume()
		p.resume = nil
	}
	synctest.Wait()
}

// comeBack attaches it again with what it has.
func (p *player) comeBack(x *house) {
	heir, mark := p.s.heir(p.v.Stream())
	o := p.o
	o.Resume = mark
	v, err := x.h.Attach(heir, o)
	if err != nil {
		x.Fatal(err)
	}
	p.v, p.s = v, heir
}

func interleave(t *testing.T, r *rand.Rand) Stats {
	x := open(t, Options{})
	var players, away []*player
	pick := func() *player {
		if len(players) == 0 {
			return nil
		}
		return players[r.IntN(len(players))]
	}
	if r.IntN(4) == 0 {
		x.w.allow(3) // a command queue that is full now and then
	}
	for range 300 {
		p := pick()
		switch n := r.IntN(100); {
		case n < 10:
			x.w.print(1 + r.IntN(100))
			x.w.work(1)
		case n < 25:
			x.w.print(1 + r.IntN(9000))
		case n < 32:
			x.w.print(64 << 10)
		case n < 45:
			x.w.commit(bytes.Repeat([]byte{byte('a' + r.IntN(26))}, 1+r.IntN(5000)))
		case n < 47:
			x.w.wipe()
		case n < 60:
			x.w.work(1 + r.IntN(3))
		case n < 66 && len(players) < 8:
			p := &player{wants: r.IntN(3) > 0}
			o := AttachOptions{History: p.wants, ReadOnly: r.IntN(5) == 0, Screen: r.IntN(5) == 0}
			if r.IntN(2) == 0 {
				o.Cols, o.Rows = uint16(1+r.IntN(200)), uint16(1+r.IntN(60))
			}
			p.o = o
			p.v, p.s = x.attach(o)
			p.s.setQuick(r.IntN(2) == 0)
			players = append(players, p)
		case n < 68 && len(away) > 0:
			p := away[0]
			away = away[1:]
			p.comeBack(x)
			players = append(players, p)
		case p == nil:
		case n < 71:
			p.leave()
			players = slices.DeleteFunc(players, func(o *player) bool { return o == p })
			away = append(away, p)
		case n < 73:
			p.leave()
			p.comeBack(x)
		case n < 76:
			_ = p.v.Snapshot(r.IntN(2) == 0)
		case n < 82:
			_ = p.v.Resize(uint16(1+r.IntN(200)), uint16(1+r.IntN(60)))
		case n < 86:
			_ = p.v.Take()
		case n < 92:
			if p.resume == nil {
				p.resume = p.s.stall()
			} else {
				p.resume()
				p.resume = nil
			}
		case n < 93:
			x.w.notice(wire.Notice{Kind: wire.NoticeTitle, Text: "t"})
		case n < 94:
			<-time.After(time.Duration(r.IntN(int(resumeTimeout))))
		case n < 95: // a batch that never comes
			x.w.log = append(x.w.log, "hole"...)
			x.w.commit([]byte("after\r\n"))
		default:
			synctest.Wait()
		}
	}
	for _, p := range away {
		p.comeBack(x)
	}
	calm(x, append(players, away...))
	stats := x.h.Stats()
	x.finish()
	return stats
}

// calm lets all stalled sinks go on, heals whoever was dropped or lost its anchor as a page would, and
// then expects everybody to be exact.
func calm(x *house, players []*player) {
	x.w.allow(-1)
	for _, p := range players {
		if p.resume != nil {
			p.resume()
		}
	}
	x.settle()
	<-time.After(time.Minute) // let retries run
	x.settle()
	for _, p := range players {
		if !p.s.seeded || p.wants && !p.s.anchored {
			if err := p.v.Snapshot(true); err != nil {
				x.Fatal(err)
			}
		}
	}
	x.settle()
	x.w.print(1000)
	x.w.commit([]byte("the end\r\n"))
	x.settle()
	for i, p := range players {
		x.expect(p.s, fmt.Sprint("viewer ", i))
		if p.wants != p.s.anchored {
			x.Errorf("viewer %d: wants history %t, anchored %t", i, p.wants, p.s.anchored)
		}
		last := p.s.snapshots[len(p.s.snapshots)-1]
		if last.Cols != x.w.cols || last.Rows != x.w.rows {
			x.Errorf("viewer %d was last painted at %dx%d, the worker is %dx%d", i, last.Cols, last.Rows, x.w.cols, x.w.rows)
		}
		if p.s.resizes != x.w.resizes {
			x.Errorf("viewer %d was last painted after %d changes of size, the worker had %d", i, p.s.resizes, x.w.resizes)
		}
	}
}

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

// The matrix of verbs and roles (T11): what a role may not do changes nothing and reaches no PTY.
func TestEveryVerbIsRefusedToWhomItIsNotGiven(t *testing.T) {
	verbs := map[string]func(v *Viewer, other control.ViewerID) error{
		"input":   func(v *Viewer, _ control.ViewerID) error { return v.Input([]byte("x")) },
		"resize":  func(v *Viewer, _ control.ViewerID) error { return v.Resize(20, 5) },
		"theme":   func(v *Viewer, _ control.ViewerID) error { return v.SetTheme(wire.Theme{}) },
		"request": func(v *Viewer, _ control.ViewerID) error { return v.RequestControl() },
		"grant":   func(v *Viewer, o control.ViewerID) error { return v.Grant(o) },
		"deny":    func(v *Viewer, o control.ViewerID) error { return v.Deny(o) },
		"take":    func(v *Viewer, _ control.ViewerID) error { return v.Take() },
		"release": func(v *Viewer, _ control.ViewerID) error { return v.ReleaseControl() },
	}
	roles := []struct {
		name    string
		options AttachOptions
		detach  bool
		want    map[string]error // verbs that are not here succeed
	}{
		{"controller", AttachOptions{}, false, map[string]error{"grant": control.ErrNoRequest, "deny": control.ErrNoRequest}},
		{"watcher", AttachOptions{}, false, map[string]error{
			"input": control.ErrNotController, "resize": control.ErrNotController, "theme": control.ErrNotController,
			"grant": control.ErrNotController, "deny": control.ErrNotController, "release": control.ErrNotController}},
		{"reader", AttachOptions{ReadOnly: true}, false, all(verbs, control.ErrReadOnly)},
		{"gone", AttachOptions{}, true, all(verbs, ErrDetached)},
	}
	for _, role := range roles {
		for name, do := range verbs {
			t.Run(role.name+"/"+name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					x := open(t, Options{})
					var other *Viewer
					if role.name != "controller" {
						other, _ = x.attach(AttachOptions{Cols: 80, Rows: 24})
					}
					v, _ := x.attach(role.options)
					if other == nil {
						other, _ = x.attach(AttachOptions{})
					}
					if role.detach {
						v.Detach()
					}
					x.settle()
					before := x.h.mu.control.Controller()
					err := do(v, other.ID())
					x.settle()
					if !errors.Is(err, role.want[name]) {
						t.Fatalf("error %v, want %v", err, role.want[name])
					}
					if err != nil && (len(x.w.typed) != 0 || x.w.cols != 80 || x.w.rows != 24 || x.w.themes != 0 || x.h.mu.control.Controller() != before) {
						t.Errorf("a refused verb had an effect: typed %q, %dx%d, controller %d", x.w.typed, x.w.cols, x.w.rows, x.h.mu.control.Controller())
					}
					x.finish()
				})
			})
		}
	}
}

func all[F any](verbs map[string]F, err error) map[string]error {
	m := map[string]error{}
	for name := range verbs {
		m[name] = err
	}
	return m
}

// Input that waits when control is lost is dropped, however often the source was full (T12).
func TestInputOfAnEarlierControllerIsDropped(t *testing.T) {
	for seed := range uint64(200) {
		bubble(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			x := open(t, Options{})
			v, _ := x.attach(AttachOptions{})
			next, _ := x.attach(AttachOptions{})
			x.settle()
			x.w.allow(0)
			result := make(chan error, 1)
			go func() { result <- v.Input([]byte("rm -rf")) }()
			synctest.Wait() // it has been admitted and waits
			<-time.After(time.Duration(r.IntN(10)) * busyRetry / 2)
			if err := next.Take(); err != nil {
				t.Fatal(err)
			}
			if r.IntN(2) == 0 { // and back: what waited was meant for the earlier turn
				if err := v.Take(); err != nil {
					t.Fatal(err)
				}
			}
			x.w.allow(-1)
			if err := <-result; !errors.Is(err, control.ErrNotController) {
				t.Errorf("seed %d: %v", seed, err)
			}
			x.settle()
			if len(x.w.typed) != 0 {
				t.Errorf("seed %d: typed %q", seed, x.w.typed)
			}
			x.finish()
		})
	}
}

func TestInputWaitsForAFullSourceAndKeepsOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		v, _ := x.attach(AttachOptions{})
		x.settle()
		x.w.allow(2)
		var want []byte
		sent := make(chan error, 1)
		go func() {
			for i := range 50 {
				if err := v.Input(fmt.Appendf(nil, "%d ", i)); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		for i := range 50 {
			want = fmt.Appendf(want, "%d ", i)
			<-time.After(busyRetry)
			x.w.work(-1)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		x.settle()
		if !bytes.Equal(x.w.typed, want) {
			t.Errorf("typed %q", x.w.typed)
		}
		if err := v.Input(make([]byte, wire.InputMax+1)); !errors.Is(err, ErrSize) {
			t.Errorf("too much at once: %v", err)
		}
		x.finish()
	})
}

func TestControlBringsItsOwnersSizeAndIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		laptop, ls := x.attach(AttachOptions{Cols: 120, Rows: 40, Name: "laptop"})
		phone, ps := x.attach(AttachOptions{Cols: 40, Rows: 20, Name: "phone"})
		x.settle()
		if x.w.cols != 120 {
			t.Errorf("%d columns", x.w.cols)
		}
		if err := phone.RequestControl(); err != nil {
			t.Fatal(err)
		}
		x.settle()
		if c, _ := has[Control](ls); !c.You || c.Request == nil || c.Request.Name != "phone" {
			t.Errorf("the laptop was told %+v", c)
		}
		<-time.After(control.RequestTimeout)
		x.settle()
		if c, _ := has[Control](ps); !c.You || c.Request != nil {
			t.Errorf("the phone was told %+v", c)
		}
		if c, _ := has[Control](ls); c.You || c.ControllerName != "phone" {
			t.Errorf("the laptop was told %+v", c)
		}
		if x.w.cols != 40 || x.w.rows != 20 {
			t.Errorf("the pane is %dx%d", x.w.cols, x.w.rows)
		}
		if err := laptop.Resize(130, 45); !errors.Is(err, control.ErrNotController) {
			t.Errorf("resize by a watcher: %v", err)
		}
		phone.Detach()
		if err := laptop.Input([]byte("ls\r")); err != nil {
			t.Fatal(err)
		}
		x.settle()
		if x.w.cols != 130 || string(x.w.typed) != "ls\r" {
			t.Errorf("%d columns, typed %q", x.w.cols, x.w.typed)
		}
		x.finish()
	})
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
