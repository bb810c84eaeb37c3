// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"fmt"
	"strconv"
	"strings"

	"spawn/internal/sessiond/emulator"
)

// Ours names the producer of the states that FromState makes.
const Ours = "spawn"

// FromState describes the state of our own emulator. Nothing of it is unknown.
func FromState(st emulator.State) *Grid {
	shown, off := &st.Primary, &st.Alternate
	if st.AlternateActive {
		shown, off = off, shown
	}
	g := &Grid{
		Schema: SchemaVersion, Producer: Ours,
		Cols: st.Cols, Rows: st.Rows,
		Cursor:    &Cursor{shown.Y, min(shown.X, st.Cols-1), new(shown.X >= st.Cols)},
		Alternate: &st.AlternateActive, Title: &st.Title,
		Modes:    modesOf(&st.Modes),
		Margins:  &Margins{shown.Top, shown.Bottom},
		Tabs:     &shown.TabStops,
		Saved:    savedOf(shown.Saved),
		SavedOff: savedOf(off.Saved),
		Charsets: &Charsets{Level: st.Level, Mapping: Probe(st.Mapping)},
		// A tail that begins with anything but ESC is part of a code point, not of a sequence.
		LastWidth: &st.Last, InSequence: new(strings.HasPrefix(st.Tail, "\x1b")),
	}
	g.Pen = new(styleOf(st.PenShown))
	for _, final := range st.Charsets {
		g.Charsets.G = append(g.Charsets.G, Probe(final))
	}
	for i := range shown.Lines {
		g.Lines = append(g.Lines, lineOf(&shown.Lines[i]))
	}
	g.ForgetOnlyWrap()
	return g
}

// ForgetOnlyWrap leaves open whether the only line of a primary screen continues the one that left: that
// is the history's, and no repaint can say it without committing a line.
func (g *Grid) ForgetOnlyWrap() {
	if len(g.Lines) == 1 && g.Alternate != nil && !*g.Alternate {
		g.Lines[0].Wrapped = nil
	}
}

func lineOf(l *emulator.LineState) *Line {
	out := &Line{Wrapped: &l.Wrapped, Prompt: &l.Prompt}
	for _, c := range l.Cells {
		out.Cells = append(out.Cells, &Cell{Text: c.Text, Width: WidthOf(c.Width), Style: styleOf(c.Style)})
	}
	out.Trim()
	return out
}

// Trim leaves out the untouched cells at the end.
func (l *Line) Trim() {
	for n := len(l.Cells); n > 0 && l.Cells[n-1] != nil && *l.Cells[n-1] == (Cell{}); n-- {
		l.Cells = l.Cells[:n-1]
	}
}

// The kinds of a colour word, in its bits 24 and 25.
const (
	kindShift = 24
	kindRGB   = 3
)

// ColorOf reads a colour word of the emulator: a kind, and a number or 0xRRGGBB.
func ColorOf(word uint32) Color {
	switch word >> kindShift {
	case 0:
		return ""
	case kindRGB:
		return Color(fmt.Sprintf("#%06x", word&0xffffff))
	}
	return Color(strconv.Itoa(int(word & 0xff)))
}

var underlines = [...]string{"", "single", "double", "curly", "dotted", "dashed"}

// StyleOf makes a Style of words as the emulator has them. The colour of an absent underline is no part
// of the look.
func StyleOf(fg, bg, ul uint32, underline uint8, attributes uint16, link Link) Style {
	if underline == 0 {
		ul = 0
	}
	bit := func(n int) bool { return attributes>>n&1 != 0 }
	return Style{
		Fg: ColorOf(fg), Bg: ColorOf(bg), Ul: ColorOf(ul), Underline: underlines[min(int(underline), len(underlines)-1)],
		Bold: bit(0), Dim: bit(1), Italic: bit(2), Blink: bit(3), Inverse: bit(4), Invisible: bit(5),
		Strike: bit(6), Overline: bit(7), Protected: bit(8), Link: link,
	}
}

func styleOf(s emulator.CellStyle) Style {
	return StyleOf(s.Foreground, s.Background, s.UnderlineColor, s.Underline, s.Attributes, Link(s.URI))
}

func savedOf(s emulator.SavedState) *Saved {
	return &Saved{
		Row: s.Y, Col: s.X, Pen: StyleOf(s.Foreground, s.Background, 0, 0, s.Attributes, ""),
		Underlined: &s.Underlined, Extended: &s.Extended, Mapping: Probe(s.Mapping),
	}
}

// cursorStyles are the shapes by the parameter of DECSCUSR; 7 and 8 are a blinking and a steady cursor
// of the viewer's own shape.
var cursorStyles = [...]string{"", "block blink", "block steady", "underline blink", "underline steady", "bar blink", "bar steady", "blink", "steady"}

func modesOf(m *emulator.Modes) *Modes {
	return &Modes{
		Insert: &m.Insert, LineFeed: &m.LineFeed, CursorKeys: &m.CursorKeys, Origin: &m.Origin, AutoWrap: &m.AutoWrap,
		CursorBlink: &m.CursorBlink, CursorHidden: &m.CursorHidden, ReverseWrap: &m.ReverseWrap, Keypad: &m.Keypad,
		FocusEvents: &m.FocusEvents, BracketedPaste: &m.BracketedPaste, Synchronized: &m.Synchronized,
		ThemeReports: &m.ThemeReports, SizeReports: &m.SizeReports,
		Mouse: new(int(m.Mouse)), MouseEncoding: new(int(m.MouseEncoding)),
		CursorStyle: new(cursorStyles[m.CursorStyle]),
	}
}

// probeLetters tell all known character sets apart.
const probeLetters = "#@[\\]^_`{|}~aq"

// Probe returns what the character set of a final byte makes of some letters, "" for ASCII.
func Probe(final byte) string {
	t := emulator.New(len(probeLetters)+1, 1, nil)
	t.Feed(append([]byte{0x1b, '(', final}, probeLetters...))
	var out strings.Builder
	for _, c := range t.State().Primary.Lines[0].Cells {
		out.WriteString(c.Text)
	}
	if out.String() == probeLetters {
		return ""
	}
	return out.String()
}
