// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func mkfifo(path string) error { return unix.Mkfifo(path, 0o600) }

// awaitNoProgress waits until the process has used no processor time for a while: it waits for somebody.
func awaitNoProgress(t *testing.T, pid int) {
	t.Helper()
	const calm = 300 * time.Millisecond
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	last, since := "", time.Now()
	for now := range tick.C {
		used := processorTime(t, pid)
		switch {
		case used != last:
			last, since = used, now
		case now.Sub(since) > calm:
			return
		case now.After(deadline):
			t.Fatal("the program goes on")
		}
	}
}

func processorTime(t *testing.T, pid int) string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return fields[11] + " " + fields[12]
}
