// SPDX-License-Identifier: Apache-2.0

//go:build unix

package emulator

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time that the process has used. Unlike the clock, it
// doesn't count what other processes took.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
