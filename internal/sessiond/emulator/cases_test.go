// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"fmt"
	"strings"
	"testing"
)

// Cases that terminals got wrong in public, with what this one shows. Where
// terminals disagree, it does as xterm.js.
var cases = []struct {
	name       string
	cols, rows int
	feed       string
	want       string // lines, trailing blanks cut, joined by '|'
	x, y       int    // the cursor, counted from 0; x == cols is a pending wrap
}{
	{"DECSC and DECRC keep pen and mapping", 30, 2, "\x1b[31m\x1b(0\x1b7------\x1b[m\x1b(B\x1b8lwkmvj", "┌┬┐└┴┘|", 6, 0},
	{"DECRC ends a pending wrap", 20, 4, "O\x1b7\x1b[4;20HA\x1b8K", "OK|||                   A", 2, 0},
	{"DECRC stays inside moved margins", 20, 12, "\x1b[1;10r\x1b[?6h\x1b[5;1H\x1b7\x1b[?6l\x1b[4;12r\x1b[?6h\x1b8X", "||||X|||||||", 1, 4},
	{"BS at a pending wrap", 20, 2, "\x1b[1000Cx\by", strings.Repeat(" ", 18) + "yx|", 19, 0},
	{"CUU at a pending wrap", 10, 4, "\n\n0123456789\x1b[AZ", "|         Z|0123456789|", 10, 1},
	{"wide characters wrap early", 9, 3, " 测试测试测", " 测试测试|测|", 2, 1},
	{"a wide character without room and without DECAWM", 10, 3, "\x1b[?7l123456789橋Z", "123456789Z||", 10, 0},
	{"a mark after a wide character without room", 6, 2, "\x1b[?7labcde👨\u200d", "abcde\u200d|", 5, 0},
	{"another mark after a wide character without room", 6, 2, "\x1b[?7labcde界\u0301", "abcde\u0301|", 5, 0},
	{"the last width of a wide character without room", 5, 2, "\x1b[?7labcde界", "abcde|", 4, 0},
	{"two wide characters where one has room", 6, 2, "\x1b[?7labcd界界", "abcd界|", 5, 0},
	{"REP after a wide character without room", 6, 2, "\x1b[?7labcd界界\x1b[2b", "abcd d|", 6, 0},
	{"the right half is printed over", 6, 2, "\x1b[?7labcd界x", "abcd界x|", 6, 0},
	{"DECSC after DECRC of a link", 9, 2, "\x1b]8;;http://a\aa\x1b7\x1b]8;;\ab\x1b8\x1b7c", "ac|", 2, 0},
	{"DECSC after DECRC of an underline", 9, 2, "\x1b[4ma\x1b7\x1b[24mb\x1b8\x1b7c", "ac|", 2, 0},
	{"DCH through a wide character", 10, 2, "A橋123\x1b[3G\x1b[P", "A 123|", 2, 0},
	{"ICH through a wide character", 10, 2, "あ\x1b[2G\x1b[@abc", " abc|", 4, 0},
	{"ECH through a wide character", 10, 2, "あb\x1b[2G\x1b[X", "  b|", 1, 0},
	{"a wide character fills the row exactly", 5, 3, "a中文b", "a中文|b|", 1, 1},
	{"ZWJ sequences don't merge", 20, 2, "👨\u200d👩\u200d👧\u200d👦X", "👨\u200d👩\u200d👧\u200d👦X|", 9, 0},
	{"VS16 doesn't widen", 20, 2, "❤\ufe0fX", "❤\ufe0fX|", 2, 0},
	{"regional indicators", 20, 2, "🇩🇪🇫🇷X", "🇩🇪🇫🇷X|", 5, 0},
	{"LF below the region", 20, 6, "a\r\nb\r\nc\r\nd\r\ne\x1b[1;3r\x1b[6;1Hz\n", "a|b|c|d|e|z", 1, 5},
	{"wrap below the region stays on the row", 4, 3, "\x1b[1;2r\x1b[3;1Habcdef", "||efcd", 2, 2},
	{"DECSTR keeps the cursor", 30, 2, "one \x1b[!p \x1b[?1049h \x1b[?1049l two", "one   two|", 9, 0},
	{"CBT", 80, 2, "\t\tX\x1b[1Zy", "                y|", 17, 0},
	{"CHT at the edge", 20, 2, strings.Repeat("\x1b[I*", 5), "        *       *  *|*       *", 9, 1},
	{"REP", 20, 2, "A\x1b[5b", "AAAAAA|", 6, 0},
	{"REP wraps", 10, 3, "#\x1b[15b", "##########|######|", 6, 1},
	{"REP of a wide character", 20, 2, "😀\x1b[3b", "😀😀😀😀|", 8, 0},
	{"REP of a cluster", 20, 2, "e\u0301\x1b[2b", "e\u0301e\u0301e\u0301|", 3, 0},
	{"a second REP has nothing to repeat", 20, 2, "A\x1b[2b\x1b[2b", "AAA|", 3, 0},
	{"REP longer than the screen ends where it would", 10, 3, "#\x1b[1000000003b", "##########|##########|####", 4, 2},
	{"IRM", 20, 2, "abcd\x1b[1G\x1b[4hZZ\x1b[4l", "ZZabcd|", 2, 0},
	{"IRM with a wide character", 20, 2, "abcd\x1b[1G\x1b[4h橋\x1b[4l", "橋abcd|", 2, 0},
	{"IRM at a pending wrap", 5, 2, "abcde\x1b[4hf", "abcde|f", 1, 1},
	{"DECOM", 20, 10, "\x1b[3;6r\x1b[?6h\x1b[1;1HA\x1b[99;1HB", "||A|||B||||", 1, 5},
	{"unknown DCS and APC vanish", 20, 2, "A\x1bP+q544e\x1b\\B\x1b_Gx\x1b\\C", "ABC|", 3, 0},
	{"raw C1 bytes are no controls", 20, 2, "\x9b31mA", "31mA|", 4, 0},
	{"encoded C1 is a control", 20, 2, "\u009b3CA", "   A|", 4, 0},
	{"LF at a pending wrap", 4, 3, "abcd\nx", "abcd|   x|", 4, 1},
	{"EL at a pending wrap erases nothing", 4, 2, "abcd\x1b[K", "abcd|", 4, 0},
	{"EL 1 at a pending wrap", 4, 2, "abcd\x1b[1Kx", "|x", 1, 1},
	{"TAB at a pending wrap", 4, 2, "abcd\tx", "abcd|x", 1, 1},
	{"reverse wrap undoes a soft wrap", 4, 3, "\x1b[?45habcde\b\b", "abcd|e|", 3, 0},
	{"SD's lines are not coloured, SU's are", 4, 3, "\x1b[41m\x1b[Sa", "a||", 1, 0},
	{"DECSEL spares what is protected", 9, 2, "a\x1b[1\"qb\x1b[0\"qc\x1b[?2K", " b|", 3, 0},
	{"DECALN", 4, 3, "\x1b[2;3r\x1b#8", "EEEE|EEEE|EEEE", 0, 0},
	{"DECALN in origin mode", 4, 3, "\x1b[2;3r\x1b[?6h\x1b#8", "EEEE|EEEE|EEEE", 0, 1},
	{"SL and SR", 6, 2, "abcdef\x1b[2 @\x1b[1 A", " cdef|", 6, 0},
	{"DECIC and DECDC", 6, 2, "abcdef\x1b[3G\x1b[2'}\x1b[1'~", "ab cd|", 2, 0},
	{"tabs are the screen's own", 20, 2, "\x1b[3g\x1b[?47h\r\tA\x1b[?47l\r\tB", strings.Repeat(" ", 19) + "B|", 20, 0},
	{"1049 twice only saves", 9, 3, "p\x1b[?1049hA\x1b[?1049hB\x1b[?1049l", "p||", 1, 0},
	{"an aborted sequence prints nothing", 9, 2, "a\x1b[3\x18b\x1b[3\x1ac", "abc|", 3, 0},
	{"a control inside a sequence is carried out", 9, 2, "a\x1b[1\n;3Hb", "a b|", 3, 0},
	{"a letter beyond U+00A0 ends an APC", 9, 2, "a\x1b_xéy\x1b\\", "ay|", 2, 0},
	{"screen's title sequence prints", 9, 2, "\x1bkt\x1b\\x", "tx|", 2, 0},
}

