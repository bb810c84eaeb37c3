// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
	"unicode/utf8"
)

// benchSize is the size of a benchmark stream. It is fed in pieces as a worker
// reads them.
const (
	benchSize  = 4 << 20
	benchPiece = 64 << 10
	benchCols  = 120
	benchRows  = 40
)

// benchStreams are the five streams that the emulator is measured with.
var benchStreams = []struct {
	name string
	add  func(b *bytes.Buffer, r *rand.Rand)
}{
	{"a-lines", addLine},
	{"b-sgr", addColoredCells},
	{"c-unicode", addUnicode},
	{"d-region", addRegionScroll},
	{"e-frames", addFrame},
}

func benchStream(add func(*bytes.Buffer, *rand.Rand)) []byte {
	var b bytes.Buffer
	r := rand.New(rand.NewPCG(1, 2))
	for b.Len() < benchSize {
		add(&b, r)
	}
	return b.Bytes()
}

func addText(b *bytes.Buffer, r *rand.Rand, n int) {
	for range n {
		b.WriteByte(byte(0x20 + r.IntN(95)))
	}
}

func addLine(b *bytes.Buffer, r *rand.Rand) {
	addText(b, r, 20+r.IntN(91))
	b.WriteString("\r\n")
}

// addColoredCells adds a screen as vtebench's dense_cells has it.
func addColoredCells(b *bytes.Buffer, r *rand.Rand) {
	offset := r.IntN(156)
	for y := range benchRows {
		for x := range benchCols {
			i := (x + y + offset) % 156
			fmt.Fprintf(b, "\x1b[38;5;%d;48;5;%d;1;3;4m%c", i+100, 255-i, 'A'+offset%26)
		}
	}
}

func addUnicode(b *bytes.Buffer, r *rand.Rand) {
	for range 10 + r.IntN(30) {
		switch r.IntN(8) {
		case 0, 1, 2:
			b.WriteRune(rune(0x4e00 + r.IntN(0x5000)))
		case 3:
			b.WriteRune(rune(0xac00 + r.IntN(0x2b00)))
		case 4, 5:
			b.WriteRune(rune(0x410 + r.IntN(64)))
		case 6:
			b.WriteRune(rune(0x1f600 + r.IntN(64)))
		default:
			b.WriteString([]string{"e\u0301", "👩\u200d👧", "n\u0303", "❤\ufe0f"}[r.IntN(4)])
		}
	}
	b.WriteString("\r\n")
}

func addRegionScroll(b *bytes.Buffer, r *rand.Rand) {
	b.WriteString("\x1b[5;35r")
	for range 20 {
		switch r.IntN(4) {
		case 0:
			b.WriteString("\x1b[5;1H\x1bM")
		case 1:
			fmt.Fprintf(b, "\x1b[%dS", 1+r.IntN(3))
		case 2:
			fmt.Fprintf(b, "\x1b[%dT", 1+r.IntN(3))
		default:
			b.WriteString("\x1b[35;1H\r\n")
		}
		addText(b, r, 20+r.IntN(60))
	}
}

func addFrame(b *bytes.Buffer, r *rand.Rand) {
	b.WriteString("\x1b[?25l")
	for y := 1; y <= benchRows; y++ {
		fmt.Fprintf(b, "\x1b[%d;%dH\x1b[%dm│ ", y, 1+r.IntN(40), 31+r.IntN(7))
		addText(b, r, 10+r.IntN(30))
		b.WriteString("\x1b[0m ──┤")
		switch r.IntN(4) {
		case 0:
			b.WriteString("\x1b[K")
		case 1:
			fmt.Fprintf(b, "\x1b[%d@", 1+r.IntN(4))
		case 2:
			fmt.Fprintf(b, "\x1b[%dP", 1+r.IntN(4))
		default:
			fmt.Fprintf(b, "\x1b[%dX", 1+r.IntN(9))
		}
	}
	b.WriteString("\x1b[?25h")
}

// counter is a sink that costs nothing.
type counter struct {
	discard
	bytes int
}

func (c *counter) History(p []byte) { c.bytes += len(p) }

func BenchmarkFeed(b *testing.B) {
	for _, s := range benchStreams {
		stream := benchStream(s.add)
		b.Run(s.name, func(b *testing.B) {
			t := New(benchCols, benchRows, &counter{})
			feedPieces(t, stream)
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			speed := startSpeed()
			for b.Loop() {
				feedPieces(t, stream)
			}
			speed.report(b, len(stream))
		})
	}
}

// speed measures bytes per CPU second.
type speed struct{ start time.Duration }

func startSpeed() speed { return speed{cpuTime()} }

func (s speed) report(b *testing.B, size int) {
	b.ReportMetric(float64(size)*float64(b.N)/1e6/(cpuTime()-s.start).Seconds(), "MB/cpu-s")
}

func feedPieces(t *Terminal, stream []byte) {
	for p := range bytesChunks(stream, benchPiece) {
		t.Feed(p)
	}
}

// bytesChunks cuts p into pieces of n bytes.
func bytesChunks(p []byte, n int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(p) > 0 {
			m := min(n, len(p))
			if !yield(p[:m]) {
				return
			}
			p = p[m:]
		}
	}
}

// BenchmarkCalibration is what the others are compared with: the machine's
// speed in decoding stream c.
func BenchmarkCalibration(b *testing.B) {
	stream := benchStream(addUnicode)
	b.SetBytes(int64(len(stream)))
	var sum rune
	speed := startSpeed()
	for b.Loop() {
		for p := stream; len(p) > 0; {
			r, n := utf8.DecodeRune(p)
			sum += r
			p = p[n:]
		}
	}
	speed.report(b, len(stream))
	if sum == 0 {
		b.Fatal("nothing was decoded")
	}
}

func BenchmarkRepaint(b *testing.B) {
	for _, c := range []struct {
		cols, rows int
		add        func(*bytes.Buffer, *rand.Rand)
	}{{80, 24, addFrame}, {200, 60, addColoredCells}} {
		b.Run(fmt.Sprintf("%dx%d", c.cols, c.rows), func(b *testing.B) {
			t := New(c.cols, c.rows, nil)
			t.Feed(benchStream(c.add)[:256<<10])
			buf := t.AppendRepaint(nil)
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			for b.Loop() {
				buf = t.AppendRepaint(buf[:0])
			}
		})
	}
}

// BenchmarkMemory reports what an idle terminal with both screens holds.
func BenchmarkMemory(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		t := New(80, 24, nil)
		t.Feed([]byte("\x1b[?1049h\x1b[31mx"))
	}
}
