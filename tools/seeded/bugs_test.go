// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A bug whose place has changed tests nothing any more.
func TestEveryBugStillHasItsPlace(t *testing.T) {
	names := map[string]bool{}
	for _, b := range bugs {
		if names[b.name] {
			t.Errorf("%s is there twice", b.name)
		}
		names[b.name] = true
		sound, err := os.ReadFile(filepath.Join("../..", b.file))
		if err != nil {
			t.Errorf("%s: %v", b.name, err)
			continue
		}
		broken, err := b.apply(sound)
		if err != nil {
			t.Errorf("%s: %v", b.name, err)
		} else if bytes.Equal(sound, broken) {
			t.Errorf("%s changes nothing", b.name)
		}
	}
}
