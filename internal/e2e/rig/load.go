// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rig

import (
	"fmt"
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
	Pane   verbs.Pane
	Seed   uint64
	record string // path
}

// StartLoads starts n of them, each at most at that many lines a second. Their seeds follow each other.
func (h *Host) StartLoads(n int, seed uint64, linesPerSecond int) []Load {
	h.T.Helper()
	loads := make([]Load, n)
	for i := range loads {
		loads[i] = h.StartLoad(seed+uint64(i), linesPerSecond)
	}
	return loads
}

// StartLoad starts one.
func (h *Host) StartLoad(seed uint64, linesPerSecond int) Load {
	h.T.Helper()
	self, err := os.Executable()
	if err != nil {
		h.T.Fatal(err)
	}
	l := Load{Seed: seed, record: filepath.Join(h.Dir, fmt.Sprintf("record-%d", seed))}
	l.Pane = h.NewPane(verbs.PaneNewParams{
		Argv: []string{self, generatorArg, strconv.FormatUint(seed, 10), l.record, strconv.Itoa(linesPerSecond)},
		Cwd:  h.Dir, Cols: 80, Rows: 24, Name: fmt.Sprintf("load %d", seed),
	})
	return l
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

// Settle stops a generator and holds the whole document, history and screen, against its record.
func (h *Host) Settle(l Load) {
	h.T.Helper()
	f := h.Follow(l, History)
	defer f.Close()
	h.Type(l.Pane.ID, "q")
	Await(h.T, "the generator has left its record", func() bool { _, err := os.Stat(l.record); return err == nil })
	Await(h.T, "the exit is known", func() bool { return h.Pane(l.Pane.ID).State == verbs.PaneExited })
	replay, position, err := f.FullSnapshot()
	if err != nil {
		h.T.Fatal(err)
	}
	record, err := os.ReadFile(l.record)
	if err != nil {
		h.T.Fatal(err)
	}
	if string(record) != strconv.FormatUint(position, 10) {
		h.T.Errorf("terminal %s: the generator wrote %s bytes, the worker counted %d", l.Pane.ID, record, position)
	}
	first, err := CheckDocument(l.Seed, replay, position)
	if err != nil {
		h.T.Errorf("terminal %s: %v", l.Pane.ID, err)
	}
	if first != 0 && position <= logHolds {
		h.T.Errorf("terminal %s: the document begins with line %d", l.Pane.ID, first)
	}
	if code := h.Pane(l.Pane.ID).ExitCode; code == nil || *code != 0 {
		h.T.Errorf("terminal %s: exit code %v, want 0", l.Pane.ID, code)
	}
}

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
