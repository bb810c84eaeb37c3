// SPDX-License-Identifier: Apache-2.0

// Package emulator is the headless terminal: it turns the bytes of a program
// into a screen, a committed history and a stream that repaints them.
//
// The visible screen agrees with xterm.js 6.0.0 and its unicode11 provider,
// which the page shows it with. The widths come from that provider:
// widthtable.go is made by tools/widthgen, which `make gen` runs.
package emulator

// Sink receives what a Terminal produces while it is fed, in stream order.
// Its methods are called on the goroutine that called Feed or Resize, and must
// not call back into the Terminal.
type Sink interface {
	// History delivers committed lines as styled text. The text is valid only
	// during the call.
	History(text []byte)
	// Wipe says that all history delivered so far is gone (ED 3, RIS).
	Wipe()
	// Reply delivers the answer to a query, to be written to the program. It
	// is valid only during the call.
	Reply(p []byte)
	// Notice delivers something that a person may want to know.
	Notice(kind NoticeKind, text string)
}

// NoticeKind says what a notice is about.
type NoticeKind uint8

// The kinds of notice.
const (
	NoticeTitle        NoticeKind = 1 // the title changed; text is the new one
	NoticeCwd          NoticeKind = 2 // OSC 7; text is the folder
	NoticeBell         NoticeKind = 3 // BEL; text is empty
	NoticeNotification NoticeKind = 4 // OSC 9, 99, 777; text is the message
	NoticeMark         NoticeKind = 5 // OSC 133; text is the mark and its parameters
)

// Terminal is one emulated terminal. It does no I/O, starts no goroutine and
// is not safe for concurrent use. Its memory is bounded by the geometry and
// the constants of limits.go, whatever it is fed.
type Terminal struct {
	sink       Sink
	cols, rows int

	parser  parser
	pen     pen
	charset charsets
	modes   Modes
	// last is the width of the character that was just printed, 0 when a
	// control came after it: what a zero-width one joins and REP repeats.
	last int

	primary, alternate screen
	// active is one of the two above.
	active *screen

	styles   styleTable
	clusters clusterTable
	links    linkTable
	due      due
	fedSince int // bytes fed since the side tables were rebuilt

	history history
	title   titles
	kitty   kittyNotification // of which a piece has come
	cwd     string            // payload of the last OSC 7
	palette palette
	theme   Theme
	reply   []byte // scratch
	runes   []rune // scratch
}

// New returns a blank terminal. The geometry is moved into its limits. The
// sink may be nil.
func New(cols, rows int, sink Sink) *Terminal {
	if sink == nil {
		sink = discard{}
	}
	cols, rows = clampSize(cols, rows)
	t := &Terminal{sink: sink, cols: cols, rows: rows, theme: DefaultTheme()}
	t.styles.reset()
	t.clusters.reset()
	t.links.reset()
	t.setDue()
	t.primary.init(cols, rows, true)
	t.alternate.init(cols, rows, false)
	t.active = &t.primary
	t.charset.reset()
	t.modes = Modes{AutoWrap: true}
	t.parser.reset()
	return t
}

func clampSize(cols, rows int) (int, int) {
	return min(max(cols, ColsMin), ColsMax), min(max(rows, RowsMin), RowsMax)
}

// Size returns the geometry in cells.
func (t *Terminal) Size() (cols, rows int) { return t.cols, t.rows }

// Title returns the window title, "" before the program sets one.
func (t *Terminal) Title() string { return t.title.window }

// SetTheme sets the colours that answer OSC 4, 10, 11 and 12 queries where the
// program has set none of its own. A program that asked for it (mode 2031) is
// told when they turn from dark to light or back.
func (t *Terminal) SetTheme(th Theme) {
	was := t.theme.light()
	t.theme = th
	if t.modes.ThemeReports && th.light() != was {
		t.reportTheme()
	}
}

// discard is the sink of a terminal that nobody listens to.
type discard struct{}

func (discard) History([]byte)            {}
func (discard) Wipe()                     {}
func (discard) Reply([]byte)              {}
func (discard) Notice(NoticeKind, string) {}
