// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// fatal is what a *testing.T, a *testing.F's and a *rapid.T have in common.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// requireCovered holds that tiles and lines cover the area, each cell once, that floats lie in it, and that
// every pane of the window is somewhere.
func requireCovered(t fatal, tree Tree, w Window, area Size) {
	t.Helper()
	l, err := tree.Layout(w.ID, area, nil)
	if err != nil {
		t.Fatalf("%v", err)
	}
	cells := make([]int, area.Cols*area.Rows)
	paint := func(r Rect) {
		if r.Cols < 1 || r.Rows < 1 || r.X < 0 || r.Y < 0 || r.X+r.Cols > area.Cols || r.Y+r.Rows > area.Rows {
			t.Fatalf("%+v is empty or not in %+v", r, area)
		}
		for y := r.Y; y < r.Y+r.Rows; y++ {
			for x := r.X; x < r.X+r.Cols; x++ {
				cells[y*area.Cols+x]++
			}
		}
	}
	seen := slices.Concat(l.Hidden, l.Unfit)
	for _, tile := range l.Tiles {
		paint(tile.Rect)
		seen = append(seen, tile.Pane)
	}
	for _, line := range l.Lines {
		paint(line)
	}
	if at := slices.IndexFunc(cells, func(n int) bool { return n != 1 }); at >= 0 && len(w.Nodes) > 0 {
		t.Fatalf("cell %d of %+v is covered %d times: %+v of %s", at, area, cells[at], l, shape(w))
	}
	clear(cells)
	for _, f := range l.Floats {
		paint(f.Frame)
		paint(f.Inner)
		seen = append(seen, f.Pane)
	}
	var all []string
	for _, p := range tree.PanesOf(w.ID) {
		all = append(all, p.ID)
	}
	slices.Sort(seen)
	slices.Sort(all)
	if !slices.Equal(seen, all) {
		t.Fatalf("laid out are %v, there are %v", seen, all)
	}
	least := w.MinSize()
	if room := area.Cols >= least.Cols && area.Rows >= least.Rows && area.Cols > 0 && area.Rows > 0; room && len(l.Unfit) > 0 {
		t.Fatalf("%v have no room in %+v, although %+v is enough for %s", l.Unfit, area, least, shape(w))
	}
}

