// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"context"
	"iter"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/verbs"
)

// sheet is rows of a terminal by number: 0 is the first of the screen, those before it are the history.
type sheet struct {
	first  int
	plain  []string
	styled []string     // as many, or none
	wraps  map[int]bool // rows, by number, that continue the one before
	cut    bool         // older rows exist
}

// sheetOf puts history and screen of a capture together.
func sheetOf(shot wire.Capture) sheet {
	s := sheet{
		first: -len(shot.History), cut: shot.Clipped || shot.Oversize,
		plain:  append(append([]string{}, shot.History...), shot.Screen...),
		styled: append(append([]string{}, shot.StyledHistory...), shot.StyledScreen...),
		wraps:  make(map[int]bool, len(shot.HistoryWraps)+len(shot.ScreenWraps)),
	}
	for _, i := range shot.HistoryWraps {
		s.wraps[s.first+i] = true
	}
	for _, i := range shot.ScreenWraps {
		s.wraps[i] = true
	}
	return s
}

// backward goes through the lines, the newest first: from and to are the rows of plain that a line takes, without to.
func (s sheet) backward() iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for to := len(s.plain); to > 0; {
			from := to - 1
			for from > 0 && s.wraps[s.first+from] {
				from--
			}
			if !yield(from, to) {
				return
			}
			to = from
		}
	}
}

// continued are the numbers of the rows that continue the one before, which is there too.
func (s sheet) continued() []int {
	var numbers []int
	for i := 1; i < len(s.plain); i++ {
		if s.wraps[s.first+i] {
			numbers = append(numbers, s.first+i)
		}
	}
	return numbers
}

// between leaves the rows from first to last.
func (s sheet) between(first, last int) sheet {
	from := min(max(0, first-s.first), len(s.plain))
	to := max(from, min(last-s.first+1, len(s.plain)))
	s.first += from
	s.plain = s.plain[from:to]
	if len(s.styled) > 0 {
		s.styled = s.styled[from:to]
	}
	return s
}

// newest leaves the last n rows.
func (s sheet) newest(n int) sheet {
	if extra := len(s.plain) - n; extra > 0 {
		s.cut = true
		s.first += extra
		s.plain = s.plain[extra:]
		if len(s.styled) > 0 {
			s.styled = s.styled[extra:]
		}
	}
	return s
}

// document asks for a capture that may have history. That the history cannot be had is an error, because a part
// would pass for the whole.
func document(ctx context.Context, t Terminal, req wire.CaptureReq) (wire.Capture, error) {
	shot, err := t.Capture(ctx, req)
	if err == nil && shot.Lost {
		err = verbs.Errorf(verbs.CodeNoHistory, "the terminal's log cannot be read")
	}
	return shot, err
}

// parts are the words of the wire for those of the verb.
var parts = map[string]string{"": wire.CaptureScreen, "screen": wire.CaptureScreen, "history": wire.CaptureHistory, "all": wire.CaptureAll}

// Capture shows what a terminal shows. Rows of the history are as wide as the terminal is now.
func Capture(ctx context.Context, t Terminal, p verbs.PaneCaptureParams) (verbs.PaneCaptureResult, error) {
	most := rowsDefault
	if p.Max != 0 {
		most = int(p.Max)
	}
	reach := most // rows of history that can be among those asked for
	if p.Last < 0 {
		reach -= p.Last
	}
	if p.First < 0 {
		reach = min(reach, -p.First)
	}
	styled := p.Format == "styled"
	shot, err := document(ctx, t, wire.CaptureReq{What: parts[p.Part], MaxRows: uint32(min(reach, captureRows)), MaxBytes: captureBytes, Styled: styled, Wraps: true})
	if err != nil {
		return verbs.PaneCaptureResult{}, err
	}
	s := sheetOf(shot)
	if p.First != 0 {
		s.cut = false
		s = s.between(p.First, int(shot.Rows))
	}
	if p.Last != 0 {
		s = s.between(s.first, p.Last)
	}
	s = s.newest(most)
	lines := s.plain
	if styled {
		lines = s.styled
	}
	lines = shown(lines)
	fit := newest(lines, answerBytes)
	s = s.newest(len(fit))
	return verbs.PaneCaptureResult{
		Cols: shot.Cols, Rows: shot.Rows, First: s.first, Lines: fit, Continued: s.continued(), More: s.cut,
		Cursor: verbs.Cursor{Col: shot.Cursor.Col, Row: shot.Cursor.Row, Visible: shot.Cursor.Visible},
		Modes: verbs.Modes{
			Alternate: shot.Alternate, BracketedPaste: shot.Modes.BracketedPaste, ApplicationKeys: shot.Modes.CursorKeys, Mouse: shot.Modes.Mouse != 0,
		},
		Exited: t.Exited(),
	}, nil
}

// shown takes the blanks off the ends of rows.
func shown(rows []string) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = bare(row)
	}
	return out
}
