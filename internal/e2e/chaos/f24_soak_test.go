// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"syscall"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
	"spawn/internal/supervisor/verbs"
)

const (
	soakPanes = 8
	soakStep  = 100 * time.Millisecond
	// workerGrowthMax is by how much one worker may grow after the first tenth of a soak, in bytes. Its log is on
	// disk and its screen keeps its size.
	workerGrowthMax = 8 << 20
	// soakMax is how much memory spawnd may have at any moment, in bytes, and soakFiles how many files it may have open
	// beside those of its terminals and of what it begins with.
	soakMax   = 96 << 20
	soakFiles = 16
)

// F24: a little of everything for a long time: spawnd killed, workers stopped, viewers that come and go, terminals
// opened, closed and killed. What must hold holds, and neither spawnd nor a worker that stays grows.
func TestF24Soak(t *testing.T) {
	c := rig.Begin(t, "F24 soak")
	h := rig.NewHost(t)
	d := h.Serve()
	loads := h.StartLoads(soakPanes, c.Seed, linesPerSecond)
	before := h.Panes()
	end := time.Now().Add(time.Duration(rig.Size(10, 7200)) * time.Second)
	early := time.Now().Add(time.Until(end) / 10)
	memory, files := map[int]int64{}, map[int]int{}
	open, most, held := d.Descriptors(), int64(0), 0
	for time.Now().Before(end) {
		d = soakOnce(c, h, d, loads)
		rig.Pause(c.Random, soakStep)
		rig.SamePanes(t, before, h.Panes())
		most, held = max(most, d.Resident()), max(held, d.Descriptors())
		c.Runs++
		if len(memory) == 0 && time.Now().After(early) {
			for _, l := range loads {
				memory[l.Pane.PID], files[l.Pane.PID] = rig.Resident(t, l.Pane.PID), rig.Descriptors(t, l.Pane.PID)
			}
		}
	}
	t.Logf("spawnd had %d MiB at most, and %d files beside %d", most>>20, held-open, open)
	if most > soakMax || held > open+soakFiles {
		t.Errorf("spawnd had %d bytes and %d files open, it began with %d", most, held, open)
	}
	for pid, was := range memory {
		if grown := rig.Resident(t, pid) - was; grown > workerGrowthMax {
			t.Errorf("a worker grew by %d bytes", grown)
		}
		rig.Await(t, "a worker's descriptors are as before", func() bool { return rig.Descriptors(t, pid) <= files[pid] })
	}
	for _, l := range loads {
		h.Settle(l)
	}
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}

// soakOnce does one thing to the host, drawn by chance, and returns the spawnd that serves it then.
func soakOnce(c *rig.Class, h *rig.Host, d *rig.Daemon, loads []rig.Load) *rig.Daemon {
	c.Helper()
	load := loads[c.Random.IntN(len(loads))]
	c.Faults++
	switch c.Random.IntN(10) {
	case 0:
		d.Kill()
		return h.Serve()
	case 1:
		d.Stop()
		return h.Serve()
	case 2, 3:
		stop(c.T, load.Pane.PID)
		rig.Pause(c.Random, soakStep)
		_ = syscall.Kill(load.Pane.PID, syscall.SIGCONT)
	case 4, 5:
		pane := h.NewPane(verbs.PaneNewParams{Argv: []string{"cat"}})
		h.Type(pane.ID, "x")
		if c.Random.IntN(2) == 0 {
			_ = syscall.Kill(pane.PID, syscall.SIGKILL)
		}
		h.KillPane(pane.ID)
	case 6:
		cols, rows := rig.AnySize(c.Random)
		if err := h.Resize(load.Pane.ID, cols, rows); err != nil {
			c.Error(err)
		}
	default:
		f := h.Follow(load, rig.Span(c.Random.IntN(2) == 0))
		rig.Await(c, "live bytes", func() bool { return f.Checked() > 0 || f.Ended() })
		_ = f.Close()
		if _, err := f.Wait(); err != nil {
			c.Error(err)
		}
	}
	return d
}
