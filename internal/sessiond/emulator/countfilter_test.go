// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"spawn/internal/sessiond/emulator/streams"
)

// filtered returns what a filter makes of the pieces together.
func filtered(cols, rows int, pieces ...[]byte) (string, uint64) {
	f := NewCountFilter(cols, rows)
	var out []byte
	for _, p := range pieces {
		out = append(out, f.Filter(p)...)
	}
	return string(out), f.Rewritten()
}

func TestHugeCountsAreRewritten(t *testing.T) {
	for _, c := range []struct{ feed, want string }{
		{"\x1b[2147483647S", "\x1b[2147483647\x1b[5S"},
		{"a\x1b[6Lb\x1b[5Lc", "a\x1b[6\x1b[5Lb\x1b[5Lc"},
		{"\x1b[99M\x1b[99T", "\x1b[99\x1b[5M\x1b[99\x1b[5T"},
		{"\x1b[11I\x1b[10Z\x1b[11Z", "\x1b[11\x1b[10I\x1b[10Z\x1b[11\x1b[10Z"},
		{"x\x1b[70b", "x\x1b[70b"},
		{"x\x1b[71b", "x\x1b[71\x1b[61b"},
		{"x\x1b[1000000007b", "x\x1b[1000000007\x1b[67b"},
		{"\u009b99S", "\u009b99\x1b[5S"},
		{"\x1b[99;1S", "\x1b[99;1\x1b[5S"},
		{"\x1b[99:1S", "\x1b[99:1\x1b[5S"},
		{"\x1b[0000000000000000000099S", "\x1b[0000000000000000000099\x1b[5S"},
		{"\x1b[9\n9S", "\x1b[9\n9\x1b[5S"},
		{"\x1b\n[99S", "\x1b\n[99\x1b[5S"},
		{"\x1b[99\x7fS", "\x1b[99\x7f\x1b[5S"},
		{"\x1b[99\xff\xe2\x82S", "\x1b[99\xff\xe2\x82\x1b[5S"},
		{"\x1b]0;t\x1b[99S", "\x1b]0;t\x1b[99\x1b[5S"},
		{"\x1b]0;t\u009b99S", "\x1b]0;t\u009b99\x1b[5S"},
	} {
		got, n := filtered(10, 5, []byte(c.feed))
		if got != c.want {
			t.Errorf("%q becomes %q, want %q", c.feed, got, c.want)
		}
		if want := uint64(strings.Count(c.want, "\x1b[") - strings.Count(c.feed, "\x1b[")); n != want {
			t.Errorf("%q counts as %d, want %d", c.feed, n, want)
		}
	}
}

// Everything else passes as it is, without a copy.
func TestOtherSequencesPassUntouched(t *testing.T) {
	for _, feed := range []string{
		"\x1b[5S", "\x1b[S", "\x1b[;99S", "\x1b[:99S", "\x1b[?99S", "\x1b[>99T", "\x1b[99 @", "\x1b[99$S",
		"\x1b[99<S", "\x1b[99éS", "\x1b[99\x18S", "\x1b[99\x1aS", "\x1b[99\u0085S", "\x1b[38;5;255m", "\x1b[999999999m",
		"\x1b[9999@\x1b[9999P\x1b[9999X\x1b[9999A\x1b[9999;9999H", "\x1b]4;99;#fffS\a", "\x1b99S", "\x1b(99S", "99S", "\xc299S",
		"\u00b099S", "世\xc2", "\x1bP99S\x1b\\", strings.Repeat("\u00a0", 99),
	} {
		p := []byte(feed)
		f := NewCountFilter(10, 5)
		if got := f.Filter(p); string(got) != feed || &got[0] != &p[0] || f.Rewritten() != 0 {
			t.Errorf("%q becomes %q, copied %v", feed, got, &got[0] != &p[0])
		}
	}
}

// filterStream makes a stream in which many sequences have large counts.
func filterStream(g *gen) []byte {
	var b bytes.Buffer
	for range 30 {
		b.Write(g.stream(1))
		switch g.IntN(4) {
		case 0:
			fmt.Fprintf(&b, "%s%d%s%c", g.pick("\x1b[", "\x1b[", "\u009b"), g.IntN(3000), g.pick("", "", ";7", ":7"), "LMSTIZb"[g.IntN(7)])
		case 1:
			fmt.Fprintf(&b, "%s\x1b[%db", g.pick("x", "世", "e\u0301", ""), g.IntN(3000))
		}
	}
	return b.Bytes()
}

