// SPDX-License-Identifier: Apache-2.0

// Package grid is the state of a terminal's screen as JSON that any terminal could write, and the
// differ of two such states.
//
// tools/term-conformance/schema/schema.md describes the form. A pointer that is nil stands for JSON
// null: whoever wrote the state could not observe it, and it equals everything.
package grid

import (
	"strconv"

	"spawn/internal/strictjson"
)

// SchemaVersion is the version of the form. A reader refuses any other.
const SchemaVersion = 2

// Grid is the state of one terminal.
type Grid struct {
	Schema   int    `json:"schema"`
	Producer string `json:"producer"`
	// Suite and Name tell the case that led here; "" outside a corpus.
	Suite string `json:"suite,omitzero"`
	Name  string `json:"name,omitzero"`

	Cols   int     `json:"cols"`
	Rows   int     `json:"rows"`
	Cursor *Cursor `json:"cursor"`
	// Lines has one entry a row, from the top.
	Lines     []*Line `json:"lines"`
	Alternate *bool   `json:"alternate"`
	Title     *string `json:"title"`

	Modes    *Modes    `json:"modes"`
	Margins  *Margins  `json:"margins"`
	Tabs     *[]int    `json:"tabs"`
	Pen      *Style    `json:"pen"`
	Saved    *Saved    `json:"saved"`
	SavedOff *Saved    `json:"saved_off"` // of the screen that isn't shown
	Charsets *Charsets `json:"charsets"`
	// LastWidth is the width of the character that was just printed, 0 after anything else.
	LastWidth *int `json:"last_width"`
	// InSequence says that the stream ended inside a control sequence or string.
	InSequence *bool `json:"in_sequence"`
}

// Cursor is a place counted from 0. A pending wrap is the last column with PendingWrap.
type Cursor struct {
	Row         int   `json:"row"`
	Col         int   `json:"col"`
	PendingWrap *bool `json:"pending_wrap"`
}

// Line is one row. Cells at its end that nothing was ever written to are left out.
type Line struct {
	Wrapped *bool   `json:"wrapped"`
	Prompt  *string `json:"prompt"` // the letters of its prompt marks, A to D
	Cells   []*Cell `json:"cells"`
}

// Cell is one column.
type Cell struct {
	// Text is a base with its marks, "" for an erased cell and for the right half of a wide character.
	Text string `json:"text,omitzero"`
	// Width is 1, 2 for the left half of a wide character, 0 for its right half.
	Width Width `json:"width,omitzero"`
	Style
}

// Style is the look of a cell.
type Style struct {
	Fg        Color  `json:"fg,omitzero"`
	Bg        Color  `json:"bg,omitzero"`
	Ul        Color  `json:"ul,omitzero"`        // of the underline, default without one
	Underline string `json:"underline,omitzero"` // "", single, double, curly, dotted, dashed
	Bold      bool   `json:"bold,omitzero"`
	Dim       bool   `json:"dim,omitzero"`
	Italic    bool   `json:"italic,omitzero"`
	Blink     bool   `json:"blink,omitzero"`
	Inverse   bool   `json:"inverse,omitzero"`
	Invisible bool   `json:"invisible,omitzero"`
	Strike    bool   `json:"strike,omitzero"`
	Overline  bool   `json:"overline,omitzero"`
	Protected bool   `json:"protected,omitzero"`
	Link      Link   `json:"link,omitzero"`
}

// Modes are the settings that outlive a character.
type Modes struct {
	Insert         *bool   `json:"insert"`
	LineFeed       *bool   `json:"line_feed"`
	CursorKeys     *bool   `json:"cursor_keys"`
	Origin         *bool   `json:"origin"`
	AutoWrap       *bool   `json:"auto_wrap"`
	CursorBlink    *bool   `json:"cursor_blink"`
	CursorHidden   *bool   `json:"cursor_hidden"`
	ReverseWrap    *bool   `json:"reverse_wrap"`
	Keypad         *bool   `json:"keypad"`
	FocusEvents    *bool   `json:"focus_events"`
	BracketedPaste *bool   `json:"bracketed_paste"`
	Synchronized   *bool   `json:"synchronized"`
	ThemeReports   *bool   `json:"theme_reports"`
	SizeReports    *bool   `json:"size_reports"`
	Mouse          *int    `json:"mouse"`          // 0, 9, 1000, 1002, 1003
	MouseEncoding  *int    `json:"mouse_encoding"` // 0, 1006, 1016
	CursorStyle    *string `json:"cursor_style"`   // shape and blinking, "" for the viewer's own
}

// Margins are the first and the last row that scroll.
type Margins struct {
	Top    int `json:"top"`
	Bottom int `json:"bottom"`
}

// Saved is what DECSC saved. Of underline and link it tells only that they were there.
type Saved struct {
	Row        int    `json:"row"`
	Col        int    `json:"col"`
	Pen        Style  `json:"pen"`
	Underlined *bool  `json:"underlined"`
	Extended   *bool  `json:"extended"` // an underline or a link
	Mapping    string `json:"mapping"`
}

// Charsets tells sets by what they make of `#@[\]^_`+"`"+`{|}~aq`; "" is ASCII.
type Charsets struct {
	G       []string `json:"g"` // G0 to G3
	Level   int      `json:"level"`
	Mapping string   `json:"mapping"` // the one in force
}

// Color is "" for the default one, a number from 0 to 255, or #rrggbb.
type Color string

const defaultColor = "default"

// MarshalJSON writes "default", a number or "#rrggbb".
func (c Color) MarshalJSON() ([]byte, error) {
	if n, err := strconv.ParseUint(string(c), 10, 8); err == nil {
		return strconv.AppendUint(nil, n, 10), nil
	}
	if c == "" {
		c = defaultColor
	}
	return strconv.AppendQuote(nil, string(c)), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Color) UnmarshalJSON(src []byte) error {
	if len(src) > 0 && src[0] != '"' {
		var n uint8
		if err := strictjson.Unmarshal(src, &n); err != nil {
			return err
		}
		*c = Color(strconv.Itoa(int(n)))
		return nil
	}
	var s string
	if err := strictjson.Unmarshal(src, &s); err != nil {
		return err
	}
	if s == defaultColor {
		s = ""
	}
	*c = Color(s)
	return nil
}

// Link is the target of a hyperlink, "" for none.
type Link string

// LinkUnknown is a link whose target the producer has forgotten: null in JSON. It equals every link,
// but not the absence of one.
const LinkUnknown Link = "\x00"

// MarshalJSON writes null for LinkUnknown.
func (l Link) MarshalJSON() ([]byte, error) {
	if l == LinkUnknown {
		return []byte("null"), nil
	}
	return strictjson.Marshal(string(l))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *Link) UnmarshalJSON(src []byte) error {
	if string(src) == "null" {
		*l = LinkUnknown
		return nil
	}
	var s string
	err := strictjson.Unmarshal(src, &s)
	*l = Link(s)
	return err
}

// Width is the number of columns less one, so that the zero value is the width that JSON leaves out.
type Width int8

// Columns returns the width in columns.
func (w Width) Columns() int { return int(w) + 1 }

// WidthOf returns the Width of a number of columns.
func WidthOf(columns int) Width { return Width(columns - 1) }

// MarshalJSON writes the number of columns.
func (w Width) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, int64(w.Columns()), 10), nil
}

// UnmarshalJSON reads a number of columns.
func (w *Width) UnmarshalJSON(src []byte) error {
	var n int8
	err := strictjson.Unmarshal(src, &n)
	*w = Width(n - 1)
	return err
}
