// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package secret

import (
	"crypto/rand"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// errCoreFiles is always part of the warning here: macOS has no advice that leaves one page out
// of a core file. Harden sets the size limit of core files to zero instead.
var errCoreFiles = errors.New("keep key page out of core files: not offered by this system")

// protectPage locks the page. A forked child would share it, but Go only forks to exec.
func protectPage(page []byte) error {
	if err := unix.Mlock(page); err != nil {
		return errors.Join(fmt.Errorf("lock key page: %w", err), errCoreFiles)
	}
	return errCoreFiles
}

// fillRandom asks the system's generator, through the standard library, which hands it p itself.
// That generator works in user space, so its state, from which no earlier output can be
// recomputed, is memory of this process.
func fillRandom(p []byte) error {
	_, err := rand.Read(p)
	return err
}
