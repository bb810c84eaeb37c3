// SPDX-License-Identifier: Apache-2.0

package unmet

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// told is a test that keeps what is said to it. FailNow and SkipNow end its goroutine, as those of a test do.
type told struct {
	testing.TB
	failed, skipped, logged bool
}

func (t *told) Helper()               {}
func (t *told) Name() string          { return "TestMoon" }
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
	t.Setenv("SPAWN_UNTESTED", "") // there is a moon
	skip := func(t testing.TB) { Skip(t, "no %s", "moon") }
	note := func(t testing.TB) { Note(t, "no %s", "moon") }
	leave := func(t testing.TB) { Leave(t, "no %s", "moon") }
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
		{"", leave, false, true, true, false},
		{"1", leave, false, true, true, false},
	} {
		t.Setenv("SPAWN_REQUIRE_ALL", c.required)
		got, wentOn := tell(c.act)
		if got.failed != c.failed || got.skipped != c.skipped || got.logged != c.logged || wentOn != c.wentOn {
			t.Errorf("with %q: failed %v, skipped %v, logged %v, went on %v; want %+v", c.required, got.failed, got.skipped, got.logged, wentOn, c)
		}
	}
}

// What is not tested is written where somebody looks, each time.
func TestWhatIsNotTestedIsSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "untested")
	t.Setenv("SPAWN_REQUIRE_ALL", "")
	t.Setenv("SPAWN_UNTESTED", path)
	tell(func(t testing.TB) { Skip(t, "no %s", "moon") })
	tell(func(t testing.TB) { Note(t, "no sun") })
	tell(func(t testing.TB) { Leave(t, "no stars") })
	text, err := os.ReadFile(path)
	if want := "TestMoon: no moon\nTestMoon: no sun\nTestMoon: no stars\n"; err != nil || string(text) != want {
		t.Errorf("%q, %v; want %q", text, err, want)
	}
	t.Setenv("SPAWN_UNTESTED", filepath.Join(path, "nowhere"))
	if got, _ := tell(func(t testing.TB) { Note(t, "no sun") }); !got.failed {
		t.Error("what cannot be said goes unnoticed")
	}
}
