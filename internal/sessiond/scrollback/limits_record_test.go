// SPDX-License-Identifier: Apache-2.0

package scrollback

import "testing"

// The numbers of §6.1 and §6.2 that are drawn in record.go, and the bounds of a log.
func TestLimitsAreTheSpecs(t *testing.T) {
	for name, n := range map[string][2]any{
		"bytes of a record's header":          {HeaderBytes, 4 + 1 + 8},
		"bytes of its length":                 {lengthBytes, 4},
		"bytes of its tag":                    {TagBytes, 16},
		"bytes of a nonce":                    {NonceBytes, 12},
		"charge of a segment before rotation": {SegmentBytesDefault, 256 << 10},
		"charge of a log":                     {MaxLogBytes, 8 << 20},
		"files of a log":                      {MaxFiles, 128},
		"charge of a replay, in texts":        {ReplayCopies, 2},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %v, want %v", name, n[0], n[1])
		}
	}
}
