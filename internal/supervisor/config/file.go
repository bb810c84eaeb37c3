// SPDX-License-Identifier: Apache-2.0

package config

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// fileMode is what a settings file that we write has.
const fileMode = 0o600

var (
	// ErrUnsafeFile means that the settings file could be somebody else's work: not a regular file, a link,
	// another owner's, or one that others may write to. It has not been touched.
	ErrUnsafeFile = errors.New("unsafe settings file")
	// ErrChanged means that somebody changed the file while it was being edited. Nothing was written.
	ErrChanged = errors.New("the settings file was changed meanwhile")
	// ErrUncertain means that the new file is in place but may not outlast a crash of the host. What is read
	// is whole either way.
	ErrUncertain = errors.New("outcome uncertain")
)

// Settings is the path of the settings file.
func (f Folders) Settings() string { return filepath.Join(f.Config, "config.hujson") }

// File is the settings file of one instance. It is safe for concurrent use.
type File struct {
	path string
	disk disk
	mu   sync.Mutex // one edit at a time
}

// OpenFile names the file; nothing is touched.
func OpenFile(path string) *File { return &File{path: path, disk: realDisk{}} }

// Path is where the file is, or would be.
func (f *File) Path() string { return f.path }

// Load reads the settings. No file is every default. Faults in it are Problems.
func (f *File) Load() (Config, error) {
	src, err := f.read()
	if err != nil {
		return Config{}, err
	}
	if src == nil {
		return Default(), nil
	}
	c, err := Parse(src)
	if err != nil {
		return Config{}, fmt.Errorf("read %s: %w", f.path, err)
	}
	return c, nil
}

// Set sets one key in the file, as Edit has it, whole or not at all. It changes nothing that is in force.
// Errors: ErrUnknownKey, Problems, ErrUnsafeFile, ErrChanged, ErrUncertain.
func (f *File) Set(p SetParams) (SetResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.stamp()
	src, err := f.read()
	if err != nil {
		return SetResult{}, err
	}
	edited, err := Edit(src, p.Path, p.Value)
	if err != nil {
		return SetResult{}, fmt.Errorf("set %s in %s: %w", shown(p.Path), f.path, err)
	}
	if err := f.replace(edited, before); err != nil {
		return SetResult{}, err
	}
	k, _ := Lookup(p.Path)
	return SetResult{File: f.path, Live: k.Live}, nil
}

// replace puts the text in the file's place, in steps each of which may be the last before a crash: a new
// file under a name of its own, its bytes, their sync, the rename, the folder's sync.
func (f *File) replace(src []byte, before Stamp) error {
	folder := filepath.Dir(f.path)
	temp := filepath.Join(folder, "."+filepath.Base(f.path)+".new-"+rand.Text())
	err := f.disk.write(temp, src)
	if err == nil && f.stamp() != before {
		err = ErrChanged
	}
	if err == nil {
		err = f.disk.rename(temp, f.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", f.path, err), f.disk.remove(temp))
	}
	if err := f.disk.syncDir(folder); err != nil {
		return fmt.Errorf("write %s: %w: %w", f.path, ErrUncertain, err)
	}
	return nil
}

// read returns the text, or nil when there is no file. It opens without following a link and without waiting
// for a FIFO's writer, and trusts only what the open file itself is.
func (f *File) read() ([]byte, error) {
	file, err := os.OpenFile(f.path, os.O_RDONLY|openSafely, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if isLink(err) {
		return nil, fmt.Errorf("open %s (a symbolic link): %w", f.path, ErrUnsafeFile)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s (%w): %w", f.path, ErrUnsafeFile, err)
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", f.path, err)
	}
	if why := unsafeBecause(st); why != "" {
		return nil, fmt.Errorf("check %s (%s): %w", f.path, why, ErrUnsafeFile)
	}
	src, err := io.ReadAll(io.LimitReader(file, SizeMax+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.path, err)
	}
	if src == nil {
		src = []byte{} // an empty file is not an absent one
	}
	return src, nil
}

// Stamp tells one state of the file from another without reading it. The zero value is no file.
type Stamp struct {
	device, inode uint64
	size          int64
	modified      time.Time
}

// stamp looks at the name itself, so a link that is put there is a change too. What cannot be looked at has
// the stamp of no file: reading it says why.
func (f *File) stamp() Stamp {
	st, err := os.Lstat(f.path)
	if err != nil {
		return Stamp{}
	}
	device, inode := identity(st)
	return Stamp{device, inode, st.Size(), st.ModTime()}
}

// disk is what Set changes files with, so that a test can let each call fail.
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
	_, err = f.Write(src)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
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
