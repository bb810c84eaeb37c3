// SPDX-License-Identifier: Apache-2.0

//go:build !race

package secret

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
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
	return map[string]int{
		"whole":       find(t, c.Process.Pid, mem, key),
		"first half":  find(t, c.Process.Pid, mem, key[:KeyBytes/2]),
		"second half": find(t, c.Process.Pid, mem, key[KeyBytes/2:]),
	}
}

// find counts the copies of part in the child's memory.
func find(t *testing.T, pid int, mem io.ReaderAt, part []byte) (copies int) {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	scanned := 0
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "[v") { // [vvar], [vdso], [vsyscall]: the kernel's
			continue
		}
		var low, high int64
		var mode string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &low, &high, &mode); err != nil {
			t.Fatal(err)
		}
		if mode[0] != 'r' {
			continue
		}
		region := make([]byte, high-low)
		n, err := mem.ReadAt(region, low)
		if err != nil {
			t.Fatalf("read %s: %v", line, err)
		}
		scanned += n
		copies += bytes.Count(region, part)
	}
	if scanned < 1<<20 {
		t.Fatalf("scanned only %d bytes", scanned)
	}
	return copies
}
