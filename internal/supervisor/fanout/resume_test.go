// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"bytes"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// back attaches a viewer again, with what its sink has.
func (x *house) back(v *Viewer, s *watching, o AttachOptions) (*Viewer, *watching) {
	x.Helper()
	p := &player{v: v, s: s, o: o}
	p.comeBack(x)
	return p.v, p.s
}

func TestViewerThatComesBackInTimeGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		o := AttachOptions{History: true, Cols: 100, Rows: 30}
		v, s := x.attach(o)
		x.settle()
		x.w.print(3000)
		x.w.commit([]byte("one\r\n"))
		x.settle()
		v.Detach()
		x.settle()
		for range 6 { // nobody is there
			x.w.print(40 << 10)
			x.w.commit(bytes.Repeat([]byte("x"), 30<<10))
		}
		synctest.Wait()
		v, s = x.back(v, s, o)
		if !v.Resumed() {
			t.Fatal("it did not go on")
		}
		x.settle()
		x.w.print(10)
		x.w.commit([]byte("two\r\n"))
		x.settle()
		x.expect(s, "viewer")
		if s.got != 240<<10+10 || !s.anchored || len(s.snapshots) != 1 {
			t.Errorf("%d bytes, anchored %t, %d snapshots", s.got, s.anchored, len(s.snapshots))
		}
		if got := x.h.Stats(); got.Resumes != 1 || got.Snapshots != 1 || !got.Viewers[0].Resumed || got.Drops != 0 {
			t.Errorf("%+v", got)
		}
		x.finish()
	})
}

// What nobody can go on from is seeded, and is exact all the same.
func TestViewerThatComesBackTooLateIsSeeded(t *testing.T) {
	history := AttachOptions{History: true, Cols: 80, Rows: 24}
	screen := AttachOptions{Screen: true}
	for name, c := range map[string]struct {
		o    AttachOptions
		away func(x *house, other *Viewer, m *Mark)
	}{
		"another hub":     {screen, func(_ *house, _ *Viewer, m *Mark) { m.Stream = "of before" }},
		"no mark":         {screen, func(_ *house, _ *Viewer, m *Mark) { *m = Mark{} }},
		"before the hub":  {screen, func(_ *house, _ *Viewer, m *Mark) { m.Position = 76 }},
		"from the future": {screen, func(_ *house, _ *Viewer, m *Mark) { m.Position++ }},
		"overwritten": {screen, func(x *house, _ *Viewer, _ *Mark) {
			for range ringBytesMax/(60<<10) + 1 {
				x.w.print(60 << 10)
			}
		}},
		"another size": {screen, func(x *house, other *Viewer, _ *Mark) {
			_ = other.Resize(81, 24)
			x.settle()
		}},
		"another size and back": {screen, func(x *house, other *Viewer, _ *Mark) {
			_ = other.Resize(81, 24)
			x.settle()
			_ = other.Resize(80, 24)
			x.settle()
		}},
		"while the size changes": {screen, func(x *house, other *Viewer, _ *Mark) { _ = other.Resize(81, 24) }},
		"history without anchor": {history, func(_ *house, _ *Viewer, m *Mark) { m.Epoch, m.Offset = 0, 0 }},
		"history overwritten":    {history, func(x *house, _ *Viewer, _ *Mark) { x.w.commit(make([]byte, ringBytesMax+1)) }},
		"history wiped":          {history, func(x *house, _ *Viewer, _ *Mark) { x.w.wipe() }},
		"history with a hole": {history, func(x *house, _ *Viewer, _ *Mark) {
			x.w.log = append(x.w.log, "never sent"...)
			x.w.commit([]byte("after\r\n"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				x := open(t, Options{})
				other, _ := x.attach(AttachOptions{Cols: 80, Rows: 24})
				v, s := x.attach(c.o)
				x.settle()
				v.Detach()
				x.settle()
				heir, m := s.heir(v.Stream())
				c.away(x, other, &m)
				synctest.Wait()
				c.o.Resume = m
				v, err := x.h.Attach(heir, c.o)
				if err != nil {
					t.Fatal(err)
				}
				if v.Resumed() {
					t.Error("it went on")
				}
				x.settle()
				x.w.print(10)
				x.settle()
				x.expect(heir, "viewer")
				if heir.resizes != x.w.resizes || len(heir.snapshots) != 1 || heir.anchored != c.o.History {
					t.Errorf("painted after %d of %d changes of size, %d snapshots", heir.resizes, x.w.resizes, len(heir.snapshots))
				}
				x.finish()
			})
		})
	}
}

