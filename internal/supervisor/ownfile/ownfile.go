// SPDX-License-Identifier: Apache-2.0

// Package ownfile reads and replaces the files in which spawnd keeps one whole text each: its settings and its tree. What is
// read could not have been put there by somebody else, and what is replaced is the old text or the new one, whenever the power
// fails.
package ownfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// mode is what a file that is written has.
const mode = 0o600

var (
	// ErrUnsafe means that a file could be somebody else's work: not a regular file, a link, another owner's, or open to
	// others in a way that the caller does not allow. It has not been touched.
	ErrUnsafe = errors.New("unsafe file")
	// ErrUncertain means that the new file is in place but may not outlast a crash of the host. Whoever reads finds a whole
	// one either way.
	ErrUncertain = errors.New("outcome uncertain")
)

// Access is what others may do with a file that is read.
type Access fs.FileMode

const (
	// OthersMayRead is for what holds no secret, and an editor may have written under the usual umask.
	OthersMayRead Access = 0o022
	// OwnerOnly is for the rest.
	OwnerOnly Access = 0o077
)

// Read returns a file's bytes, and of one that is longer, most+1. It opens without following a link and without waiting for
// a FIFO's writer, and trusts only what the open file itself is. Errors: fs.ErrNotExist, ErrUnsafe, or the system's.
func Read(path string, most int64, others Access) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openSafely, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case isLink(err):
		return nil, fmt.Errorf("open %s (a symbolic link): %w", path, ErrUnsafe)
	case err != nil:
		return nil, fmt.Errorf("open %s (%w): %w", path, ErrUnsafe, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", path, err)
	}
	if why := unsafeBecause(st, others); why != "" {
		return nil, fmt.Errorf("check %s (%s): %w", path, why, ErrUnsafe)
	}
	src, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return src, nil
}

// Replace puts the text in the file's place, in steps each of which may be the last before a crash: a new file under a name
// that nobody knows, its bytes, their sync, the rename, the folder's sync. Before the rename ready is asked, and an error of it
// leaves the old file. The new names begin with Prefix.
func Replace(d Disk, path string, src []byte, ready func() error) error {
	temp := filepath.Join(filepath.Dir(path), Prefix(path)+rand.Text())
	err := d.Write(temp, src)
	if err == nil {
		err = ready()
	}
	if err == nil {
		err = d.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), d.Remove(temp))
	}
	if err := d.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("write %s: %w: %w", path, ErrUncertain, err)
	}
	return nil
}

// Prefix begins the names of what a crash in Replace leaves beside the file.
func Prefix(path string) string { return "." + filepath.Base(path) + ".new-" }

// Disk is what files are replaced with, so that a test can let each call fail.
type Disk interface {
	Write(path string, src []byte) error // makes the file, which must not be there, and syncs it
	Rename(from, to string) error
	SyncDir(path string) error
	Remove(path string) error // an absent file is fine
}

// OS is the system's.
type OS struct{}

// Write implements Disk.
func (OS) Write(path string, src []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err := f.Write(src); err != nil {
		return errors.Join(err, f.Close())
	}
	// After a failed sync the kernel may call the same pages clean: the file is given up, never retried.
	if err := f.Sync(); err != nil {
		return errors.Join(fmt.Errorf("sync %s: %w", path, err), f.Close())
	}
	return f.Close()
}

// Rename implements Disk.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// SyncDir implements Disk.
func (OS) SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return syncFolder(dir)
}

// Remove implements Disk.
func (OS) Remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
