// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
)

const (
	cyclers  = 20 // viewers that come and go side by side
	cycleMax = 10 * time.Millisecond
	// growthMax is by how much spawnd may grow between the first tenth of the cycles and the last, in bytes. Meanwhile the
	// logs fill, so each snapshot under way is of megabytes and no more of kilobytes, and spawnd's list of events
	// fills too. A viewer that was forgotten in each of 10,000 cycles would be far more, with 8 KiB for its goroutine alone.
	growthMax = 32 << 20
)

// F15: viewers attach and detach thousands of times, half of them with a snapshot under way. None sees a gap or a
// byte twice, and neither spawnd's memory nor its descriptors grow with their number.
func TestF15ViewersComeAndGo(t *testing.T) {
	c := rig.Begin(t, "F15 viewers come and go")
	h := rig.NewHost(t)
	d := h.Serve()
	loads := h.StartLoads(2, c.Seed, 10*linesPerSecond)
	cycles := int64(rig.Size(2000, 10000))
	base, descriptors := int64(0), 0
	for part := range int64(10) {
		n, cut := cycle(t, h, loads, cycles/10, c.Seed+uint64(part))
		c.Runs += n
		c.Faults += cut
		rig.Await(t, "nobody is attached", func() bool {
			return len(h.Viewers(loads[0].Pane.ID).Viewers)+len(h.Viewers(loads[1].Pane.ID).Viewers) == 0
		})
		if part == 0 {
			base, descriptors = d.Resident(), d.Descriptors()
		}
	}
	grown := d.Resident() - base
	t.Logf("%d cycles; spawnd grew by %d KiB", c.Runs, grown>>10)
	if grown > growthMax {
		t.Errorf("spawnd grew by %d bytes", grown)
	}
	rig.Await(t, "the descriptors are as before", func() bool { return d.Descriptors() <= descriptors+descriptorsSlack })
	for _, l := range loads {
		h.Settle(l)
	}
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}

// cycle attaches and detaches n times, and returns how often, and how often with a snapshot under way.
func cycle(t *testing.T, h *rig.Host, loads []rig.Load, n int64, seed uint64) (done, cut int) {
	t.Helper()
	var left, cuts atomic.Int64
	left.Store(n)
	var running sync.WaitGroup
	for i := range cyclers {
		running.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for left.Add(-1) >= 0 {
				f, err := rig.Follow(t.Context(), h.Socket(), loads[random.IntN(len(loads))], rig.Span(random.IntN(8) == 0))
				if err != nil {
					t.Error(err)
					return
				}
				rig.Pause(random, cycleMax)
				if random.IntN(2) == 0 {
					f.Cut()
					cuts.Add(1)
				}
				_ = f.Close()
				if _, err := f.Wait(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	return int(n), int(cuts.Load())
}
