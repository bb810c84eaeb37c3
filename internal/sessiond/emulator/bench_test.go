// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bytes"
	"fmt"
	"testing"
	"time"
	"unicode/utf8"

	"spawn/internal/sessiond/emulator/streams"
)

// benchSize is the size of a benchmark stream. It is fed in pieces as a worker
// reads them.
const (
	benchSize  = 4 << 20
	benchPiece = 64 << 10
)

// counter is a sink that costs nothing.
type counter struct {
	discard
	bytes int
}

func (c *counter) History(p []byte) { c.bytes += len(p) }

// load is a stream and the screen that it is fed to.
type load struct {
	name       string
	cols, rows int
	bytes      func(size int) []byte
}

// loads are those of the emulator, and the one of the whole path as a terminal
// passes it on: on a usual screen, with a carriage return before each line feed.
func loads() []load {
	build := load{streams.Build.Name, 80, 24, func(size int) []byte {
		return bytes.ReplaceAll(streams.Build.Bytes(size), []byte("\n"), []byte("\r\n"))
	}}
	all := []load{build}
	for _, s := range streams.Emulator() {
		all = append(all, load{s.Name, streams.Cols, streams.Rows, s.Bytes})
	}
	return all
}

func BenchmarkFeed(b *testing.B) {
	for _, l := range loads() {
		stream := l.bytes(benchSize)
		b.Run(l.name, func(b *testing.B) {
			t := New(l.cols, l.rows, &counter{})
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
	stream := streams.Unicode.Bytes(benchSize)
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
		stream     streams.Stream
	}{{80, 24, streams.Frames}, {200, 60, streams.Dense}} {
		b.Run(fmt.Sprintf("%dx%d", c.cols, c.rows), func(b *testing.B) {
			t := New(c.cols, c.rows, nil)
			t.Feed(c.stream.Bytes(256 << 10))
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
