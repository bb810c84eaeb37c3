// SPDX-License-Identifier: Apache-2.0

// Package topology is the arrangement of terminals that a person sees: sessions, windows and panes with
// their names, as a value that only its operations change.
package topology

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Bounds. Together they keep an encoded tree below EncodedMax; a test holds them against each other.
const (
	PanesMax      = 4096
	NameRunesMax  = 64
	TitleRunesMax = 256
	signalMax     = 32
	// EncodedMax is the most bytes an encoded tree can have, and the most that Decode reads.
	EncodedMax = 16 << 20
)

// AdoptedName is the session for live workers that no tree knew.
const AdoptedName = "adopted"

// defaultName is the session that the first pane opens.
const defaultName = "main"

var (
	// ErrNotFound means that no session, window, pane or worker has that id.
	ErrNotFound = errors.New("not found")
	// ErrName means that a name is too long, empty where it must not be, or holds characters that do not show.
	ErrName = errors.New("bad name")
	// ErrFull means that the tree holds PanesMax panes.
	ErrFull = errors.New("too many panes")
	// ErrDuplicate means that a worker already backs a pane.
	ErrDuplicate = errors.New("worker already backs a pane")
	// ErrWorker means that a text is not a worker's UUID in its canonical form.
	ErrWorker = errors.New("not a worker's id")
)

// Tree is one arrangement. The zero value is the empty one. Operations never change a tree: they return
// another, so a reader may keep and share what it has.
type Tree struct {
	Next     Next      `json:"next"`
	Sessions []Session `json:"sessions"` // in the order of the page
	Panes    []Pane    `json:"panes"`    // by growing id
}

// Next are the numbers that the next session, window and pane get. They only grow: an id that was shown
// once never names anything else.
type Next struct {
	Session uint64 `json:"session"`
	Window  uint64 `json:"window"`
	Pane    uint64 `json:"pane"`
}

// Session is a named group of windows. It has at least one.
type Session struct {
	ID      string   `json:"id"` // "s0"
	Name    string   `json:"name"`
	Windows []Window `json:"windows"`
}

// Window is one tab.
type Window struct {
	ID   string `json:"id"`   // "w0"
	Name string `json:"name"` // "" while nobody named it
	Pane string `json:"pane"` // id of the pane it shows
}

// Pane is the place of one terminal.
type Pane struct {
	ID        string `json:"id"`         // "p0"
	SessionID string `json:"session_id"` // UUID of the worker that backs it, or did
	Name      string `json:"name"`       // "" while nobody named it
	Title     string `json:"title"`      // what the program in it set last; always clean
	End       *End   `json:"end"`        // nil while its worker lives
}

// End is how a pane's terminal ended. With neither a code nor a signal nobody knows: its worker was lost,
// which is never success.
type End struct {
	ExitCode *int   `json:"exit_code,omitzero"`
	Signal   string `json:"signal,omitzero"`
}

// Known reports whether the end is a shell's own, and not the loss of its worker.
func (e End) Known() bool { return e.ExitCode != nil || e.Signal != "" }

// Place is where a pane is found.
type Place struct {
	Session, Window string
	Index           int // of the window within its session
}

// Pane returns the pane with that id.
func (t Tree) Pane(id string) (Pane, bool) {
	if i := t.paneIndex(id); i >= 0 {
		return t.Panes[i], true
	}
	return Pane{}, false
}

// PaneOf returns the pane that the worker backs.
func (t Tree) PaneOf(worker string) (Pane, bool) {
	i := slices.IndexFunc(t.Panes, func(p Pane) bool { return p.SessionID == worker })
	if i < 0 {
		return Pane{}, false
	}
	return t.Panes[i], true
}

// Locate says where the pane is.
func (t Tree) Locate(pane string) (Place, bool) {
	for _, s := range t.Sessions {
		for i, w := range s.Windows {
			if w.Pane == pane {
				return Place{s.ID, w.ID, i}, true
			}
		}
	}
	return Place{}, false
}

func (t Tree) paneIndex(id string) int {
	return slices.IndexFunc(t.Panes, func(p Pane) bool { return p.ID == id })
}

func (t Tree) sessionIndex(id string) int {
	return slices.IndexFunc(t.Sessions, func(s Session) bool { return s.ID == id })
}

// clone shares nothing with t that an operation may write to. Ends are never written, only replaced.
func (t Tree) clone() Tree {
	t.Panes = slices.Clone(t.Panes)
	t.Sessions = slices.Clone(t.Sessions)
	for i := range t.Sessions {
		t.Sessions[i].Windows = slices.Clone(t.Sessions[i].Windows)
	}
	return t
}

// Equal reports whether both trees hold the same, in the same order.
func (t Tree) Equal(o Tree) bool {
	return t.Next == o.Next && slices.EqualFunc(t.Panes, o.Panes, Pane.equal) &&
		slices.EqualFunc(t.Sessions, o.Sessions, func(a, b Session) bool {
			return a.ID == b.ID && a.Name == b.Name && slices.Equal(a.Windows, b.Windows)
		})
}

func (p Pane) equal(o Pane) bool {
	a, b := p.End, o.End
	p.End, o.End = nil, nil
	return p == o && (a == nil) == (b == nil) && (a == nil || a.equal(*b))
}

func (e End) equal(o End) bool {
	return e.Signal == o.Signal && (e.ExitCode == nil) == (o.ExitCode == nil) && (e.ExitCode == nil || *e.ExitCode == *o.ExitCode)
}

// makeID and numberOf are each other's inverse: one letter, then the number without leading zeros.
func makeID(letter byte, n uint64) string { return string(letter) + strconv.FormatUint(n, 10) }

func numberOf(letter byte, id string) (uint64, error) {
	if len(id) < 2 || id[0] != letter {
		return 0, fmt.Errorf("parse id %q: want %c and a number", id, letter)
	}
	n, err := strconv.ParseUint(id[1:], 10, 63)
	if err != nil || makeID(letter, n) != id {
		return 0, fmt.Errorf("parse id %q: want %c and a number", id, letter)
	}
	return n, nil
}
