// SPDX-License-Identifier: Apache-2.0

package emulator

import "slices"

// State is a complete copy of what a Terminal keeps of its stream, without
// history, in a form that two terminals share when they behave alike from then
// on. Compare it with reflect.DeepEqual.
type State struct {
	Cols, Rows int
	Primary    ScreenState
	// Alternate holds its register alone while the screen isn't shown.
	Alternate       ScreenState
	AlternateActive bool

	Pen CellStyle
	// PenShown is what the pen applies: DECRC can hide its underline and link.
	PenShown CellStyle
	// PenLined and PenExtended are what DECSC would save of underline and link.
	PenLined, PenExtended bool

	Modes    Modes
	Charsets [4]byte // final bytes of G0 to G3
	Level    int     // the one that is shifted in
	Mapping  byte    // the mapping in force
	// Last is the width of the character just printed, 0 after a control.
	Last int

	Title, Icon           string
	TitleStack, IconStack []string
	Cwd                   string
	// Colors holds what the program has set: 0 to 255, then foreground,
	// background and cursor.
	Colors map[int]Color
	// Tail holds the bytes that lead to the parser's state.
	Tail string
}

// ScreenState is one screen.
type ScreenState struct {
	Lines       []LineState
	X, Y        int
	Top, Bottom int
	TabStops    []int
	Saved       SavedState
	// Keyboard holds the flags of the kitty keyboard protocol, those in force
	// last.
	Keyboard []uint8
}

// LineState is one line. On a primary screen of one line Wrapped is false:
// whether that continues the line that left is the history's, and no stream can
// say it without committing a line.
type LineState struct {
	Cells   []CellState
	Wrapped bool
	// Prompt has the letters of the prompt marks on the line, A to D.
	Prompt string
}

// CellState is one column. Text is "" for an erased cell and for the right half
// of a wide character, whose Width is 0.
type CellState struct {
	Text  string
	Width int
	Style CellStyle
}

// CellStyle is the look of a cell. Colours are 0, or a kind in bits 24–25
// (1 basic, 2 indexed, 3 RGB) and a value below.
type CellStyle struct {
	Foreground, Background, UnderlineColor uint32
	Underline                              uint8
	// Attributes has the bits bold, dim, italic, blink, inverse, invisible,
	// strike, overline, protected, lowest first.
	Attributes uint16
	// Link numbers the links of a State in the order in which they appear
	// first; 0 is none.
	Link   int
	LinkID string // the program's id, "" when it gave none
	URI    string
}

// SavedState is the DECSC register.
type SavedState struct {
	X, Y                   int
	Foreground, Background uint32
	Attributes             uint16
	Underlined, Extended   bool
	Mapping                byte
}

// stater makes a State and numbers its links.
type stater struct {
	t     *Terminal
	links map[uint32]int
}

// State returns a copy of the terminal's state.
func (t *Terminal) State() State {
	st := stater{t: t, links: map[uint32]int{}}
	s := State{
		Cols: t.cols, Rows: t.rows,
		Primary:         st.screen(&t.primary),
		AlternateActive: t.active == &t.alternate,
		Modes:           t.modes,
		Charsets:        t.charset.g, Level: t.charset.level, Mapping: t.charset.active,
		Last:  t.last,
		Title: t.title.window, Icon: t.title.icon,
		TitleStack: append([]string(nil), t.title.windowStack...),
		IconStack:  append([]string(nil), t.title.iconStack...),
		Cwd:        t.cwd,
		Colors:     t.palette.colors(),
		Tail:       string(t.parser.appendTail(nil)),
	}
	if t.rows == 1 {
		s.Primary.Lines[0].Wrapped = false
	}
	if s.AlternateActive {
		s.Alternate = st.screen(&t.alternate)
	} else {
		s.Alternate = ScreenState{Saved: savedState(t.alternate.saved)}
	}
	s.Pen = st.style(t.pen.style)
	s.PenShown = st.style(t.pen.shown().canonical())
	s.PenLined, s.PenExtended = t.pen.lined, t.pen.extended
	return s
}

func (p *palette) colors() map[int]Color {
	if p.count == 0 {
		return nil
	}
	m := map[int]Color{}
	for n, set := range p.set {
		if set {
			m[n] = p.value[n]
		}
	}
	return m
}

func (st *stater) screen(s *screen) ScreenState {
	out := ScreenState{
		X: s.x, Y: s.y, Top: s.top, Bottom: s.bottom,
		Saved: savedState(s.saved), Keyboard: slices.Clone(s.keyboard.flags[:s.keyboard.top+1]),
	}
	for y := range s.order {
		line := s.row(y)
		cells := make([]CellState, len(line.cells))
		for x, c := range line.cells {
			cells[x] = st.cell(c)
		}
		out.Lines = append(out.Lines, LineState{cells, line.wrapped, line.prompt.String()})
	}
	for x := range s.cols() {
		if s.tabs.has(x) {
			out.TabStops = append(out.TabStops, x)
		}
	}
	return out
}

func (st *stater) cell(c cell) CellState {
	out := CellState{Width: 1, Style: st.style(st.t.styles.list[c.style()])}
	switch c.class() {
	case classHead:
		out.Width = 2
	case classTail, classMark:
		out.Width = 0
	}
	if c.printed() {
		out.Text = string(st.t.clusters.appendContent(nil, c))
	}
	return out
}

func (st *stater) style(s style) CellStyle {
	out := CellStyle{
		Foreground: uint32(s.fg), Background: uint32(s.bg), UnderlineColor: uint32(s.ul),
		Underline: s.underline, Attributes: s.attrs,
	}
	if s.link != 0 {
		n, ok := st.links[s.link]
		if !ok {
			n = len(st.links) + 1
			st.links[s.link] = n
		}
		l := st.t.links.list[s.link]
		out.Link, out.LinkID, out.URI = n, l.id, l.uri
	}
	return out
}

func savedState(s savedCursor) SavedState {
	return SavedState{
		X: s.x, Y: s.y, Foreground: uint32(s.fg), Background: uint32(s.bg), Attributes: s.attrs,
		Underlined: s.underlined, Extended: s.extended, Mapping: s.charset,
	}
}
