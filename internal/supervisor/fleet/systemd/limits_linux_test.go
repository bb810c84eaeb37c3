// SPDX-License-Identifier: Apache-2.0

package systemd

import "testing"

func TestLimitsAreAsChosen(t *testing.T) {
	for name, n := range map[string][2]any{
		"signals that wait while a job runs": {signalsMax, 64},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %v, want %v", name, n[0], n[1])
		}
	}
}
