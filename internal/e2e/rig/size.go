// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rig

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// Long reports whether hours may be spent: SPAWN_CHAOS=long.
func Long() bool { return os.Getenv("SPAWN_CHAOS") == "long" }

// Size is how many runs a fault gets: few at the gate, where every change must pass, or many.
func Size(gate, long int) int {
	if Long() {
		return long
	}
	return gate
}

// Seed is SPAWN_SEED, or a new one, and is printed: it replays what a test draws by chance.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv("SPAWN_SEED"); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatalf("SPAWN_SEED: %v", err)
		}
	}
	t.Logf("SPAWN_SEED=%d replays this run", seed)
	return seed
}
