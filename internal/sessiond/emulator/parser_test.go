// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// outcome is all that a stream leads to.
type outcome struct {
	state   State
	history string
	replies string
	notices []string
	wipes   int
}

func outcomeOf(cols, rows int, pieces ...[]byte) outcome {
	rec := &recorder{}
	term := New(cols, rows, rec)
	for _, p := range pieces {
		term.Feed(p)
	}
	return outcome{term.State(), rec.history.String(), rec.replies.String(), rec.notices, rec.wipes}
}

func (o outcome) diff(p outcome) string {
	d := diffStates(o.state, p.state)
	if o.history != p.history {
		d += fmt.Sprintf("history: %q != %q\n", o.history, p.history)
	}
	if o.replies != p.replies {
		d += fmt.Sprintf("replies: %q != %q\n", o.replies, p.replies)
	}
	if !slices.Equal(o.notices, p.notices) {
		d += fmt.Sprintf("notices: %q != %q\n", o.notices, p.notices)
	}
	return d
}

func TestResultDoesNotDependOnWhereTheStreamIsCut(t *testing.T) {
	eachSeed(t, 300, func(t *testing.T, seed uint64) {
		cols, rows := size(rand.New(rand.NewPCG(seed, 5)))
		stream := newGen(seed, cols, rows).stream(40)
		whole := outcomeOf(cols, rows, stream)
		if d := whole.diff(outcomeOf(cols, rows, slices.Collect(bytesChunks(stream, 1))...)); d != "" {
			t.Errorf("byte by byte, %q:\n%s", stream, d)
		}
	})
}

func TestResultDoesNotDependOnAnySingleCut(t *testing.T) {
	eachSeed(t, 12, func(t *testing.T, seed uint64) {
		stream := newGen(seed, 12, 5).stream(12)
		whole := outcomeOf(12, 5, stream)
		for i := range stream {
			if d := whole.diff(outcomeOf(12, 5, stream[:i], stream[i:])); d != "" {
				t.Errorf("cut at %d, %q:\n%s", i, stream, d)
				return
			}
		}
	})
}

// A viewer may come at any moment, in the middle of a sequence too.
func TestRepaintAtEveryByteGoesOnAlike(t *testing.T) {
	eachSeed(t, 25, func(t *testing.T, seed uint64) {
		stream := newGen(seed, 9, 4).stream(15)
		want := fresh(9, 4, stream).State()
		for i := range stream {
			paint := fresh(9, 4, stream[:i]).AppendRepaint(nil)
			if d := diffStates(want, fresh(9, 4, paint, stream[i:]).State()); d != "" {
				t.Errorf("attached at %d of %q:\n%s", i, stream, d)
				return
			}
		}
	})
}

func TestRepaintCommitsNothingAndMakesNobodyAnswer(t *testing.T) {
	eachSeed(t, 200, func(t *testing.T, seed uint64) {
		g := newGen(seed, 20, 6)
		term := fresh(20, 6, g.stream(40))
		rec := &recorder{}
		New(20, 6, rec).Feed(term.AppendRepaint(nil))
		if rec.history.Len() > 0 || rec.wipes > 0 || rec.replies.Len() > 0 {
			t.Errorf("a repaint led to %q, %d wipes, %q", rec.history.String(), rec.wipes, rec.replies.String())
		}
		for _, n := range rec.notices {
			if n[0] != '0'+byte(NoticeTitle) && n[0] != '0'+byte(NoticeCwd) {
				t.Errorf("a repaint led to the notice %q", n)
			}
		}
	})
}

func TestReplayHead(t *testing.T) {
	want := "\x1b[8;24;80t\x1b_sp:h1\x1b\\\x1b(B\x1b)B\x1b*B\x1b+B\x0f"
	if got := string(AppendReplayHead(nil, 80, 24)); got != want {
		t.Errorf("head is %q, want %q", got, want)
	}
	if got := string(AppendGeometry([]byte("x"), 80, 24)); got != "x\x1b[8;24;80t" {
		t.Errorf("geometry is %q", got)
	}
}

// A run ends at the first byte that is not printable ASCII, whatever stands around it.
func TestASCIIRunEndsAtTheFirstOther(t *testing.T) {
	const length = 19 // two words, and some bytes
	plain := bytes.Repeat([]byte("~ x@ \x7e!"), 3)[:length]
	for at := 1; at+1 < length; at++ {
		for pair := range 1 << 16 {
			p := append([]byte{}, plain...)
			p[at], p[at+1] = byte(pair>>8), byte(pair)
			want := bytes.IndexFunc(p, func(r rune) bool { return r < 0x20 || r > 0x7e })
			if want < 0 {
				want = length
			}
			if got := asciiRun(p); got != want {
				t.Fatalf("%q begins with %d, want %d", p, got, want)
			}
		}
	}
}

func TestUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"\xc3(":                "(",
		"\x9b31m":              "31m",
		"\xff\xfea":            "a",
		"\xc0\xafb":            "b",
		"\xe0\x80\xafb":        "b",
		"\xed\xa0\x80b":        "b",
		"\xf4\x90\x80\x80b":    "b",
		"\xe2\x82b":            "b",
		"\xf0\x9f\x98b":        "b",
		"\ufeffb":              "b",
		"\u20ac":               "€",
		"\xe2\x80\x94":         "—",
		"a\x00b\x7fc":          "abc",
		"\u009b31mx":           "x",
		"\x1b]0;t\x9cx\u009cy": "y",
	} {
		for _, n := range []int{1, 2, 100} {
			term := New(20, 2, nil)
			for p := range bytesChunks([]byte(in), n) {
				term.Feed(p)
			}
			if got := rowText(term, 0); got != want {
				t.Errorf("%q in pieces of %d shows %q, want %q", in, n, got, want)
			}
		}
	}
}

func TestOversizedStringsAreVoidAndTextAfterThemIsIntact(t *testing.T) {
	for name, c := range map[string]struct{ intro, end string }{
		"OSC":         {"\x1b]0;", "\a"},
		"OSC 8":       {"\x1b]8;;", "\x1b\\"},
		"unknown OSC": {"\x1b]52;c;", "\a"},
		"DCS":         {"\x1bPq", "\x1b\\"},
		"DECRQSS":     {"\x1bP$q", "\x1b\\"},
		"APC":         {"\x1b_", "\x1b\\"},
		"SOS":         {"\x1bX", "\x1b\\"},
		"parameters":  {"\x1b[", "q"},
	} {
		t.Run(name, func(t *testing.T) {
			term := New(20, 3, nil)
			term.Feed([]byte("A" + c.intro))
			chunk := bytes.Repeat([]byte("1;"), 32<<10)
			for range 200 {
				term.Feed(chunk)
			}
			if n := len(term.AppendRepaint(nil)); n > stringBytesMax+4<<10 {
				t.Errorf("repaint in the middle has %d bytes", n)
			}
			if cap(term.parser.osc.body) > 4*stringBytesMax {
				t.Errorf("%d bytes are held", cap(term.parser.osc.body))
			}
			term.Feed([]byte(c.end + "B"))
			if got := rowText(term, 0); got != "AB" || term.Title() != "" {
				t.Errorf("the line is %q, the title has %d bytes", got, len(term.Title()))
			}
		})
	}
}

// heapAfter returns the bytes that a terminal holds after it was fed.
func heapAfter(term *Terminal, feed func()) uint64 {
	feed()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	runtime.KeepAlive(term)
	return m.HeapAlloc
}

// hostile makes streams that try to grow one of the tables or to make work
// pile up, from piece to piece.
var hostile = map[string]func(i int) string{
	"links":          func(i int) string { return fmt.Sprintf("\x1b]8;;http://%d/%s\ax", i, strings.Repeat("p", 500)) },
	"links in cells": func(i int) string { return fmt.Sprintf("\x1b]8;id=%d;http://x\aab", i) },
	"styles":         func(i int) string { return fmt.Sprintf("\x1b[38;2;%d;%d;%dmx", i>>16&255, i>>8&255, i&255) },
	"clusters": func(i int) string {
		return "e" + string(rune(0x300+i%64)) + string(rune(0x300+i/64%64)) + string(rune(0x300+i/4096%64))
	},
	"marks":           func(i int) string { return strings.Repeat("\u0301", 50) },
	"titles":          func(i int) string { return fmt.Sprintf("\x1b]0;%d%s\a\x1b[22t", i, strings.Repeat("t", 3000)) },
	"tab stops":       func(i int) string { return fmt.Sprintf("\x1b[%dG\x1bH", i%2000) },
	"colours":         func(i int) string { return fmt.Sprintf("\x1b]4;%d;#123456\a", i%256) },
	"intermediates":   func(i int) string { return "\x1b" + strings.Repeat("(", 50) },
	"parameters":      func(i int) string { return "\x1b[" + strings.Repeat("9;9:9;", 50) },
	"unfinished UTF8": func(i int) string { return "\xf0\x9f" },
	"cwd":             func(i int) string { return fmt.Sprintf("\x1b]7;file://h/%d%s\a", i, strings.Repeat("d", 9000)) },
	"history":         func(i int) string { return fmt.Sprintf("\x1b[3%dm%d\n", i%8, i) },
	"open string":     func(i int) string { return "\x1b]0;" + strings.Repeat("x", 90) },
	"counts": func(i int) string {
		return "x\x1b[2147483647b\x1b[2147483647S\x1b[2147483647@" + strings.Repeat("y", 2000)
	},
	"queries": func(i int) string { return "\x1b[6n\x1b[c\x1b]4;1;?\a" },
}

