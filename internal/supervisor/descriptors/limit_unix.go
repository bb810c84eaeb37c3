// SPDX-License-Identifier: Apache-2.0

//go:build unix

package descriptors

import "golang.org/x/sys/unix"

// limit is the first number that this process may not have, or 0. It is asked for each time, for whoever administers the
// process may change it, and asking is cheap beside an accept.
func limit() uint64 {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return l.Cur
}
