// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"bytes"
	"testing"
)

// Figures of two runs can be compared only if they were measured with the same bytes.
func TestStreamsAreTheSameEachTime(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range append(Emulator(), Build) {
		first := s.Bytes(64 << 10)
		if !bytes.Equal(first, s.Bytes(64<<10)) {
			t.Errorf("stream %s differs from one call to the next", s.Name)
		}
		if len(first) < 64<<10 || seen[s.Name] {
			t.Errorf("stream %s has %d bytes, or its name is taken", s.Name, len(first))
		}
		seen[s.Name] = true
	}
}
