// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rig

import (
	"testing"

	"spawn/internal/chance"
)

// Long reports whether hours may be spent: SPAWN_CHAOS=long.
func Long() bool { return chance.Long() }

// Size is how many runs a fault gets: few at the gate, where every change must pass, or many.
func Size(gate, long int) int { return chance.Size(gate, long) }

// Seed is SPAWN_SEED, or drawn from the commit, and is printed: it replays what a test draws by chance.
func Seed(t testing.TB) uint64 {
	t.Helper()
	return chance.Seed(t)
}
