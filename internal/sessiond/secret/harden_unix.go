// SPDX-License-Identifier: Apache-2.0

//go:build unix

package secret

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// limitCore sets the soft limit of core files to zero. The hard limit stays, because children
// inherit both: a shell's user may raise it again for programs of his own.
func limitCore() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return fmt.Errorf("read core file limit: %w", err)
	}
	limit.Cur = 0
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return fmt.Errorf("set core file limit: %w", err)
	}
	return nil
}
