// SPDX-License-Identifier: Apache-2.0

package pty

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// readNow is read(2) on a descriptor that does not block. The scheduler is not told of it: in a flood it would take the
// thread's processor away in the middle of each call, wake another thread for it, and look for such calls 50,000 times a
// second. The call waits for no more than the kernel's own copying.
func readNow(fd int, p []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
