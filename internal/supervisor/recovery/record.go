// SPDX-License-Identifier: Apache-2.0

package recovery

// The records below are the payload. Their fields are written in the order of their declaration, and an
// optional one is absent when it is zero. They are the allowlist: what is not here is never on disk.

// Formats of a checkpoint file. Readers take all three, writers write the last.
const (
	Format1 = 1 // tiled panes
	Format2 = 2 // floats and tags
	Format3 = 3 // ratios of splits
)

// How the daemon stood when a checkpoint was captured.
const (
	ShutdownOpen  = "open"  // it ran, or it left its workers running
	ShutdownClean = "clean" // it had ended and reaped every process
)

// States of a pane.
const (
	StateRunning = "running"
	StateExited  = "exited"
)

// States of the process that an archive once had.
const (
	ProcessExited      = "exited"      // an exit was recorded
	ProcessInterrupted = "interrupted" // none was; nobody knows what became of it
)

// Availability of a pane's text.
const (
	TextOmitted = "omitted"
	TextExpired = "expired"
	TextPlain   = "plain"
)

// LayerFloat is the layer of a float. Tiled panes name none.
const LayerFloat = "float"

// Kinds and axes of nodes.
const (
	NodeSplit = "split"
	NodePane  = "pane"
	AxisRows  = "rows"
	AxisCols  = "cols"
)

// Checkpoint is one payload.
type Checkpoint struct {
	ID         string    `json:"checkpoint"` // c and a UUID of version 4
	Generation int64     `json:"generation"` // 1 to 2^53−1, rising within a store
	Socket     string    `json:"socket"`     // absolute path of the daemon's socket
	UID        int64     `json:"uid"`        // of the daemon
	CapturedAt Millis    `json:"captured_at"`
	Shutdown   string    `json:"shutdown"` // ShutdownOpen or ShutdownClean
	Sessions   []Session `json:"sessions"` // each list is sorted by the number in its ids
	Windows    []Window  `json:"windows"`
	Panes      []Pane    `json:"panes"`
}

// Session is a named group of windows, possibly none.
type Session struct {
	ID   string `json:"session"`
	Name string `json:"name"`
}

// Window is a tree of splits over tiled panes, possibly empty.
type Window struct {
	ID       string `json:"window"`
	Session  string `json:"session"`
	Name     string `json:"name"`
	Revision int64  `json:"revision"`
	Nodes    []Node `json:"nodes"` // in preorder
}

// Node is a split, with Axis, First, Second and perhaps Ratio, or a leaf, with Pane.
type Node struct {
	Kind   string `json:"kind"`
	Pane   string `json:"pane,omitzero"`
	Axis   string `json:"axis,omitzero"`
	First  int    `json:"first,omitzero"` // index of a child; 0 is the root, so never a child
	Second int    `json:"second,omitzero"`
	Ratio  int    `json:"ratio,omitzero"` // share of the first child in 1/10000; 0 for equal shares. Format 3
}

// Pane is one place of a terminal, with what was known of its process.
type Pane struct {
	ID       string `json:"pane"`
	Window   string `json:"window"`
	Session  string `json:"session"`
	Cols     int    `json:"cols"`
	Rows     int    `json:"rows"`
	State    string `json:"state"`
	ExitCode *int   `json:"exit_code,omitzero"` // nil when unknown
	Signal   string `json:"signal,omitzero"`    // "" when unknown
	// PreviousState is what an archive said of its process; it outlives a second checkpoint. It is also how a
	// terminal is saved whose worker was lost: it runs no more, and no exit was recorded. "" for any other pane.
	PreviousState string `json:"previous_state,omitzero"`
	Layer         string `json:"layer,omitzero"` // LayerFloat, or "" when tiled. Format 2
	Float         *Float `json:"float,omitzero"` // set exactly when Layer is. Format 2
	Tags          []Tag  `json:"tags,omitzero"`  // sorted by key; nil for none. Format 2
	Text          Text   `json:"text"`
}

// Float is what the creator of a float asked for, never the geometry that came of it.
type Float struct {
	Preset  string  `json:"preset,omitzero"`
	Width   string  `json:"width,omitzero"` // cells ("12") or a share ("60%")
	Height  string  `json:"height,omitzero"`
	Anchor  string  `json:"anchor,omitzero"`
	X       *int    `json:"x,omitzero"`
	Y       *int    `json:"y,omitzero"`
	MinCols int     `json:"min_cols,omitzero"`
	MinRows int     `json:"min_rows,omitzero"`
	Border  string  `json:"border,omitzero"`
	Title   *string `json:"title,omitzero"`
	Z       int64   `json:"z"` // only the order counts
}

// Tag is one label of a pane. It carries no authority.
type Tag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Text is a pane's plain text, or the reason why there is none. All fields but the first belong to
// TextPlain alone.
type Text struct {
	Availability string   `json:"availability"`
	SavedAt      Millis   `json:"saved_at,omitzero"`   // when it was first captured
	ExpiresAt    Millis   `json:"expires_at,omitzero"` // it is gone from then on
	Screen       []string `json:"screen,omitzero"`     // exactly as many as the pane has rows
	History      List     `json:"history,omitzero"`    // not zero in plain text
}
