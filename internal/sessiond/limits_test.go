// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/foreground"
	"spawn/internal/sessiond/lifecycle"
	"spawn/internal/sessiond/scrollback"
	"spawn/internal/sessiond/secret"
	"spawn/internal/sessiond/wire"
)

// Every number of the contract that a worker keeps, beside the contract's own, which is written out here and derived from
// nothing. A change of one has to be made twice, and the second time with the section in view.
func TestLimitsAreTheSpecs(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	spec := func(k wire.Kind) wire.Spec { s, _ := wire.Lookup(k); return s }
	rows := []struct {
		section, what string
		ours, theirs  int
	}{
		{"3", "mode of the worker folder", endpoint.FolderMode, 0o700},
		{"3", "mode of locks and sockets", endpoint.FileMode, 0o600},
		{"3", "threads of a worker's runtime", processorsMax, 2},

		{"4", "bytes of a frame's header", wire.HeaderLen, 5},
		{"4", "bytes of the largest frame", wire.MaxFrameLen, 32 * mib},
		{"4", "protocol version", wire.ProtoVersion, 5},
		{"4", "version told in HELLO", newWorker(Config{}, &holdings{}).hello().Version, 5},
		{"4", "bytes of one INPUT", int(spec(wire.KindInput).Max), 64 * kib},
		{"4", "bytes of one REPLAY", int(spec(wire.KindReplay).Max), 32 * mib},
		{"4", "bytes of RESIZE", exactly(spec(wire.KindResize)), 4},
		{"4", "bytes of REPLAY_REQ", exactly(spec(wire.KindReplayReq)), 4},
		{"4", "bytes of HISTORY_SUB", exactly(spec(wire.KindHistorySub)), 1},
		{"4", "bytes of HISTORY_WIPE", exactly(spec(wire.KindHistoryWipe)), 8},
		{"4", "seconds without START", seconds(lifecycle.StartTimeout), 120},
		{"4", "seconds of linger", seconds(lifecycle.ExitLinger), 60},
		{"4", "seconds in the state before START", seconds(lifecycle.Waiting.Timeout()), 120},
		{"4", "seconds in the state after the end", seconds(lifecycle.Exited.Timeout()), 60},
		{"4", "bytes of an instance id", len(endpoint.InstanceID{}), 16},
		{"4", "bytes of a lifecycle request", endpoint.RequestLen, 17},
		{"4", "bytes of the lifecycle buffer", endpoint.RequestBufLen, 18},
		{"4", "seconds for a lifecycle request", seconds(endpoint.SignalDeadline), 2},

		{"3", "bytes of a folder's path, for sockets of 107", endpoint.FolderPathMax, 107 - len("/") - 36 - len(".lifecycle.sock")},

		{"4.1", "seconds between two looks while something may have changed it", seconds(foregroundEvery), 1},
		{"4.1", "characters of a name", foreground.NameRunesMax, 64},
		{"4.1", "characters of a FOREGROUND", wire.ForegroundRunesMax, 64},

		{"6.1", "bytes of a record's header", scrollback.HeaderBytes, 4 + 1 + 8},
		{"6.1", "bytes of a record's tag", scrollback.TagBytes, 16},
		{"6.1", "bits of a nonce", 8 * scrollback.NonceBytes, 96},
		{"6.2", "bytes of charge before rotation", scrollback.SegmentBytesDefault, 256 * kib},
		{"6.2", "bytes of charge of a log", scrollback.MaxLogBytes, 8 * mib},
		{"6.2", "files of a log", scrollback.MaxFiles, 128},
		{"6.2", "charge of a replay, in texts", scrollback.ReplayCopies, 2},
		{"7", "bytes of a key", secret.KeyBytes, 32},

		{"9", "bytes queued from the PTY, chunks times their size", ringBytes, 8 * 8 * kib},
	}
	for _, r := range rows {
		if r.ours != r.theirs {
			t.Errorf("§%s, %s: %d, the contract says %d", r.section, r.what, r.ours, r.theirs)
		}
	}
}

