// SPDX-License-Identifier: Apache-2.0

// Package unmet is for tests whose needs this system does not meet.
package unmet

import (
	"os"
	"testing"
)

// Skip skips the test and says why. Where SPAWN_REQUIRE_ALL=1 asks for every test it fails instead, so that a machine on
// which something is never tested does not look like one on which it works.
func Skip(t testing.TB, format string, args ...any) {
	t.Helper()
	Note(t, format, args...)
	t.SkipNow()
}

// Note is Skip for a part of a test that goes on with the rest.
func Note(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("SPAWN_REQUIRE_ALL") == "1" {
		t.Fatalf(format+"; SPAWN_REQUIRE_ALL=1 wants all to be tested", args...)
	}
	t.Logf(format, args...)
}

// Root is Skip for everybody but root, who alone can do what is named, "give a file away" for instance.
func Root(t testing.TB, what string) {
	t.Helper()
	if os.Geteuid() != 0 {
		Skip(t, "only root can %s", what)
	}
}
