// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
)

const (
	loadPanes      = 20
	linesPerSecond = rig.LinesPerSecond
	pauseMax       = 300 * time.Millisecond
	// restartMax is how long a start may take that adopts them, ten times what is promised for a machine that does
	// nothing else.
	restartMax = 20 * time.Second
	// descriptorsSlack is by how many open files a spawnd may differ from the one before: those that its runtime
	// opens when it likes.
	descriptorsSlack = 4
)

// F1: terminals under load, spawnd killed at random moments while viewers come and go, and not one byte lost,
// doubled or out of order against the generators' own record; not one terminal lost; nothing left behind.
func TestF1SupervisorKilled(t *testing.T) {
	c := rig.Begin(t, "F1 spawnd killed")
	h := rig.NewHost(t)
	d := h.Serve()
	loads := h.StartLoads(loadPanes, c.Seed, linesPerSecond)
	before := h.Panes()

	var checked uint64
	var longest time.Duration
	descriptors := 0
	for range rig.Size(100, 5000) {
		followers := followAll(h, loads)
		stop := comeAndGo(h, loads, rand.New(rand.NewPCG(c.Seed, uint64(c.Runs))))
		rig.Pause(c.Random, pauseMax)
		d.Kill()
		c.Faults++
		stop()
		for _, f := range followers {
			n, err := f.Wait()
			if err != nil {
				t.Fatalf("after %d kills: %v", c.Faults, err)
			}
			checked += n
		}
		began := time.Now()
		d = h.Serve()
		longest = max(longest, time.Since(began))
		rig.SamePanes(t, before, h.Panes())
		if n := d.Descriptors(); descriptors == 0 {
			descriptors = n
		} else if n > descriptors+descriptorsSlack {
			t.Fatalf("after %d kills spawnd begins with %d open files, the first one had %d", c.Faults, n, descriptors)
		}
		c.Runs++
	}
	t.Logf("%d kills; %d live bytes compared one by one; the longest start took %v", c.Faults, checked, longest)
	if longest > restartMax {
		t.Errorf("a start took %v", longest)
	}
	for _, l := range loads {
		h.Settle(l)
	}
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}

// followAll attaches one viewer with history and one without to each load.
func followAll(h *rig.Host, loads []rig.Load) (followers []*rig.Follower) {
	h.T.Helper()
	for _, l := range loads {
		followers = append(followers, h.Follow(l, rig.History), h.Follow(l, rig.Screen))
	}
	return followers
}

// comeAndGo attaches viewers and lets them go, and sizes what they look at, until it is stopped or spawnd is gone.
func comeAndGo(h *rig.Host, loads []rig.Load, random *rand.Rand) (stop func()) {
	ctx, cancel := context.WithCancel(h.T.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			l := loads[random.IntN(len(loads))]
			f, err := rig.Follow(ctx, h.Socket(), l, rig.Screen)
			if err != nil {
				return
			}
			if cols, rows := rig.AnySize(random); h.Resize(l.Pane.ID, cols, rows) != nil {
				_ = f.Close()
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(random.Int64N(int64(pauseMax / 10)))):
			}
			_ = f.Close()
			if _, err := f.Wait(); err != nil {
				h.T.Error(err)
			}
		}
	})
	return func() { cancel(); running.Wait() }
}
