// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package chaos is the fault matrix as a program: each class of faults is one test, which draws its faults from a
// seed, holds what terminals show against the generator's own record, and says in one line what came of it.
//
// Runs are few where every change must pass (SPAWN_CHAOS=gate, the default), and many with SPAWN_CHAOS=long, which is
// to be run each night and wants the machine for itself. What is promised to be done in time must be done in that time
// when long, and in ten times of it at the gate. The gate is what two busy cores do in seconds, so in these classes it is
// smaller than one would have it:
//
//	F1   100 kills, 20 terminals of 20 kB/s     instead of 300, 50 of 100 kB/s in bursts of 1 MB/s
//	F4   20 crashes                             instead of 50
//	F14  200 terminals, whose idle time nobody measures
//	F16  100 names taken again                  instead of 500
//	F17  seconds, and a fifth of the speed      instead of 5 minutes and 95 %
//	F18  10 rounds                              instead of 5 minutes
//	F24  10 seconds, which have no slope        instead of 10 minutes
package chaos

import (
	"os"
	"testing"

	"spawn/internal/e2e/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }
