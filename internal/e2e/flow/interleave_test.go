// SPDX-License-Identifier: Apache-2.0

//go:build linux

package flow

import (
	"testing"
	"time"

	"spawn/internal/e2e/rig"
)

const (
	watchersCount = 4
	// The load is fast enough that who takes nothing for a second is dropped, and wipes every second or so.
	watchedLines = 20000
	watchedWipes = 20000
	watchedPause = 40 * time.Millisecond
)

// watcher is a viewer that comes and goes, and at times takes nothing.
type watcher struct {
	*rig.Follower
	goOn func() // nil while it takes what comes
}

func (w *watcher) rouse() {
	if w.goOn != nil {
		w.goOn()
		w.goOn = nil
	}
}

// watched is a load with its watchers, and what was counted.
type watched struct {
	*rig.Class
	h        *host
	load     rig.Load
	watchers []*watcher
	seeds    int // viewers that began with a snapshot
	replays  int // whole snapshots that viewers had which have left
	resumes  int
	drops    int
}

// leave detaches a watcher, which has what was on its way then, and must have been right.
func (x *watched) leave(w *watcher) {
	x.Helper()
	_ = w.Close()
	w.rouse()
	if _, err := w.Wait(); err != nil {
		x.Fatal(err)
	}
	x.replays += w.Replays()
}

func (x *watched) comeBack(w *watcher) {
	x.Helper()
	next, resumed, err := w.ComeBack(x.Context(), x.h.Socket(), x.load)
	if err != nil {
		x.Fatal(err)
	}
	w.Follower = next
	if resumed {
		x.resumes++
	} else {
		x.seeds++
	}
}

// restart kills spawnd when nobody looks, so that what it counted is known, and has everybody come back to the next one.
func (x *watched) restart() {
	x.Helper()
	for _, w := range x.watchers {
		x.leave(w)
	}
	x.drops += int(x.h.Viewers(x.load.Pane.ID).Drops)
	x.h.daemon.Kill()
	x.h.daemon = x.h.Serve()
	for _, w := range x.watchers {
		x.comeBack(w)
	}
}

// happensAtLeast sees to what chance may have left out: a watcher that is dropped, and one that resumes.
func (x *watched) happensAtLeast() {
	x.Helper()
	slow, quick := x.watchers[0], x.watchers[1]
	x.leave(slow) // one that stalls already may have been dropped before, and is not again before it takes something
	x.comeBack(slow)
	drops := x.h.Viewers(x.load.Pane.ID).Drops
	slow.goOn = slow.Stall()
	rig.Await(x, "a watcher that takes nothing is dropped", func() bool { return x.h.Viewers(x.load.Pane.ID).Drops > drops })
	quick.rouse()
	for x.resumes == 0 {
		x.leave(quick)
		x.comeBack(quick)
	}
}

// Whatever happens in whatever order to viewers of a real worker, its size, its history and the spawnd between them,
// what each has in the end is the worker's log; and it was never told anything twice but by one snapshot a gap.
func TestAnyInterleavingOverARealWorker(t *testing.T) {
	c := rig.Begin(t, "F17 any interleaving")
	x := &watched{Class: c, h: newHost(t)}
	x.load = x.h.StartScript(rig.Script{Seed: c.Seed, Wipes: watchedWipes}, watchedLines)
	for range watchersCount {
		x.watchers = append(x.watchers, &watcher{Follower: x.h.Follow(x.load, rig.History)})
		x.seeds++
	}
	for range rig.Size(300, 20000) {
		w := x.watchers[c.Random.IntN(watchersCount)]
		switch n := c.Random.IntN(100); {
		case n < 10 && w.goOn == nil:
			w.goOn = w.Stall()
		case n < 11:
			w.rouse()
		case n < 13:
			x.leave(w)
			x.comeBack(w)
		case n < 18:
			cols, rows := rig.AnySize(c.Random)
			if err := x.h.Resize(x.load.Pane.ID, cols, rows); err != nil {
				t.Fatal(err)
			}
		case n < 19:
			x.restart()
		default:
			rig.Pause(c.Random, watchedPause)
			continue
		}
		c.Faults++
	}
	x.happensAtLeast()
	for _, w := range x.watchers {
		w.rouse()
	}
	x.h.Finish(x.load)
	last := x.h.Follow(x.load, rig.History)
	defer last.Close()
	x.seeds++
	if _, _, err := last.FullSnapshot(); err != nil {
		t.Fatal(err)
	}
	x.replays-- // the one that was asked for
	for _, w := range append(x.watchers, &watcher{Follower: last}) {
		rig.Await(t, "everybody has all of it", func() bool { return w.Ended() || w.has(last) })
		if err := rig.SameHistory(last, w.Follower); err != nil {
			t.Error(err)
		}
		c.Runs++
	}
	for _, w := range x.watchers {
		x.leave(w)
	}
	x.leave(&watcher{Follower: last})
	x.drops += int(x.h.Viewers(x.load.Pane.ID).Drops)
	t.Logf("%d whole snapshots for %d beginnings and %d drops; %d resumes", x.replays, x.seeds, x.drops, x.resumes)
	if x.replays > x.seeds+x.drops {
		t.Errorf("%d whole snapshots for %d beginnings and %d drops", x.replays, x.seeds, x.drops)
	}
}

// has reports whether the watcher is as far as another viewer.
func (w *watcher) has(other *rig.Follower) bool {
	epoch, offset, anchored := w.Anchor()
	wantEpoch, wantOffset, wanted := other.Anchor()
	return anchored && wanted && epoch == wantEpoch && offset == wantOffset && w.Position() == other.Position()
}
