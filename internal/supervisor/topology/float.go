// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Float is what was asked of a pane above the tree: a preset and what was given besides. It is kept as it
// was asked for; what it comes to in an area is worked out where the window is drawn (Tree.Layout).
type Float struct {
	// Z is the place in the stack, 1 or more, larger ones in front; never the same twice. Operations give
	// it and do not read it.
	Z      uint64 `json:"z"`
	Preset string `json:"preset,omitzero"` // "<namespace>.<name>"; "" for FloatsDefault
	Geometry
	Title string `json:"title,omitzero"` // at most FloatTitleMax bytes that show; "" for none
}

// Geometry is the size, place and frame of a float. A member that was not given has its zero value.
type Geometry struct {
	Width  Extent `json:"width,omitzero"`  // of the terminal, without the border
	Height Extent `json:"height,omitzero"` // as Width
	Anchor Anchor `json:"anchor,omitzero"` // where in the area, by the same point of the float
	// X and Y move the float from its anchor, in cells, to the right and down; -OffsetMax to OffsetMax.
	X *int `json:"x,omitzero"`
	Y *int `json:"y,omitzero"`
	// MinCols and MinRows are the least size of the terminal, 1 to CellsMax, as far as the area has room.
	MinCols int    `json:"min_cols,omitzero"`
	MinRows int    `json:"min_rows,omitzero"`
	Border  Border `json:"border,omitzero"`
}

// Extent is a number of cells, "1" to "65535", or a share of the area, "1%" to "100%".
type Extent string

// Anchor is a point of an area and of a float.
type Anchor string

const (
	AnchorTopLeft     Anchor = "top_left"
	AnchorTop         Anchor = "top"
	AnchorTopRight    Anchor = "top_right"
	AnchorLeft        Anchor = "left"
	AnchorCenter      Anchor = "center"
	AnchorRight       Anchor = "right"
	AnchorBottomLeft  Anchor = "bottom_left"
	AnchorBottom      Anchor = "bottom"
	AnchorBottomRight Anchor = "bottom_right"
)

// Anchors lists every anchor, row by row.
var Anchors = []Anchor{
	AnchorTopLeft, AnchorTop, AnchorTopRight,
	AnchorLeft, AnchorCenter, AnchorRight,
	AnchorBottomLeft, AnchorBottom, AnchorBottomRight,
}

// Border is the line around a float: one cell on each side, or nothing.
type Border string

const (
	BorderNone    Border = "none"
	BorderSingle  Border = "single"
	BorderDouble  Border = "double"
	BorderRounded Border = "rounded"
	BorderHeavy   Border = "heavy"
)

// Borders lists every border.
var Borders = []Border{BorderNone, BorderSingle, BorderDouble, BorderRounded, BorderHeavy}

// Check reports, with ErrFloat, what breaks a rule of what a person or a program asks; Z is the tree's.
func (f Float) Check() error {
	if f.Preset != "" && !isPreset(f.Preset) {
		return fmt.Errorf("preset %q, want namespace.name: %w", f.Preset, ErrFloat)
	}
	if len(f.Title) > FloatTitleMax || !showsWhole(f.Title) {
		return fmt.Errorf("title %q: %w", f.Title, ErrFloat)
	}
	return f.Geometry.Check()
}

// Check reports, with ErrFloat, a member that is given and breaks a rule.
func (g Geometry) Check() error {
	for _, e := range []Extent{g.Width, g.Height} {
		if _, _, ok := e.parse(); !ok && e != "" {
			return fmt.Errorf("size %q, want cells or a percentage: %w", e, ErrFloat)
		}
	}
	if g.Anchor != "" && !slices.Contains(Anchors, g.Anchor) {
		return fmt.Errorf("anchor %q: %w", g.Anchor, ErrFloat)
	}
	if g.Border != "" && !slices.Contains(Borders, g.Border) {
		return fmt.Errorf("border %q: %w", g.Border, ErrFloat)
	}
	for _, at := range []*int{g.X, g.Y} {
		if at != nil && (*at < -OffsetMax || *at > OffsetMax) {
			return fmt.Errorf("offset %d, at most %d: %w", *at, OffsetMax, ErrFloat)
		}
	}
	for _, n := range []int{g.MinCols, g.MinRows} {
		if n < 0 || n > CellsMax {
			return fmt.Errorf("least size %d, at most %d: %w", n, CellsMax, ErrFloat)
		}
	}
	return nil
}

// parse returns a number of cells or, with percent, of hundredths of the area.
func (e Extent) parse() (n int, percent, ok bool) {
	digits, percent := strings.CutSuffix(string(e), "%")
	n, err := strconv.Atoi(digits)
	most := CellsMax
	if percent {
		most = 100
	}
	return n, percent, err == nil && n >= 1 && n <= most && strconv.Itoa(n) == digits
}

// cells is the extent in an area of that many.
func (e Extent) cells(area int) int {
	n, percent, _ := e.parse()
	if percent {
		n = area * n / 100
	}
	return n
}

// isPreset holds the one form of a preset's id that a checkpoint has a place for, too.
func isPreset(id string) bool {
	namespace, name, ok := strings.Cut(id, ".")
	return ok && len(id) <= PresetMax && isName(namespace, PresetMax, "_-") && isName(name, PresetMax, "_-")
}

func (f *Float) equal(o *Float) bool {
	if f == nil || o == nil {
		return f == o
	}
	a, b := *f, *o
	a.X, a.Y, b.X, b.Y = nil, nil, nil, nil
	return a == b && equalPointers(f.X, o.X) && equalPointers(f.Y, o.Y)
}

func equalPointers[T comparable](a, b *T) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

// onTop returns the float with the next place in the stack.
func (t *Tree) onTop(f Float) (*Float, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	if err := grow(&t.Z); err != nil {
		return nil, err
	}
	f.Z = t.Z
	return &f, nil
}

// Floats lists the panes that float, by growing id.
func (t Tree) Floats() []Pane {
	var out []Pane
	for _, p := range t.Panes {
		if p.Float != nil {
			out = append(out, p)
		}
	}
	return out
}

// SameFloat reports whether both are the same pane, drawn alike above the tree of the same window.
func (p Pane) SameFloat(o Pane) bool {
	return p.ID == o.ID && p.Window == o.Window && p.Float.equal(o.Float)
}

// floats lists the floats of a window from the back to the front.
func (t Tree) floats(window string) []Pane {
	var out []Pane
	for _, p := range t.Panes {
		if p.Float != nil && p.Window == window {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, byZ)
	return out
}

func byZ(a, b Pane) int {
	if a.Float.Z < b.Float.Z {
		return -1
	}
	return 1 // never equal: each z is given out once
}

// Raise brings a float in front of all others of its window.
func (t Tree) Raise(pane string) (Tree, error) {
	p, ok := t.Pane(pane)
	if !ok {
		return t, fmt.Errorf("raise pane %q: %w", pane, ErrNotFound)
	}
	if p.Float == nil {
		return t, fmt.Errorf("raise pane %s: it is tiled: %w", pane, ErrLayer)
	}
	if all := t.floats(p.Window); all[len(all)-1].ID == pane {
		return t, nil
	}
	return t.change("raise pane "+pane, func(n *Tree) (err error) {
		at := &n.Panes[n.paneIndex(pane)]
		at.Float, err = n.onTop(*at.Float)
		return err
	})
}
