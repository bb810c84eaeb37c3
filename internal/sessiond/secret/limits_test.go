// SPDX-License-Identifier: Apache-2.0

package secret

import "testing"

func TestLimitsAreAsChosen(t *testing.T) {
	for name, n := range map[string][2]any{
		"bytes of a key":            {KeyBytes, 32},
		"bytes of stack for a seal": {frameBytes, 2048},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %v, want %v", name, n[0], n[1])
		}
	}
}
