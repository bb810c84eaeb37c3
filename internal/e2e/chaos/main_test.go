// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package chaos is the fault matrix as a program: each class of faults is one test, which draws its faults from a
// seed, holds what terminals show against the generator's own record, and says in one line what came of it.
//
// Runs are few where every change must pass (SPAWN_CHAOS=gate, the default), and many with SPAWN_CHAOS=long.
package chaos

import (
	"os"
	"testing"

	"spawn/internal/e2e/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }
