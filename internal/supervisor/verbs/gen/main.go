// SPDX-License-Identifier: Apache-2.0

// Command gen writes what is made from the table of verbs: go run ./internal/supervisor/verbs/gen
package main

import (
	"fmt"
	"os"
)

// outputs are the files, seen from the root of the repository.
var outputs = map[string]func() []byte{
	"docs/verbs.md":          markdown,
	"docs/verbs.schema.json": jsonSchema,
	"web/src/wire/verbs.ts":  typeScript,
}

func main() {
	for path, render := range outputs {
		if err := os.WriteFile(path, render(), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
