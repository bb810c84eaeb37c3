// SPDX-License-Identifier: Apache-2.0

package verbs

// Names of the verbs of a pane's place.
const (
	PaneSplit  = "pane.split"
	PaneResize = "pane.resize"
	PanePlace  = "pane.place"
	PaneMove   = "pane.move"
	PaneSwap   = "pane.swap"
	PaneFocus  = "pane.focus"
	PaneZoom   = "pane.zoom"
	PaneTag    = "pane.tag"
)

type (
	// PaneSplitParams say where a new pane goes and how its terminal starts.
	PaneSplitParams struct {
		Pane   string   `json:"pane" like:"pane" help:"id of the pane whose place is divided"`
		Axis   string   `json:"axis" enum:"cols,rows" help:"cols puts the new pane beside it, rows above or below"`
		Before bool     `json:"before,omitzero" help:"the new pane comes first: on the left, or above"`
		Ratio  uint16   `json:"ratio,omitzero" min:"1" max:"9999" help:"share of the first in 1/10000; left out: equal ones"`
		Name   string   `json:"name,omitzero" max:"512" fault:"invalid.name" help:"name of the new pane"`
		Argv   []string `json:"argv,omitzero" min:"1" max:"256" cli:"rest" help:"the command and its arguments; left out: the login shell"`
		Cwd    string   `json:"cwd,omitzero" like:"abspath" max:"4096" help:"absolute path of the folder to start in; left out: the home folder"`
	}

	// PaneResizeParams say how the place of a pane is to be shared: by a ratio, or by so many cells more.
	PaneResizeParams struct {
		Pane  string `json:"pane" like:"pane" help:"id of the pane"`
		Axis  string `json:"axis" enum:"cols,rows" help:"which of its splits: the nearest that divides columns, or rows"`
		Ratio uint16 `json:"ratio,omitzero" min:"1" max:"9999" help:"share of the split's first child in 1/10000; without it, cells, cols and rows are there"`
		Cells int    `json:"cells,omitzero" min:"-1000" max:"1000" help:"by how many cells the pane grows in a window of cols and rows"`
		Cols  uint16 `json:"cols,omitzero" min:"1" max:"1000" fault:"invalid.size" help:"columns of the window as it is drawn"`
		Rows  uint16 `json:"rows,omitzero" min:"1" max:"1000" fault:"invalid.size" help:"rows of the window as it is drawn"`
	}

	// PanePlaceParams put a pane into the other layer: with beside into the tree, without above it.
	PanePlaceParams struct {
		Pane   string `json:"pane" like:"pane" help:"id of the pane"`
		Beside string `json:"beside,omitzero" like:"pane" help:"id of the pane beside which it becomes a tile, which the caller may write to as well; left out: it becomes a float"`
		Axis   string `json:"axis,omitzero" enum:"cols,rows" help:"how the tile's place is divided; comes with beside"`
		Before bool   `json:"before,omitzero" help:"it comes first: on the left, or above"`
		Ratio  uint16 `json:"ratio,omitzero" min:"1" max:"9999" help:"share of the first in 1/10000; left out: equal ones"`
		Float  Float  `json:"float,omitzero" help:"how the float looks; comes without beside"`
	}

	// Float is what is asked of a pane above the tree. What is left out comes from the preset.
	Float struct {
		Preset  string `json:"preset,omitzero" max:"64" help:"preset that has the rest; left out: floats.default"`
		Width   string `json:"width,omitzero" like:"extent" help:"columns of the terminal"`
		Height  string `json:"height,omitzero" like:"extent" help:"rows of the terminal"`
		Anchor  string `json:"anchor,omitzero" enum:"top_left,top,top_right,left,center,right,bottom_left,bottom,bottom_right" help:"where in the window, by the same point of the float"`
		X       int    `json:"x,omitzero" min:"-4096" max:"4096" help:"cells to the right of its anchor"`
		Y       int    `json:"y,omitzero" min:"-4096" max:"4096" help:"cells below its anchor"`
		MinCols uint16 `json:"min_cols,omitzero" min:"1" help:"fewest columns"`
		MinRows uint16 `json:"min_rows,omitzero" min:"1" help:"fewest rows"`
		Border  string `json:"border,omitzero" enum:"none,single,double,rounded,heavy" help:"line around it"`
		Title   string `json:"title,omitzero" max:"128" help:"title in its border"`
	}

	PaneMoveParams struct {
		Pane   string `json:"pane" like:"pane" help:"id of the pane"`
		Beside string `json:"beside,omitzero" like:"pane" help:"id of the tile to move next to; left out: window is there"`
		Window string `json:"window,omitzero" like:"window" help:"id of the window whose whole tree is divided"`
		Axis   string `json:"axis" enum:"cols,rows" help:"how the place is divided"`
		Before bool   `json:"before,omitzero" help:"it comes first: on the left, or above"`
		Ratio  uint16 `json:"ratio,omitzero" min:"1" max:"9999" help:"share of the first in 1/10000; left out: equal ones"`
	}

	PaneSwapParams struct {
		Pane string `json:"pane" like:"pane" help:"id of one pane"`
		With string `json:"with" like:"pane" help:"id of the other, which the caller may write to as well"`
	}

	PaneFocusParams struct {
		Pane string `json:"pane" like:"pane" help:"id of the pane"`
	}

	PaneZoomParams struct {
		Pane string `json:"pane" like:"pane" help:"id of the pane"`
		Off  bool   `json:"off,omitzero" help:"show the others again"`
	}

	PaneTagParams struct {
		Pane   string `json:"pane" like:"pane" help:"id of the pane"`
		Key    string `json:"key" like:"tag" help:"key of the tag"`
		Value  string `json:"value,omitzero" max:"128" help:"its value"`
		Remove bool   `json:"remove,omitzero" help:"take the tag away"`
	}

	PaneTagResult struct {
		Tags []Tag `json:"tags" help:"all tags of the pane, by growing key"`
	}

	// Tag is a label that products find their panes by. It gives no right.
	Tag struct {
		Key   string `json:"key" like:"tag" help:"key of the tag"`
		Value string `json:"value" help:"its value: escape it where you show it"`
	}
)

