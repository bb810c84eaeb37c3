// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestWhatIsMadeFromTheTableIsFresh(t *testing.T) {
	for path, render := range outputs {
		have, err := os.ReadFile(filepath.Join("../../../..", path))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, render()) {
			t.Errorf("%s is stale: go run ./internal/supervisor/verbs/gen", path)
		}
	}
}
