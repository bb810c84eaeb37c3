// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"spawn/internal/chance"
)

// seedOffset is the first of the seeds that are always tried.
const seedOffset = uint64(1)

// eachSeed runs a subtest-like body for a number of seeds, or for SPAWN_SEED alone, and names the seed
// that failed.
func eachSeed(t *testing.T, n int, body func(t *testing.T, seed uint64)) {
	t.Helper()
	if seed, given := chance.Given(t); given {
		body(t, seed)
		return
	}
	for i := range uint64(scaled(n)) {
		body(t, i+seedOffset)
		if t.Failed() {
			t.Fatalf("failed with SPAWN_SEED=%d", i+seedOffset)
		}
	}
}

// long says that the random tests take their time: SPAWN_LONG=1.
var long = os.Getenv("SPAWN_LONG") == "1"

// scaled returns how many of n rounds of a long run a random test makes.
func scaled(n int) int {
	if long {
		return n
	}
	return max(n/8, 10)
}

// diffStates describes the first differences of two states.
func diffStates(a, b State) string {
	if reflect.DeepEqual(a, b) {
		return ""
	}
	return diffValues("", reflect.ValueOf(a), reflect.ValueOf(b))
}

func diffValues(path string, a, b reflect.Value) string {
	switch a.Kind() {
	case reflect.Struct:
		out := ""
		for i := range a.NumField() {
			out += diffValues(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
		return out
	case reflect.Slice:
		if a.Len() == b.Len() {
			out := ""
			for i := range a.Len() {
				out += diffValues(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i))
			}
			return out
		}
	}
	if reflect.DeepEqual(a.Interface(), b.Interface()) {
		return ""
	}
	return fmt.Sprintf("%s: %#v != %#v\n", path, a.Interface(), b.Interface())
}

// fresh returns a terminal that was fed the pieces.
func fresh(cols, rows int, pieces ...[]byte) *Terminal {
	t := New(cols, rows, nil)
	for _, p := range pieces {
		t.Feed(p)
	}
	return t
}

func TestRepaintGivesTheSameStateAndGoesOnAlike(t *testing.T) {
	t.Parallel()
	eachSeed(t, 500, func(t *testing.T, seed uint64) {
		cols, rows := size(rand.New(rand.NewPCG(seed, 2)))
		g := newGen(seed, cols, rows)
		original := fresh(cols, rows, g.stream(5+g.IntN(60)))
		if g.IntN(4) == 0 {
			cols, rows = size(g.Rand)
			original.Resize(cols, rows)
			g.cols, g.rows = cols, rows
			original.Feed(g.stream(g.IntN(6)))
		}
		paint := original.AppendRepaint(nil)
		blank := fresh(cols, rows, paint)
		dirty := fresh(cols, rows, g.stream(40), paint)
		twice := fresh(cols, rows, paint, paint)
		want := original.State()
		for name, got := range map[string]*Terminal{"blank": blank, "dirty": dirty, "twice": twice} {
			if d := diffStates(want, got.State()); d != "" {
				t.Errorf("%s consumer differs:\n%s\n%q", name, d, paint)
				return
			}
		}
		more := g.stream(20)
		original.Feed(more)
		want = original.State()
		for name, got := range map[string]*Terminal{"blank": blank, "dirty": dirty} {
			got.Feed(more)
			if d := diffStates(want, got.State()); d != "" {
				t.Errorf("%s consumer differs after %q:\n%s", name, more, d)
			}
		}
	})
}
