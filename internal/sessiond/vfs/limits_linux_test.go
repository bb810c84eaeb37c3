// SPDX-License-Identifier: Apache-2.0

package vfs

import "testing"

func TestLimitsAreAsChosen(t *testing.T) {
	for name, n := range map[string][2]any{
		"names of a directory":          {MaxNames, 4096},
		"mode of a directory":           {DirMode, 0o700},
		"mode of a file":                {FileMode, 0o600},
		"bytes of a block that is told": {statBlockBytes, 512},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %v, want %v", name, n[0], n[1])
		}
	}
}
