// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func marksOf(t testing.TB, stream string, cuts ...int) []Mark {
	t.Helper()
	var s Scanner
	var marks []Mark
	note := func(m Mark) { marks = append(marks, m) }
	from := 0
	for _, cut := range append(cuts, len(stream)) {
		s.Feed([]byte(stream[from:cut]), note)
		from = cut
	}
	return marks
}

func TestScannerFindsMarks(t *testing.T) {
	cases := []struct {
		stream string
		want   string
	}{
		{"\x1b]133;A\x07$ \x1b]133;B\x07", "A0-8 B10-18"},
		{"\x1b]133;C\x1b\\hello\x1b]133;D;0\x1b\\", "C0-9 D14-25=0"},
		{"\x1b]133;C;cmdline_url=ls\x07\x1b]133;D;127;err=x\x07", "C0-23 D23-41=127"},
		{"\x1b]133;D\x07\x1b]133;D;\x07\x1b]133;D;-1\x07\x1b]133;D;99999999999\x07", "D0-8 D8-17 D17-28 D28-48"},
		{"\x1b]133;Z\x07\x1b]133;\x07\x1b]133\x07\x1b]1337;A\x07\x1b]133;AB\x07\x1b]0;133;A\x07", ""},
		{"\x1b]133;A\x1b[31m\x1b]133;B\x07", "B12-20"},             // another sequence ended the first
		{"\x1b]133;A\x1b]133;B\x07", "B7-15"},                      // likewise
		{"\x1b]133;A\x18\x1b]133;B\x07", "B8-16"},                  // CAN
		{"\x1b\x1b]133;A\x07", "A1-9"},                             // ESC twice
		{"\x1bP\x1b]133;A\x07", "A2-10"},                           // ESC ends the DCS
		{"\x1b]133;A;" + strings.Repeat("x", markBytesMax), ""},    // not over yet
		{"\x1b]133;A;" + strings.Repeat("x", 5000) + "\x07ab", ""}, // too long for a mark
	}
	for _, c := range cases {
		for cut := range len(c.stream) + 1 {
			var got []string
			for _, m := range marksOf(t, c.stream, cut) {
				text := fmt.Sprintf("%c%d-%d", m.Kind, m.Start, m.End)
				if m.Known {
					text += fmt.Sprintf("=%d", m.Status)
				}
				got = append(got, text)
			}
			if strings.Join(got, " ") != c.want {
				t.Fatalf("%.60q cut at %d: %q, want %q", c.stream, cut, got, c.want)
			}
		}
	}
}

func TestAVoiceTrustsItsNonceAlone(t *testing.T) {
	for _, c := range []struct {
		nonce string
		marks []string
		want  string // t for each that is trusted
	}{
		{"", []string{"A", "D;0;nonce=n", "D;nonce="}, "ttt"},
		{"n", []string{"A", "D;0;nonce=m", "C;x=y;nonce=n", "D;0", "D;0;nonce=m", "D;0;nonce=", "A;nonce=n;x=y", "B;xnonce=n"}, "ttt---t-"},
	} {
		v := Voice{Nonce: c.nonce}
		got := ""
		for _, text := range c.marks {
			m, ok := Parse(text)
			switch {
			case !ok:
				t.Errorf("%s is no mark", text)
			case v.Trusts(m):
				got += "t"
			default:
				got += "-"
			}
		}
		if got != c.want {
			t.Errorf("nonce %q, %q: %s, want %s", c.nonce, c.marks, got, c.want)
		}
	}
}

func TestPlain(t *testing.T) {
	cases := []struct{ output, want string }{
		{"one\r\ntwo\r\n", "one\ntwo\n"},
		{"\x1b[1;31mred\x1b[m plain", "red plain"},
		{"10%\r50%\r100%\n", "100%\n"},
		{"loading\r\x1b[Kdone\n", "done\n"},
		{"abc\b\bX\n", "aXc\n"},
		{"a\tb\n", "a       b\n"},
		{"abcdef\x1b[3G\x1b[1K|\n", "  |def\n"},
		{"abc\x1b[2Kx\n", "   x\n"},
		{"ab\x1b[5Cc\x1b[20Dd\n", "db     c\n"},
		{"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\x1bPq\x1b\\b\n", "alinkb\n"},
		{"\x1b(Ba\x1b7b\x1b=c\n", "abc\n"},
		{"日本\r\n", "日本\n"},
		{"bad\xffend", "bad\ufffdend"},
		{"\x1b[12", ""}, {"\x1b", ""}, {"\x1b]open", ""},
		{"a\x1b[1\nb", "a\nb"},
		{"\x00\x07\x7f\u0085x", "x"},
	}
	for _, c := range cases {
		if got, clipped := Plain([]byte(c.output), 1<<20); got != c.want || clipped {
			t.Errorf("Plain(%q) = %q, %v, want %q", c.output, got, clipped, c.want)
		}
	}
}

func TestPlainKeepsTheEnd(t *testing.T) {
	if got, clipped := Plain([]byte("first\nsecond\nthird\n"), 12); got != "third\n" || !clipped {
		t.Errorf("%q, %v", got, clipped)
	}
	if got, clipped := Plain([]byte("first\nthird\n"), 6); got != "third\n" || !clipped {
		t.Errorf("%q, %v", got, clipped)
	}
	if got, clipped := Plain([]byte("one long line\n"), 6); got != " line\n" || !clipped {
		t.Errorf("a line that does not fit has an end: %q, %v", got, clipped)
	}
	if got, clipped := Plain([]byte("日本語"), 4); got != "語" || !clipped {
		t.Errorf("%q, %v", got, clipped)
	}
}

// A few bytes cannot become more blanks than a terminal has columns, and what is not kept is not held.
func TestPlainIsBounded(t *testing.T) {
	far := "\x1b[99999999Cx\n"
	if got, clipped := Plain([]byte(far), 1<<20); len(got) != reachMax+len("x\n") || clipped {
		t.Errorf("%d bytes, %v", len(got), clipped)
	}
	r := renderer{max: 3000}
	r.feed([]byte(strings.Repeat(far, 1000)))
	if len(r.out) > 3*r.max || !r.dropped {
		t.Errorf("%d bytes are held", len(r.out))
	}
	if got, clipped := Plain([]byte(strings.Repeat("line\n", 1000)), 12); got != "line\nline\n" || !clipped {
		t.Errorf("%q, %v", got, clipped)
	}
}

func FuzzScannerIsSplitInvariant(f *testing.F) {
	f.Add([]byte("\x1b]133;C\x07x\x1b]133;D;1\x1b\\"), 3)
	f.Fuzz(func(t *testing.T, stream []byte, cut int) {
		if len(stream) == 0 {
			return
		}
		cut = int(uint(cut) % uint(len(stream)))
		if whole, parts := marksOf(t, string(stream)), marksOf(t, string(stream), cut); !slices.Equal(whole, parts) {
			t.Fatalf("%v whole, %v cut at %d", whole, parts, cut)
		}
	})
}

func FuzzPlainHoldsNoControls(f *testing.F) {
	f.Add([]byte("a\x1b[2Kb\r\n\x1b]0;x\x07"))
	f.Fuzz(func(t *testing.T, output []byte) {
		text, _ := Plain(output, 100)
		if len(text) > 100 || !utf8.ValidString(text) || bytes.ContainsFunc([]byte(text), func(c rune) bool { return c < 0x20 && c != '\n' || c >= 0x7f && c <= 0x9f }) {
			t.Fatalf("%q", text)
		}
	})
}