// A replay for another viewer paints nobody else: who leaves between it and its own painting has missed that.
func TestViewerThatMissedItsPaintingIsSeeded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		o := AttachOptions{Screen: true, Cols: 80, Rows: 24}
		v, s := x.attach(o)
		x.settle()
		x.w.allow(0)
		if err := v.Resize(90, 20); err != nil {
			t.Fatal(err)
		}
		x.attach(AttachOptions{})
		x.w.allow(3)
		<-time.After(busyRetry)
		synctest.Wait()
		x.w.work(2) // the change of size, and the whole replay for the newcomer
		x.w.print(10)
		synctest.Wait()
		v.Detach()
		synctest.Wait()
		o.Cols, o.Rows = 0, 0
		v, s = x.back(v, s, o)
		x.w.allow(-1)
		x.settle()
		<-time.After(time.Second)
		x.settle()
		if v.Resumed() || s.resizes != x.w.resizes {
			t.Errorf("went on: %t, painted after %d of %d changes of size", v.Resumed(), s.resizes, x.w.resizes)
		}
		x.finish()
	})
}

func TestNothingIsKeptForWhoDoesNotComeBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		x.w.print(1000)
		synctest.Wait()
		if x.h.mu.output.on {
			t.Error("output is kept before anybody was attached")
		}
		v, s := x.attach(AttachOptions{History: true})
		x.settle()
		x.w.print(1000)
		x.w.commit([]byte("one\r\n"))
		x.settle()
		v.Detach()
		<-time.After(resumeTimeout - time.Nanosecond)
		x.h.mu.Lock()
		if len(x.h.mu.output.pieces) != 1 || len(x.h.mu.history.pieces) != 1 {
			t.Fatal("forgotten too early")
		}
		kept := x.h.mu.output.pieces[0]
		x.h.mu.Unlock()
		<-time.After(time.Nanosecond)
		x.settle()
		x.h.mu.Lock()
		if len(x.h.mu.output.pieces)+len(x.h.mu.history.pieces) != 0 || x.h.output.tail != nil || x.h.history.tail != nil || x.w.subscribed {
			t.Error("something is still kept")
		}
		if !bytes.Equal(kept.bytes(), make([]byte, kept.to-kept.from)) {
			t.Error("the text lingers")
		}
		x.h.mu.Unlock()
		x.w.print(1)
		v, s = x.back(v, s, AttachOptions{History: true})
		x.settle()
		if v.Resumed() {
			t.Error("it went on")
		}
		x.expect(s, "viewer")
		x.finish()
		if len(x.h.mu.output.pieces) != 0 || x.h.output.tail != nil {
			t.Error("something is kept after the end")
		}
	})
}

func TestExitThatWasMissedIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		v, s := x.attach(AttachOptions{})
		x.settle()
		v.Detach()
		x.settle()
		x.w.print(100)
		x.w.exit(4)
		synctest.Wait()
		v, s = x.back(v, s, AttachOptions{})
		x.settle()
		if e, n := has[Exit](s); !v.Resumed() || n != 1 || *e.ExitCode != 4 || s.got != 100 {
			t.Errorf("went on: %t, exit told %d times after %d bytes", v.Resumed(), n, s.got)
		}
		x.finish()
	})
}

func TestRingHasTheNewestBytesAndNoOthers(t *testing.T) {
	var l lane
	r := ring{lane: &l}
	const from = 1000
	r.restart(from)
	var all []byte
	for i := 0; len(all) < 2*ringBytesMax; i++ {
		step := outputAt(uint64(len(all)), 1+i*37%9000)
		all = append(all, step...)
		for len(step) > 0 {
			var p piece
			p, step = l.write(step, 1)
			if !r.keep(p) {
				l.release(p, 1)
			}
		}
		if r.bytes > ringBytesMax || len(r.pieces) > ringBytesMax/chunkBytes+2 {
			t.Fatalf("%d bytes in %d pieces", r.bytes, len(r.pieces))
		}
	}
	if r.bytes < ringBytesMax-chunkBytes {
		t.Errorf("%d bytes", r.bytes)
	}
	start := len(all) - r.bytes
	for _, at := range []int{start, start + 1, start + chunkBytes - 1, start + chunkBytes, len(all) - 1, len(all)} {
		pieces, ok := r.since(from + uint64(at))
		var got []byte
		for _, p := range pieces {
			got = append(got, p.bytes()...)
		}
		if !ok || !bytes.Equal(got, all[at:]) || slices.ContainsFunc(pieces, func(p piece) bool { return p.from >= p.to }) {
			t.Errorf("since %d: %t, %d bytes, want %d", at, ok, len(got), len(all)-at)
		}
	}
	for _, at := range []int{start - 1, len(all) + 1, -from} {
		if _, ok := r.since(uint64(from + at)); ok {
			t.Errorf("it has the bytes since %d", at)
		}
	}
	r.wipe()
	if _, ok := r.since(from + uint64(len(all))); ok || l.tail != nil {
		t.Error("it has something after a wipe")
	}
}
