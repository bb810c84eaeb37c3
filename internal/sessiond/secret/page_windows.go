// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// errCoreFiles is always part of the warning here: crash dumps take the page with them.
var errCoreFiles = errors.New("keep key page out of crash dumps: not offered by this system")

func mapPage() ([]byte, error) {
	size := os.Getpagesize()
	address, err := windows.VirtualAlloc(0, uintptr(size), windows.MEM_COMMIT|windows.MEM_RESERVE, windows.PAGE_READWRITE)
	if err != nil {
		return nil, err
	}
	// The address is read through a pointer because the mapping is not Go memory: it never moves.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), size), nil
}

func unmapPage(page []byte) error {
	return windows.VirtualFree(uintptr(unsafe.Pointer(unsafe.SliceData(page))), 0, windows.MEM_RELEASE)
}

// protectPage locks the page into the working set: a best effort within the process's quota, and
// the system may still write it to a hibernation file.
func protectPage(page []byte) error {
	if err := windows.VirtualLock(uintptr(unsafe.Pointer(unsafe.SliceData(page))), uintptr(len(page))); err != nil {
		return errors.Join(fmt.Errorf("lock key page: %w", err), errCoreFiles)
	}
	return errCoreFiles
}

func fillRandom(p []byte) error {
	_, err := rand.Read(p)
	return err
}
