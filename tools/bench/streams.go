// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// Screen of the emulator figures.
const (
	streamCols = 120
	streamRows = 40
)

// streams are the five loads of the emulator figures.
var streams = []struct {
	name, what string
	add        func(b *bytes.Buffer, r *rand.Rand)
}{
	{"a", "lines of 20 to 110 characters", addLine},
	{"b", "dense cells, one SGR each", addDenseCells},
	{"c", "CJK, Hangul, Cyrillic, emoji, ZWJ, combining", addUnicode},
	{"d", "scroll region 5-35 with RI, SU, SD", addRegion},
	{"e", "frames: CUP, SGR, EL, ICH, DCH, ECH, boxes", addFrame},
}

// makeStream repeats add to about size bytes. The same call gives the same bytes.
func makeStream(add func(*bytes.Buffer, *rand.Rand), size int) []byte {
	var b bytes.Buffer
	r := rand.New(rand.NewPCG(1, 2))
	for b.Len() < size {
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

// addDenseCells adds a screen as dense_cells of vtebench has it.
func addDenseCells(b *bytes.Buffer, r *rand.Rand) {
	offset := r.IntN(156)
	b.WriteString("\x1b[H")
	for y := range streamRows {
		for x := range streamCols {
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
	for y := 1; y <= streamRows; y++ {
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

// addBuildLine adds a line such as builds print, for the figures of the whole path.
func addBuildLine(b *bytes.Buffer, r *rand.Rand) {
	n := r.IntN(100_000)
	fmt.Fprintf(b, "[%5d/99999] \x1b[32mCC\x1b[0m  out/obj/some/folder/file_%d.o from src/some/folder/file_%d.c\n", n, n, n)
}
