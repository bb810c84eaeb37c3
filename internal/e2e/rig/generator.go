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

// KnownLine is line n of the stream with that seed.
func KnownLine(seed, n uint64) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%d", seed, n))
	line := fmt.Appendf(make([]byte, 0, LineBytes), "L%09d %s", n, hex.EncodeToString(sum[:18]))
	return append(line[:LineBytes-2], '\r', '\n')
}

// KnownBytes are the bytes of the stream at positions [from, from+n).
func KnownBytes(seed, from uint64, n int) []byte {
	line := from / LineBytes
	out := make([]byte, 0, n+2*LineBytes)
	for skip := int(from % LineBytes); len(out) < n+skip; line++ {
		out = append(out, KnownLine(seed, line)...)
	}
	return out[from%LineBytes:][:n]
}

// runGenerator writes lines in bursts until a byte comes in, then leaves its own record, the count of bytes
// it wrote, in the named file, and ends. Arguments: seed, path of the record, most lines a second.
func runGenerator(args []string) error {
	seed, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return err
	}
	perSecond, err := strconv.Atoi(args[2])
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
	written, err := generate(os.Stdout, seed, perSecond, stop)
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], []byte(strconv.FormatUint(written, 10)), 0o600)
}

func generate(w io.Writer, seed uint64, perSecond int, stop <-chan struct{}) (uint64, error) {
	bursts := rand.New(rand.NewPCG(seed, 1))
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
			burst.Write(KnownLine(seed, line))
			line++
		}
		n, err := w.Write(burst.Bytes())
		written += uint64(n)
		if err != nil {
			return written, err
		}
	}
}
