// SPDX-License-Identifier: Apache-2.0

//go:build unix

package vfs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// openNoWait keeps an open of a planted FIFO from waiting for its writer; it means nothing for
// a regular file.
const openNoWait = syscall.O_NONBLOCK

// statBlockBytes is the unit of st_blocks on every system Go supports, whatever the block size
// of the file system is.
const statBlockBytes = 512

// removeDir uses rmdir alone: Root.Remove would first try to unlink whatever is there. The name is a single element.
func removeDir(root *os.Root, name string) error {
	at, err := root.Open(".")
	if err != nil {
		return err
	}
	defer at.Close() // read-only: nothing to lose
	if err := unix.Unlinkat(int(at.Fd()), name, unix.AT_REMOVEDIR); err != nil {
		return &fs.PathError{Op: "rmdir", Path: filepath.Join(root.Name(), name), Err: err}
	}
	return nil
}

func checkOwner(st fs.FileInfo) error {
	if uid := int(st.Sys().(*syscall.Stat_t).Uid); uid != os.Geteuid() {
		return fmt.Errorf("owned by uid %d, not by uid %d: %w", uid, os.Geteuid(), ErrUnsafe)
	}
	return nil
}

func checkLinks(st fs.FileInfo) error {
	if st.Sys().(*syscall.Stat_t).Nlink != 1 {
		return fmt.Errorf("has a second hard link: %w", ErrUnsafe)
	}
	return nil
}

func allocatedStat(st fs.FileInfo) int64 {
	return int64(st.Sys().(*syscall.Stat_t).Blocks) * statBlockBytes
}

func allocatedFile(f *os.File) (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return 0, fmt.Errorf("fstat %s: %w", f.Name(), err)
	}
	return int64(st.Blocks) * statBlockBytes, nil
}

func addIdentity(facts *Facts, st fs.FileInfo) {
	sys := st.Sys().(*syscall.Stat_t)
	facts.UID, facts.Links = int(sys.Uid), uint64(sys.Nlink)
	facts.Device, facts.Inode = uint64(sys.Dev), sys.Ino
}

func syncDir(dir *os.File) error { return dir.Sync() }
