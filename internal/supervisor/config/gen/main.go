// SPDX-License-Identifier: Apache-2.0

// Command gen writes docs/config.md and docs/config.schema.json from the table of keys: go generate ./internal/supervisor/config
package main

import (
	"errors"
	"fmt"
	"os"

	"spawn/internal/supervisor/config"
)

// The paths are seen from the folder of the package, where go generate runs.
func main() {
	err := errors.Join(
		os.WriteFile("../../../docs/config.md", config.Document(), 0o644),
		os.WriteFile("../../../docs/config.schema.json", config.Schema(), 0o644),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
