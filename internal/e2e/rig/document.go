// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rig

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"

	"spawn/internal/sessiond/wire"
)

// What a terminal of a generator must show, and its history hold.

var (
	lineMark  = regexp.MustCompile(`L(\d{9}) [0-9a-f]{31,35}`)
	styleMark = regexp.MustCompile(`\x1b\[[0-9;:]*m`)
)

// checkDocument holds the text of a replay, history and screen, against the generator: each line once, in order, from
// the first one that is there to the last one before the position. The first one is the very first, unless the log is
// full, or else one that was on the screen when the last wipe took away what was not.
func (s Script) checkDocument(replay []byte, position uint64) error {
	found := lineMark.FindAll(replay, -1)
	complete := (position + 2) / LineBytes // a line shows before its CR LF has come
	if len(found) == 0 {
		return fmt.Errorf("no line in a replay at %d", position)
	}
	first, err := numberOf(found[0])
	if err != nil {
		return err
	}
	for i, m := range found {
		if want := s.shown(first + uint64(i)); !bytes.Equal(m, want) {
			return fmt.Errorf("line %d of the document is %q, want %q", i, m, want)
		}
	}
	if last := first + uint64(len(found)); last != complete {
		return fmt.Errorf("the document ends before line %d, %d were written by position %d", last, complete, position)
	}
	earliest, latest := s.beginning(complete)
	if first < earliest || first > latest && position <= logHolds {
		return fmt.Errorf("the document begins with line %d, want %d to %d", first, earliest, latest)
	}
	return nil
}

// beginning is between which lines a document begins when so many were written.
func (s Script) beginning(lines uint64) (earliest, latest uint64) {
	if s.Wipes == 0 || lines < s.Wipes {
		return 0, 0
	}
	wiped := lines - lines%s.Wipes // the line after the last one that wipes
	return wiped - min(wiped, rowsMax), wiped
}

func numberOf(line []byte) (uint64, error) { return strconv.ParseUint(string(line[1:10]), 10, 64) }

var (
	historyMark  = []byte("\x1b_sp:h1\x1b\\")
	asciiMark    = []byte("\x1b(B\x1b)B\x1b*B\x1b+B\x0f")
	geometryMark = regexp.MustCompile(`\x1b\[8;\d+;\d+t`)
)

// historyOf is the history section of a replay, and false when it has none.
func historyOf(replay []byte) (text []byte, whole bool) {
	_, rest, whole := bytes.Cut(replay, historyMark)
	if !whole {
		return nil, false
	}
	if screen := geometryMark.FindAllIndex(rest, -1); len(screen) > 0 {
		rest = rest[:screen[len(screen)-1][0]]
	}
	return bytes.TrimPrefix(rest, asciiMark), true
}

// viewBytesMax bounds what a view keeps of its text, which is the newest of it.
const viewBytesMax = 1 << 20

// view is the history as a viewer has it: begun by a replay, continued by each piece, and never mended by itself. Nothing
// is forgiven: a hole, a piece that was there already, a line that is not the next one of the generator, a snapshot
// that says something else than the pieces did.
type view struct {
	script   Script
	anchored bool // epoch and offset are those of text's end
	epoch    uint64
	offset   uint64
	text     []byte // the newest of what there is in the epoch

	before *view // what there was before a replay whose anchor has not come yet
}

// seed begins anew with the history section of a replay. Its anchor comes behind it.
func (v *view) seed(text []byte) {
	was := *v
	if v.before != nil {
		was = *v.before
	}
	*v = view{script: v.script, text: bytes.Clone(text), before: &was}
}

// take adds a piece; an empty one behind a replay is its anchor.
func (v *view) take(piece wire.History) error {
	if !v.anchored {
		if len(piece.Text) > 0 {
			return fmt.Errorf("history at %d before its anchor", piece.Offset)
		}
		v.anchored, v.epoch, v.offset = true, piece.Epoch, piece.Offset
		before := v.before
		v.before = nil
		if err := v.agrees(before); err != nil {
			return err
		}
		return v.check(0)
	}
	if piece.Epoch != v.epoch || piece.Offset != v.offset {
		return fmt.Errorf("history of epoch %d at %d, want epoch %d at %d", piece.Epoch, piece.Offset, v.epoch, v.offset)
	}
	from := len(v.text)
	v.text, v.offset = append(v.text, piece.Text...), v.offset+uint64(len(piece.Text))
	if err := v.check(from); err != nil {
		return err
	}
	v.text = v.text[max(0, len(v.text)-viewBytesMax):]
	return nil
}

func (v *view) wipe(epoch uint64) {
	v.epoch, v.offset, v.text = epoch, 0, nil
}

// agrees holds what two views have of the same epoch against each other. A viewer only ever goes forward.
func (v *view) agrees(before *view) error {
	if before == nil || !before.anchored || before.epoch != v.epoch {
		return nil
	}
	if v.offset < before.offset {
		return fmt.Errorf("history up to %d after history up to %d", v.offset, before.offset)
	}
	news := v.offset - before.offset
	if news >= uint64(len(v.text)) {
		return nil // the log has forgotten all that the viewer has
	}
	now := v.text[:uint64(len(v.text))-news]
	n := min(len(now), len(before.text))
	if old, again := before.text[len(before.text)-n:], now[len(now)-n:]; !bytes.Equal(old, again) {
		return fmt.Errorf("history up to %d is %.60q in a snapshot, and came as %.60q", before.offset, again, old)
	}
	return nil
}

// check holds the whole lines from the one before text[from:] on against the generator.
func (v *view) check(from int) error {
	for range 2 {
		from = bytes.LastIndexByte(v.text[:max(0, from-1)], '\n') + 1
	}
	lines := bytes.Split(v.text[from:], []byte("\r\n"))
	lines = lines[:len(lines)-1]
	if from == 0 && len(lines) > 0 && len(v.text) >= viewBytesMax {
		lines = lines[1:] // of which the beginning was dropped
	}
	var next uint64
	for i, line := range lines {
		if bytes.IndexByte(line, '\x1b') >= 0 {
			line = styleMark.ReplaceAll(line, nil)
		}
		if i == 0 {
			if !lineMark.Match(line) {
				return fmt.Errorf("history holds %.80q", line)
			}
			var err error
			if next, err = numberOf(line); err != nil {
				return err
			}
		}
		if want := v.script.shown(next); !bytes.Equal(line, want) {
			return fmt.Errorf("history holds %.80q, want %q", line, want)
		}
		next++
	}
	return nil
}
