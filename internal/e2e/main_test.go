// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package e2e shows spawn's promises with real processes: real spawnd, real workers, real shells.
package e2e

import (
	"os"
	"testing"

	"spawn/internal/e2e/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }
