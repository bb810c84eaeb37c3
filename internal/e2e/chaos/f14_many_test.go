// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
	"spawn/internal/supervisor/verbs"
)

const (
	launchesAtOnce = 16 // callers that ask for terminals side by side
	// What a host full of terminals may cost, in bytes, as promised for a thousand: spawnd's memory, that of one worker
	// with its share of what all have in common, and a worker's program.
	residentMax = 120 << 20
	workerMax   = 3584 << 10
	programMax  = 5_000_000
	// How long starting, listing and closing all may take, and a start that adopts them: many times what is promised for
	// a thousand on a machine that does nothing else.
	startAllMax = 5 * time.Minute
	adoptAllMax = 20 * time.Second
	listAllMax  = 2 * time.Second
	closeAllMax = 5 * time.Minute
)

// F14: a host full of terminals. All come up, spawnd's memory is bounded, the next spawnd adopts all in time, and
// closing them leaves no file, no process and no descriptor.
func TestF14ManyTerminals(t *testing.T) {
	c := rig.Begin(t, "F14 many terminals")
	h := rig.NewHost(t)
	d := h.Serve()
	descriptors := d.Descriptors()
	want := rig.Size(100, 1000) // what two cores start beside other tests in some seconds
	began := time.Now()
	each(want, func() error {
		return h.Socket().Call(t.Context(), verbs.PaneNew, verbs.PaneNewParams{Argv: []string{"cat"}, Cols: 80, Rows: 24}, &verbs.PaneResult{})
	}, t.Error)
	within(t, "starting all", began, startAllMax)
	began = time.Now()
	before := h.Panes()
	within(t, "a list of all", began, listAllMax)
	if n := running(before); n != want {
		t.Fatalf("%d of %d terminals run", n, want)
	}
	d.Kill()
	c.Faults++
	began = time.Now()
	d = h.Serve()
	within(t, "adopting all", began, adoptAllMax)
	rig.SamePanes(t, before, h.Panes())
	requireSmall(h, d)
	began = time.Now()
	var mu sync.Mutex
	each(want, func() error {
		mu.Lock()
		id := before[0].ID
		before = before[1:]
		mu.Unlock()
		return h.Socket().Call(t.Context(), verbs.PaneClose, verbs.PaneCloseParams{Pane: id}, &verbs.Empty{})
	}, t.Error)
	within(t, "closing all", began, closeAllMax)
	rig.Await(t, "spawnd has closed all it had open", func() bool { return d.Descriptors() <= descriptors+descriptorsSlack })
	c.Runs = want
	d.Stop()
	h.AwaitNothingLeft()
}

// within says how long something took, which must not be far more than was promised.
func within(t *testing.T, what string, began time.Time, most time.Duration) {
	t.Helper()
	took := time.Since(began)
	t.Logf("%s took %v", what, took)
	if took > most {
		t.Errorf("%s took %v", what, took)
	}
}

// requireSmall holds the programs and their memory against what is promised.
func requireSmall(h *rig.Host, d *rig.Daemon) {
	h.T.Helper()
	var each int64
	workers := h.Workers()
	for _, pid := range workers {
		each += rig.Proportional(h.T, pid) / int64(len(workers))
	}
	program, err := os.Stat(filepath.Join(h.Programs, "spawn-worker"))
	if err != nil {
		h.T.Fatal(err)
	}
	held := d.Resident()
	h.T.Logf("spawnd has %d KiB, a worker %d KiB, its program %d bytes", held>>10, each>>10, program.Size())
	if held > residentMax || each > workerMax || each == 0 || program.Size() > programMax {
		h.T.Errorf("spawnd has %d bytes, a worker %d, its program %d", held, each, program.Size())
	}
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
