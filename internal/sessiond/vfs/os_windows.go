// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"io/fs"
	"os"
	"path/filepath"
)

// openNoWait is nothing here: no name inside a directory can be a FIFO.
const openNoWait = 0

// clusterBytes is the default cluster of NTFS. What os.Stat reports has no allocated size, so
// the length rounded up to it stands in; a volume with larger clusters is under-counted.
const clusterBytes = 4096

// removeDir looks first: Root.Remove takes files too.
func removeDir(root *os.Root, name string) error {
	st, err := root.Lstat(name)
	if err == nil && !st.IsDir() {
		err = &fs.PathError{Op: "rmdir", Path: filepath.Join(root.Name(), name), Err: fs.ErrInvalid}
	}
	if err != nil {
		return err
	}
	return root.Remove(name)
}

// checkOwner accepts everyone. The port has to give the folder a protected list that allows the
// current user alone and check the owner there; until then this platform promises less.
func checkOwner(fs.FileInfo) error { return nil }

// checkLinks accepts any count, which os.Stat does not report here.
func checkLinks(fs.FileInfo) error { return nil }

func allocatedStat(st fs.FileInfo) int64 {
	return (st.Size() + clusterBytes - 1) / clusterBytes * clusterBytes
}

func allocatedFile(f *os.File) (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return allocatedStat(st), nil
}

// addIdentity leaves the identity out, which os.Stat does not report here.
func addIdentity(facts *Facts, _ fs.FileInfo) { facts.UID, facts.Links = os.Geteuid(), 1 }

// syncDir has nothing to do: NTFS journals names, and a directory's handle cannot be flushed.
func syncDir(*os.File) error { return nil }
