// SPDX-License-Identifier: Apache-2.0

package pty

import (
	"math"
	"os"
	"os/signal"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	ioctlGetTermios = unix.TCGETS
	ioctlSetTermios = unix.TCSETS
)

// descriptorsMax bounds the walk over descriptors on kernels that cannot mark a range at once.
const descriptorsMax = 4096

// signalMax is the highest signal that may be caught through os/signal; 32 to 34 belong to the C library.
const signalMax = 31

// caught takes what catchIgnored diverts. Nobody reads it: a full channel drops signals, which is what ignoring means.
var caught = make(chan os.Signal, 1)

// catchIgnored turns each ignored signal of this process into a caught one, until the returned function is called. Ignoring is inherited
// through execve, a handler is not; a shell that ignores SIGPIPE or SIGHUP since its birth breaks pipelines and hang-ups in ways no user
// finds. But catching has the kernel save this process's registers where nobody wipes them, so it lasts no longer than it must.
func catchIgnored() (ignoreAgain func()) {
	var those []os.Signal
	for sig := syscall.Signal(1); sig <= signalMax; sig++ {
		if sig != syscall.SIGKILL && sig != syscall.SIGSTOP && ignored(sig) {
			signal.Notify(caught, sig)
			those = append(those, sig)
		}
	}
	return ignoring(those)
}

// sigaction is the kernel's struct, of which only the first word matters here: SIG_IGN is 1.
type sigaction struct {
	action uintptr
	_      [4]uint64
}

func ignored(sig syscall.Signal) bool {
	var act sigaction
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&act)), 8, 0, 0)
	return errno == 0 && act.action == 1
}

// sealDescriptors marks all descriptors above 2 close-on-exec, so that nothing that this process inherited by accident
// reaches the program. The Go runtime marks its own at birth; this covers the rest.
func sealDescriptors() {
	if unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	for fd := 3; fd < descriptorsMax; fd++ { // kernels before 5.11
		unix.CloseOnExec(fd)
	}
}
