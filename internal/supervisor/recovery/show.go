// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"sync"

	"spawn/internal/sessiond/emulator"
)

// Shown is an archive as viewers see it: what a worker's terminal is to a live pane. Nothing feeds it. Its methods may
// be called from several goroutines.
//
// It keeps text and no cells: those are made of it for whoever looks, and nobody looks at most archives. So a checkpoint of
// many large screens costs what its file does.
type Shown struct {
	Cols, Rows int

	mu struct {
		sync.Mutex
		screen  []string // as its cells show it: made into cells again, it is the same
		history []byte   // its committed lines
	}
}

// Show makes the archive's text visible, and counts in Recovery the rows of which some is missing. ErrCorrupt when the
// text cannot be shown.
func (a *Archive) Show() (*Shown, error) {
	s := &Shown{}
	t, err := a.Hydrate(lines{s})
	if err != nil {
		return nil, err
	}
	s.Cols, s.Rows = t.Size()
	if len(a.Text.Screen) > 0 {
		s.mu.screen = t.View(true, false).Plain
	}
	return s, nil
}

// terminalLocked makes the cells. Should rows that were cells before not be fit for that, they are lost, and nothing else.
func (s *Shown) terminalLocked() *emulator.Terminal {
	t, _, err := emulator.Hydrate(s.Cols, s.Rows, emulator.Plain{Screen: s.mu.screen}, nil)
	if err != nil {
		return emulator.New(s.Cols, s.Rows, nil)
	}
	return t
}

// lines takes the history while it is hydrated. A terminal that nothing feeds says nothing else.
type lines struct{ s *Shown }

func (l lines) History(text []byte)              { l.s.mu.history = append(l.s.mu.history, text...) }
func (lines) Wipe()                              {}
func (lines) Reply([]byte)                       {}
func (lines) Notice(emulator.NoticeKind, string) {}

// Blank drops the text.
func (s *Shown) Blank() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.mu.history)
	s.mu.history, s.mu.screen = nil, nil
}

// HistoryLen is the number of bytes of the history's lines.
func (s *Shown) HistoryLen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.history)
}

// noCursor hides it: nothing types into a record, and where it was is not kept.
const noCursor = "\x1b[?25l"

// AppendReplay appends what a worker's REPLAY would hold: the history, when it is asked for, and the screen.
func (s *Shown) AppendReplay(dst []byte, history bool) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if history {
		dst = append(emulator.AppendReplayHead(dst, s.Cols, s.Rows), s.mu.history...)
	}
	return append(s.terminalLocked().AppendRepaint(emulator.AppendGeometry(dst, s.Cols, s.Rows)), noCursor...)
}

// Screen are its rows from the top, without the blanks at their ends, and once more with their styles if they are asked for.
func (s *Shown) Screen(styled bool) (plain, withStyle []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.terminalLocked().View(true, styled)
	return v.Plain, v.Styled
}

// History are the newest rows of the history, at most rowsMax of at most bytesMax bytes. cut says that there are older ones.
func (s *Shown) History(rowsMax, bytesMax int, styled bool) (plain, withStyle []string, cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := emulator.RowsOf(s.mu.history, s.Cols, rowsMax, bytesMax, styled)
	return h.Plain, h.Styled, h.Cut
}
