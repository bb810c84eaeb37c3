// SPDX-License-Identifier: Apache-2.0

// Package chance is what tests that draw by chance share: the seed that replays what one drew, how many runs it takes, and the
// line that says what came of them. Seeds that once failed are in testdata/kept.txt and are run again with every test run.
//
//	SPAWN_SEED=N       draw this, and nothing else
//	SPAWN_CHAOS=long   many runs, for hours, from a new seed each time; few otherwise
//
// Few runs draw from the commit: who tests the same tree tests the same, and a change meets what no change before it has met.
// A seed replays what a test draws, not when its goroutines and processes come to run.
package chance

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	seedVariable = "SPAWN_SEED"
	sizeVariable = "SPAWN_CHAOS"
)

// Seed is SPAWN_SEED, or else drawn. A failure tells it, with the commit, and how to run the test again.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed, given := Given(t)
	if !given {
		seed = drawn(t.Name(), Commit(), Long())
		tell(t, seed)
	}
	return seed
}

// drawn is what a test draws from: its name and the commit, or chance alone where the commit says nothing or hours are there to be
// spent on what was never tried.
func drawn(test, commit string, long bool) uint64 {
	if long || commit == unknown {
		return rand.Uint64()
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s of %s", test, commit)
	return h.Sum64()
}

func tell(t testing.TB, seed uint64) {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	t.Logf("%s=%d go test -run '^%s$' draws the same again at commit %s", seedVariable, seed, name, Commit())
}

// Given is SPAWN_SEED, told likewise, and false where there is none.
func Given(t testing.TB) (seed uint64, given bool) {
	t.Helper()
	text := os.Getenv(seedVariable)
	if text == "" {
		return 0, false
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", seedVariable, err)
	}
	tell(t, seed)
	return seed, true
}

// unknown is the commit of a tree that git does not know.
const unknown = "unknown"

// Commit names the tree that is tested, "-dirty" behind it when the tree is not what was committed.
var Commit = sync.OnceValue(func() string {
	ask := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
	ask.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0") // whoever works in the tree is not held up
	said, err := ask.Output()
	if err != nil {
		return unknown
	}
	return strings.TrimSpace(string(said))
})

// Long reports whether hours may be spent.
func Long() bool { return os.Getenv(sizeVariable) == "long" }

// Size is how many runs a test makes: few where every change must pass, or many.
func Size(gate, long int) int {
	if Long() {
		return long
	}
	return gate
}

// Tell prints the one line that says what came of a class of faults.
func Tell(t testing.TB, class string, seed uint64, runs, faults int) {
	verdict := "ok"
	if t.Failed() {
		verdict = "FAILED"
	}
	fmt.Printf("chaos: %-28s seed=%-20d commit=%-18s runs=%-6d faults=%-6d %s\n", class, seed, Commit(), runs, faults, verdict)
}
