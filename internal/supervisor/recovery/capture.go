// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"cmp"
	"slices"
	"strings"
)

// Snapshot is the daemon's state at one moment. It does not change while it is read, and what it returns is not
// changed by the reader, so encoding and writing need not stop the daemon. Lists come in any order.
type Snapshot interface {
	CapturedAt() Millis
	Sessions() []Session
	Windows() []Window
	Panes() []PaneFacts
	// Rows are the plain rows of a pane's primary screen and history. ok is false when they cannot be had.
	Rows(pane string) (rows Rows, ok bool)
}

// Rows is plain text: the screen from the top, as many rows as the pane has, and the history, oldest first.
type Rows struct {
	Screen  []string
	History List
}

// Len is the number of bytes of all rows.
func (r Rows) Len() int {
	n := r.History.Bytes()
	for _, row := range r.Screen {
		n += len(row)
	}
	return n
}

// PaneFacts is what a checkpoint may know of a pane. It has no place for what one must never hold: no argv, no
// environment, no folder, no pid, no principal.
type PaneFacts struct {
	ID       string
	Window   string
	Session  string
	Cols     int
	Rows     int
	Running  bool
	ExitCode *int   // nil when unknown
	Signal   string // "" when unknown
	Lost     bool   // its process is gone, and no end of it was seen
	Float    *Float // nil when tiled
	Tags     []Tag  // in any order
	Archive  *ArchiveFacts
}

// ArchiveFacts is what is known of a pane that was restored; nil for any other.
type ArchiveFacts struct {
	ProcessState string // ProcessExited or ProcessInterrupted
	TextState    string // TextOmitted, TextExpired or TextPlain
	SavedAt      Millis // of plain text, as it was in the checkpoint that it came from
	ExpiresAt    Millis
}

// Capture makes a checkpoint of a snapshot, all but what Publish fills in. Text is taken where the policy allows it.
// An archive's text keeps its times, so that saving it again does not make it live longer. Text that breaks
// a rule of the format is left out: it never costs the topology.
func Capture(s Snapshot, shutdown string, p Policy) Checkpoint {
	c := Checkpoint{CapturedAt: s.CapturedAt(), Shutdown: shutdown}
	c.Sessions = sortedBy('s', s.Sessions(), func(v Session) string { return v.ID })
	c.Windows = sortedBy('w', s.Windows(), func(v Window) string { return v.ID })
	for _, facts := range sortedBy('p', s.Panes(), func(v PaneFacts) string { return v.ID }) {
		pane := record(facts)
		pane.Text = text(s, facts, p)
		c.Panes = append(c.Panes, pane)
	}
	return c
}

// sortedBy is a copy of the list, sorted by the number in its ids.
func sortedBy[V any](letter byte, list []V, id func(V) string) []V {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b V) int {
		x, _ := number(letter, id(a))
		y, _ := number(letter, id(b))
		return cmp.Compare(x, y)
	})
	return list
}

// record is the allowlist, field by field.
func record(facts PaneFacts) Pane {
	pane := Pane{ID: facts.ID, Window: facts.Window, Session: facts.Session, Cols: facts.Cols, Rows: facts.Rows, State: StateExited,
		ExitCode: facts.ExitCode, Signal: facts.Signal, Float: facts.Float}
	if facts.Running {
		pane.State, pane.ExitCode, pane.Signal = StateRunning, nil, ""
	}
	if facts.Float != nil {
		pane.Layer = LayerFloat
	}
	switch {
	case facts.Archive != nil:
		pane.PreviousState = facts.Archive.ProcessState
	case facts.Lost:
		pane.PreviousState = ProcessInterrupted
	}
	if len(facts.Tags) > 0 {
		pane.Tags = slices.SortedFunc(slices.Values(facts.Tags), func(a, b Tag) int { return strings.Compare(a.Key, b.Key) })
	}
	return pane
}

// text is a pane's text, or why there is none.
func text(s Snapshot, facts PaneFacts, p Policy) Text {
	savedAt, expiresAt := s.CapturedAt(), s.CapturedAt().Plus(p.TextMaxAge)
	if a := facts.Archive; a != nil {
		if a.TextState != TextPlain {
			return Text{Availability: a.TextState}
		}
		savedAt, expiresAt = a.SavedAt, a.ExpiresAt
	}
	if !p.KeepsText() {
		return Text{Availability: TextOmitted}
	}
	if !textAlive(Text{Availability: TextPlain, SavedAt: savedAt, ExpiresAt: expiresAt}, s.CapturedAt(), p) {
		return Text{Availability: TextExpired}
	}
	rows, ok := s.Rows(facts.ID)
	if !ok {
		return Text{Availability: TextOmitted}
	}
	t := ClipText(rows.Screen, rows.History, p.TextMaxRows, p.TextMaxBytes, savedAt, expiresAt)
	if t.check(facts.Rows) != nil {
		return Text{Availability: TextOmitted}
	}
	return t
}
