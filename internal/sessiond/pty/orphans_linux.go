// SPDX-License-Identifier: Apache-2.0

package pty

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

var adopting atomic.Bool

// AdoptOrphans makes this process the parent of every process below it whose own parent ends, so that whatever
// the program on the terminal starts, however it hides, has this process among its parents (prctl(2),
// PR_SET_CHILD_SUBREAPER). The program does not inherit it. Whoever calls it has to ReapOrphans.
func AdoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	adopting.Store(true)
	return nil
}

// AdoptsOrphans reports whether AdoptOrphans has had success.
func AdoptsOrphans() bool { return adopting.Load() }