func TestCases(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			term := New(c.cols, c.rows, nil)
			term.Feed([]byte(c.feed))
			lines := make([]string, c.rows)
			for y := range lines {
				lines[y] = rowText(term, y)
			}
			want := c.want + strings.Repeat("|", max(0, c.rows-1-strings.Count(c.want, "|")))
			if got := strings.Join(lines, "|"); got != want {
				t.Errorf("the screen is %q, want %q", got, want)
			}
			if s := term.active; s.x != c.x || s.y != c.y {
				t.Errorf("the cursor is at %d,%d, want %d,%d", s.x, s.y, c.x, c.y)
			}
		})
	}
}

// All cases show the same in xterm.js, and so does each character set.
func TestCasesAgreeWithXterm(t *testing.T) {
	var names []string
	var requests []oracleRequest
	add := func(name string, cols, rows int, feed string) {
		names = append(names, name)
		requests = append(requests, oracleRequest{Cols: cols, Rows: rows, Chunks: []oracleChunk{{feed: []byte(feed)}}})
	}
	for _, c := range cases {
		if !strings.Contains(c.feed, "1000000003") {
			add(c.name, c.cols, c.rows, c.feed)
		}
	}
	var ascii strings.Builder
	for c := ' '; c < 0x7f; c++ {
		ascii.WriteRune(c)
	}
	for final := '0'; final <= '~'; final++ {
		add("character set "+string(final), 40, 4, fmt.Sprintf("\x1b(%c%s", final, ascii.String()))
	}
	screen, repaint := agreement(t, names, requests)
	screen.report(t, "screen and registers", 1000, 0)
	repaint.report(t, "xterm.js fed with the repaint", 1000, 0)
}

