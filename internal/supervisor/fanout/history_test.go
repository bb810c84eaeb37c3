// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"
	"testing/synctest"
	"time"

	"spawn/internal/sessiond/wire"
)

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
