// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Behaviour that terminals got wrong in public, where a screen alone doesn't
// show it. TestCases, TestHistoryText, TestResize and the tests of queries hold
// the others.

func repainted(term *Terminal) *Terminal {
	return fresh(term.cols, term.rows, term.AppendRepaint(nil))
}

func TestPendingWrapSurvivesASnapshot(t *testing.T) {
	term := fresh(10, 3, []byte("0123456789"))
	copied := repainted(term)
	for _, at := range []*Terminal{term, copied} {
		at.Feed([]byte("Z"))
		if got := rowText(at, 1); got != "Z" {
			t.Errorf("row 2 is %q", got)
		}
	}
}

func TestARunOfMarksIsBoundedPerCell(t *testing.T) {
	term := fresh(20, 2, []byte("e"+strings.Repeat("\u0301", 5000)+"x"))
	if got, want := rowText(term, 0), "e"+strings.Repeat("\u0301", marksMax)+"x"; got != want {
		t.Errorf("the row is %q", got)
	}
}

func TestATopRegionFeedsHistory(t *testing.T) {
	rec := &recorder{}
	term := New(20, 24, rec)
	term.Feed([]byte("\x1b[H\x1b[J\x1b[3J\x1b[0;5r"))
	var want strings.Builder
	for i := 1; i <= 100; i++ {
		term.Feed(fmt.Appendf(nil, "%d\r\n", i))
		if i <= 96 {
			fmt.Fprintf(&want, "%d\r\n", i)
		}
	}
	if got := rec.history.String(); got != want.String() {
		t.Errorf("history is %q", got)
	}
}

func TestTheAlternateScreenNeverFeedsHistory(t *testing.T) {
	lines := func(name string) string {
		var b strings.Builder
		for i := range 10 {
			fmt.Fprintf(&b, "%s%d\r\n", name, i)
		}
		return b.String()
	}
	rec := &recorder{}
	New(20, 5, rec).Feed([]byte(lines("p") + "\x1b[?1049h" + lines("a") + "\x1b[?1049l"))
	if got, want := rec.history.String(), "p0\r\np1\r\np2\r\np3\r\np4\r\np5\r\n"; got != want {
		t.Errorf("history is %q, want %q", got, want)
	}
}

func TestED3KeepsTheScreen(t *testing.T) {
	rec := &recorder{}
	term := New(20, 3, rec)
	term.Feed([]byte("1\r\n2\r\n3\r\n4\r\n5\x1b[3J"))
	if got := term.PlainScreen(); !slices.Equal(got, []string{"3", "4", "5"}) || rec.history.Len() > 0 {
		t.Errorf("the screen is %q, history %q", got, rec.history.String())
	}
}

func TestTabsReflow(t *testing.T) {
	term := fresh(10, 4, []byte("0123456789ab\tc\r\n"))
	term.Resize(40, 4)
	term.Feed([]byte("0123456789ab\tc"))
	if got := rowText(term, 0); got != "0123456789ab      c" {
		t.Errorf("the first print is %q", got)
	}
	if got := rowText(term, 1); got != "0123456789ab    c" {
		t.Errorf("the second print is %q", got)
	}
}

func TestOriginModeHomesAndClampsMoves(t *testing.T) {
	term := fresh(20, 10, []byte("\x1b[3;6r\x1b[8;8H\x1b[?6h"))
	if s := term.active; s.x != 0 || s.y != 2 {
		t.Errorf("setting DECOM moves to %d,%d", s.x, s.y)
	}
	for feed, y := range map[string]int{"\x1b[1d": 2, "\x1b[99d": 5, "\x1b[4;1H\x1b[99B": 5} {
		if term.Feed([]byte(feed)); term.active.y != y {
			t.Errorf("%q moves to line %d, want %d", feed, term.active.y, y)
		}
	}
}

func TestLinksAreKeptByIDAndTarget(t *testing.T) {
	term := New(80, 24, nil)
	for i := range 500 {
		term.Feed(fmt.Appendf(nil, "\x1b]8;id=%d;http://h/%d;x\ax", i, i))
	}
	term.Feed([]byte("\x1b]8;;\a\n"))
	for name, at := range map[string]*Terminal{"fed": term, "repainted": repainted(term)} {
		seen := map[string]int{}
		for _, line := range at.State().Primary.Lines {
			for _, c := range line.Cells {
				if c.Style.Link != 0 {
					seen[c.Style.LinkID+" "+c.Style.URI]++
				}
			}
		}
		if len(seen) != 500 || seen["499 http://h/499;x"] != 1 {
			t.Errorf("%s: %d links", name, len(seen))
		}
	}
}

func TestModesAreRestoredAtAttach(t *testing.T) {
	term := fresh(20, 5, []byte("\x1b[?2004;1002;1006;1004;1;66h\x1b[?7;25l\x1b[?2031;2048h"))
	got := repainted(term).State().Modes
	want := Modes{BracketedPaste: true, Mouse: 1002, MouseEncoding: 1006, FocusEvents: true, CursorKeys: true, Keypad: true, CursorHidden: true,
		ThemeReports: true, SizeReports: true}
	if got != want {
		t.Errorf("modes are %+v, want %+v", got, want)
	}
	if more := repainted(fresh(20, 5, []byte("\x1b[?1003h\x1b[?1003l"))).State().Modes; more != (Modes{AutoWrap: true}) {
		t.Errorf("modes that were reset come back: %+v", more)
	}
}

func TestCursorStyleIsRestored(t *testing.T) {
	for feed, want := range map[string]uint8{
		"\x1b[5 q": 5, "\x1b[5 q\x1b[0 q": 0, "\x1b[3 q\x1b[!p": 0, "\x1b7\x1b[4 q\x1b8": 4,
	} {
		if got := repainted(fresh(20, 5, []byte(feed))).State().Modes.CursorStyle; got != want {
			t.Errorf("%q leaves style %d, want %d", feed, got, want)
		}
	}
}

func TestSixelIsSkippedWhateverItsNumbers(t *testing.T) {
	for _, body := range []string{"!99999999~", "\"1;1;9999;0~", "\"1;1;99999;99999#0;2;0;0;0!2147483647?-"} {
		term := fresh(20, 5, []byte("A\x1b[?1049h\x1bPq"+body+"\x1b\\\x1b[?1049lB"))
		if got := rowText(term, 0); got != "AB" {
			t.Errorf("%q leaves %q", body, got)
		}
	}
}

func TestTmuxPassthroughIsSkipped(t *testing.T) {
	rec := &recorder{}
	term := New(20, 2, rec)
	term.Feed([]byte("A\x1bPtmux;x\x1b\\B"))
	if got := rowText(term, 0); got != "AB" || rec.replies.Len() > 0 {
		t.Errorf("the line is %q, replies %q", got, rec.replies.String())
	}
}

func TestRepaintsOfAScrollingProgramShowEachLineOnce(t *testing.T) {
	eachSeed(t, 100, func(t *testing.T, seed uint64) {
		g := newGen(seed, 30, 8)
		rec := &recorder{}
		term := New(30, 8, rec)
		var want []string
		for i := range 60 {
			want = append(want, fmt.Sprintf("<%d>", i))
			p := []byte(want[i] + "\r\n")
			cut := g.IntN(len(p) + 1)
			term.Feed(p[:cut])
			copied := repainted(term)
			if d := diffStates(term.State(), copied.State()); d != "" {
				t.Errorf("attached in line %d: %s", i, d)
				return
			}
			term.Feed(p[cut:])
		}
		if got := document(term, rec); got != strings.Join(want, "\r\n") {
			t.Errorf("the document is %q", got)
		}
	})
}
