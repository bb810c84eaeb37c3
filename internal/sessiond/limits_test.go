// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
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

		{"4.1", "seconds between two looks", seconds(foregroundEvery), 1},
		{"4.1", "quick looks after the last news", foregroundQuietMax, 3},
		{"4.1", "seconds between two looks where there is no news", seconds(foregroundIdleEvery), 30},
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
