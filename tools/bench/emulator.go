// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"
	"unicode/utf8"

	"spawn/internal/sessiond/emulator"
	"spawn/internal/sessiond/emulator/streams"
)

const (
	streamPiece = 64 << 10               // bytes of one Feed
	passTime    = 250 * time.Millisecond // CPU time that one measurement lasts at least
	idleCount   = 64                     // terminals whose memory is measured together
)

// measureEmulator feeds each stream to a terminal, and by turns decodes stream c rune by rune, which is the
// machine's pace.
func measureEmulator(ctx context.Context, b *bench) error {
	size := b.effort(8<<20, 2<<20)
	unicode := streams.Unicode.Bytes(size)
	for _, s := range streams.Emulator() {
		name := "emulator." + s.Name
		if !b.wants(name, name+".allocs") {
			continue
		}
		stream := s.Bytes(size)
		var speeds, floors []float64
		var allocs float64
		for range b.effort(7, 3) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			floors = append(floors, pace(len(unicode), func() { decode(unicode) }))
			speed, allocated := feedPace(stream)
			speeds = append(speeds, speed)
			allocs = max(allocs, allocated)
		}
		b.add(figure{Name: name, Value: median(speeds), Unit: "MB/CPU-s", Note: s.What}.
			paired(median(floors), median(ratios(speeds, floors))))
		b.add(figure{Name: name + ".allocs", Value: allocs, Unit: "allocs/byte"})
	}
	measureRepaint(b, "emulator.repaint.80x24", 80, 24, streams.Frames.Bytes(256<<10))
	measureRepaint(b, "emulator.repaint.200x60", 200, 60, streams.Dense.Bytes(256<<10))
	measureMemory(b)
	return nil
}

// pace repeats pass, which handles size bytes, and returns MB for each second of CPU.
func pace(size int, pass func()) float64 {
	start := ownCPU()
	for passes := 1; ; passes++ {
		pass()
		if used := ownCPU() - start; used >= passTime {
			return float64(passes) * float64(size) / 1e6 / used.Seconds()
		}
	}
}

// decodePace is the machine's pace for what runs in another process.
func decodePace(unicode []byte) float64 {
	var floors []float64
	for range 5 {
		floors = append(floors, pace(len(unicode), func() { decode(unicode) }))
	}
	return median(floors)
}

// decodedRunes keeps the compiler from dropping the loop.
var decodedRunes rune

func decode(p []byte) {
	var sum rune
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		sum += r
		p = p[n:]
	}
	decodedRunes = sum
}

// feedPace feeds a terminal whose lines are committed, after one pass that fills its tables. It also returns
// the allocations for each byte.
func feedPace(stream []byte) (speed, allocs float64) {
	t := emulator.New(streams.Cols, streams.Rows, &historyCount{})
	feed := func() {
		for piece := range slices.Chunk(stream, streamPiece) {
			t.Feed(piece)
		}
	}
	feed()
	var before, after runtime.MemStats
	passes := 0
	runtime.ReadMemStats(&before)
	speed = pace(len(stream), func() { feed(); passes++ })
	runtime.ReadMemStats(&after)
	return speed, float64(after.Mallocs-before.Mallocs) / float64(passes*len(stream))
}

// historyCount is a sink that counts what is committed.
type historyCount struct{ bytes int }

func (h *historyCount) History(p []byte)                   { h.bytes += len(p) }
func (h *historyCount) Wipe()                              {}
func (h *historyCount) Reply([]byte)                       {}
func (h *historyCount) Notice(emulator.NoticeKind, string) {}

// measureRepaint reports how long it takes to serialise a screen.
func measureRepaint(b *bench, name string, cols, rows int, stream []byte) {
	if !b.wants(name) {
		return
	}
	t := emulator.New(cols, rows, &historyCount{})
	t.Feed(stream)
	buf := t.AppendRepaint(nil)
	var took []time.Duration
	for range b.effort(2000, 200) {
		start := time.Now()
		buf = t.AppendRepaint(buf[:0])
		took = append(took, time.Since(start))
	}
	b.add(figure{Name: name, Value: micros(median(took)), Unit: "µs", Note: fmt.Sprintf("%d bytes", len(buf))})
}

// measureMemory reports what an idle terminal with both screens holds.
func measureMemory(b *bench) {
	const name = "emulator.memory"
	if !b.wants(name) {
		return
	}
	var idle [idleCount]*emulator.Terminal
	before := liveHeap()
	for i := range idle {
		idle[i] = emulator.New(80, 24, &historyCount{})
		idle[i].Feed([]byte("$ vi\r\n\x1b[?1049h\x1b[31m~\x1b[?1049l$ "))
	}
	after := liveHeap()
	runtime.KeepAlive(&idle)
	b.add(figure{Name: name, Value: float64(after-before) / idleCount / 1024, Unit: "KiB", Note: "idle 80x24, both screens"})
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // the first may have begun before what we dropped was dropped
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
