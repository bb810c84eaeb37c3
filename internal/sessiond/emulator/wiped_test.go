// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bytes"
	"strings"
	"testing"
)

// mark fills what stands for text of somebody, where nothing of it may stay.
const mark = 'M'

// tight returns a buffer of n marks with room for spare bytes.
func tight(n, spare int) []byte {
	return append(make([]byte, 0, n+spare), bytes.Repeat([]byte{mark}, n)...)
}

// requireMovedOrKept wants old to be where now is, or zero.
func requireMovedOrKept(t *testing.T, old, now []byte, spare int) {
	t.Helper()
	if &old[0] != &now[0] && bytes.IndexByte(old, mark) >= 0 {
		t.Fatalf("with room for %d bytes, a copy stays behind", spare)
	}
}

// A terminal of everything that is painted in a way of its own.
func colourful() *Terminal {
	link := strings.Repeat("x", 700)
	term := New(90, 8, nil)
	stripes := strings.Repeat("\x1b[1;2;4;38;2;100;100;100ma\x1b[0;3;48;2;100;100;100mb", 45)
	term.Feed([]byte(stripes + "\x1b[m\r\n\x1b]2;title\x07\x1b]8;id=a;http://a/" + link + "\x07link\x1b]8;;\x07\x1b[1;3;4:3;38;2;1;2;3;48;2;4;5;6;58;2;7;8;9mstyled\x1b[m\r\n" +
		"e" + strings.Repeat("\u0301", marksMax) + "世界\u0301\x1b[41m\x1b[5X\x1b[m\r\n\x1b[1\"qprotected\x1b[0\"q\r\n" + strings.Repeat("w", 60) +
		"\x1b[3;20H世\x1b7\x1b(0\x1b[?1049hthe other one\x1b[2;5r\x1b[?6h\x1b[4h\x1b[>1u\x1b]4;5;rgb:11/22/33\x07"))
	return term
}

func TestRepaintLeavesNoCopyWhereItMoves(t *testing.T) {
	for _, tail := range []string{"", "\x1b[" + strings.Repeat("2147483647;", 31) + strings.Repeat("2147483647:", 32), "\x1b]2;" + strings.Repeat("y", 4000), "\x1bP$q", "\xe4\xb8"} {
		term := colourful()
		term.Feed([]byte(tail))
		const n = 100
		length := len(term.AppendRepaint(nil))
		for spare := range length + 1 {
			old := tight(n, spare)
			requireMovedOrKept(t, old, term.AppendRepaint(old), spare)
		}
	}
}

func TestGeometryLeavesNoCopyWhereItMoves(t *testing.T) {
	for spare := range 20 {
		old := tight(100, spare)
		requireMovedOrKept(t, old, AppendGeometry(old, 1000, 1000), spare)
	}
}

func TestHistoryLeavesNoCopyWhereItMoves(t *testing.T) {
	lines := map[string]string{
		"typed":    "plain text",
		"styled":   "\x1b[1;3;4:3;38;2;1;2;3;48;2;4;5;6;58;2;7;8;9mone\x1b[m two \x1b[31mthree\x1b[m",
		"links":    "\x1b]8;id=a;http://a/" + strings.Repeat("x", 700) + "\x07link\x1b]8;;\x07",
		"clusters": "e" + strings.Repeat("\u0301", marksMax) + "世界",
		"mark":     "\u0301" + strings.Repeat("\u0301", marksMax),
		"wrapped":  strings.Repeat("w", 70),
	}
	for name, line := range lines {
		for spare := range 1600 {
			term := New(20, 2, nil)
			old := tight(100, spare)
			term.history.text = old
			now := old
			term.sink = sinkOf(func(text []byte) { now = text[:100] })
			term.Feed([]byte(line + "\r\n\n\n\n"))
			if &old[0] != &now[0] && bytes.IndexByte(old, mark) >= 0 {
				t.Fatalf("%s: with room for %d bytes, a copy stays behind", name, spare)
			}
		}
	}
}

// sinkOf takes history alone.
type sinkOf func(text []byte)

func (s sinkOf) History(text []byte)     { s(text) }
func (sinkOf) Wipe()                     {}
func (sinkOf) Reply([]byte)              {}
func (sinkOf) Notice(NoticeKind, string) {}

func TestDeliveredHistoryIsWiped(t *testing.T) {
	var lent []byte
	term := New(20, 2, sinkOf(func(text []byte) { lent = text }))
	term.Feed([]byte("some text\r\n\n\n"))
	if len(lent) == 0 || bytes.IndexByte(lent, 's') >= 0 {
		t.Errorf("after its delivery the batch is %q", lent)
	}
}

// What has left a screen, or was erased, is in the memory of no row.
func TestRowsForgetWhatTheyShowedNoMore(t *testing.T) {
	for name, after := range map[string]string{
		"scrolled":       "\r\n\n\n\n",
		"erased":         "\x1b[H\x1b[2J",
		"line erased":    "\x1b[2K",
		"void and gone":  "\r\x1b[31mX\x1b[m\x1b[2K\r\n\n\n",
		"reset":          "\x1bc",
		"other screen":   "\x1b[2J\x1b[?1049h",
		"shifted":        "\x1b[H\x1b[4L",
		"shifted away":   "\x1b[H\x1b[4M",
		"scrolled by SU": "\x1b[4S",
	} {
		term := New(20, 4, nil)
		term.Feed([]byte("MMMMMMMM"))
		rows := term.primary.store
		if !strings.Contains(string(rows[0].typed), "MMMM") {
			t.Fatal("a row does not keep what was typed")
		}
		term.Feed([]byte(after))
		for i := range rows {
			if bytes.IndexByte(rows[i].typed[:cap(rows[i].typed)], mark) >= 0 {
				t.Errorf("%s: row %d holds it still", name, i)
			}
		}
	}
}

func TestResizeLeavesNoCopyOfTheScreens(t *testing.T) {
	for _, size := range [][2]int{{20, 3}, {10, 6}, {40, 6}} {
		term := New(20, 6, nil)
		term.Feed([]byte("MMMMMMMM\x1b[31mMMMMMMMMMMMMMMMMMMMM"))
		rows := term.primary.store
		term.Resize(size[0], size[1])
		for i, r := range rows {
			if bytes.IndexByte(r.typed[:cap(r.typed)], mark) >= 0 {
				t.Errorf("%v: row %d holds what was typed", size, i)
			}
			for _, c := range r.cells {
				if c != 0 {
					t.Fatalf("%v: row %d holds a cell", size, i)
				}
			}
		}
	}
}