func TestResize(t *testing.T) {
	for _, c := range []struct {
		name       string
		cols, rows int
		feed       string
		sizes      [][2]int
		more       string
		want       string
		x, y       int
		history    string
	}{
		{"soft wraps rejoin", 10, 4, "0123456789abc", [][2]int{{20, 4}}, "", "0123456789abc|||", 13, 0, ""},
		{"shrink and grow", 8, 3, "ABCDE", [][2]int{{3, 3}, {8, 3}}, "", "ABCDE||", 5, 0, ""},
		{"a shrunk line goes on", 8, 3, "ABCDE", [][2]int{{3, 3}}, "F", "ABC|DEF|", 3, 1, ""},
		{"a pending wrap stays", 6, 3, "ABCDEF", [][2]int{{3, 3}}, "G", "ABC|DEF|G", 1, 2, ""},
		{"on the alternate screen", 20, 5, "p1\r\np2\r\np3\x1b[?1049hALT", [][2]int{{10, 5}}, "\x1b[?1049lEND", "p1|p2|p3END||", 5, 2, ""},
		{"narrow commits what is displaced", 8, 2, "abcdefgh\r\nxyz", [][2]int{{4, 2}}, "", "efgh|xyz", 3, 1, "abcd"},
		{"wide brings nothing back", 4, 2, "abcdefgh\r\nxyz", [][2]int{{8, 2}}, "", "efgh|xyz", 3, 1, "abcd"},
		{"shorter drops blank lines first", 9, 5, "a\r\nb", [][2]int{{9, 2}}, "", "a|b", 1, 1, ""},
		{"shorter commits at the top", 9, 3, "a\r\nb\r\nc", [][2]int{{9, 2}}, "", "b|c", 1, 1, "a\r\n"},
		{"taller adds blank lines", 9, 2, "a\r\nb\r\nc", [][2]int{{9, 4}}, "", "b|c||", 1, 1, "a\r\n"},
		{"wide characters move whole", 6, 3, "a世界b", [][2]int{{4, 3}}, "", "a世|界b|", 3, 1, ""},
		{"and back", 6, 3, "a世界b", [][2]int{{4, 3}, {6, 3}}, "", "a世界b||", 6, 0, ""},
		{"margins are reset", 9, 4, "\x1b[2;3r", [][2]int{{9, 5}}, "\x1b[5;1Hx\n", "|||x|", 1, 4, "\r\n"},
		{"tab stops go on from the last", 20, 2, "\x1b[3g\x1b[5G\x1bH\r", [][2]int{{30, 2}}, "\t\t\tx", strings.Repeat(" ", 20) + "x|", 21, 0, ""},
		{"limits", 20, 5, "x", [][2]int{{0, 0}}, "", "x", 1, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := &recorder{}
			term := New(c.cols, c.rows, rec)
			term.Feed([]byte(c.feed))
			for _, s := range c.sizes {
				term.Resize(s[0], s[1])
			}
			term.Feed([]byte(c.more))
			lines := make([]string, term.rows)
			for y := range lines {
				lines[y] = rowText(term, y)
			}
			if got := strings.Join(lines, "|"); got != c.want {
				t.Errorf("the screen is %q, want %q", got, c.want)
			}
			if s := term.active; s.x != c.x || s.y != c.y {
				t.Errorf("the cursor is at %d,%d, want %d,%d", s.x, s.y, c.x, c.y)
			}
			if got := rec.history.String(); got != c.history {
				t.Errorf("history is %q, want %q", got, c.history)
			}
		})
	}
}
