// SPDX-License-Identifier: Apache-2.0

package foreground

import "testing"

func TestLimitsAreAsChosen(t *testing.T) {
	for name, n := range map[string][2]any{
		"characters of a name":           {NameRunesMax, 64},
		"bytes read of a process's name": {commMax, 64},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %v, want %v", name, n[0], n[1])
		}
	}
}
