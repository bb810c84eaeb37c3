// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rig

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Patience is how long anything that should happen at once may take on a loaded machine.
const Patience = 30 * time.Second

// lookEvery is the pace of looking at what has no event of its own.
const lookEvery = 20 * time.Millisecond

// Await polls a fact that has no event of its own, such as a process of somebody else's being gone.
func Await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(Patience)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("waited %v in vain: %s", Patience, what)
		case <-look.C:
		}
	}
}

// During calls look every now and then for as long as a span lasts.
func During(span time.Duration, look func()) {
	over := time.NewTimer(span)
	defer over.Stop()
	tick := time.NewTicker(10 * lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-over.C:
			return
		case <-tick.C:
			look()
		}
	}
}

// Pause lasts a random time below most.
func Pause(random *rand.Rand, most time.Duration) {
	<-time.After(time.Duration(random.Int64N(int64(most))))
}

// Resident is how many bytes of memory a process has now.
func Resident(t testing.TB, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// Proportional is how many bytes of memory a process has now, with its share of what it has in common with others. Of a
// worker the kernel tells it to root alone; to others its resident memory, which is more, has to do.
func Proportional(t testing.TB, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if errors.Is(err, fs.ErrPermission) {
		return Resident(t, pid)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\nPss:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// Descriptors is how many files a process has open now.
func Descriptors(t testing.TB, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// CPU is how much time processors have spent on a process, all of its threads together, as the scheduler counts it.
func CPU(t testing.TB, pid int) time.Duration {
	t.Helper()
	const schedulerClock = 2 // CPUCLOCK_SCHED of the kernel's posix-timers.h
	var spent unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|schedulerClock, &spent); err != nil {
		t.Fatalf("CPU time of process %d: %v", pid, err)
	}
	return time.Duration(spent.Nano())
}

// State is the letter by which the kernel says what a process does: T is stopped.
func State(t testing.TB, pid int) byte {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return rest[0]
}
