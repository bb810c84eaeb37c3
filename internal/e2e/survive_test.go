// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"spawn/internal/supervisor/verbs"
)

const (
	loadPanes      = 20
	killsGate      = 100
	killsLong      = 2000
	linesPerSecond = 100 // of each generator
	// logHolds is how many bytes of the generators' lines a worker's log certainly keeps. A run that takes
	// longer writes more, and then the oldest lines may be gone; what is there is whole all the same.
	logHolds = 1 << 20
	pauseMax = 300 * time.Millisecond
)

// kills is how often spawnd is killed: SPAWN_CHAOS=long for hours of it.
func kills() int {
	if os.Getenv("SPAWN_CHAOS") == "long" {
		return killsLong
	}
	return killsGate
}

func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv("SPAWN_SEED"); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatalf("SPAWN_SEED: %v", err)
		}
	}
	t.Logf("SPAWN_SEED=%d replays this run", seed)
	return seed
}

// load is one terminal that runs the generator.
type load struct {
	pane   verbs.Pane
	seed   uint64
	record string // path
}

func (h *host) startLoads(n int, seed uint64) []load {
	h.t.Helper()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	loads := make([]load, n)
	for i := range loads {
		l := load{seed: seed + uint64(i), record: filepath.Join(h.dir, fmt.Sprintf("record-%d", i))}
		l.pane = h.newPane(verbs.PaneNewParams{
			Argv: []string{self, generatorArg, strconv.FormatUint(l.seed, 10), l.record, strconv.Itoa(linesPerSecond)},
			Cwd:  h.dir, Cols: 80, Rows: 24, Name: fmt.Sprintf("load %d", i),
		})
		loads[i] = l
	}
	return loads
}

// The promise: 20 terminals under load, spawnd killed at 100 random moments, and not one byte lost, doubled
// or out of order against the generators' own record; not one terminal lost; nothing left behind.
func TestSurvivesKillOfSpawnd(t *testing.T) {
	seed := seedOf(t)
	random := rand.New(rand.NewPCG(seed, 0))
	h := newHost(t)
	d := h.serve()
	loads := h.startLoads(loadPanes, seed)
	before := h.panes()

	var checked uint64
	for range kills() {
		followers := h.followAll(loads)
		pause(random, pauseMax)
		d.kill()
		for i, f := range followers {
			if err := <-f.done; err != nil {
				t.Fatalf("terminal %s: %v", loads[i].pane.ID, err)
			}
			checked += f.checked
		}
		d = h.serve()
		assertSamePanes(t, before, h.panes())
	}
	t.Logf("%d kills; %d live bytes compared one by one", kills(), checked)
	for _, l := range loads {
		h.settle(l)
	}
	h.closeAll()
	d.stop()
	h.awaitNothingLeft()
}

func pause(random *rand.Rand, most time.Duration) {
	<-time.After(time.Duration(random.Int64N(int64(most))))
}

func (h *host) followAll(loads []load) []*follower {
	h.t.Helper()
	followers := make([]*follower, len(loads))
	for i, l := range loads {
		f, err := follow(h.t.Context(), h.socket(), l.pane.ID, l.seed)
		if err != nil {
			h.t.Fatal(err)
		}
		followers[i] = f
	}
	return followers
}

// settle stops a generator and holds the whole document against its record.
func (h *host) settle(l load) {
	h.t.Helper()
	f, err := follow(h.t.Context(), h.socket(), l.pane.ID, l.seed)
	if err != nil {
		h.t.Fatal(err)
	}
	defer f.stream.Close()
	typist, _, err := h.socket().Stream(h.t.Context(), verbs.PaneStreamParams{Pane: l.pane.ID})
	if err != nil {
		h.t.Fatal(err)
	}
	defer typist.Close()
	if err := typist.Input([]byte("q")); err != nil {
		h.t.Fatal(err)
	}
	await(h.t, "the generator has left its record", func() bool { _, err := os.Stat(l.record); return err == nil })
	await(h.t, "the exit is known", func() bool { return h.pane(l.pane.ID).State == verbs.PaneExited })
	replay, position, err := f.fullSnapshot()
	if err != nil {
		h.t.Fatal(err)
	}
	record, err := os.ReadFile(l.record)
	if err != nil {
		h.t.Fatal(err)
	}
	if string(record) != strconv.FormatUint(position, 10) {
		h.t.Errorf("terminal %s: the generator wrote %s bytes, the worker counted %d", l.pane.ID, record, position)
	}
	first, err := checkDocument(l.seed, replay, position)
	if err != nil {
		h.t.Errorf("terminal %s: %v", l.pane.ID, err)
	}
	if first != 0 && position <= logHolds {
		h.t.Errorf("terminal %s: the document begins with line %d", l.pane.ID, first)
	}
	if code := h.pane(l.pane.ID).ExitCode; code == nil || *code != 0 {
		h.t.Errorf("terminal %s: exit code %v, want 0", l.pane.ID, code)
	}
}

func (h *host) pane(id string) verbs.Pane {
	h.t.Helper()
	for _, p := range h.panes() {
		if p.ID == id {
			return p
		}
	}
	h.t.Fatalf("no pane %s", id)
	return verbs.Pane{}
}

func (h *host) closeAll() {
	h.t.Helper()
	for _, p := range h.panes() {
		h.call(verbs.PaneClose, verbs.PaneCloseParams{Pane: p.ID}, &verbs.Empty{})
	}
}

func assertSamePanes(t *testing.T, before, after []verbs.Pane) {
	t.Helper()
	key := func(p verbs.Pane) string {
		return strings.Join([]string{p.ID, p.SessionID, p.Name, strconv.Itoa(p.PID), string(p.State)}, " ")
	}
	if len(before) != len(after) {
		t.Fatalf("%d terminals before, %d after", len(before), len(after))
	}
	for i := range before {
		if key(before[i]) != key(after[i]) {
			t.Fatalf("before: %s; after: %s", key(before[i]), key(after[i]))
		}
	}
}

// A worker that is killed takes its own terminal along and no other; how the shell ended is unknown, and
// said to be, also after a restart of spawnd.
func TestSurvivesKillOfAnotherWorker(t *testing.T) {
	h := newHost(t)
	d := h.serve()
	loads := h.startLoads(3, seedOf(t))
	victim := loads[1].pane
	if err := syscall.Kill(victim.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "the terminal is lost", func() bool { return h.pane(victim.ID).State == verbs.PaneLost })
	for range 2 {
		p := h.pane(victim.ID)
		if p.State != verbs.PaneLost || p.ExitCode != nil || p.Signal != "" {
			t.Errorf("the killed worker's terminal: %+v", p)
		}
		if text, _ := h.run("list"); !strings.Contains(text, "status unknown") {
			t.Errorf("list does not say that the status is unknown:\n%s", text)
		}
		for _, l := range []load{loads[0], loads[2]} {
			if p := h.pane(l.pane.ID); p.State != verbs.PaneRunning || p.PID != l.pane.PID {
				t.Errorf("another terminal: %+v", p)
			}
		}
		d.kill()
		d = h.serve()
	}
	h.settle(loads[0])
	h.settle(loads[2])
	h.closeAll()
	d.stop()
	h.awaitNothingLeft()
}
