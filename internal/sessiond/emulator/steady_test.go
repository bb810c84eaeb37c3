// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"runtime"
	"testing"
)

// A terminal that has seen its program's ways takes more of the same without
// an allocation, history included.
func TestFeedingAllocatesNothingInTheSteadyState(t *testing.T) {
	for _, l := range loads() {
		t.Run(l.name, func(t *testing.T) {
			stream := l.bytes(1 << 20)
			term := New(l.cols, l.rows, &counter{})
			feedPieces(term, stream)
			if n := testing.AllocsPerRun(3, func() { feedPieces(term, stream) }); n > 0 {
				t.Errorf("%v allocations for %d bytes, want none", n, len(stream))
			}
		})
	}
}

// An idle terminal of the usual size, with both screens and no history, is
// small: a host has hundreds.
func TestIdleTerminalIsSmall(t *testing.T) {
	const bytesMax, terminals = 128 << 10, 64
	kept := make([]*Terminal, terminals)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range kept {
		kept[i] = New(80, 24, nil)
		kept[i].Feed([]byte("\x1b[31mprompt\x1b[m $ \x1b[?1049hfull screen\x1b[?1049l"))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (after.HeapAlloc - before.HeapAlloc) / terminals
	runtime.KeepAlive(kept)
	t.Logf("%d bytes each", each)
	if each > bytesMax {
		t.Errorf("an idle terminal holds %d bytes, want %d at most", each, bytesMax)
	}
}
