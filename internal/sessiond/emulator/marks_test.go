// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"slices"
	"strings"
	"testing"
)

// promptsOf returns the prompt marks of the shown lines, with '|' between them.
func promptsOf(term *Terminal) string {
	var lines []string
	for y := range term.rows {
		lines = append(lines, term.active.row(y).prompt.String())
	}
	return strings.Join(lines, "|")
}

const (
	markA = "\x1b]133;A\a"
	markB = "\x1b]133;B\a"
	markC = "\x1b]133;C\a"
	markD = "\x1b]133;D;1\a"
)

func TestPromptMarksBelongToTheirRow(t *testing.T) {
	for _, c := range []struct {
		name, feed string
		want       string // of a screen of 8×3
	}{
		{"each letter once", markD + markA + "$ " + markB + "ls\r\n" + markC + "x\r\n" + markC, "ABD|C|C"},
		{"with parameters", "\x1b]133;A;cl=m;k=s\a\n\x1b]133;C;\a", "A|C|"},
		{"no others", "\x1b]133;L\a\x1b]133;P;k=i\a\x1b]133;\a\x1b]133\a\x1b]133;AB\a\x1b]133;a\a\x1b]1330;A\a", "||"},
		{"a line feed scrolls", markA + "\n" + markC + "\n" + markD + "\n", "C|D|"},
		{"RI and SD", markA + "\x1bM\x1b[T", "||A"},
		{"SU", markA + "\n" + markB + "\x1b[S", "B||"},
		{"IL and DL", markA + "\n" + markB + "\x1b[L\x1b[H\x1b[M", "|B|"},
		{"a region", markA + "\n\n" + markD + "\x1b[1;2r\n\n\n", "||D"},
		{"printing over it", markA + "abc\rdef", "A||"},
		{"EL 2", markA + "abc\x1b[2K", "||"},
		{"EL 0 from the first column", markA + "abc\r\x1b[K", "||"},
		{"EL 0 from another", markA + "abc\x1b[3G\x1b[K", "A||"},
		{"EL 1", markA + "abcdefgh\x1b[1K", "A||"},
		{"ED 0", markA + "a\n" + markB + "\n" + markC + "\x1b[2;1H\x1b[Jx", "A|B|"},
		{"ED 1", markA + "a\n" + markB + "b\n" + markC + "c\x1b[2;2H\x1b[1J", "|B|C"},
		{"ED 2", markA + "a\n" + markB + "\n" + markC + "\x1b[2J", "||"},
		{"DECSEL and DECSED", markA + "a\x1b[?2K\n" + markB + "\x1b[?2J", "||"},
		{"ECH and DCH", markA + "abc\r\x1b[9X\x1b[9P", "A||"},
		{"DECALN", markA + "\x1b#8", "||"},
		{"RIS", markA + "\x1bc", "||"},
		{"DECSTR", markA + "\x1b[!p", "A||"},
		{"a shell clears its line after the mark", "\x1b[7m%\x1b[m       \r \r" + markD + "\r\x1b[m\x1b[J" + markA + "$ " + markB, "ABD||"},
		{"the alternate screen has its own", markA + "\x1b[?1049h\n" + markC, "|C|"},
		{"and forgets them", markA + "\n\x1b[?1049h" + markC + "\x1b[?1049l" + markB, "A|B|"},
	} {
		t.Run(c.name, func(t *testing.T) {
			term := fresh(8, 3, []byte(c.feed))
			if got := promptsOf(term); got != c.want {
				t.Errorf("the marks are %q, want %q", got, c.want)
			}
			if got := promptsOf(repainted(term)); got != c.want {
				t.Errorf("repainted they are %q, want %q", got, c.want)
			}
		})
	}
}

func TestPromptMarksReflow(t *testing.T) {
	const feed = markA + "$ " + markB + "abcdef" + "gh\r\n" + markC + "out\r\n" + markD + markA
	term := fresh(8, 5, []byte(feed))
	for _, c := range []struct {
		cols int
		want string
	}{
		{8, "AB||C|AD|"}, {16, "AB|C|AD||"}, {5, "AB||C|AD|"}, {2, "||C||AD"}, {20, "|C|AD||"},
	} {
		if term.Resize(c.cols, 5); promptsOf(term) != c.want {
			t.Errorf("at %d columns the marks are %q, want %q", c.cols, promptsOf(term), c.want)
		}
	}
	// A mark on a row that continues another stays at its text, or joins the row that takes it in.
	term = fresh(4, 4, []byte("abcdef"+markC+"gh"))
	for _, c := range []struct {
		cols int
		want string
	}{
		{4, "|C||"}, {3, "|C||"}, {8, "C|||"}, {4, "C|||"},
	} {
		if term.Resize(c.cols, 4); promptsOf(term) != c.want {
			t.Errorf("at %d columns the mark is %q, want %q", c.cols, promptsOf(term), c.want)
		}
	}
}

// A repaint brings the marks and tells nobody: it is no prompt, and no turn.
func TestRestoredMarksAreNoNews(t *testing.T) {
	rec := &recorder{}
	term := New(8, 3, rec)
	term.Feed([]byte("\x1b]133;=3\a\n\x1b]133;=0\a\x1b]133;=15\a\n\x1b]133;A\a\x1b]133;=4\a\x1b]133;=16\a\x1b]133;=-1\a\x1b]133;=x\a"))
	if got := promptsOf(term); got != "AB|ABCD|C" {
		t.Errorf("the marks are %q", got)
	}
	if !slices.Equal(rec.notices, []string{"5:A"}) {
		t.Errorf("notices are %q", rec.notices)
	}
}
