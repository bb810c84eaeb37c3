// SPDX-License-Identifier: Apache-2.0

package unmet

import (
	"runtime"
	"testing"
)

// told is a test that keeps what is said to it. FailNow and SkipNow end its goroutine, as those of a test do.
type told struct {
	testing.TB
	failed, skipped, logged bool
}

func (t *told) Helper()               {}
func (t *told) Logf(string, ...any)   { t.logged = true }
func (t *told) Fatalf(string, ...any) { t.failed = true; runtime.Goexit() }
func (t *told) SkipNow()              { t.skipped = true; runtime.Goexit() }

func tell(act func(t testing.TB)) (t told, wentOn bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		act(&t)
		wentOn = true
	}()
	<-done
	return t, wentOn
}

func TestUnmetNeedsFailWhereAllIsRequired(t *testing.T) {
	skip := func(t testing.TB) { Skip(t, "no %s", "moon") }
	note := func(t testing.TB) { Note(t, "no %s", "moon") }
	for _, c := range []struct {
		required                        string
		act                             func(testing.TB)
		failed, skipped, logged, wentOn bool
	}{
		{"", skip, false, true, true, false},
		{"0", skip, false, true, true, false},
		{"1", skip, true, false, false, false},
		{"", note, false, false, true, true},
		{"1", note, true, false, false, false},
	} {
		t.Setenv("SPAWN_REQUIRE_ALL", c.required)
		got, wentOn := tell(c.act)
		if got.failed != c.failed || got.skipped != c.skipped || got.logged != c.logged || wentOn != c.wentOn {
			t.Errorf("with %q: failed %v, skipped %v, logged %v, went on %v; want %+v", c.required, got.failed, got.skipped, got.logged, wentOn, c)
		}
	}
}
