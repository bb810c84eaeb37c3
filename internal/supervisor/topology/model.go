// SPDX-License-Identifier: Apache-2.0

// Package topology is the arrangement of terminals that a person sees: sessions, windows and panes with
// their names, splits, floats and tags, as a value that only its operations change.
//
//	session ─ a named row of windows; may be empty
//	window  ─ a tab: a binary tree of splits with one tiled pane in each leaf, and floats above it
//	pane    ─ shows one terminal: a worker's, living or ended, or an archive, which has no process
package topology

// AdoptedName is the session for live workers that no tree knew.
const AdoptedName = "adopted"

// defaultName is the session that the first pane opens.
const defaultName = "main"

// Tree is one arrangement. The zero value is the empty one. Operations never change a tree: they return
// another, so a reader may keep and share what it has. What a Tree points to (nodes, tags, floats, ends,
// archives) is never written to either, only replaced.
type Tree struct {
	Next Next `json:"next"`
	// Z is the place in the stack of floats that was given out last; 0 before the first.
	Z        uint64    `json:"z"`
	Sessions []Session `json:"sessions"` // in the order of the page
	Windows  []Window  `json:"windows"`  // by session, in the order of the page
	Panes    []Pane    `json:"panes"`    // by growing id
}

// Next are the numbers that the next session, window and pane get. They only grow: an id that was shown
// once never names anything else.
type Next struct {
	Session uint64 `json:"session"`
	Window  uint64 `json:"window"`
	Pane    uint64 `json:"pane"`
}

// Session is a named group of windows.
type Session struct {
	ID   string `json:"id"` // "s0"
	Name string `json:"name"`
	// Kept says that the session was made without a window. It stays when its last window goes; any other
	// session goes with it.
	Kept bool `json:"kept,omitzero"`
}

// Window is one tab.
type Window struct {
	ID      string `json:"id"`              // "w0"
	Session string `json:"session"`         // id of the session it is in
	Name    string `json:"name"`            // "" while nobody named it
	Kept    bool   `json:"kept,omitzero"`   // made without a pane; as with a session
	Active  string `json:"active"`          // id of the pane that somebody turned to last; "" when there is no pane
	Zoomed  string `json:"zoomed,omitzero"` // id of the tiled pane that hides the others; "" for none
	// Revision is 1 at first and grows by 1 with each change of Nodes or Zoomed.
	Revision uint64 `json:"revision"`
	Nodes    []Node `json:"nodes"` // the tiled panes; none when all of its panes float
}

// Pane is the place of one terminal. It is backed by a worker, or is an archive.
type Pane struct {
	ID        string   `json:"id"`                  // "p0"
	Window    string   `json:"window"`              // id of the window it is in
	SessionID string   `json:"session_id,omitzero"` // UUID of the worker that backs it, or did; "" for an archive
	Name      string   `json:"name"`                // "" while nobody named it
	Title     string   `json:"title"`               // what the program in it set last; always clean
	Argv0     string   `json:"argv0,omitzero"`      // what its terminal was started with, as CleanArgv0 has it; "" when nobody said
	End       *End     `json:"end,omitzero"`        // nil while its worker lives
	Float     *Float   `json:"float,omitzero"`      // nil for a tiled pane
	Tags      []Tag    `json:"tags,omitzero"`       // by growing key; nil for none
	Archive   *Archive `json:"archive,omitzero"`    // nil unless it was restored
	// Relaunch is what is being started in an archive's place; nil while nothing is. Nobody is told of it.
	Relaunch *Relaunch `json:"relaunch,omitzero"`
}

// Layer is one of the two in which a pane is drawn.
type Layer string

const (
	LayerTile  Layer = "tile"  // in a leaf of the window's tree
	LayerFloat Layer = "float" // above the tree, in no leaf
)

// Layer says in which layer the pane is.
func (p Pane) Layer() Layer {
	if p.Float != nil {
		return LayerFloat
	}
	return LayerTile
}

// Start is what a new pane begins with.
type Start struct {
	Worker string // UUID of the worker that backs it
	Name   string // "" for none
	Argv0  string // first word of what it runs, in any form; "" when nobody says
	Owner  string // value of the tag OwnerKey; "" for none
	ID     string // from ReservePane, for BeginRelaunch and ReplaceArchive alone; "" for the next one
}
