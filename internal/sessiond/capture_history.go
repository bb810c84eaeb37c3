// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"errors"
	"slices"

	"spawn/internal/sessiond/emulator"
	"spawn/internal/sessiond/scrollback"
	"spawn/internal/sessiond/secret"
	"spawn/internal/sessiond/wire"
)

// capturing is a capture that is being made. Its history is read from the end that the log had when it began, a stretch at a time,
// until there are as many rows as were asked for, or no older text:
//
//	log:  ░░░░░░░░░░│ stretch 2 │ stretch 1 │ appended since
//	                  piece, piece, …  a step each
//
// Rows are kept as they stand in the frame, so that nothing that takes long is left for the end.
type capturing struct {
	c    wire.Capture // without its history
	tail *scrollback.Tail
	done bool // there is no history to read any more

	rowsLeft, bytesLeft int
	styled, wraps       bool
	cutter              *emulator.RowCutter
	present             *stretchRows   // nil between two stretches
	newest              []*stretchRows // that were read, newest first
	piece               []byte         // room for text; wiped between two steps
	err                 error          // a row breaks a rule of the wire
}

// stretchRows are the newest rows of a stretch, as they stand in the frame.
type stretchRows struct {
	plain, styled []byte
	rows          []encodedRow
	dropped       int // of rows, from the first one on: newer ones left no room for them
	size          int // bytes of text of those that are kept
}

// encodedRow is where a row ends, and how much text it is.
type encodedRow struct {
	plainEnd, styledEnd, size int
	continues                 bool // it continues the one before
}

// rowsPerText is how many times as long as their text encoded rows are at most, but for looks that go on from row to row and for what
// the row before has left.
const rowsPerText = 2

// beginCapture goes on from what is known of the screen.
func beginCapture(log *scrollback.Log, req wire.CaptureReq, c wire.Capture) *capturing {
	p := &capturing{c: c, rowsLeft: int(req.MaxRows), bytesLeft: int(min(req.MaxBytes, wire.HistoryTextMax)), styled: req.Styled, wraps: req.Wraps}
	if !req.HasHistory() {
		p.done = true
		return p
	}
	var err error
	if p.tail, err = log.Tail(); err != nil {
		p.lose()
		return p
	}
	p.cutter = emulator.NewRowCutter(int(c.Cols), req.Styled, p.take)
	return p
}

// step reads one piece of the history, and reports whether the capture is complete. What it does is bounded by scrollback.PieceBytes.
func (p *capturing) step() (complete bool) {
	if p.done || p.err != nil {
		return true
	}
	if p.present == nil {
		if p.rowsLeft == 0 || !p.tail.Older() {
			p.c.Clipped = p.c.Clipped || p.tail.More()
			p.done = true
			return true
		}
		p.present = &stretchRows{}
	}
	piece, err := p.tail.Read(p.piece[:0])
	switch {
	case errors.Is(err, scrollback.ErrDropped): // the log had to make room: what there was is older than what it keeps
		p.c.Clipped, p.done = true, true
		p.present.wipe()
	case err != nil:
		p.lose()
	case len(piece) == 0:
		p.cutter.End()
		p.endStretch()
	default:
		p.present.plain = withRoom(p.present.plain, rowsPerText*len(piece))
		if p.styled {
			p.present.styled = withRoom(p.present.styled, rowsPerText*len(piece))
		}
		p.cutter.Feed(piece)
		secret.Wipe(piece)
		p.piece = piece
	}
	return p.done
}

func (p *capturing) endStretch() {
	s := p.present
	p.present = nil
	p.newest = append(p.newest, s)
	p.rowsLeft -= len(s.rows) - s.dropped
	p.bytesLeft -= s.size
	if s.dropped > 0 {
		p.c.Clipped, p.done = true, true
	}
}

// take is called with each row of the present stretch.
func (p *capturing) take(plain, styled []byte, continues bool) {
	s := p.present
	var err error
	if s.plain, err = wire.AppendCaptureRow(s.plain, plain, false); err == nil && p.styled {
		s.styled, err = wire.AppendCaptureRow(s.styled, styled, true)
	}
	if err != nil {
		p.err = err
		return
	}
	size := len(plain) + len(styled)
	s.rows = append(s.rows, encodedRow{len(s.plain), len(s.styled), size, continues})
	s.size += size
	for len(s.rows)-s.dropped > p.rowsLeft || s.size > p.bytesLeft {
		s.size -= s.rows[s.dropped].size
		s.dropped++
	}
}

// rows are those of the history, to be wiped with the capture.
func (p *capturing) rows() (r wire.CaptureRows) {
	number := 0
	for _, s := range slices.Backward(p.newest) {
		for _, row := range s.rows[s.dropped:] {
			if p.wraps && row.continues {
				r.Wraps = append(r.Wraps, number)
			}
			number++
		}
		if s.dropped < len(s.rows) {
			begin := encodedRow{}
			if s.dropped > 0 {
				begin = s.rows[s.dropped-1]
			}
			r.Plain, r.Styled = append(r.Plain, s.plain[begin.plainEnd:]), append(r.Styled, s.styled[begin.styledEnd:])
		}
	}
	return r
}

// lose makes it a capture whose history can't be had: a part of the truth is never shown as the whole.
func (p *capturing) lose() {
	p.forget()
	p.c.Lost = true
}

// forget makes it a capture without history: what there was has been wiped.
func (p *capturing) forget() {
	p.wipeRows()
	p.c.Clipped, p.done = false, true
}

func (p *capturing) wipeRows() {
	for _, s := range p.newest {
		s.wipe()
	}
	if p.present != nil {
		p.present.wipe()
	}
	p.newest, p.present = nil, nil
}

func (s *stretchRows) wipe() {
	secret.Wipe(s.plain)
	secret.Wipe(s.styled)
	s.rows = nil
}

// close overwrites what is kept and lets go of the log.
func (p *capturing) close() {
	p.wipeRows()
	if p.cutter != nil {
		p.cutter.Wipe()
	}
	if p.tail != nil {
		p.tail.Close()
	}
}
