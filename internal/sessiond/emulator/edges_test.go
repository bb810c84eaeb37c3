// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"fmt"
	"testing"
)

// crossed makes a request for each stream of n pieces after a beginning.
func crossed(cols, rows int, begin string, pieces []string, n int) (names []string, requests []oracleRequest) {
	total := 1
	for range n {
		total *= len(pieces)
	}
	for i := range total {
		feed := begin
		for k, j := 0, i; k < n; k++ {
			feed += pieces[j%len(pieces)]
			j /= len(pieces)
		}
		names = append(names, fmt.Sprintf("%dx%d %q", cols, rows, feed))
		requests = append(requests, oracleRequest{Cols: cols, Rows: rows, Chunks: []oracleChunk{{feed: []byte(feed)}}})
	}
	return names, requests
}

// edgeDepth is how many pieces a crossed stream has: 4 in a long run.
func edgeDepth() int {
	if long {
		return 4
	}
	return 3
}

// Without autowrap a wide character without room vanishes, but marks and REP
// after it act on what is left of the last column.
func TestWideCharactersWithoutRoomAgreeWithXterm(t *testing.T) {
	t.Parallel()
	pieces := []string{"x", "界", "\u0301", "\u200d", "\x1b[2b", "\x1b[31m", "\b", "\x1b[4h"}
	var names []string
	var requests []oracleRequest
	for _, cols := range []int{5, 6} {
		for _, begin := range []string{"\x1b[?7labcd", "\x1b[?7l\x1b[1\"qabcd", "\x1b[?7labcde", "\x1b[?7h\x1b[41mabc界\x1b[?7l"} {
			n, r := crossed(cols, 2, begin, pieces, edgeDepth())
			names, requests = append(names, n...), append(requests, r...)
		}
	}
	least := 1000
	if long {
		least = widenedMin
	}
	screen, repaint := agreement(t, names, requests)
	screen.report(t, "screen and registers", least, 0)
	repaint.report(t, "xterm.js fed with the repaint", least, 0)
}

// widenedMin leaves room for what is four pieces deep, 44 of 32,768: marks that
// xterm.js joins across a mark with a column of its own, or to a protected
// blank. No stream could paint either.
const widenedMin = 998

// DECSC saves of an underline and a link that they were there, and DECRC brings
// that back whatever the pen has by then.
func TestSavedUnderlineAndLinkAgreeWithXterm(t *testing.T) {
	t.Parallel()
	pieces := []string{"\x1b7", "\x1b8", "\x1b[4:3m", "\x1b[24m", "\x1b[59m", "\x1b]8;;http://a\a", "\x1b]8;;\a", "\x1b[m", "x"}
	names, requests := crossed(9, 2, "\x1b[4ma\x1b7", pieces, edgeDepth())
	n, r := crossed(9, 2, "\x1b]8;;http://b\aa\x1b7\x1b[4m", pieces, edgeDepth())
	screen, repaint := agreement(t, append(names, n...), append(requests, r...))
	screen.report(t, "screen and registers", 1000, 0)
	repaint.report(t, "xterm.js fed with the repaint", 1000, 0)
}

// However small the screen, a repaint commits nothing.
func TestRepaintOfOneRowCommitsNothing(t *testing.T) {
	for _, feed := range []string{"abc", "abcde", "a界b", "abc\x1b[?47hdef", "\x1b[?7labc界\u0301"} {
		for cols := 2; cols < 5; cols++ {
			for rows := 1; rows < 3; rows++ {
				term := fresh(cols, rows, []byte(feed))
				rec := &recorder{}
				again := New(cols, rows, rec)
				again.Feed(term.AppendRepaint(nil))
				if rec.history.Len() > 0 {
					t.Errorf("%q on %dx%d: the repaint commits %q", feed, cols, rows, rec.history.String())
				}
				if d := diffStates(term.State(), again.State()); d != "" {
					t.Errorf("%q on %dx%d: %s", feed, cols, rows, d)
				}
			}
		}
	}
}

// A torn row is committed and shown as text as a person sees it, and no wider
// than the screen.
func TestTornRowsAsText(t *testing.T) {
	for _, c := range []struct{ feed, want string }{
		{"\x1b[?7labc界x", "abc x"},
		{"\x1b[?7labcd界\u0301", "abcd\u0301"},
		{"\x1b[?7labc\x1b[5G界\u0301x", "abc \u0301x"},
		{"\x1b[?7labcd界\u0301\x1b[G\x1b[P", "bcd\u0301"},
		{"\x1b[?7labc界x\x1b[G\x1b[P", "bc x"},
	} {
		rec := &recorder{}
		term := New(5, 2, rec)
		term.Feed([]byte(c.feed))
		if got := term.PlainScreen()[0]; got != c.want {
			t.Errorf("%q is plainly %q, want %q", c.feed, got, c.want)
		}
		term.Feed([]byte("\x1b[2S"))
		if got := rec.history.String(); got != c.want+"\r\n\r\n" {
			t.Errorf("%q is committed as %q, want %q", c.feed, got, c.want)
		}
	}
}
