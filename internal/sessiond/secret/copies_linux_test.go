// SPDX-License-Identifier: Apache-2.0

//go:build !race

package secret

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"spawn/internal/procmem"
)

// The race detector maps terabytes of shadow memory, which nobody can search; so make test runs these tests without it.

func TestKeyIsInMemoryExactlyOnce(t *testing.T) {
	if n := copiesInChild(t, "")["whole"]; n != 1 {
		t.Errorf("the key is in memory %d times, want 1", n)
	}
}

// Half a key is what the assembly keeps on its stack, and half a key is half the secret. It also
// is in vector registers meanwhile, where a signal saves it to a stack that nobody wipes (the
// package comment says so); so this child gets none of the runtime's signals, as no worker does.
func TestStackKeepsNoHalfOfTheKey(t *testing.T) {
	for part, n := range copiesInChild(t, "GODEBUG=asyncpreemptoff=1") {
		if n != 1 {
			t.Errorf("%s of the key is in memory %d times, want 1", part, n)
		}
	}
}

// copiesInChild counts the key and its halves in the memory of a child that has used it.
func copiesInChild(t *testing.T, env string) map[string]int {
	t.Helper()
	c := start(t, "work", false, env)
	address, err := strconv.ParseInt(c.line, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", c.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	key := make([]byte, KeyBytes)
	if _, err := mem.ReadAt(key, address); err != nil {
		t.Fatal(err)
	}
	regions := procmem.Of(t, c.Process.Pid)
	return map[string]int{
		"whole":       procmem.Copies(regions, key),
		"first half":  procmem.Copies(regions, key[:KeyBytes/2]),
		"second half": procmem.Copies(regions, key[KeyBytes/2:]),
	}
}
