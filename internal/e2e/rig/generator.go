// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rig

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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

// shown is what line n leaves on a screen.
func (s Script) shown(n uint64) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%d", s.Seed, n))
	line := fmt.Appendf(make([]byte, 0, LineBytes), "L%09d %s", n, hex.EncodeToString(sum[:18]))
	if s.wipesAt(n) {
		return line[:LineBytes-2-len(wipe)]
	}
	return line[:LineBytes-2]
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

// runGenerator writes lines in bursts until a byte comes in, then leaves its own record, the count of bytes
// it wrote, in the named file, and ends. Arguments: seed, lines between wipes, path of the record, most lines a second.
func runGenerator(args []string) error {
	var s Script
	var err error
	if s.Seed, err = strconv.ParseUint(args[0], 10, 64); err != nil {
		return err
	}
	if s.Wipes, err = strconv.ParseUint(args[1], 10, 64); err != nil {
		return err
	}
	perSecond, err := strconv.Atoi(args[3])
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
	written, err := generate(os.Stdout, s, perSecond, stop)
	if err != nil {
		return err
	}
	return os.WriteFile(args[2], []byte(strconv.FormatUint(written, 10)), 0o600)
}

func generate(w io.Writer, s Script, perSecond int, stop <-chan struct{}) (uint64, error) {
	bursts := rand.New(rand.NewPCG(s.Seed, 1))
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var line, written uint64
	for {
		select {
		case <-stop:
			return written, nil
		case <-tick.C:
		}
		var burst bytes.Buffer
		for range bursts.IntN(2*perSecond/50 + 1) {
			burst.Write(s.line(line))
			line++
		}
		n, err := w.Write(burst.Bytes())
		written += uint64(n)
		if err != nil {
			return written, err
		}
	}
}
