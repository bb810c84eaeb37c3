// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rig

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"spawn/internal/supervisor/verbs"
)

// logHolds is how many bytes of the generators' lines a worker's log certainly keeps. A run that takes
// longer writes more, and then the oldest lines may be gone; what is there is whole all the same.
const logHolds = 1 << 20

// Load is one terminal that runs the generator.
type Load struct {
	Script
	Pane   verbs.Pane
	record string // path
}

// Record is what a generator that has ended has left, which must be of its script. A living one may be writing it.
func (h *Host) Record(l Load) Record {
	h.T.Helper()
	r, err := readRecord(l.record)
	if err == nil {
		err = r.check(l.Script)
	}
	if err != nil {
		h.T.Errorf("terminal %s: %v", l.Pane.ID, err)
	}
	return r
}

// LinesPerSecond is the pace of an ordinary load.
const LinesPerSecond = 100

// StartLoads starts n of them, each at that many lines a second on the average. Their seeds follow each other, and every
// second one wipes its history about once a second.
func (h *Host) StartLoads(n int, seed uint64, linesPerSecond int) []Load {
	h.T.Helper()
	return h.startLoads(n, seed, linesPerSecond, 1)
}

// burstsEach is one of how many ticks of 20 ms has all the lines of a load that comes in bursts.
const burstsEach = 10

// StartBursts is StartLoads, and the lines come in bursts.
func (h *Host) StartBursts(n int, seed uint64, linesPerSecond int) []Load {
	h.T.Helper()
	return h.startLoads(n, seed, linesPerSecond, burstsEach)
}

func (h *Host) startLoads(n int, seed uint64, linesPerSecond, each int) []Load {
	h.T.Helper()
	loads := make([]Load, n)
	for i := range loads {
		s := Script{Seed: seed + uint64(i)}
		if i%2 == 1 {
			s.Wipes = uint64(linesPerSecond)
		}
		loads[i] = h.startScript(s, 0, linesPerSecond, each)
	}
	return loads
}

// StartLoad starts one that never wipes.
func (h *Host) StartLoad(seed uint64, linesPerSecond int) Load {
	h.T.Helper()
	return h.StartScript(Script{Seed: seed}, linesPerSecond)
}

// StartScript starts one.
func (h *Host) StartScript(s Script, linesPerSecond int) Load {
	h.T.Helper()
	return h.startScript(s, 0, linesPerSecond, 1)
}

// fullLines are more than a worker's log holds.
const fullLines = 2 * (8 << 20) / LineBytes

// StartFull starts one that never wipes and waits until its log is full.
func (h *Host) StartFull(seed uint64, linesPerSecond int) Load {
	h.T.Helper()
	l := h.startScript(Script{Seed: seed}, fullLines, linesPerSecond, 1)
	f := h.Follow(l, Screen)
	Await(h.T, "a full log", func() bool { return f.Position() >= fullLines*LineBytes || f.Ended() })
	_ = f.Close()
	if _, err := f.Wait(); err != nil {
		h.T.Error(err)
	}
	return l
}

func (h *Host) startScript(s Script, head, linesPerSecond, each int) Load {
	h.T.Helper()
	l, argv := h.prepare(s, head, linesPerSecond, each)
	l.Pane = h.NewPane(verbs.PaneNewParams{Argv: argv, Cwd: h.Dir, Cols: 80, Rows: 24, Name: fmt.Sprintf("load %d", s.Seed)})
	return l
}

// PrepareScript is for who starts a pane with that argv in another way: it is the load's then.
func (h *Host) PrepareScript(s Script, linesPerSecond int) (l Load, argv []string) {
	h.T.Helper()
	return h.prepare(s, 0, linesPerSecond, 1)
}

func (h *Host) prepare(s Script, head, linesPerSecond, each int) (l Load, argv []string) {
	h.T.Helper()
	self, err := os.Executable()
	if err != nil {
		h.T.Fatal(err)
	}
	l = Load{Script: s, record: filepath.Join(h.Dir, fmt.Sprintf("record-%d", s.Seed))}
	return l, []string{
		self, generatorArg, strconv.FormatUint(s.Seed, 10), strconv.FormatUint(s.Wipes, 10), l.record,
		strconv.Itoa(head), strconv.Itoa(linesPerSecond), strconv.Itoa(each),
	}
}

// Follow attaches a viewer to the load's pane.
func (h *Host) Follow(l Load, from Span) *Follower {
	h.T.Helper()
	f, err := Follow(h.T.Context(), h.Socket(), l, from)
	if err != nil {
		h.T.Fatal(err)
	}
	return f
}

// Finish stops a generator and waits for its end.
func (h *Host) Finish(l Load) {
	h.T.Helper()
	h.Type(l.Pane.ID, "q")
	Await(h.T, "the exit is known", func() bool { return h.Pane(l.Pane.ID).State == verbs.PaneExited })
}

// Settle stops a generator and holds the whole document, history and screen, against its record, and what a viewer
// has made of the history as it came against what the worker kept.
func (h *Host) Settle(l Load) {
	h.T.Helper()
	f := h.Follow(l, History)
	defer f.Close()
	h.Finish(l)
	replay, position, err := f.FullSnapshot()
	if err != nil {
		h.T.Fatal(err)
	}
	if r := h.Record(l); r.Written != position || r.Begun != position {
		h.T.Errorf("terminal %s: the generator wrote %d of %d bytes, the worker counted %d", l.Pane.ID, r.Written, r.Begun, position)
	}
	if err := l.checkDocument(replay, position); err != nil {
		h.T.Errorf("terminal %s: %v", l.Pane.ID, err)
	}
	if code := h.Pane(l.Pane.ID).ExitCode; code == nil || *code != 0 {
		h.T.Errorf("terminal %s: exit code %v, want 0", l.Pane.ID, code)
	}
}

// Resize takes control of a pane and sizes it.
func (h *Host) Resize(pane string, cols, rows uint16) error {
	s, _, err := h.Socket().Stream(h.T.Context(), verbs.PaneStreamParams{Pane: pane, Take: true})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Resize(cols, rows)
}

// AnySize is one in which no line of a load wraps.
func AnySize(random *rand.Rand) (cols, rows uint16) {
	return uint16(LineBytes + random.IntN(3*LineBytes)), uint16(rowsMin + random.IntN(rowsMax-rowsMin))
}

// What AnySize draws rows from.
const rowsMin, rowsMax = 5, 50

// Type takes control of a pane and types.
func (h *Host) Type(pane, text string) {
	h.T.Helper()
	typist, _, err := h.Socket().Stream(h.T.Context(), verbs.PaneStreamParams{Pane: pane, Take: true})
	if err != nil {
		h.T.Fatal(err)
	}
	defer typist.Close()
	if err := typist.Input([]byte(text)); err != nil {
		h.T.Fatal(err)
	}
}
