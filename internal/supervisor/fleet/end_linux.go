// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// watchEnd makes a command, before its start, give us a descriptor of its process. The returned function,
// to be called once after the start, waits until the process has ended, in the runtime's poller: a wait for
// a child holds a thread, and there may be a thousand. Where the kernel has no such descriptors it returns
// at once.
func watchEnd(cmd *exec.Cmd) (await func()) {
	pidfd := -1
	cmd.SysProcAttr.PidFD = &pidfd
	return func() {
		if pidfd < 0 {
			return
		}
		if err := unix.SetNonblock(pidfd, true); err != nil { // else the poller does not take it
			unix.Close(pidfd)
			return
		}
		f := os.NewFile(uintptr(pidfd), "pidfd")
		defer f.Close()
		raw, err := f.SyscallConn()
		if err != nil {
			return
		}
		_ = raw.Read(hasEnded) // on an error the wait itself is what waits
	}
}

// hasEnded reports whether a process has ended; its descriptor is then readable.
func hasEnded(fd uintptr) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return n > 0 || err != nil && err != unix.EINTR
}
