// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"fmt"
	"path/filepath"
)

// WorkerDir returns the path of the worker folder without touching it: $SPAWND_WORKER_DIR, else
// $XDG_RUNTIME_DIR/spawn/workers, else <configDir>/workers. A relative SPAWND_WORKER_DIR is an error,
// for worker and supervisor may run in different folders; a relative XDG_RUNTIME_DIR is ignored, as
// its specification demands.
func WorkerDir(getenv func(string) string, configDir string) (string, error) {
	if dir := getenv("SPAWND_WORKER_DIR"); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("find worker folder: SPAWND_WORKER_DIR is not absolute: %q", dir)
		}
		return filepath.Clean(dir), nil
	}
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "spawn", "workers"), nil
	}
	if !filepath.IsAbs(configDir) {
		return "", fmt.Errorf("find worker folder: config folder is not absolute: %q", configDir)
	}
	return filepath.Join(configDir, "workers"), nil
}
