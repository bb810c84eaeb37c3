// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"spawn/internal/sessiond/failpoint"
)

// disk is what Save changes files with, so that a test can let each call fail.
type disk interface {
	write(path string, src []byte) error // makes the file, which must not be there, and syncs it
	rename(from, to string) error
	syncDir(path string) error
	remove(path string) error // an absent file is fine
}

type realDisk struct{}

func (realDisk) write(path string, src []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	failpoint.Tear(failpoint.TreeTorn, src, func(half []byte) { f.Write(half) })
	if _, err := f.Write(src); err != nil {
		return errors.Join(err, f.Close())
	}
	// After a failed sync the kernel may call the same pages clean: the file is given up, never retried.
	if err := f.Sync(); err != nil {
		return errors.Join(fmt.Errorf("sync %s: %w", path, err), f.Close())
	}
	return f.Close()
}

func (realDisk) rename(from, to string) error { return os.Rename(from, to) }

func (realDisk) syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return syncFolder(dir)
}

func (realDisk) remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
