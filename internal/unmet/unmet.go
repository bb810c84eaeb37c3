// SPDX-License-Identifier: Apache-2.0

// Package unmet is for tests whose needs this system does not meet.
package unmet

import (
	"errors"
	"fmt"
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
	say(t, format, args...)
}

// Leave is Skip for what is nobody's mistake, neither the code's nor the system's: a clone without its history, for instance. It
// never fails.
func Leave(t testing.TB, format string, args ...any) {
	t.Helper()
	say(t, format, args...)
	t.SkipNow()
}

// say logs what is not tested, and adds it to the file that SPAWN_UNTESTED names: a passing run shows no test's log, and whoever
// reads that all passed is to know what all is.
func say(t testing.TB, format string, args ...any) {
	t.Helper()
	t.Logf(format, args...)
	path := os.Getenv("SPAWN_UNTESTED")
	if path == "" {
		return
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(file, "%s: %s\n", t.Name(), fmt.Sprintf(format, args...))
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		t.Fatalf("say what is not tested: %v", err)
	}
}

// Root is Skip for everybody but root, who alone can do what is named, "give a file away" for instance.
func Root(t testing.TB, what string) {
	t.Helper()
	if os.Geteuid() != 0 {
		Skip(t, "only root can %s", what)
	}
}
