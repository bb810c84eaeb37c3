// SPDX-License-Identifier: Apache-2.0

package control

import (
	"testing"
	"time"
)

func TestLimitsAreAsChosen(t *testing.T) {
	for name, n := range map[string][2]any{
		"an unanswered request counts as granted after": {RequestTimeout, 10 * time.Second},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %v, want %v", name, n[0], n[1])
		}
	}
}
