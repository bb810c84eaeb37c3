// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rig

import (
	"math/rand/v2"
	"testing"

	"spawn/internal/chance"
)

// Class is one class of faults while its test runs.
type Class struct {
	*testing.T
	Seed   uint64
	Random *rand.Rand // from the seed
	Runs   int        // times that what must hold was checked
	Faults int        // that were injected
}

// Begin draws the seed. At the end of the test the class says in one line what came of it; one without runs or
// faults has shown nothing, and so fails.
func Begin(t *testing.T, name string) *Class {
	t.Helper()
	c := &Class{T: t, Seed: Seed(t)}
	c.Random = rand.New(rand.NewPCG(c.Seed, 0))
	t.Cleanup(func() {
		if !t.Failed() && (c.Runs == 0 || c.Faults == 0) {
			t.Error("nothing was run, or no fault was injected")
		}
		chance.Tell(t, name, c.Seed, c.Runs, c.Faults)
	})
	return c
}