func TestHostileStreamsNeedBoundedMemory(t *testing.T) {
	const limit, fed = 3 << 20, 2 << 20
	for name, piece := range hostile {
		t.Run(name, func(t *testing.T) {
			term := New(80, 24, nil)
			before := heapAfter(term, func() {})
			after := heapAfter(term, func() {
				for i, n := 0, 0; n < fed; i++ {
					p := piece(i)
					term.Feed([]byte(p))
					n += len(p)
				}
			})
			if after > before+limit {
				t.Errorf("%d bytes are held, want %d at most", after-before, limit)
			}
			if d := diffStates(term.State(), fresh(80, 24, term.AppendRepaint(nil)).State()); d != "" {
				t.Errorf("the repaint differs:\n%.2000s", d)
			}
		})
	}
}

// Four times the stream takes four times as long; if work piled up it would
// take sixteen times as long.
func TestHostileStreamsTakeLinearTime(t *testing.T) {
	const short, factor, tolerated = 48 << 10, 4, 10
	for name, piece := range hostile {
		t.Run(name, func(t *testing.T) {
			var stream []byte
			for i := 0; len(stream) < factor*short; i++ {
				stream = append(stream, piece(i)...)
			}
			var best [2]time.Duration
			for try := range 4 {
				for k, n := range []int{short, factor * short} {
					start := cpuTime()
					fresh(80, 24, stream[:n])
					if took := cpuTime() - start; try == 0 || took < best[k] {
						best[k] = took
					}
				}
				if best[1] <= tolerated*best[0] {
					return
				}
			}
			t.Errorf("%d times the stream takes %v instead of %v", factor, best[1], best[0])
		})
	}
}

func TestHugeCountsAreCut(t *testing.T) {
	for _, final := range "@ABCDEFGHILMPSTXZabdefgjkr`" {
		term := New(80, 24, nil)
		for range 50 {
			term.Feed(fmt.Appendf(nil, "ab世\x1b[2147483647;2147483647%cx", final))
		}
	}
}

func FuzzSplit(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(newGen(seed, 20, 5).stream(10), uint8(20), uint8(5), uint16(7))
	}
	f.Fuzz(func(t *testing.T, stream []byte, cols, rows uint8, cut uint16) {
		c, r := int(cols%60)+2, int(rows%20)+1
		at := min(int(cut), len(stream))
		whole := outcomeOf(c, r, stream)
		if d := whole.diff(outcomeOf(c, r, stream[:at], stream[at:])); d != "" {
			t.Errorf("cut at %d: %s", at, d)
		}
	})
}

func FuzzSerialise(f *testing.F) {
	for seed := range uint64(20) {
		g := newGen(seed, 20, 5)
		f.Add(g.stream(15), g.stream(10), g.stream(5), uint8(20), uint8(5))
	}
	f.Fuzz(func(t *testing.T, stream, dirt, more []byte, cols, rows uint8) {
		c, r := int(cols%40)+2, int(rows%12)+1
		original := fresh(c, r, stream)
		paint := original.AppendRepaint(nil)
		consumer := fresh(c, r, dirt, paint)
		if d := diffStates(original.State(), consumer.State()); d != "" {
			t.Fatalf("%s\n%q", d, paint)
		}
		original.Feed(more)
		consumer.Feed(more)
		if d := diffStates(original.State(), consumer.State()); d != "" {
			t.Fatalf("after %q: %s", more, d)
		}
	})
}

// Whatever is fed, the terminal stays within its bounds and can be looked at.
func FuzzParser(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(newGen(seed, 20, 5).stream(20), uint8(20), uint8(5))
	}
	f.Fuzz(func(t *testing.T, stream []byte, cols, rows uint8) {
		rec := &recorder{}
		term := New(int(cols), int(rows), rec)
		term.Feed(stream)
		s := term.active
		if s.x < 0 || s.x > term.cols+1 || s.y < 0 || s.y >= term.rows || s.top < 0 || s.top > s.bottom || s.bottom >= term.rows {
			t.Errorf("the cursor is at %d,%d in %d to %d of %dx%d", s.x, s.y, s.top, s.bottom, term.cols, term.rows)
		}
		if len(term.parser.osc.body) > stringBytesMax || len(term.parser.request) > requestBytesMax || len(term.title.window) > titleBytesMax {
			t.Error("a text is longer than its bound")
		}
		if m := badHistory.Find(rec.history.Bytes()); m != nil {
			t.Errorf("history holds %q", m)
		}
		term.Resize(int(rows), int(cols))
		term.PlainScreen()
		term.State()
	})
}
