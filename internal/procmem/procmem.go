// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package procmem reads the memory of a child, for tests that search it for what must not be there.
package procmem

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// leastBytes is less than any process has: who read no more than that has searched nothing.
const leastBytes = 1 << 20

// Region is a part of a process's memory.
type Region struct {
	Start   int64
	Content []byte
}

// Of returns all that is readable of the memory of a process, which stands still meanwhile. A process under the race detector
// maps more than can be read.
func Of(t testing.TB, pid int) []Region {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer unix.Kill(pid, unix.SIGCONT)
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	var regions []Region
	total := 0
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "[v") { // [vvar], [vdso], [vsyscall] are the kernel's
			continue
		}
		var low, high int64
		var mode string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &low, &high, &mode); err != nil {
			t.Fatal(err)
		}
		if mode[0] != 'r' {
			continue
		}
		content := make([]byte, high-low)
		if _, err := mem.ReadAt(content, low); err != nil {
			t.Fatalf("read %s: %v", line, err)
		}
		regions = append(regions, Region{low, content})
		total += len(content)
	}
	if total < leastBytes {
		t.Fatalf("read only %d bytes", total)
	}
	return regions
}

// Copies counts a part in the regions.
func Copies(regions []Region, part []byte) (n int) {
	for _, r := range regions {
		n += bytes.Count(r.Content, part)
	}
	return n
}
