// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// document returns what a person reads of the primary screen: history, then
// the screen, soft wraps joined.
func document(term *Terminal, rec *recorder) string {
	var b strings.Builder
	b.Write(rec.history.Bytes())
	open := rec.history.Len() > 0 && !bytes.HasSuffix(rec.history.Bytes(), []byte("\n"))
	for y := range term.rows {
		line := term.primary.row(y)
		next := followedByBreak
		if y+1 < term.rows {
			next = followerOf(term.primary.row(y + 1))
		}
		if (y > 0 || open) && !line.wrapped {
			b.WriteString("\r\n")
		}
		for _, c := range line.text(next) {
			switch {
			case c.printed():
				b.Write(term.clusters.appendContent(nil, c))
			case c.class() != classTail:
				b.WriteByte(' ')
			}
		}
	}
	return strings.TrimRight(b.String(), "\r\n ")
}

func TestHistoryHoldsEachLineOnce(t *testing.T) {
	eachSeed(t, 200, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		rec := &recorder{}
		term := New(2+r.IntN(40), 1+r.IntN(10), rec)
		var want []string
		for i := range 300 {
			line := fmt.Sprintf("%d:%s.", i, strings.Repeat("x", r.IntN(60)))
			want = append(want, line)
			term.Feed([]byte(line + "\r\n"))
		}
		if got := document(term, rec); got != strings.Join(want, "\r\n") {
			t.Errorf("history and screen are\n%q\nwant\n%q", got, want)
		}
	})
}

// tagged finds the numbers of the lines that TestHistoryUnderEverything prints.
var tagged = regexp.MustCompile(`<(\d+)>`)

// A line that is printed once is found once, in order, whatever scrolls,
// resizes, clears or covers the screen in between.
func TestHistoryUnderScrollsResizesAndScreens(t *testing.T) {
	eachSeed(t, 400, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 4))
		cols, rows := 20+r.IntN(40), 2+r.IntN(10)
		rec := &recorder{}
		term := New(cols, rows, rec)
		printed := 0
		for range 150 {
			switch r.IntN(10) {
			case 0:
				term.Feed(fmt.Appendf(nil, "\x1b[%dS", r.IntN(4)))
			case 1:
				cols, rows = 20+r.IntN(40), 2+r.IntN(10)
				term.Resize(cols, rows)
			case 2:
				term.Feed([]byte("\x1b[2J\x1b[H"))
			case 3:
				term.Feed([]byte("\x1b[?1049h\x1b[H" + strings.Repeat("<999999>\r\n", r.IntN(20)) + "\x1b[2J\x1b[?1049l"))
			default:
				term.Feed(fmt.Appendf(nil, "\x1b[3%dm<%d>\x1b[m%s\r\n", r.IntN(8), printed, strings.Repeat("y", r.IntN(50))))
				printed++
			}
		}
		found := tagged.FindAllStringSubmatch(document(term, rec), -1)
		if len(found) != printed {
			t.Errorf("%d of %d lines are found", len(found), printed)
		}
		for i, f := range found {
			if f[1] != fmt.Sprint(i) {
				t.Errorf("line %d is followed by <%s>", i-1, f[1])
				return
			}
		}
	})
}

// Agents keep a footer below a region at the top, which feeds history.
func TestHistoryAboveAFooter(t *testing.T) {
	rec := &recorder{}
	term := New(20, 8, rec)
	term.Feed([]byte("\x1b[8;1Hfooter\x1b[1;6r\x1b[H"))
	var want []string
	for i := range 100 {
		line := fmt.Sprintf("<%d>", i)
		want = append(want, line)
		term.Feed([]byte(line + "\r\n"))
	}
	want = append(want, "", "", "footer")
	if got := document(term, rec); got != strings.Join(want, "\r\n") {
		t.Errorf("history and screen are %q", got)
	}
}

