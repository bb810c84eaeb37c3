// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rig

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"
)

// The generator is the ground truth of the tests: a program for a terminal whose byte at position i is a
// function of its seed and i, so that a lost, doubled or reordered byte shows as such wherever a stream is
// joined. It is this test binary, started again with generatorArg.
const generatorArg = "generate-known-bytes"

// LineBytes is the length of every line of the generator, its CR LF included.
const LineBytes = 48

// Script is what a generator writes.
type Script struct {
	Seed uint64
	// Wipes is how many lines lie between two that take the history away; 0 when none does.
	Wipes uint64
}

// wipe is ED 3: what scrolled off the screen before it is gone.
const wipe = "\x1b[3J"

// wipesAt reports whether line n takes the history away, at its end.
func (s Script) wipesAt(n uint64) bool { return s.Wipes > 0 && n%s.Wipes == s.Wipes-1 }

// digits are what lines show behind their numbers: each has a piece, whose place follows from the seed and the number. It is
// cheap, so that a terminal that floods and three viewers of it are no burden to the machine by the test's own doing.
var digits = func() []byte {
	random := rand.New(rand.NewPCG(0, 0))
	text := make([]byte, digitsPlaces+digitsMax)
	for i := range text {
		text[i] = "0123456789abcdef"[random.IntN(16)]
	}
	return text
}()

const (
	digitsPlaces = 1 << 16
	digitsMax    = LineBytes - 2 - len("L000000000 ")
)

// place is where the digits of line n begin.
func (s Script) place(n uint64) uint64 {
	x := s.Seed ^ n*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return (x ^ x>>31) % digitsPlaces
}

// shown is what line n leaves on a screen.
func (s Script) shown(n uint64) []byte {
	line := append(make([]byte, 0, LineBytes), "L000000000 "...)
	for i, rest := len("L000000000")-1, n; rest > 0; i, rest = i-1, rest/10 {
		line[i] = '0' + byte(rest%10)
	}
	line = append(line, digits[s.place(n):][:digitsMax]...)
	if s.wipesAt(n) {
		return line[:LineBytes-2-len(wipe)]
	}
	return line
}

// line is line n as it is written.
func (s Script) line(n uint64) []byte {
	line := s.shown(n)
	if s.wipesAt(n) {
		line = append(line, wipe...)
	}
	return append(line, '\r', '\n')
}

// bytes are those at positions [from, from+n).
func (s Script) bytes(from uint64, n int) []byte {
	line := from / LineBytes
	out := make([]byte, 0, n+2*LineBytes)
	for skip := int(from % LineBytes); len(out) < n+skip; line++ {
		out = append(out, s.line(line)...)
	}
	return out[from%LineBytes:][:n]
}

// runGenerator writes lines until a byte comes in, and then ends. Arguments: seed, lines between wipes, path of the record,
// lines that come at once, then lines a second, and one of how many ticks they come in.
func runGenerator(args []string) error {
	var numbers [6]uint64
	for i, arg := range args {
		if i == 2 {
			continue
		}
		var err error
		if numbers[i], err = strconv.ParseUint(arg, 10, 64); err != nil {
			return err
		}
	}
	file, err := os.OpenFile(args[2], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := term.MakeRaw(int(os.Stdin.Fd())); err != nil {
		return fmt.Errorf("put the terminal in raw mode: %w", err)
	}
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
	}()
	g := generator{Script: Script{Seed: numbers[0], Wipes: numbers[1]}, w: &recorder{w: os.Stdout, file: file}}
	if err := g.write(numbers[3]); err != nil {
		return err
	}
	return g.run(int(numbers[4]), int(numbers[5]), stop)
}

type generator struct {
	Script
	w    io.Writer
	line uint64 // the next one
}

// headBurst is how many lines of a head are written at once.
const headBurst = 1000

// write writes so many lines.
func (g *generator) write(lines uint64) error {
	for lines > 0 {
		var burst []byte
		for range min(lines, headBurst) {
			burst = append(burst, g.Script.line(g.line)...)
			g.line++
			lines--
		}
		if _, err := g.w.Write(burst); err != nil {
			return err
		}
	}
	return nil
}

// run writes bursts until it is stopped, in one tick of so many.
func (g *generator) run(perSecond, each int, stop <-chan struct{}) error {
	bursts := rand.New(rand.NewPCG(g.Seed, 1))
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return nil
		case <-tick.C:
		}
		if bursts.IntN(each) > 0 {
			continue
		}
		if err := g.write(uint64(bursts.IntN(2*each*perSecond/50 + 1))); err != nil {
			return err
		}
	}
}
