// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"spawn/internal/procmem"
)

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
func readAt(t *testing.T, regions []procmem.Region, address int64, n int) []byte {
	t.Helper()
	for _, r := range regions {
		if address >= r.Start && address+int64(n) <= r.Start+int64(len(r.Content)) {
			return r.Content[address-r.Start:][:n]
		}
	}
	t.Fatalf("nothing is mapped at %x", address)
	return nil
}