// The sizes are those of recovery's own examples.
func TestSharesAreThoseOfTheFormat(t *testing.T) {
	b := build{t: t}
	b.pane("", "")
	b.split(Spot{Beside: "p0", Axis: AxisCols, Ratio: 6250}, "")
	b.split(Spot{Beside: "p1", Axis: AxisRows}, "")
	l, err := b.Layout("w0", Size{80, 24}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Layout{
		Tiles: []Tile{{"p0", Rect{0, 0, 50, 24}}, {"p1", Rect{51, 0, 29, 12}}, {"p2", Rect{51, 13, 29, 11}}},
		Lines: []Rect{{50, 0, 1, 24}, {51, 12, 29, 1}},
	}
	if !reflect.DeepEqual(l, want) {
		t.Fatalf("got  %+v\nwant %+v", l, want)
	}
}

func TestSharesGiveWayToWhatNeedsACell(t *testing.T) {
	b := build{t: t}
	b.pane("", "")
	b.split(Spot{Beside: "p0", Axis: AxisCols, Ratio: 9999}, "")
	b.split(Spot{Beside: "p1", Axis: AxisCols}, "")
	for _, c := range []struct {
		area  Size
		cols  []int
		unfit []string
	}{
		{Size{80, 24}, []int{76, 1, 1}, nil},
		{Size{5, 1}, []int{1, 1, 1}, nil},
		{Size{4, 1}, []int{2, 1}, []string{"p2"}},
		{Size{3, 1}, []int{1, 1}, []string{"p2"}},
		{Size{2, 1}, []int{2}, []string{"p1", "p2"}},
		{Size{1, 1}, []int{1}, []string{"p1", "p2"}},
		{Size{0, 1}, nil, []string{"p0", "p1", "p2"}},
		{Size{9, 0}, nil, []string{"p0", "p1", "p2"}},
		{Size{-1, -1}, nil, []string{"p0", "p1", "p2"}},
	} {
		l, err := b.Layout("w0", c.area, nil)
		if err != nil {
			t.Fatal(err)
		}
		var cols []int
		for _, tile := range l.Tiles {
			cols = append(cols, tile.Cols)
		}
		if !slices.Equal(cols, c.cols) || !slices.Equal(l.Unfit, c.unfit) {
			t.Errorf("%+v: columns %v, no room for %v; want %v and %v", c.area, cols, l.Unfit, c.cols, c.unfit)
		}
	}
	w, _ := b.Window("w0")
	if least := w.MinSize(); least != (Size{5, 1}) {
		t.Errorf("least size %+v", least)
	}
}

func TestAZoomedPaneHasTheArea(t *testing.T) {
	b := build{t: t}
	b.pane("", "")
	b.split(Spot{Beside: "p0", Axis: AxisRows}, "")
	b.float("w0", Float{})
	b.do(b.Zoom("p1"))
	l, err := b.Layout("w0", Size{80, 24}, nil)
	if err != nil || len(l.Tiles) != 1 || l.Tiles[0] != (Tile{"p1", Rect{0, 0, 80, 24}}) || !slices.Equal(l.Hidden, []string{"p0"}) || len(l.Floats) != 1 {
		t.Fatalf("%+v, %v", l, err)
	}
}

func TestFloatsAreAnchoredAndClamped(t *testing.T) {
	presets := Presets{
		FloatsDefault:    {Width: "10", Height: "4", Border: BorderNone, MinCols: 1, MinRows: 1},
		"venom.settings": {Width: "50%", Anchor: AnchorTopLeft, Border: BorderHeavy},
	}
	for _, c := range []struct {
		name  string
		float Float
		area  Size
		frame Rect
		inner Rect
	}{
		{"the default preset", Float{}, Size{80, 24}, Rect{35, 10, 10, 4}, Rect{35, 10, 10, 4}},
		{"a preset over it", Float{Preset: "venom.settings"}, Size{80, 24}, Rect{0, 0, 42, 6}, Rect{1, 1, 40, 4}},
		{"an unknown preset", Float{Preset: "venom.other"}, Size{80, 24}, Rect{35, 10, 10, 4}, Rect{35, 10, 10, 4}},
		{"given besides", Float{Preset: "venom.settings", Geometry: Geometry{Width: "20", Anchor: AnchorBottomRight, X: code(-1), Y: code(-2), Border: BorderNone}},
			Size{80, 24}, Rect{59, 18, 20, 4}, Rect{59, 18, 20, 4}},
		{"right", Float{Geometry: Geometry{Anchor: AnchorRight}}, Size{80, 24}, Rect{70, 10, 10, 4}, Rect{70, 10, 10, 4}},
		{"bottom", Float{Geometry: Geometry{Anchor: AnchorBottom}}, Size{80, 24}, Rect{35, 20, 10, 4}, Rect{35, 20, 10, 4}},
		{"moved out of the area", Float{Geometry: Geometry{X: code(OffsetMax), Y: code(-OffsetMax)}}, Size{80, 24}, Rect{70, 0, 10, 4}, Rect{70, 0, 10, 4}},
		{"at least", Float{Geometry: Geometry{Width: "1%", MinCols: 30, MinRows: 9}}, Size{80, 24}, Rect{25, 7, 30, 9}, Rect{25, 7, 30, 9}},
		{"larger than the area", Float{Geometry: Geometry{Width: "65535", Height: "100%", Border: BorderSingle}}, Size{80, 24}, Rect{0, 0, 80, 24}, Rect{1, 1, 78, 22}},
		{"no room for a border", Float{Geometry: Geometry{Border: BorderSingle}}, Size{2, 24}, Rect{0, 10, 2, 4}, Rect{0, 10, 2, 4}},
		{"one cell", Float{Geometry: Geometry{Border: BorderSingle}}, Size{1, 1}, Rect{0, 0, 1, 1}, Rect{0, 0, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := build{t: t}
			b.pane("", "")
			b.float("w0", c.float)
			l, err := b.Layout("w0", c.area, presets)
			if err != nil || len(l.Floats) != 1 || l.Floats[0].Frame != c.frame || l.Floats[0].Inner != c.inner {
				t.Fatalf("%+v, %v", l.Floats, err)
			}
		})
	}
	if l, _ := (goldenTree(t)).Layout("w0", Size{0, 5}, nil); len(l.Floats) != 0 || len(l.Unfit) != 3 {
		t.Fatalf("without an area: %+v", l)
	}
	if _, known := presets.Resolve(Float{Preset: "venom.other"}); known {
		t.Error("an unknown preset is not reported")
	}
	if g, known := (Presets{}).Resolve(Float{}); !known || g.Check() != nil || reflect.ValueOf(g).IsZero() || g.X == nil || g.Y == nil {
		t.Errorf("built in: %+v", g)
	}
}

func TestResizeByMovesTheLineByThatManyCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 10001).Draw(t, "cells")
		was := Spot{Beside: "p0", Axis: AxisCols, Ratio: rapid.IntRange(0, RatioMax).Draw(t, "ratio")}
		tree, _, _ := Tree{}.NewPane("", Start{Worker: worker(1)})
		tree, _, err := tree.Split(was, Start{Worker: worker(2)})
		if err != nil {
			t.Fatal(err)
		}
		pane := rapid.IntRange(0, 1).Draw(t, "pane")
		by := rapid.IntRange(-n, n).Draw(t, "by")
		area := Size{n, 24}
		before, _ := tree.Layout("w0", area, nil)
		next, err := tree.ResizeBy(makeID('p', uint64(pane)), AxisCols, by, area)
		if err != nil {
			t.Fatal(err)
		}
		after, _ := next.Layout("w0", area, nil)
		if want := min(max(before.Tiles[pane].Cols+by, 1), n-2); after.Tiles[pane].Cols != want {
			t.Fatalf("p%d has %d columns, want %d", pane, after.Tiles[pane].Cols, want)
		}
	})
}

