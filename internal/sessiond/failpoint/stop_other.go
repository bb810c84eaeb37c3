// SPDX-License-Identifier: Apache-2.0

//go:build failpoints && unix && !linux

package failpoint

import (
	"os"
	"syscall"
)

// stopHere stops the process, perhaps a little later.
func stopHere() { syscall.Kill(os.Getpid(), syscall.SIGSTOP) }
