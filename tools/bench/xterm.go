// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"spawn/internal/sessiond/emulator/streams"
)

//go:embed xterm.mjs
var xtermScript []byte

// measureXterm feeds the same streams to @xterm/headless, where node and web/node_modules are there.
func measureXterm(ctx context.Context, b *bench) error {
	size := b.effort(4<<20, 1<<20)
	loads, files, err := writeStreams(b.lab, size, func(s streams.Stream) bool { return b.wants("xterm." + s.Name) })
	if err != nil {
		return err
	}
	modules := filepath.Join(b.lab.root, "web", "node_modules")
	node, err := exec.LookPath("node")
	if len(files) == 0 || err != nil || !exists(filepath.Join(modules, "@xterm", "headless")) {
		return nil
	}
	speeds, err := xtermPaces(ctx, b.lab, node, modules, files)
	if err != nil {
		return err
	}
	floor := decodePace(streams.Unicode.Bytes(size))
	for i, speed := range speeds {
		b.add(figure{Name: "xterm." + loads[i].Name, Value: speed, Unit: "MB/CPU-s", Note: "@xterm/headless, scrollback 1000"}.over(floor))
	}
	return nil
}

func xtermPaces(ctx context.Context, l *lab, node, modules string, files []string) ([]float64, error) {
	script := filepath.Join(l.dir, "xterm.mjs")
	if err := os.WriteFile(script, xtermScript, 0o600); err != nil {
		return nil, fmt.Errorf("write script: %w", err)
	}
	args := append([]string{script, modules, strconv.Itoa(streams.Cols), strconv.Itoa(streams.Rows)}, files...)
	out, err := exec.CommandContext(ctx, node, args...).Output()
	if err != nil {
		return nil, fmt.Errorf("run node: %w", err)
	}
	var speeds []float64
	for _, word := range strings.Fields(string(out)) {
		speed, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil, fmt.Errorf("read speed: %w", err)
		}
		speeds = append(speeds, speed)
	}
	if len(speeds) != len(files) {
		return nil, fmt.Errorf("read speeds: %d of %d", len(speeds), len(files))
	}
	return speeds, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