func TestResizeFindsTheNearestSplitOfTheAxis(t *testing.T) {
	b := build{t: t}
	b.pane("", "")
	b.split(Spot{Beside: "p0", Axis: AxisCols}, "")
	b.split(Spot{Beside: "p1", Axis: AxisRows}, "")
	b.split(Spot{Beside: "p2", Axis: AxisRows}, "")
	b.do(b.Resize("p3", AxisCols, 2000))
	b.do(b.Resize("p2", AxisRows, 3000))
	b.do(b.Resize("p1", AxisRows, 4000))
	if got := shape(b.Windows[0]); got != "(p0 |2000 (p1 /4000 (p2 /3000 p3)))" {
		t.Fatalf("shape %s", got)
	}
	b.do(b.ResizeBy("p3", AxisRows, 2, Size{80, 41}))
	if l, _ := b.Layout("w0", Size{80, 41}, nil); l.Tiles[3].Rows != 18 {
		t.Fatalf("%+v", l.Tiles)
	}
	b.do(b.Resize("p0", AxisCols, 0))
	if got := shape(b.Windows[0]); got != "(p0 | (p1 /4000 (p2 /2173 p3)))" {
		t.Fatalf("shape %s", got)
	}
	b.do(b.Zoom("p0"))
	if b.do(b.Resize("p0", AxisCols, 0)); b.Windows[0].Zoomed != "" {
		t.Fatal("the zoom outlasts a resize")
	}
	revision := b.Windows[0].Revision
	b.do(b.Resize("p0", AxisCols, 0))
	b.do(b.ResizeBy("p0", AxisCols, 5, Size{2, 41}))
	b.do(b.ResizeBy("p0", AxisCols, 0, Size{80, 41}))
	if b.Windows[0].Revision != revision {
		t.Fatal("a resize that changes nothing is a change of the layout")
	}
}
