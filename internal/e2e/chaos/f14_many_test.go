// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"sync"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
	"spawn/internal/supervisor/verbs"
)

const (
	launchesAtOnce = 16 // callers that ask for terminals side by side
	residentMax    = 256 << 20
	// adoptAllMax is how long a start may take that adopts all, ten times what is promised for 1,000 on a machine
	// that does nothing else.
	adoptAllMax = 20 * time.Second
)

// F14: a host full of terminals. All come up, spawnd's memory is bounded, the next spawnd adopts all in time, and
// closing them leaves no file, no process and no descriptor.
func TestF14ManyTerminals(t *testing.T) {
	c := rig.Begin(t, "F14 many terminals")
	h := rig.NewHost(t)
	d := h.Serve()
	descriptors := d.Descriptors()
	want := rig.Size(100, 1000)
	began := time.Now()
	each(want, func() error {
		return h.Socket().Call(t.Context(), verbs.PaneNew, verbs.PaneNewParams{Argv: []string{"cat"}, Cols: 80, Rows: 24}, &verbs.PaneResult{})
	}, t.Error)
	t.Logf("%d terminals are up after %v", want, time.Since(began))
	before := h.Panes()
	if n := running(before); n != want {
		t.Fatalf("%d of %d terminals run", n, want)
	}
	d.Kill()
	c.Faults++
	began = time.Now()
	d = h.Serve()
	took := time.Since(began)
	t.Logf("adopted after %v; spawnd has %d MiB", took, d.Resident()>>20)
	rig.SamePanes(t, before, h.Panes())
	if took > adoptAllMax {
		t.Errorf("adopting %d terminals took %v", want, took)
	}
	if held := d.Resident(); held > residentMax {
		t.Errorf("spawnd holds %d bytes for %d terminals", held, want)
	}
	var mu sync.Mutex
	each(want, func() error {
		mu.Lock()
		id := before[0].ID
		before = before[1:]
		mu.Unlock()
		return h.Socket().Call(t.Context(), verbs.PaneClose, verbs.PaneCloseParams{Pane: id}, &verbs.Empty{})
	}, t.Error)
	rig.Await(t, "spawnd has closed all it had open", func() bool { return d.Descriptors() <= descriptors+descriptorsSlack })
	c.Runs = want
	d.Stop()
	h.AwaitNothingLeft()
}

// each does something n times, side by side.
func each(n int, do func() error, complain func(...any)) {
	places := make(chan struct{}, launchesAtOnce)
	var running sync.WaitGroup
	for range n {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			if err := do(); err != nil {
				complain(err)
			}
		})
	}
	running.Wait()
}
