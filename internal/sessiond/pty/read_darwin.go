// SPDX-License-Identifier: Apache-2.0

package pty

import "golang.org/x/sys/unix"

// readNow is read(2) on a descriptor that does not block.
func readNow(fd int, p []byte) (int, error) { return unix.Read(fd, p) }
