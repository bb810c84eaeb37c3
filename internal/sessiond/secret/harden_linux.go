// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Harden makes the process undumpable: no core file, and no ptrace or /proc/PID/mem for other
// processes of the same user (root keeps both). It lasts until the next exec, so children start
// ordinary. It has a price: /proc/self belongs to root afterwards, so the process can no longer
// list its own descriptors there. Both steps are tried whatever fails.
func Harden() error {
	var refused []error
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		refused = append(refused, fmt.Errorf("make process undumpable: %w", err))
	}
	return errors.Join(append(refused, limitCore())...)
}