// Every other number of a worker, which is ours to choose: written out once more, so that none changes by the way.
func TestLimitsAreAsChosen(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	for name, n := range map[string]struct{ is, chosen int }{
		"output held, the ring with it":  {heldBytesMax, 384 * kib},
		"read before the loop is told":   {readBytesMax, 16 * kib},
		"stride":                         {strideBytes, 32 * kib},
		"output before PTY stops":        {outboxBytesMax, 256 * kib},
		"output before commands stop":    {outboxReplayMax, 1 * mib},
		"output with another HISTORY":    {outboxHistoryMax, 1 * mib},
		"idle connection's buffers":      {outboxKeepBytes, 32 * kib},
		"written by the loop itself":     {straightBytesMax, 2 * kib},
		"a flood's first batch":          {floodBytes, 16 * kib},
		"a flood's next batch":           {gatherBytes, 64 * kib},
		"ms, a flood's next batch":       {milliseconds(gatherMax), 1},
		"hint for a small frame":         {frameHint, 256},
		"rows of a capture, in texts":    {rowsPerText, 2},
		"first buffer of a connection":   {outboxBeginBytes, 4 * kib},
		"input waiting":                  {inputBytesMax, 1 * mib},
		"frames of input waiting":        {inputFramesMax, 4096},
		"input written at once":          {inputPieceBytes, 4 * kib},
		"answers waiting":                {repliesBytesMax, 64 * kib},
		"messages in a window":           {notificationsWindowMax, 4},
		"prompt marks in a window":       {marksWindowMax, 64},
		"text of a notice":               {noticeTextMax, 1 * kib},
		"looks before the slow pace":     {foregroundQuietMax, 3},
		"columns before START":           {colsDefault, 80},
		"rows before START":              {rowsDefault, 24},
		"growth before a collection":     {collectPercent, 20},
		"soft limit of the heap":         {heapBytesSoft, 32 * mib},
		"text of one HISTORY":            {wire.HistoryTextMax, 8 * mib},
		"plaintext of one record":        {scrollback.MaxRecordBytes, 64 * kib},
		"ms, notice window":              {milliseconds(noticeWindow), 50},
		"ms, HELLO":                      {milliseconds(helloWriteMax), 100},
		"ms, farewell":                   {milliseconds(farewellMax), 1000},
		"ms, background jobs at the end": {milliseconds(drainMax), 2000},
		"ms, terminal open again":        {milliseconds(reopenEvery), 250},
		"ms, between TERM, HUP, KILL":    {milliseconds(graceMax), 1500},
		// §4.1 has one second for this too; docs/protocol.md says why it is more.
		"ms, foreground in silence": {milliseconds(foregroundIdleEvery), 30_000},
		"ms, after a failed accept": {milliseconds(acceptRetry), 50},
		"processors while calm":     {processorsCalm, 1},
		"a burst":                   {burstBytes, 8 * kib},
		"ms, calm after a burst":    {milliseconds(calmAfter), 250},
		"ms, dial":                  {milliseconds(endpoint.DialDeadline), 5000},
	} {
		if n.is != n.chosen {
			t.Errorf("%s: %d, want %d", name, n.is, n.chosen)
		}
	}
}

// docs/protocol.md, "What waits, and how much".
func TestProtocolDocumentHasTheBounds(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	for where, bytes := range map[string]int{
		"worker: from the terminal":                             ringBytes,
		"worker: frames to the supervisor, answers to it apart": outboxBytesMax,
		"worker: the same, with another HISTORY":                outboxHistoryMax,
		"worker: the same, answers among them":                  outboxReplayMax,
		"worker: INPUT":                                         inputBytesMax,
		"worker: answers of the screen to a program's queries":  repliesBytesMax,
		"spawnd: read ahead of a worker's frames":               wire.ReadAheadMax,
	} {
		if row := fmt.Sprintf("\n| %s | %d |", where, bytes); !strings.Contains(string(text), row) {
			t.Errorf("no row%s", row)
		}
	}
	if sum := fmt.Sprintf("a worker holds at most %d KiB", heldBytesMax>>10); !strings.Contains(string(text), sum) {
		t.Errorf("it does not say that %s", sum)
	}
}

// milliseconds is d when it is whole ones, and no number of ours otherwise.
func milliseconds(d time.Duration) int {
	if d%time.Millisecond != 0 {
		return -1
	}
	return int(d / time.Millisecond)
}

// exactly is the size of a kind that has only one.
func exactly(s wire.Spec) int {
	if !s.Exact {
		return -1
	}
	return int(s.Max)
}

// seconds is d when it is whole seconds, and no number of the contract otherwise.
func seconds(d time.Duration) int {
	if d%time.Second != 0 {
		return -1
	}
	return int(d / time.Second)
}