func TestFilterDoesNotDependOnWhereTheStreamIsCut(t *testing.T) {
	eachSeed(t, 60, func(t *testing.T, seed uint64) {
		stream := filterStream(newGen(seed, 12, 5))
		want, n := filtered(12, 5, stream)
		for i := range stream {
			if got, m := filtered(12, 5, stream[:i], stream[i:]); got != want || m != n {
				t.Errorf("cut at %d, %q becomes %q, want %q", i, stream, got, want)
				return
			}
		}
	})
}

// The filtered stream leads to the same terminal, and to the same history too.
func TestFilterChangesNothingThatShows(t *testing.T) {
	rewritten := uint64(0)
	eachSeed(t, 300, func(t *testing.T, seed uint64) {
		cols, rows := size(rand.New(rand.NewPCG(seed, 6)))
		stream := filterStream(newGen(seed, cols, rows))
		out, n := filtered(cols, rows, stream)
		rewritten += n
		want, got := outcomeOf(cols, rows, stream), outcomeOf(cols, rows, []byte(out))
		if d := diffStates(want.state, got.state); d != "" || want.replies != got.replies {
			t.Errorf("%q becomes %q:\n%s", stream, out, d)
		}
		if limit := 2*len(stream) + filterSlack; len(out) > limit {
			t.Errorf("%d bytes become %d, want %d at most", len(stream), len(out), limit)
		}
	})
	if rewritten == 0 {
		t.Error("nothing was rewritten")
	}
}

func TestFilterShowsTheSameInXterm(t *testing.T) {
	t.Parallel()
	var requests []oracleRequest
	for i := range uint64(scaled(400)) {
		g := newGen(i+500, 0, 0)
		g.mild = true
		g.cols, g.rows = size(g.Rand)
		stream := filterStream(g)
		out, _ := filtered(g.cols, g.rows, stream)
		for _, p := range []string{string(stream), out} {
			requests = append(requests, oracleRequest{Cols: g.cols, Rows: g.rows, Chunks: []oracleChunk{{feed: []byte(p)}}})
		}
	}
	screens := askOracle(t, requests)
	for i := 0; i < len(screens); i += 2 {
		if d := differences(screens[i+1], screens[i]); screens[i].Error == "" && len(d) > 0 {
			t.Errorf("%q differs: %q", requests[i].Chunks[0].feed, d)
		}
	}
}

func TestFilterAllocatesNothingWhenNothingIsRewritten(t *testing.T) {
	stream := streams.Frames.Bytes(64 << 10)
	f := NewCountFilter(streams.Cols, streams.Rows)
	if n := testing.AllocsPerRun(5, func() { f.Filter(stream) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkFilter(b *testing.B) {
	for _, s := range streams.Emulator() {
		stream := s.Bytes(benchSize)
		b.Run(s.Name, func(b *testing.B) {
			f := NewCountFilter(streams.Cols, streams.Rows)
			speed := startSpeed()
			for b.Loop() {
				for p := range bytesChunks(stream, benchPiece) {
					f.Filter(p)
				}
			}
			speed.report(b, len(stream))
		})
	}
}

func FuzzCountFilter(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(filterStream(newGen(seed, 20, 5)), uint8(20), uint8(5), uint16(7))
	}
	f.Fuzz(func(t *testing.T, stream []byte, cols, rows uint8, cut uint16) {
		c, r := int(cols%60)+2, int(rows%20)+1
		at := min(int(cut), len(stream))
		out, _ := filtered(c, r, stream)
		if got, _ := filtered(c, r, stream[:at], stream[at:]); got != out {
			t.Errorf("cut at %d: %q != %q", at, got, out)
		}
		if d := diffStates(fresh(c, r, stream).State(), fresh(c, r, []byte(out)).State()); d != "" {
			t.Errorf("%q becomes %q: %s", stream, out, d)
		}
	})
}
