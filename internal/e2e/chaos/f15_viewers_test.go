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
	cyclers    = 20 // viewers that come and go side by side
	cycleMax   = 10 * time.Millisecond
	cyclesBase = 100 // after which spawnd is taken as it must remain
	// growthMax is by how much spawnd may grow between the first tenth of the cycles and the last at the gate, in bytes.
	// Meanwhile the logs fill, so each snapshot under way is of megabytes and no more of kilobytes, and spawnd's list of
	// events fills too. A viewer that was forgotten in each of 10,000 cycles would be far more, with 8 KiB for its goroutine
	// alone.
	growthMax = 32 << 20
	// growthPercent is by how much more spawnd may have at the end of thousands of cycles, where a log is full from the
	// beginning: of goroutines since the first hundred, of heap since the middle, by when its list of events has filled.
	growthPercent = 5
	heapSlack     = 2 // MiB, in which it is told and which one snapshot more or less takes
)

// F15: viewers attach and detach thousands of times, half of them with a snapshot under way. None sees a gap or a
// byte twice, and neither spawnd's heap, goroutines and memory nor its descriptors grow with their number.
func TestF15ViewersComeAndGo(t *testing.T) {
	c := rig.Begin(t, "F15 viewers come and go")
	h := rig.NewHost(t)
	d := h.Serve()
	loads := h.StartLoads(2, c.Seed, 10*linesPerSecond)
	if rig.Long() {
		h.KillPane(loads[0].Pane.ID)
		loads[0] = h.StartFull(c.Seed+2, 10*linesPerSecond)
	}
	d.Kill()
	d = h.Serve()
	cycle(c, h, loads, cyclesBase)
	goroutines := d.Goroutines()
	d, err := h.TryServe([]string{rig.TellHeap}) // it starts no worker, which would tell too
	if err != nil {
		t.Fatal(err)
	}
	tenth := rig.Size(2000, 10000) / 10
	var parts [10]part
	for i := range parts {
		cycle(c, h, loads, tenth)
		parts[i] = take(d, parts[max(0, i-1)].collections)
	}
	t.Logf("%d cycles; of each tenth %+v", c.Runs, parts)
	first, middle, last := parts[0], parts[5], parts[9]
	if grown := last.memory - first.memory; grown > growthMax {
		t.Errorf("spawnd grew by %d bytes", grown)
	}
	if rig.Long() && last.heap > middle.heap*(100+growthPercent)/100+heapSlack {
		t.Errorf("spawnd keeps %d MiB at the end, %d in the middle", last.heap, middle.heap)
	}
	rig.Await(t, "the descriptors are as before", func() bool { return d.Descriptors() <= first.descriptors+descriptorsSlack })
	if n := d.Goroutines(); n > goroutines*(100+growthPercent)/100+goroutinesSlack {
		t.Errorf("spawnd has %d goroutines after %d cycles, %d after %d", n, c.Runs, goroutines, cyclesBase)
	}
	d = h.Serve()
	for _, l := range loads {
		h.Settle(l)
	}
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}

// part is what spawnd had in a tenth of the cycles.
type part struct {
	memory      int64
	descriptors int
	heap        int // MiB that the collections of the tenth kept, at least
	collections int // since spawnd began
}

func take(d *rig.Daemon, after int) part {
	p := part{memory: d.Resident(), descriptors: d.Descriptors()}
	p.heap, p.collections = d.Heap(after)
	return p
}

// cycle attaches and detaches n times, half of that with a snapshot under way, and waits until nobody is attached.
func cycle(c *rig.Class, h *rig.Host, loads []rig.Load, n int) {
	c.Helper()
	var left, cuts atomic.Int64
	left.Store(int64(n))
	seed := c.Random.Uint64()
	var running sync.WaitGroup
	for i := range cyclers {
		running.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for left.Add(-1) >= 0 {
				f, err := rig.Follow(c.Context(), h.Socket(), loads[random.IntN(len(loads))], rig.Span(random.IntN(8) == 0))
				if err != nil {
					c.Error(err)
					return
				}
				rig.Pause(random, cycleMax)
				if random.IntN(2) == 0 {
					f.Cut()
					cuts.Add(1)
				}
				_ = f.Close()
				if _, err := f.Wait(); err != nil {
					c.Error(err)
				}
			}
		})
	}
	running.Wait()
	c.Runs += n
	c.Faults += int(cuts.Load())
	rig.Await(c, "nobody is attached", func() bool {
		return len(h.Viewers(loads[0].Pane.ID).Viewers)+len(h.Viewers(loads[1].Pane.ID).Viewers) == 0
	})
}
