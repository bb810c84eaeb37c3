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
	// memorySlopeMax is by how much spawnd or a worker may grow in an hour, in bytes, and filesSlopeMax by how many open
	// files: less than one, since what happens every second and forgets one would be thousands.
	memorySlopeMax = 1 << 20
	filesSlopeMax  = 1
	// What can happen to a soaked host; the first endsOfSpawnd end spawnd.
	soakDraws, endsOfSpawnd = 10, 2
)

// F24: a little of everything for a long time: spawnd killed, workers stopped, viewers that come and go, terminals
// opened, closed and killed. What must hold holds. In the second half spawnd lives, and neither it nor a worker grows.
func TestF24Soak(t *testing.T) {
	c := rig.Begin(t, "F24 soak")
	h := rig.NewHost(t)
	d := h.Serve()
	loads := h.StartLoads(soakPanes, c.Seed, linesPerSecond)
	before := h.Panes()
	half := time.Duration(rig.Size(5, 3600)) * time.Second
	memory, files := map[int]int64{}, map[int]int{}
	open, most, held := d.Descriptors(), int64(0), 0
	step := func(least int) {
		d = soakOnce(c, h, d, loads, least+c.Random.IntN(soakDraws-least))
		rig.Pause(c.Random, soakStep)
		rig.SamePanes(t, before, h.Panes())
		most, held = max(most, d.Resident()), max(held, d.Descriptors())
		c.Runs++
	}
	for end, early := time.Now().Add(half), time.Now().Add(half/5); time.Now().Before(end); {
		step(0)
		if len(memory) == 0 && time.Now().After(early) {
			for _, l := range loads {
				memory[l.Pane.PID], files[l.Pane.PID] = rig.Resident(t, l.Pane.PID), rig.Descriptors(t, l.Pane.PID)
			}
		}
	}
	lives := []*life{newLife("spawnd", d.Cmd.Process.Pid)}
	for _, l := range loads {
		lives = append(lives, newLife("worker", l.Pane.PID))
	}
	// Its list of events fills at first, and its runtime finds how much heap it needs.
	for begin, end := time.Now().Add(half/5), time.Now().Add(half); time.Now().Before(end); {
		step(endsOfSpawnd)
		for _, l := range lives {
			if time.Now().After(begin) {
				l.look(t)
			}
		}
	}
	t.Logf("spawnd had %d MiB at most, and %d files beside %d", most>>20, held-open, open)
	if most > soakMax || held > open+soakFiles {
		t.Errorf("spawnd had %d bytes and %d files open, it began with %d", most, held, open)
	}
	for _, l := range lives {
		l.requireLevel(t)
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

// life is a process that lives through the second half of a soak.
type life struct {
	name          string
	pid           int
	first         int // files at the first look
	memory, files *rig.Trend
}

func newLife(name string, pid int) *life {
	every := time.Duration(rig.Size(1, 60)) * time.Second
	return &life{name: name, pid: pid, memory: rig.NewTrend(every), files: rig.NewTrend(every)}
}

func (l *life) look(t *testing.T) {
	t.Helper()
	now, files := time.Now(), rig.Descriptors(t, l.pid)
	if l.first == 0 {
		l.first = files
	}
	l.memory.Look(now, rig.Resident(t, l.pid))
	l.files.Look(now, int64(files))
}

// requireLevel wants what it has not to rise. Seconds tell no slope, so there the files alone are held to what they were.
func (l *life) requireLevel(t *testing.T) {
	t.Helper()
	memory, files := l.memory.PerHour(), l.files.PerHour()
	t.Logf("%s %d: %+.0f KiB and %+.2f files an hour, by %d points", l.name, l.pid, memory/1024, files, l.memory.Points())
	if rig.Long() && (memory > memorySlopeMax || files > filesSlopeMax) {
		t.Errorf("%s grows by %.0f bytes and %.2f files an hour", l.name, memory, files)
	}
	rig.Await(t, l.name+" has closed what it had opened", func() bool { return rig.Descriptors(t, l.pid) <= l.first+descriptorsSlack })
}

// soakOnce does what was drawn to the host, and returns the spawnd that serves it then.
func soakOnce(c *rig.Class, h *rig.Host, d *rig.Daemon, loads []rig.Load, draw int) *rig.Daemon {
	c.Helper()
	load := loads[c.Random.IntN(len(loads))]
	c.Faults++
	switch draw {
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