func (p PaneSplitParams) on() Resource  { return onPane(p.Pane) }
func (p PaneResizeParams) on() Resource { return onPane(p.Pane) }
func (p PanePlaceParams) on() Resource  { return onPane(p.Pane) }
func (p PaneMoveParams) on() Resource   { return onPane(p.Pane) }
func (p PaneSwapParams) on() Resource   { return onPane(p.Pane) }
func (p PaneFocusParams) on() Resource  { return onPane(p.Pane) }
func (p PaneZoomParams) on() Resource   { return onPane(p.Pane) }
func (p PaneTagParams) on() Resource    { return onPane(p.Pane) }

func (p PanePlaceParams) target() Resource { return onPaneIf(p.Beside) }
func (p PaneSwapParams) target() Resource  { return onPane(p.With) }

func (p PaneMoveParams) target() Resource {
	if p.Window != "" {
		return onWindow(p.Window)
	}
	return onPaneIf(p.Beside)
}

func onPaneIf(id string) Resource {
	if id == "" {
		return ""
	}
	return onPane(id)
}

func (p PaneSplitParams) check() *Error { return PaneNewParams{Argv: p.Argv}.check() }

func (p PaneResizeParams) check() *Error {
	byRatio, byCells := p.Ratio != 0, p.Cells != 0 || p.Cols != 0 || p.Rows != 0
	switch {
	case byRatio == byCells:
		return Errorf(CodeInvalidParams, "either ratio is there, or cells with cols and rows").With("param", "ratio")
	case byCells && (p.Cells == 0 || p.Cols == 0 || p.Rows == 0):
		return Errorf(CodeInvalidParams, "cells, cols and rows come together").With("param", "cells")
	}
	return nil
}

func (p PanePlaceParams) check() *Error {
	tile := p.Axis != "" || p.Before || p.Ratio != 0
	switch {
	case p.Beside == "" && tile:
		return Errorf(CodeInvalidParams, "a float has no axis, side or ratio").With("param", "beside")
	case p.Beside != "" && p.Axis == "":
		return Errorf(CodeInvalidParams, "axis comes with beside").With("param", "axis")
	case p.Beside != "" && p.Float != (Float{}):
		return Errorf(CodeInvalidParams, "a tile has no float").With("param", "float")
	}
	return nil
}

