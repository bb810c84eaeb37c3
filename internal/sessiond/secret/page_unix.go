// SPDX-License-Identifier: Apache-2.0

//go:build unix

package secret

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapPage returns one zero page of its own mapping, so that locking and advice hit nothing else.
func mapPage() ([]byte, error) {
	return unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
}

func unmapPage(page []byte) error { return unix.Munmap(page) }
