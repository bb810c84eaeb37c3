// SPDX-License-Identifier: Apache-2.0

package pty

import "testing"

func TestLimitsAreAsChosen(t *testing.T) {
	for name, n := range map[string][2]any{
		"bytes after which there may be more":   {readOnBytes, 2 << 10},
		"descriptors looked at one by one":      {descriptorsMax, 4096},
		"the last signal that is caught for us": {signalMax, 31},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %v, want %v", name, n[0], n[1])
		}
	}
}
