// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// peerPID is the process that listened on the other end, or 0.
func peerPID(conn *net.UnixConn) int {
	pid := 0
	withSocket(conn, func(fd int) error {
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err == nil {
			pid = int(cred.Pid)
		}
		return err
	})
	return pid
}

// killPeer kills the process at the other end. The kernel keeps with the socket which process that is, so
// it is this one or none, whatever became of its number. Linux has this since 6.5.
func killPeer(conn *net.UnixConn) error {
	return withSocket(conn, func(fd int) error {
		pidfd, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
		if err != nil {
			return fmt.Errorf("find worker's process: %w", err)
		}
		defer unix.Close(pidfd)
		if err := unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0); err != nil && err != unix.ESRCH {
			return fmt.Errorf("kill worker's process: %w", err)
		}
		return nil
	})
}

func withSocket(conn *net.UnixConn, do func(fd int) error) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	if err := raw.Control(func(fd uintptr) { result = do(int(fd)) }); err != nil {
		return err
	}
	return result
}
