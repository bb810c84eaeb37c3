// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// privateFromBirth is a net control function. Linux gives a bound socket's file the mode of the socket
// itself, less the umask; setting it before bind leaves no moment at which the file is wider.
func privateFromBirth(_, _ string, raw syscall.RawConn) error {
	var err error
	if e := raw.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), 0o600) }); e != nil {
		return e
	}
	return err
}
