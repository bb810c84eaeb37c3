// SPDX-License-Identifier: Apache-2.0

//go:build failpoints

package failpoint

import (
	"os"
	"runtime"
	"syscall"
)

// stopHere stops the process before it returns: the signal goes to this very thread. One to the process may go to another, and
// this one would do more meanwhile.
func stopHere() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(syscall.Gettid()), uintptr(syscall.SIGSTOP))
}
