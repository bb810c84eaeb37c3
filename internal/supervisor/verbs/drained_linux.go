// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"net"

	"golang.org/x/sys/unix"
)

// writeIfDrained writes p if the peer has read all that was written before, without waiting, and returns how
// many bytes went. Nobody else may be writing: it would wait for them.
func writeIfDrained(u *net.UnixConn, p []byte) (n int) {
	raw, err := u.SyscallConn()
	if err != nil {
		return 0
	}
	// An error is told by the next write. A closed connection does not run the function.
	_ = raw.Write(func(fd uintptr) bool {
		if unread, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ); err == nil && unread == 0 {
			n, _ = unix.Write(int(fd), p)
		}
		return true // once is enough
	})
	return max(n, 0)
}
