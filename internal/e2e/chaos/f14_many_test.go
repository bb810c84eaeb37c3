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
	listsOfAll     = 15
	// What a host full of terminals may cost, in bytes, as promised for a thousand: spawnd's memory, that of one worker
	// with its share of what all have in common, and a worker's program.
	residentMax = 120 << 20
	workerMax   = 3584 << 10
	programMax  = 5_000_000
	// What of a thousand is promised: how long starting, listing, adopting and closing all take, and what share of one core
	// they take while nothing happens.
	startAllPromise = 30 * time.Second
	listAllPromise  = 50 * time.Millisecond
	adoptAllPromise = time.Second
	closeAllPromise = 20 * time.Second
	idlePromise     = 0.02
	// idleTime has one of each terminal's slow looks in it, which come once a minute.
	idleTime = time.Minute
)

// F14: a host full of terminals. All come up, spawnd's memory is bounded, the next spawnd adopts all in time, they take
// next to nothing while they are idle, and closing them leaves no file, no process and no descriptor.
func TestF14ManyTerminals(t *testing.T) {
	c := rig.Begin(t, "F14 many terminals")
	h := rig.NewHost(t)
	d := h.Serve()
	descriptors := d.Descriptors()
	want := rig.Size(200, 1000)
	began := time.Now()
	each(want, func() error {
		return h.Socket().Call(t.Context(), verbs.PaneNew, verbs.PaneNewParams{Argv: []string{"/bin/sh"}, Cols: 80, Rows: 24}, &verbs.PaneResult{})
	}, launchesAtOnce, t.Error)
	rig.Times{time.Since(began)}.Require(t, "starting all", 100, startAllPromise)
	requireQuickLists(h)
	before := h.Panes()
	if n := running(before); n != want {
		t.Fatalf("%d of %d terminals run", n, want)
	}
	d.Kill()
	c.Faults++
	began = time.Now()
	d = h.Serve()
	rig.Times{time.Since(began)}.Require(t, "adopting all", 100, adoptAllPromise)
	rig.SamePanes(t, before, h.Panes())
	requireSmall(h, d)
	if rig.Long() { // a minute in which nothing else happens
		requireIdle(h, d)
	}
	began = time.Now()
	var mu sync.Mutex
	each(want, func() error {
		mu.Lock()
		id := before[0].ID
		before = before[1:]
		mu.Unlock()
		return h.Socket().Call(t.Context(), verbs.PaneClose, verbs.PaneCloseParams{Pane: id}, &verbs.Empty{})
	}, rig.Size(50, 200), t.Error) // a shell ignores TERM, so each takes two seconds
	rig.Times{time.Since(began)}.Require(t, "closing all", 100, closeAllPromise)
	rig.Await(t, "spawnd has closed all it had open", func() bool { return d.Descriptors() <= descriptors+descriptorsSlack })
	c.Runs = want
	d.Stop()
	h.AwaitNothingLeft()
}

// requireQuickLists lists all a few times.
func requireQuickLists(h *rig.Host) {
	h.T.Helper()
	var took rig.Times
	for range listsOfAll {
		took = append(took, h.TimeList())
	}
	took.Require(h.T, "a list of all", 50, listAllPromise)
}

// requireIdle takes the time of spawnd and all workers while nothing happens.
func requireIdle(h *rig.Host, d *rig.Daemon) {
	h.T.Helper()
	pids := append(h.Workers(), d.Cmd.Process.Pid)
	spent := func() (sum time.Duration) {
		for _, pid := range pids {
			sum += rig.CPU(h.T, pid)
		}
		return sum
	}
	began, before := time.Now(), spent()
	<-time.After(idleTime)
	share := (spent() - before).Seconds() / time.Since(began).Seconds()
	h.T.Logf("%d idle terminals take %.2f %% of a core", len(pids)-1, 100*share)
	if share > idlePromise {
		h.T.Errorf("idle terminals take %.2f %% of a core, want %.2f", 100*share, 100*idlePromise)
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

// each does something n times, so many at once.
func each(n int, do func() error, atOnce int, complain func(...any)) {
	places := make(chan struct{}, atOnce)
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