func TestHistoryText(t *testing.T) {
	for _, c := range []struct {
		name       string
		cols, rows int
		feed       string
		want       string
	}{
		{"hard ends", 10, 2, "a\r\nb\r\nc\r\n", "a\r\nb\r\n"},
		{"blank line", 10, 2, "\r\n\r\n\r\nx", "\r\n\r\n"},
		{"trailing blanks that were printed stay", 10, 1, "a  \r\n", "a  \r\n"},
		{"soft wrap has no break", 4, 2, "abcdefgh\r\nxy\r\n", "abcdefgh\r\n"},
		{"soft wrap of a line that goes on on screen", 4, 2, "abcdefghijk", "abcd"},
		{"wide character that doesn't fit", 5, 1, "ab世界世\r\n", "ab世界世\r\n"},
		{"style is closed at the end of a line", 10, 1, "\x1b[1;31mred\r\n\x1b[mx", "\x1b[0;1;31mred\x1b[0m\r\n"},
		{"background of an erased end", 4, 1, "\x1b[44ma\x1b[K\r\n", "\x1b[0;44ma   \x1b[0m\r\n"},
		{"underline and colours", 9, 1, "\x1b[4:3;58:2::1:2:3;38;2;4;5;6;48;5;7mx\x1b[m\r\n",
			"\x1b[0;4:3;38;2;4;5;6;48;5;7;58:2::1:2:3mx\x1b[0m\r\n"},
		{"link", 9, 1, "\x1b]8;id=q;http://x\alink\x1b]8;;\a\r\n", "\x1b]8;id=q;http://x\x1b\\link\x1b]8;;\x1b\\\r\n"},
		{"link without id", 9, 1, "\x1b]8;;http://x\alink\x1b]8;;\a\r\n", "\x1b]8;id=spawn-1;http://x\x1b\\link\x1b]8;;\x1b\\\r\n"},
		{"line drawing is mapped already", 9, 1, "\x1b(0qx\r\n", "─│\r\n"},
		{"marks", 9, 1, "e\u0301\x1b[m\u0302\r\n", "e\u0301 \u0302\r\n"},
		{"gap", 9, 1, "a\x1b[3Cb\r\n", "a   b\r\n"},
		{"region at the top", 10, 4, "a\r\nb\r\nc\x1b[1;2r\x1b[2;1H\n\n\n", "a\r\nb\r\n\r\n"},
		{"region below the top", 10, 4, "a\r\nb\r\nc\x1b[2;3r\x1b[3;1H\n\n\n", ""},
		{"SU in a top region", 20, 6, "L0\r\nL1\r\nL2\r\nL3\x1b[1;3r\x1b[2S", "L0\r\nL1\r\n"},
		{"SU elsewhere", 20, 6, "L0\r\nL1\r\nL2\r\nL3\x1b[2;3r\x1b[2S", ""},
		{"DL, RI and SD lose nothing to history", 20, 2, "L0\r\nL1\x1b[H\x1b[M\x1bM\x1b[T", ""},
		{"ED 2 commits what is occupied", 20, 5, "one\r\ntwo\r\n\x1b[2J\x1b[Hthree", "one\r\ntwo\r\n"},
		{"ED 2 of a blank screen", 20, 5, "\x1b[41m\x1b[2J\x1b[2J", ""},
		{"DECSED 2 doesn't", 20, 5, "one\x1b[?2J", ""},
		{"ED 2 on the alternate screen doesn't", 20, 5, "\x1b[?47hone\x1b[2J", ""},
		{"alternate screen", 20, 2, "a\x1b[?1049h" + "x\r\ny\r\nz\r\n", ""},
		{"autowrap at the bottom", 3, 1, "abcdef", "abc"},
		{"REP", 10, 1, "#\x1b[15b", "##########"},
		{"wrapped head that was deleted", 4, 3, "abcdefghij\x1b[H\x1b[M\x1b[3;1H\r\n\n", "efghij\r\n"},
		{"open line whose rest was deleted", 4, 2, "abcdefghij\x1b[2J\x1b[Hx\x1b[2;1H\r\n", "abcdefghij\r\nx\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := &recorder{}
			term := New(c.cols, c.rows, rec)
			term.Feed([]byte(c.feed))
			if got := rec.history.String(); got != c.want {
				t.Errorf("history is %q, want %q", got, c.want)
			}
		})
	}
}

func TestWipeIsOrderedWithHistory(t *testing.T) {
	for name, c := range map[string]struct{ feed, want string }{
		"ED 3":                         {"a\r\nb\r\n\x1b[3Jc\r\nd\r\n", "b\r\nc\r\n"},
		"DECSED 3":                     {"a\r\nb\r\n\x1b[?3Jc\r\nd\r\n", "b\r\nc\r\n"},
		"ED 3 on the alternate screen": {"a\r\nb\r\n\x1b[?47h\x1b[3J\x1b[?47l", ""},
		"RIS":                          {"a\r\nb\r\n\x1bcc\r\nd\r\ne", "c\r\n"},
		"clear as agents do":           {"a\r\nb\x1b[2J\x1b[3J\x1b[H", ""},
	} {
		t.Run(name, func(t *testing.T) {
			rec := &recorder{}
			New(9, 2, rec).Feed([]byte(c.feed))
			if rec.wipes != 1 || rec.history.String() != c.want {
				t.Errorf("%d wipes, then %q; want one, then %q", rec.wipes, rec.history.String(), c.want)
			}
		})
	}
}

func TestHistoryBatchesAreBoundedAndClean(t *testing.T) {
	b := &batches{}
	term := New(100, 10, b)
	g := newGen(7, 100, 10)
	for range 300 {
		term.Feed(bytes.Repeat(g.stream(30), 4))
	}
	if b.n == 0 {
		t.Fatal("nothing was committed")
	}
	if limit := historyBatchBytes + 100*100; b.largest > limit {
		t.Errorf("a batch of %d bytes, want %d at most", b.largest, limit)
	}
	if b.bad != "" {
		t.Errorf("history holds %q", b.bad)
	}
}

// batches checks the batches of history as they come.
type batches struct {
	discard
	n, largest int
	bad        string
}

// badHistory is what no batch may hold: controls other than CR, LF and ESC, or
// the marker of a replay section.
var badHistory = regexp.MustCompile(`[\x00-\x09\x0b\x0c\x0e-\x1a\x1c-\x1f]|\x1b\[8;|\r[^\n]`)

func (b *batches) History(p []byte) {
	b.n++
	b.largest = max(b.largest, len(p))
	if m := badHistory.Find(p); m != nil {
		b.bad = string(m)
	}
}

// A batch stands for itself: whoever replays it alone gets the same lines.
func TestHistoryRewrapsAtTheWidthOfTheConsumer(t *testing.T) {
	rec := &recorder{}
	term := New(10, 3, rec)
	line := "0123456789abcdefghij世界klmno"
	for range 5 {
		term.Feed([]byte("\x1b[32m" + line + "\x1b[m\r\n"))
	}
	wide := New(200, 20, nil)
	wide.Feed(rec.history.Bytes())
	if got := strings.TrimRight(rowText(wide, 0), " "); got != line {
		t.Errorf("at 200 columns the first line is %q, want %q", got, line)
	}
}

// rowText returns the text of a line of the shown screen.
func rowText(term *Terminal, y int) string {
	var b []byte
	for _, c := range term.active.row(y).cells {
		switch {
		case c.printed():
			b = term.clusters.appendContent(b, c)
		case c.class() != classTail:
			b = append(b, ' ')
		}
	}
	return strings.TrimRight(string(b), " ")
}
