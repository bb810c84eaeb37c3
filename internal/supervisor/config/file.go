// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"spawn/internal/supervisor/ownfile"
)

var (
	// ErrUnsafeFile means that the settings file could be somebody else's work: not a regular file, a link,
	// another owner's, or one that others may write to. It has not been touched.
	ErrUnsafeFile = ownfile.ErrUnsafe
	// ErrChanged means that somebody changed the file while it was being edited. Nothing was written.
	ErrChanged = errors.New("the settings file was changed meanwhile")
	// ErrUncertain means that the new file is in place but may not outlast a crash of the host. What is read
	// is whole either way.
	ErrUncertain = ownfile.ErrUncertain
)

// Settings is the path of the settings file.
func (f Folders) Settings() string { return filepath.Join(f.Config, "config.hujson") }

// File is the settings file of one instance. It is safe for concurrent use.
type File struct {
	path string
	disk ownfile.Disk
	mu   sync.Mutex // one edit at a time
}

// OpenFile names the file; nothing is touched.
func OpenFile(path string) *File { return &File{path: path, disk: ownfile.OS{}} }

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

// replace puts the text in the file's place, unless somebody has changed that meanwhile.
func (f *File) replace(src []byte, before Stamp) error {
	return ownfile.Replace(f.disk, f.path, src, func() error {
		if f.stamp() != before {
			return ErrChanged
		}
		return nil
	})
}

// read returns the text, or nil when there is no file.
func (f *File) read() ([]byte, error) {
	src, err := ownfile.Read(f.path, SizeMax, ownfile.OthersMayRead)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && src == nil {
		src = []byte{} // an empty file is not an absent one
	}
	return src, err
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
