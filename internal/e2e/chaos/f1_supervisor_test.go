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
	linesPerSecond = rig.LinesPerSecond // of a load that is there to be exact, and not to be much
	// burstLines are of one that is to be much: bursts of a megabyte a second, and as much on the average as fifty terminals
	// with three viewers each can have on two cores of which the test takes its part.
	burstLines = 2000
	pauseMax   = 300 * time.Millisecond
	// restartPromise is how long a start may take that adopts every terminal.
	restartPromise = 2 * time.Second
	// descriptorsSlack is by how many open files a spawnd may differ from the one before: those that its runtime
	// opens when it likes. goroutinesSlack is the same of goroutines: whoever asked last may not be gone yet.
	descriptorsSlack = 4
	goroutinesSlack  = 4
)

// F1: terminals under load, spawnd killed at random moments while viewers come and go and somebody types, and not one
// byte lost, doubled or out of order against the generators' own record; not one terminal lost; nothing left behind.
func TestF1SupervisorKilled(t *testing.T) {
	c := rig.Begin(t, "F1 spawnd killed")
	h := rig.NewHost(t)
	d := h.Serve()
	loads := h.StartBursts(rig.Size(20, 50), c.Seed, rig.Size(4*linesPerSecond, burstLines))
	keys := startKeys(h)
	before := h.Panes()
	d.Kill()
	d = h.Serve()
	rig.SamePanes(t, before, h.Panes())
	goroutines, descriptors := 0, d.Descriptors()
	goroutines = d.Goroutines()
	d = h.Serve()

	var checked uint64
	var starts rig.Times
	for range rig.Size(100, 5000) {
		followers := followAll(c, h, loads)
		stop := comeAndGo(h, loads, rand.New(rand.NewPCG(c.Seed, uint64(c.Runs))))
		typed := keys.press(h)
		rig.Pause(c.Random, pauseMax)
		d.Kill()
		c.Faults++
		stop()
		typed()
		for _, f := range followers {
			n, err := f.Wait()
			if err != nil {
				t.Fatalf("after %d kills: %v", c.Faults, err)
			}
			checked += n
		}
		began := time.Now()
		d = h.Serve()
		starts = append(starts, time.Since(began))
		rig.SamePanes(t, before, h.Panes())
		if n := d.Descriptors(); n > descriptors+descriptorsSlack {
			t.Fatalf("after %d kills spawnd begins with %d open files, the first one had %d", c.Faults, n, descriptors)
		}
		c.Runs++
	}
	t.Logf("%d kills; %d live bytes compared one by one; %d keys", c.Faults, checked, keys.sent)
	starts.Require(t, "a start that adopts all", 100, restartPromise)
	if n := d.Goroutines(); n > goroutines+goroutinesSlack {
		t.Errorf("after %d kills spawnd has %d goroutines, the first one had %d", c.Faults, n, goroutines)
	}
	d = h.Serve()
	keys.settle(h)
	for _, l := range loads {
		h.Settle(l)
	}
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}

// historyEach is among how many loads one has its history followed too, which costs the test more than all the rest.
const historyEach = 4

// followAll attaches three viewers to each load, one of them with history at some that chance decides.
func followAll(c *rig.Class, h *rig.Host, loads []rig.Load) (followers []*rig.Follower) {
	h.T.Helper()
	for _, l := range loads {
		followers = append(followers, h.Follow(l, rig.Span(c.Random.IntN(historyEach) == 0)), h.Follow(l, rig.Screen), h.Follow(l, rig.Screen))
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
