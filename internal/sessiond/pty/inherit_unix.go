// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package pty

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	ioctlGetTermios = unix.TIOCGETA
	ioctlSetTermios = unix.TIOCSETA
)

// descriptorsMax bounds the walk over descriptors that we may have inherited.
const descriptorsMax = 1024

// caught takes what catchIgnored diverts. Nobody reads it: a full channel drops signals, which is what ignoring means.
var caught = make(chan os.Signal, 1)

// catchIgnored turns the signals that daemons usually ignore into caught ones, until the returned function is called: ignoring is
// inherited through execve, a handler is not.
func catchIgnored() (ignoreAgain func()) {
	var those []os.Signal
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE} {
		if signal.Ignored(sig) {
			signal.Notify(caught, sig)
			those = append(those, sig)
		}
	}
	return ignoring(those)
}

// sealDescriptors marks descriptors above 2 close-on-exec, so that nothing inherited by accident reaches the program.
func sealDescriptors() {
	for fd := 3; fd < descriptorsMax; fd++ {
		unix.CloseOnExec(fd)
	}
}
