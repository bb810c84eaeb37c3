// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"spawn/internal/strictjson"
	"spawn/tools/term-conformance/grid"
)

// diffFiles compares two files of grid-state JSON line by line.
func diffFiles(out io.Writer, left, right string) (differs bool, err error) {
	a, err := readGrids(left)
	if err != nil {
		return false, err
	}
	b, err := readGrids(right)
	if err != nil {
		return false, err
	}
	if len(a) != len(b) {
		fmt.Fprintf(out, "%s has %d states, %s has %d\n", left, len(a), right, len(b))
		return true, nil
	}
	for i := range a {
		for _, d := range grid.Diff(a[i], b[i]) {
			fmt.Fprintf(out, "state %d %s/%s: %s\n", i, a[i].Suite, a[i].Name, d)
			differs = true
		}
	}
	return differs, nil
}

func readGrids(path string) ([]*grid.Grid, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open grid states: %w", err)
	}
	defer f.Close()
	var out []*grid.Grid
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, lineBytesMax)
	for n := 1; lines.Scan(); n++ {
		g := &grid.Grid{}
		if err := strictjson.Unmarshal(lines.Bytes(), g); err != nil {
			return nil, fmt.Errorf("read %s, line %d: %w", path, n, err)
		}
		if g.Schema != grid.SchemaVersion {
			return nil, fmt.Errorf("read %s, line %d: schema %d, want %d", path, n, g.Schema, grid.SchemaVersion)
		}
		out = append(out, g)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return out, nil
}
