// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestGeneratedTypesAreFresh(t *testing.T) {
	have, err := os.ReadFile(filepath.Join("../../../..", output))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, render()) {
		t.Errorf("%s is stale: go run ./internal/supervisor/page/gen", output)
	}
}
