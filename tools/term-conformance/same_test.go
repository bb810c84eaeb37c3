// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"testing"

	"spawn/internal/sessiond/emulator"
)

// LineState must have nothing that sameLine doesn't look at.
func TestSameStateLooksAtEverything(t *testing.T) {
	if n := reflect.TypeFor[emulator.LineState]().NumField(); n != 3 {
		t.Errorf("a line has %d fields, sameLine compares 3", n)
	}
	for _, feed := range []string{"x", "\x1b[2;2H", "\x1b7\x1b[31m", "\x1b[?47h", "\x1b[?47hx", "\x1b]0;t\a", "\x1b]133;A\a", "\x1b[", "\x1b[41m\x1b[K", "12345678901"} {
		a, b := newTerminal(10, 3), newTerminal(10, 3)
		b.Feed([]byte(feed))
		if same, deep := sameState(a.State(), b.State()), reflect.DeepEqual(a.State(), b.State()); same || deep {
			t.Errorf("after %q: sameState is %v, DeepEqual %v", feed, same, deep)
		}
		a.Feed([]byte(feed))
		if !sameState(a.State(), b.State()) {
			t.Errorf("after %q on both sides they differ", feed)
		}
	}
}
