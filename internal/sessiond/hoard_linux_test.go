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

// Nor does history: with five bytes a program can push a screen of coloured blanks into it, 50 KB here, so it needs a bound of its
// own. What is left out shows as a hole.
func TestUnreadHistoryDoesNotPileUp(t *testing.T) {
	const residentMaxKB = 40 << 10 // what 4 KiB of such output come to; the stride that fills the queue has more
	p := launchProcess(t)
	peer := dial(t, p.folder, p.id)
	peer.startSized(1000, 50, []string{"/bin/sh", "-c", `stty -echo; echo ready; read go; printf '\033[44m\033[2J'
		scrolls=$(printf '\033[50S%.0s' $(seq 2000)); while :; do printf %s "$scrolls"; done`})
	peer.untilOutput("ready")
	peer.send(wire.AppendHistorySub(nil, true))
	peer.until(wire.KindHistory)
	peer.type_("\r")
	awaitNoProgress(t, p.cmd.Process.Pid)
	peer.untilHole()
	if kb := residentKB(t, p.cmd.Process.Pid); kb > residentMaxKB {
		t.Errorf("the worker took %d KiB", kb)
	}
}

// untilHole reads until a HISTORY begins behind the end of the one before it.
func (p *peer) untilHole() {
	p.t.Helper()
	for begin := p.offset; ; {
		if p.offset-begin > 16*outboxHistoryMax {
			p.t.Error("nothing was left out")
			return
		}
		kind, payload, err := p.frames.Next()
		if err != nil {
			p.t.Fatal(err)
		}
		if kind != wire.KindHistory {
			continue
		}
		h, err := wire.DecodeHistory(payload)
		if err != nil || h.Epoch != p.epoch || h.Offset < p.offset {
			p.t.Fatalf("HISTORY at %d/%d behind %d/%d, %v", h.Epoch, h.Offset, p.epoch, p.offset, err)
		}
		if h.Offset > p.offset {
			return
		}
		p.offset += uint64(len(h.Text))
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
