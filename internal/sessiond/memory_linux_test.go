// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// region is a part of a process's memory.
type region struct {
	start   int64
	content []byte
}

// memoryOf returns all that is readable of the memory of a process, which stands still meanwhile.
func memoryOf(t *testing.T, pid int) []region {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer unix.Kill(pid, unix.SIGCONT)
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	var regions []region
	total := 0
	for line := range strings.Lines(readFile(t, fmt.Sprintf("/proc/%d/maps", pid))) {
		if strings.Contains(line, "[v") { // [vvar], [vdso], [vsyscall] are the kernel's
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
		content := make([]byte, high-low)
		if _, err := mem.ReadAt(content, low); err != nil {
			t.Fatalf("read %s: %v", line, err)
		}
		regions = append(regions, region{low, content})
		total += len(content)
	}
	if total < 1<<20 {
		t.Fatalf("read only %d bytes", total)
	}
	return regions
}

func copiesOf(regions []region, part []byte) (n int) {
	for _, r := range regions {
		n += bytes.Count(r.content, part)
	}
	return n
}

// asCells is text as a screen keeps it: a code point in eight bytes.
func asCells(text string) (cells []byte) {
	for _, r := range text {
		cells = binary.LittleEndian.AppendUint64(cells, uint64(r))
	}
	return cells
}

var mapping = regexp.MustCompile(`(?m)^([0-9a-f]+)-[0-9a-f]+ .*$`)

// keyPage finds the key of a worker: it is the one mapping that is locked, left out of core files and empty after a fork.
func keyPage(t *testing.T, pid int) int64 {
	t.Helper()
	smaps := readFile(t, fmt.Sprintf("/proc/%d/smaps", pid))
	var found []int64
	heads := mapping.FindAllStringSubmatchIndex(smaps, -1)
	for i, h := range heads {
		end := len(smaps)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		_, flags, _ := strings.Cut(smaps[h[0]:end], "VmFlags:")
		if strings.Contains(flags, " lo") && strings.Contains(flags, " dd") && strings.Contains(flags, " wf") {
			start, err := strconv.ParseInt(smaps[h[2]:h[3]], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, start)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d mappings could be the key's", len(found))
	}
	return found[0]
}

// readAt returns n bytes at an address.
func readAt(t *testing.T, regions []region, address int64, n int) []byte {
	t.Helper()
	for _, r := range regions {
		if address >= r.start && address+int64(n) <= r.start+int64(len(r.content)) {
			return r.content[address-r.start:][:n]
		}
	}
	t.Fatalf("nothing is mapped at %x", address)
	return nil
}
