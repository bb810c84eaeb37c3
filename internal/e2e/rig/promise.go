// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rig

import (
	"slices"
	"testing"
	"time"
)

// gateSlack is how many times as long as promised anything may take at the gate, where other packages' tests and whatever
// else the machine does run beside: there a promise that is broken by far fails, and nothing that chance decides.
const gateSlack = 10

// Within is how long may take what is promised within a time on a machine that does nothing else: just that where the
// matrix has the machine for itself, and gateSlack times as long at the gate.
func Within(promise time.Duration) time.Duration { return promise * time.Duration(Size(gateSlack, 1)) }

// Times are how long something took, each time.
type Times []time.Duration

// Percent is the time that so many in a hundred kept, at least.
func (s Times) Percent(n int) time.Duration {
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(len(sorted)-1, len(sorted)*n/100)]
}

// Require says how long something took, which so many in a hundred must have done within the promise.
func (s Times) Require(t testing.TB, what string, percent int, promise time.Duration) {
	t.Helper()
	took := s.Percent(percent)
	t.Logf("%s: %d times, median %v, p99 %v, longest %v; promised %v", what, len(s), s.Percent(50), s.Percent(99), s.Percent(100), promise)
	if took > Within(promise) {
		t.Errorf("%s: %d of 100 took up to %v, want %v", what, percent, took, Within(promise))
	}
}
