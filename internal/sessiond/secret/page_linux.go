// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// protectPage keeps the page out of swap, out of core files and out of forked children. It tries
// all three whatever fails. A forked child gets a zero page and not, as with MADV_DONTFORK, a
// hole: no lock is inherited, so its copy could be swapped.
func protectPage(page []byte) error {
	var refused []error
	if err := unix.Mlock(page); err != nil {
		refused = append(refused, fmt.Errorf("lock key page: %w", err))
	}
	if err := unix.Madvise(page, unix.MADV_DONTDUMP); err != nil {
		refused = append(refused, fmt.Errorf("keep key page out of core files: %w", err))
	}
	if err := unix.Madvise(page, unix.MADV_WIPEONFORK); err != nil {
		refused = append(refused, fmt.Errorf("keep key page out of forked children: %w", err))
	}
	return errors.Join(refused...)
}

// fillRandom makes the system call itself: the kernel writes into p and no buffer of ours or of
// the vDSO generator has ever held the bytes.
func fillRandom(p []byte) error {
	for len(p) > 0 {
		n, err := unix.Getrandom(p, 0)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("getrandom: %w", err)
		}
		p = p[max(n, 0):]
	}
	return nil
}
