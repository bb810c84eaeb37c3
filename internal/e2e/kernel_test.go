// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What the kernel tells of a process, and what it is told to let it do.

// below are the processes that descend from any of those, by their parents.
func below(t *testing.T, roots []int) (found []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	children := map[int][]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if fields := statOf(pid); fields != nil {
			parent, _ := strconv.Atoi(fields[1])
			children[parent] = append(children[parent], pid)
		}
	}
	for left := roots; len(left) > 0; {
		next := children[left[0]]
		found = append(found, next...)
		left = append(left[1:len(left):len(left)], next...)
	}
	return found
}

// statOf is /proc/PID/stat from the state on, nil of a process that is gone.
func statOf(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}

// processorTime is what a process has used.
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	fields := statOf(pid)
	if fields == nil {
		t.Fatalf("process %d is gone", pid)
	}
	var ticks int
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100 // USER_HZ
}

// numbers are those of a process's descriptors.
func numbers(t *testing.T, pid int) map[uint64]bool {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	if err != nil {
		t.Fatal(err)
	}
	taken := map[uint64]bool{}
	for _, e := range entries {
		n, err := strconv.ParseUint(e.Name(), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		taken[n] = true
	}
	return taken
}

// lowestFree is the number that a process's next descriptor gets.
func lowestFree(t *testing.T, pid int) uint64 {
	t.Helper()
	taken := numbers(t, pid)
	for n := uint64(0); ; n++ {
		if !taken[n] {
			return n
		}
	}
}

// limitDescriptors lowers what a running process may have open, and returns what raises it again.
func limitDescriptors(t *testing.T, pid int, most uint64) (raise func()) {
	t.Helper()
	var was unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &was); err != nil {
		t.Fatal(err)
	}
	set := func(l unix.Rlimit) {
		t.Helper()
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &l, nil); err != nil {
			t.Fatal(err)
		}
	}
	set(unix.Rlimit{Cur: most, Max: was.Max})
	return func() { t.Helper(); set(was) }
}
