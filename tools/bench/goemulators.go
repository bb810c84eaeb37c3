// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"spawn/internal/sessiond/emulator/streams"
)

// goEmulators are the names that tools/bench/peers prints, in its order. What they import is in a module of its own, so
// that it is no dependency of the product.
var goEmulators = []string{"charm-vt", "vt10x"}

// measureGoEmulators feeds the streams to emulators that others wrote in Go, where their modules can be had: they need
// the module proxy or a filled cache, and nothing else here does.
func measureGoEmulators(ctx context.Context, b *bench) error {
	wanted := func(s streams.Stream) bool {
		for _, name := range goEmulators {
			if b.wants(name + "." + s.Name) {
				return true
			}
		}
		return false
	}
	loads, files, err := writeStreams(b.lab, b.effort(1<<20, 256<<10), wanted)
	if len(files) == 0 || err != nil {
		return err
	}
	program := b.lab.program("peers")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, ".")
	build.Dir, build.Env = filepath.Join(b.lab.root, "tools", "bench", "peers"), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		said := strings.Split(strings.TrimSpace(string(out)), "\n") // the reason comes last
		fmt.Fprintf(os.Stderr, "bench: without %s, which can't be built: %s\n", strings.Join(goEmulators, " and "), said[len(said)-1])
		return ctx.Err()
	}
	args := append([]string{strconv.Itoa(streams.Cols), strconv.Itoa(streams.Rows)}, files...)
	out, err := exec.CommandContext(ctx, program, args...).Output()
	if err != nil {
		return fmt.Errorf("run the Go emulators: %w", err)
	}
	floor := decodePace(streams.Unicode.Bytes(4 << 20))
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(goEmulators) {
		return fmt.Errorf("read the Go emulators: %d of %d", len(lines), len(goEmulators))
	}
	for i, line := range lines {
		if err := b.addGoEmulator(goEmulators[i], line, loads, floor); err != nil {
			return err
		}
	}
	return nil
}

// addGoEmulator reads a line of tools/bench/peers: name, note, and a speed for each load.
func (b *bench) addGoEmulator(name, line string, loads []streams.Stream, floor float64) error {
	fields := strings.Split(line, "\t")
	if len(fields) != 2+len(loads) || fields[0] != name {
		return fmt.Errorf("read the speeds of %s: %q", name, line)
	}
	for i, s := range loads {
		speed, err := strconv.ParseFloat(fields[2+i], 64)
		if err != nil {
			return fmt.Errorf("read the speeds of %s: %w", name, err)
		}
		b.add(figure{Name: name + "." + s.Name, Value: speed, Unit: "MB/CPU-s", Note: fields[1]}.over(floor))
	}
	return nil
}

// writeStreams writes the wanted loads of an emulator into the lab, of at least size bytes each.
func writeStreams(l *lab, size int, wanted func(streams.Stream) bool) (loads []streams.Stream, files []string, err error) {
	for _, s := range streams.Emulator() {
		if !wanted(s) {
			continue
		}
		path := filepath.Join(l.dir, "stream-"+s.Name)
		if err := os.WriteFile(path, s.Bytes(size), 0o600); err != nil {
			return nil, nil, fmt.Errorf("write stream: %w", err)
		}
		loads, files = append(loads, s), append(files, path)
	}
	return loads, files, nil
}
