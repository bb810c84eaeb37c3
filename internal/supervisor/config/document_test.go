// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"os"
	"testing"
)

func TestDocumentsAreFresh(t *testing.T) {
	for path, want := range map[string][]byte{"../../../docs/config.md": Document(), "../../../docs/config.schema.json": Schema()} {
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is stale (%v): go generate ./internal/supervisor/config", path, err)
		}
	}
	if SchemaNow().Schema == "" {
		t.Error("no schema")
	}
}
