// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
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

// killPeer kills the process at the other end: this one or none, whatever became of its number. nil also says that there was
// nobody to kill.
func killPeer(conn *net.UnixConn) error {
	return withSocket(conn, func(fd int) error {
		pidfd, err := peerPidfd(fd)
		if errors.Is(err, unix.ENOPROTOOPT) {
			pidfd, err = pidfdByNumber(fd)
		}
		if err == unix.ESRCH {
			return nil
		}
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

// peerPidfd asks the kernel for the process itself, which it keeps with the socket since Linux 6.5.
var peerPidfd = func(fd int) (int, error) { return unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD) }

// pidfdByNumber is for kernels from 5.3 on that keep with the socket no more than the number of the process that listened. Whose
// number it was when the process was opened the connection tells afterwards: a process closes its descriptors before its number
// is free, and the other end is the worker's alone. So if that is still open, the worker had not given its number up before we
// opened it. If it is not, the worker has ended, or speaks to somebody else and can't be told from others: ESRCH.
func pidfdByNumber(fd int) (int, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, err
	}
	pidfd, err := unix.PidfdOpen(int(cred.Pid), 0)
	if err != nil {
		return -1, err
	}
	over, err := isHungUp(fd)
	if over && err == nil {
		err = unix.ESRCH
	}
	if err != nil {
		unix.Close(pidfd)
		return -1, err
	}
	return pidfd, nil
}

// isHungUp reports whether the other end of a socket is closed, which is told although nothing is asked for.
func isHungUp(fd int) (bool, error) {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd)}}, 0)
		if err != unix.EINTR {
			return n > 0, err
		}
	}
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
