// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package chaos is the fault matrix as a program: each class of faults is one test, which draws its faults from a
// seed, holds what terminals show against the generator's own record, and says in one line what came of it.
//
// Runs are few where every change must pass (SPAWN_CHAOS=gate, the default), and many with SPAWN_CHAOS=long.
package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"spawn/internal/e2e/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }

// class is one class of faults while its test runs.
type class struct {
	*testing.T
	name   string
	seed   uint64
	random *rand.Rand
	runs   int // times that the invariants were checked
	faults int // that were injected
}

// begin draws the seed. At the end of the test the class says in one line what came of it; one without runs or
// faults has shown nothing, and so fails.
func begin(t *testing.T, name string) *class {
	t.Helper()
	c := &class{T: t, name: name, seed: rig.Seed(t)}
	c.random = rand.New(rand.NewPCG(c.seed, 0))
	t.Cleanup(func() {
		if !t.Failed() && (c.runs == 0 || c.faults == 0) {
			t.Error("nothing was run, or no fault was injected")
		}
		verdict := "ok"
		if t.Failed() {
			verdict = "FAILED"
		}
		fmt.Printf("chaos: %-28s seed=%-20d runs=%-6d faults=%-6d %s\n", c.name, c.seed, c.runs, c.faults, verdict)
	})
	return c
}
