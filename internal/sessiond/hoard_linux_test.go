// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"fmt"
	"strings"
	"testing"

	"spawn/internal/sessiond/wire"
)

// A supervisor that asks for replays without reading them makes a worker hold one or two, not as many as it asks for. When it
// reads, each comes.
func TestUnreadReplaysDoNotPileUp(t *testing.T) {
	const (
		asked = 100
		// A quarter of what they would take together; a worker at work with one replay stays well below.
		residentMaxKB = 40 << 10
	)
	p := launchProcess(t)
	peer := dial(t, p.folder, p.id)
	peer.startScript("stty -echo; yes 0123456789abcdefghijklmnopqrstuvwxyz | head -n 60000; echo flood-done; cat")
	peer.untilOutput("flood-done\r\n")
	_, one := peer.replay(everything)
	if len(one) < 1500<<10 {
		t.Fatalf("a replay has %d bytes: too little to show anything", len(one))
	}
	for range asked {
		peer.send(wire.AppendReplayReq(nil, everything))
	}
	awaitNoProgress(t, p.cmd.Process.Pid)
	if kb := residentKB(t, p.cmd.Process.Pid); kb > residentMaxKB {
		t.Errorf("the worker took %d KiB", kb)
	}
	for n := range asked {
		_, stream, err := wire.DecodeReplay(peer.until(wire.KindReplay))
		if err != nil || len(stream) != len(one) {
			t.Fatalf("replay %d has %d bytes, %v", n, len(stream), err)
		}
		peer.seen = nil
	}
}

// residentKB is the most that a process had in memory so far.
func residentKB(t *testing.T, pid int) (kb int) {
	t.Helper()
	_, rest, found := strings.Cut(readFile(t, fmt.Sprintf("/proc/%d/status", pid)), "VmHWM:")
	if _, err := fmt.Sscan(rest, &kb); !found || err != nil {
		t.Fatalf("no VmHWM: %v", err)
	}
	return kb
}
