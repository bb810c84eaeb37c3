// SPDX-License-Identifier: Apache-2.0

//go:build unix

package ownfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openSafely neither follows a link nor waits for the other end of a FIFO.
const openSafely = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// isLink reports whether opening failed because there is a link.
func isLink(err error) bool { return errors.Is(err, syscall.ELOOP) }

func syncFolder(dir *os.File) error { return dir.Sync() }

// unsafeBecause says why a file could be somebody else's work, or is empty.
func unsafeBecause(st fs.FileInfo, others Access) string {
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !ok || !st.Mode().IsRegular():
		return "not a regular file"
	case int(sys.Uid) != os.Geteuid():
		return fmt.Sprintf("owner is uid %d, not %d", sys.Uid, os.Geteuid())
	case st.Mode().Perm()&fs.FileMode(others) == 0:
	case others == OthersMayRead:
		return fmt.Sprintf("mode %04o lets others write", st.Mode().Perm())
	default:
		return fmt.Sprintf("mode %04o lets others in", st.Mode().Perm())
	}
	if sys.Nlink != 1 {
		return "has a second hard link"
	}
	return ""
}
