// SPDX-License-Identifier: Apache-2.0

//go:build unix

package config

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

// unsafeBecause says why a file could be somebody else's work, or is empty. Others may read it: an editor
// makes it so under the usual umask, the folder keeps them out, and there is no secret in it.
func unsafeBecause(st fs.FileInfo) string {
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !ok || !st.Mode().IsRegular():
		return "not a regular file"
	case int(sys.Uid) != os.Geteuid():
		return fmt.Sprintf("owner is uid %d, not %d", sys.Uid, os.Geteuid())
	case st.Mode().Perm()&0o022 != 0:
		return fmt.Sprintf("mode %04o lets others write", st.Mode().Perm())
	case sys.Nlink != 1:
		return "has a second hard link"
	}
	return ""
}

func identity(st fs.FileInfo) (device, inode uint64) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return uint64(sys.Dev), sys.Ino
}
