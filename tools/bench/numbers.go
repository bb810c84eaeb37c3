// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// percentile is the smallest of the values that at least p percent of them don't exceed; 0 for none.
func percentile[T cmp.Ordered](values []T, p float64) T {
	if len(values) == 0 {
		var zero T
		return zero
	}
	sorted := slices.Sorted(slices.Values(values))
	at := int(math.Ceil(p/100*float64(len(sorted)))) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}

func median[T cmp.Ordered](values []T) T { return percentile(values, 50) }

// ratios divides round by round. What loads the machine for a while loads both of a pair.
func ratios(values, floors []float64) []float64 {
	out := make([]float64, min(len(values), len(floors)))
	for i := range out {
		out[i] = values[i] / floors[i]
	}
	return out
}

// processCPU is the CPU time that a process has used, all threads together; 0 when it is gone.
func processCPU(pid int) time.Duration {
	const schedulerClock = 2 // CPUCLOCK_SCHED of the kernel's posix-timers.h: nanoseconds, as the scheduler counts
	return clock(int32(^pid)<<3 | schedulerClock)
}

// ownCPU is the CPU time that this process has used.
func ownCPU() time.Duration { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }

func clock(id int32) time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(id, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

func processesCPU(pids []int) time.Duration {
	var sum time.Duration
	for _, pid := range pids {
		sum += processCPU(pid)
	}
	return sum
}

// tick is the step in which the kernel tells the machine's CPU time, whatever its own clock: USER_HZ.
const tick = time.Second / 100

// machineCPU is the CPU time that all processors have spent on anything, the kernel's own threads too.
func machineCPU() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	var user, nice, system, idle, wait, irq, soft int64
	if _, err := fmt.Sscanf(string(text), "cpu %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait, &irq, &soft); err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	return time.Duration(user+nice+system+irq+soft) * tick, nil
}

// kibibytes reads a row such as "Pss:  123 kB" of a file in /proc/PID.
func kibibytes(pid int, file, row string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, row+":"); ok {
			return strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
		}
	}
	return 0, fmt.Errorf("read memory: no row %s", row)
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

func millis(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
