// SPDX-License-Identifier: Apache-2.0

//go:build !linux

// Command bench measures spawn beside floors and peers. It reads clocks and memory through Linux interfaces.
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bench:", fmt.Errorf("measure on this system: %w", errors.ErrUnsupported))
	os.Exit(1)
}
