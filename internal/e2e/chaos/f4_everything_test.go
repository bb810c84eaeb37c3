// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
	"spawn/internal/sessiond/endpoint"
	"spawn/internal/supervisor/verbs"
)

const (
	crashPanes = 6
	// leftoversCount is how many sessions of earlier crashes lie in the folder; startPromise is how long a start on
	// them may take.
	leftoversCount = 1000
	startPromise   = 5 * time.Second
)

// F4: spawnd and all workers are killed together, as with their control group, on top of a folder full of leftovers.
// The next start takes its bounded time, every terminal is lost and said to be lost, nothing is left, and
// terminals can be had again.
func TestF4EverythingKilled(t *testing.T) {
	c := rig.Begin(t, "F4 everything killed")
	h := rig.NewHost(t)
	folder, err := endpoint.OpenFolder(h.WorkerDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	for range leftoversCount {
		plantLeftover(t, folder)
	}
	began := time.Now()
	d := h.Serve()
	rig.Times{time.Since(began)}.Require(t, fmt.Sprintf("a start on %d leftovers", leftoversCount), 100, startPromise)
	for range rig.Size(20, 1000) {
		loads := h.StartLoads(crashPanes, c.Seed+uint64(c.Runs*crashPanes), linesPerSecond)
		var followers []*rig.Follower
		for _, l := range loads {
			followers = append(followers, h.Follow(l, rig.Screen))
		}
		rig.Pause(c.Random, pauseMax/2)
		pids := h.Processes()
		c.Random.Shuffle(len(pids), func(i, j int) { pids[i], pids[j] = pids[j], pids[i] })
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			c.Faults++
		}
		_ = d.Wait()
		rig.Await(t, "all are dead", func() bool { return len(h.Processes()) == 0 })
		for i, f := range followers {
			_, err := f.Wait()
			if r := h.Record(loads[i]); err != nil || f.Position() > r.Begun {
				t.Errorf("a viewer came to %d of %d bytes, %v", f.Position(), r.Begun, err)
			}
		}
		d = h.Serve()
		for _, p := range h.Panes() {
			if p.State != verbs.PaneLost || p.ExitCode != nil || p.Signal != "" {
				t.Fatalf("after the crash a terminal is %+v", p)
			}
		}
		if left := h.Leftovers(); len(left) > 0 || len(h.Panes()) != crashPanes {
			t.Fatalf("left %v and %d panes", left, len(h.Panes()))
		}
		h.CloseAll()
		c.Runs++
	}
	d.Stop()
	h.AwaitNothingLeft()
}

// plantLeftover makes what a worker that was killed leaves.
func plantLeftover(t *testing.T, folder *endpoint.Folder) {
	t.Helper()
	id := endpoint.NewSessionID()
	r, err := folder.Reserve(id)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := r.Listen()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Release(); err != nil {
		t.Fatal(err)
	}
	_ = ends.Close() // without the reservation it removes no name
	log := filepath.Join(folder.Path(), endpoint.ScrollbackName(id))
	if err := os.Mkdir(log, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(log, "seg-00000001.log"), []byte("ciphertext"), 0o600); err != nil {
		t.Fatal(err)
	}
}
