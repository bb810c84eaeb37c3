// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command peers feeds files to terminal emulators that others wrote in Go, and prints one line for each emulator: its
// name, what to know about it, and how many MB of each file it takes in a second of CPU, with tabs between.
//
//	peers COLS ROWS FILE...
//
// It is a module of its own, so that what it imports is no dependency of the product. tools/bench builds and runs it.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/hinshun/vt10x"
)

const (
	piece    = 64 << 10        // bytes of one write, as for all others
	passTime = time.Second / 2 // CPU time that one measurement lasts at least
	history  = 1000            // lines, as @xterm/headless is given
)

// emulators are measured in this order.
var emulators = []struct {
	name, note string
	open       func(cols, rows int) io.Writer
}{
	{"charm-vt", fmt.Sprintf("charmbracelet/x/vt, scrollback %d", history), func(cols, rows int) io.Writer {
		e := vt.NewEmulator(cols, rows)
		e.SetScrollbackSize(history)
		return e
	}},
	{"vt10x", "hinshun/vt10x, which has no scrollback", func(cols, rows int) io.Writer {
		return vt10x.New(vt10x.WithSize(cols, rows))
	}},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 3 {
		return errors.New("usage: peers COLS ROWS FILE...")
	}
	cols, err := strconv.Atoi(args[0])
	rows, rowsErr := strconv.Atoi(args[1])
	if err = errors.Join(err, rowsErr); err != nil {
		return err
	}
	for _, e := range emulators {
		var speeds []string
		for _, path := range args[2:] {
			stream, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			speed, err := pace(e.open(cols, rows), stream)
			if err != nil {
				return fmt.Errorf("feed %s to %s: %w", path, e.name, err)
			}
			speeds = append(speeds, strconv.FormatFloat(speed, 'g', 6, 64))
		}
		fmt.Printf("%s\t%s\t%s\n", e.name, e.note, strings.Join(speeds, "\t"))
	}
	return nil
}

// pace feeds a stream again and again, after one pass that warms up, and returns MB for each second of CPU.
func pace(to io.Writer, stream []byte) (float64, error) {
	if err := feed(to, stream); err != nil {
		return 0, err
	}
	start := used()
	for passes := 1; ; passes++ {
		if err := feed(to, stream); err != nil {
			return 0, err
		}
		if took := used() - start; took >= passTime {
			return float64(passes) * float64(len(stream)) / 1e6 / took.Seconds(), nil
		}
	}
}

func feed(to io.Writer, stream []byte) error {
	for p := range slices.Chunk(stream, piece) {
		if _, err := to.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// used is the CPU time of this process, the collector's too.
func used() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
