// SPDX-License-Identifier: Apache-2.0

// Package streams makes the loads that the emulator and the whole path are measured with. The same call gives the
// same bytes.
package streams

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// Cols and Rows are the screen that the five emulator loads are made for.
const (
	Cols = 120
	Rows = 40
)

// Stream is one load.
type Stream struct {
	Name, What string
	add        func(b *bytes.Buffer, r *rand.Rand)
}

// The five loads of the emulator, and Build, the lines that builds print, for the whole path.
var (
	Lines   = Stream{"a", "lines of 20 to 110 characters", addLine}
	Dense   = Stream{"b", "dense cells, one SGR each", addDenseCells}
	Unicode = Stream{"c", "CJK, Hangul, Cyrillic, emoji, ZWJ, combining", addUnicode}
	Region  = Stream{"d", "scroll region 5-35 with RI, SU, SD", addRegion}
	Frames  = Stream{"e", "frames: CUP, SGR, EL, ICH, DCH, ECH, boxes", addFrame}
	Build   = Stream{"build", "coloured lines of a build", addBuildLine}
)

// Emulator returns the five.
func Emulator() []Stream { return []Stream{Lines, Dense, Unicode, Region, Frames} }

// Bytes returns at least size bytes of the load; what is more ends a line or frame.
func (s Stream) Bytes(size int) []byte {
	var b bytes.Buffer
	r := rand.New(rand.NewPCG(1, 2))
	for b.Len() < size {
		s.add(&b, r)
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

// addDenseCells adds a screen as dense_cells of vtebench has it.
func addDenseCells(b *bytes.Buffer, r *rand.Rand) {
	offset := r.IntN(156)
	b.WriteString("\x1b[H")
	for y := range Rows {
		for x := range Cols {
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

func addRegion(b *bytes.Buffer, r *rand.Rand) {
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
	for y := 1; y <= Rows; y++ {
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

// addBuildLine adds a line such as builds print.
func addBuildLine(b *bytes.Buffer, r *rand.Rand) {
	n := r.IntN(100_000)
	fmt.Fprintf(b, "[%5d/99999] \x1b[32mCC\x1b[0m  out/obj/some/folder/file_%d.o from src/some/folder/file_%d.c\n", n, n, n)
}
