// SPDX-License-Identifier: Apache-2.0

//go:build unix

package endpoint

import (
	"net"

	"syscall"
)

// TryWrite writes what the socket takes without waiting, and returns how many bytes that was. Nobody else
// may be writing: it would wait for them.
func TryWrite(conn *net.UnixConn, p []byte) (n int) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0
	}
	// The error is told by the next write, and EAGAIN is none. A closed connection does not run the function.
	_ = raw.Write(func(fd uintptr) bool {
		n, _ = syscall.Write(int(fd), p)
		return true // once is enough
	})
	return max(n, 0)
}
