// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestBoundFollowsThePace(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name  string
		bytes int // of each call
		call  time.Duration
		calls int
		stuck time.Duration // in the call under way
		want  int
	}{
		{"new", 0, 0, 0, 0, queueBytesNew},
		{"new and stuck for a moment", 0, 0, 0, paceWindow - 1, queueBytesNew},
		{"new and dead", 0, 0, 0, paceWindow, queueBytesMin},
		{"fast", chunkBytes, ms / 10, 300, 0, queueBytesMax},
		{"fast and stuck for a moment", chunkBytes, ms / 10, 300, 400 * ms, queueBytesMax},
		{"fast and dead", chunkBytes, ms / 10, 300, time.Minute, queueBytesMin},
		{"a megabyte a second", 1 << 13, 1000 * ms >> 7, 1 << 7, 0, 1 << 20},
		{"a byte a second", 1, time.Second, 10, 0, queueBytesMin},
		{"one long pause in a fast run", chunkBytes, 2 * time.Second, 1, 0, queueBytesMin},
	} {
		p := pace{last: queueBytesNew}
		for range c.calls {
			p.took(c.bytes, c.call)
		}
		if got := p.bound(c.stuck); got < c.want*9/10 || got > c.want*11/10 {
			t.Errorf("%s: %d bytes may wait, want about %d", c.name, got, c.want)
		}
	}
}

func TestFastAgainAfterAPause(t *testing.T) {
	p := pace{last: queueBytesNew}
	p.took(chunkBytes, 2*time.Second)
	for range queueBytesMax / chunkBytes {
		p.took(chunkBytes, 10*time.Microsecond)
	}
	if got := p.bound(0); got != queueBytesMax {
		t.Errorf("%d bytes may wait", got)
	}
}

// Keys that echo one by one take as long as they take, which says nothing about what the viewer could.
func TestQuietPaneSaysNothingOfThePace(t *testing.T) {
	s := newStack()
	for range 10_000 {
		s.write(lotOutput, "x")
		it, _ := s.take()
		s.now = s.now.Add(time.Millisecond)
		s.release(it)
	}
	if got := s.bound(); got != queueBytesNew {
		t.Errorf("%d bytes may wait", got)
	}
}

// A viewer that has shown that it is fast may fall behind by megabytes; one that takes nothing may not.
func TestFloodDropsWhoTakesNothingAndNotWhoIsFast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		v, fast := x.attach(AttachOptions{})
		_, dead := x.attach(AttachOptions{})
		x.settle()
		dead.stall()
		for range 6 { // it works off backlogs at once
			resume := fast.stall()
			for range 14 {
				x.w.print(64 << 10)
			}
			synctest.Wait()
			resume()
			synctest.Wait()
		}
		resume := fast.stall()
		for range 60 {
			x.w.print(64 << 10)
		}
		synctest.Wait()
		stats := x.h.Stats()
		if b := stats.Viewers[0]; b.Drops != 0 || b.Waiting < 60*64<<10-chunkBytes || b.Bound != queueBytesMax {
			t.Errorf("the fast one: %+v", b)
		}
		if b := stats.Viewers[1]; b.Drops != 1 || b.Waiting > 4*itemCharge || stats.Drops != 1 {
			t.Errorf("the dead one: %+v", b)
		}
		// Then it stops taking too: what may wait shrinks below what does, and the next byte drops it.
		<-time.After(time.Minute)
		x.w.print(1)
		synctest.Wait()
		if b := x.h.Stats().Viewers[0]; b.Drops != 1 || b.Waiting > 4*itemCharge || b.Bound != queueBytesMax && b.Waiting > 0 {
			t.Errorf("the fast one that died: %+v", b)
		}
		resume()
		synctest.Wait()
		if _, n := has[Dropped](fast); n != 1 {
			t.Errorf("dropped %d times", n)
		}
		if err := v.Snapshot(false); err != nil {
			t.Fatal(err)
		}
		x.settle()
		x.expect(fast, "viewer that came back")
		x.finish()
	})
}

// A program that prints slowly costs no more for a dead viewer than the floor.
func TestDeadViewerHoldsNoMoreThanTheFloor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		_, s := x.attach(AttachOptions{})
		x.settle()
		s.stall()
		most := 0
		for range 300 {
			x.w.print(4 << 10)
			<-time.After(100 * time.Millisecond)
			most = max(most, x.h.Stats().Viewers[0].Waiting)
		}
		if b := x.h.Stats().Viewers[0]; most > queueBytesMin || b.Drops != 1 {
			t.Errorf("up to %d bytes waited, %+v", most, b)
		}
		x.finish()
	})
}
