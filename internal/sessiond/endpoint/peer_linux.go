// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// PeerUID returns the effective uid of the process at the other end of a stream connection, as the
// kernel recorded it when that process connected or began to listen.
func PeerUID(conn *net.UnixConn) (uint32, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("read peer credentials: %w", err)
	}
	var cred *unix.Ucred
	var sockErr error
	err = raw.Control(func(fd uintptr) {
		cred, sockErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err == nil {
		err = sockErr
	}
	if err != nil {
		return 0, fmt.Errorf("read peer credentials: %w", err)
	}
	return cred.Uid, nil
}