func (p PaneMoveParams) check() *Error {
	if (p.Beside == "") == (p.Window == "") {
		return Errorf(CodeInvalidParams, "either beside or window is there").With("param", "beside")
	}
	return nil
}

func (p PaneTagParams) check() *Error {
	if p.Remove && p.Value != "" {
		return Errorf(CodeInvalidParams, "a tag that is taken away has no value").With("param", "value")
	}
	return nil
}

var placeVerbs = []Verb{
	row[PaneSplitParams, PaneResult]{
		Name: PaneSplit, Summary: "start a terminal in a new pane beside another", Right: RightSpawn,
		Errors:  []Code{CodeNoPane, CodeInvalidName, CodeLayer, CodeStart, CodeFull},
		Example: PaneSplitParams{Pane: "p0", Axis: "cols", Ratio: 6250},
		Do:      via(Arrangement.SplitPane),
	}.verb(),
	row[PaneResizeParams, WindowResult]{
		Name: PaneResize, Summary: "share the place of a pane and its neighbour anew", Right: RightWrite,
		Errors: []Code{CodeNoPane, CodeInvalidSize, CodeNoSplit}, Example: PaneResizeParams{Pane: "p0", Axis: "cols", Ratio: 6250},
		Do: via(Arrangement.ResizePane),
	}.verb(),
	row[PanePlaceParams, WindowResult]{
		Name: PanePlace, Summary: "make a tile a float, or a float a tile", Right: RightWrite,
		Errors: []Code{CodeNoPane, CodeLayer}, Example: PanePlaceParams{Pane: "p1", Float: Float{Width: "60%", Height: "12", Anchor: "center"}},
		Do: onto(PanePlaceParams.target, Arrangement.PlacePane),
	}.verb(),
	row[PaneMoveParams, WindowResult]{
		Name: PaneMove, Summary: "move a pane beside another one, or to another window, that the caller may write to", Right: RightWrite,
		Errors: []Code{CodeNoPane, CodeNoWindow, CodeLayer, CodeFull}, Example: PaneMoveParams{Pane: "p1", Beside: "p0", Axis: "rows"},
		Do: onto(PaneMoveParams.target, Arrangement.MovePane),
	}.verb(),
	row[PaneSwapParams, Empty]{
		Name: PaneSwap, Summary: "let two panes change places", Right: RightWrite,
		Errors: []Code{CodeNoPane, CodeLayer}, Example: PaneSwapParams{"p0", "p1"},
		Do: onto(PaneSwapParams.target, Arrangement.SwapPanes),
	}.verb(),
	// Like the other verbs of a pane's place this one needs write on the pane: it raises a float and ends a zoom, as
	// pane.zoom begins one. It moves nobody's own view, so it needs nothing of the window or of other panes.
	row[PaneFocusParams, WindowResult]{
		Name: PaneFocus, Summary: "make a pane the active one of its window, in which who comes there begins; a float comes to the front", Right: RightWrite,
		Errors: []Code{CodeNoPane}, Example: PaneFocusParams{"p1"},
		Do: via(Arrangement.FocusPane),
	}.verb(),
	row[PaneZoomParams, WindowResult]{
		Name: PaneZoom, Summary: "let a pane fill its window, or show the others again", Right: RightWrite,
		Errors: []Code{CodeNoPane, CodeLayer}, Example: PaneZoomParams{Pane: "p0"},
		Do: via(Arrangement.ZoomPane),
	}.verb(),
	row[PaneTagParams, PaneTagResult]{
		Name: PaneTag, Summary: "label a pane, or take a label away", Right: RightWrite,
		Errors: []Code{CodeNoPane, CodeTag, CodeFull}, Example: PaneTagParams{Pane: "p0", Key: "role", Value: "agent"},
		Do: via(Arrangement.TagPane),
	}.verb(),
}
