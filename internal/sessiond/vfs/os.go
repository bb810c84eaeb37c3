// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// OS is the real file system. It holds directories through os.Root, so every name is resolved
// against the descriptor that was checked, with the system's "do not follow links" flag.
type OS struct{}

var (
	_ FS   = OS{}
	_ Dir  = (*osDir)(nil)
	_ File = (*osFile)(nil)
)

// OpenDir implements [FS].
func (OS) OpenDir(op Op, path string) (Dir, error) {
	if err := os.Mkdir(path, DirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, opError(op, err)
	}
	// Look before opening: os.OpenRoot follows a link at the end of path, and opening a planted
	// FIFO would wait. What is opened afterwards must then be the very object that was looked at.
	named, err := os.Lstat(path)
	if err != nil {
		return nil, opError(op, err)
	}
	if !named.IsDir() {
		return nil, fmt.Errorf("%s: %s is a %s, not a directory", op, path, kindOf(named))
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, opError(op, err)
	}
	if err := makePrivate(root, named); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %s: %w", op, path, err), root.Close())
	}
	return &osDir{root: root}, nil
}

// makePrivate checks that root is the directory that named described and ours, and closes it to
// others. Ours comes first: another user's object is never changed.
func makePrivate(root *os.Root, named fs.FileInfo) error {
	opened, err := root.Stat(".")
	if err != nil {
		return err
	}
	if !os.SameFile(opened, named) {
		return errors.New("replaced while it was being opened")
	}
	if err := checkOwner(opened); err != nil {
		return err
	}
	if opened.Mode().Perm() == DirMode {
		return nil
	}
	return root.Chmod(".", DirMode)
}

// RemoveDir implements [FS].
func (OS) RemoveDir(op Op, path string) error { return opError(op, removeDir(path)) }

type osDir struct{ root *os.Root }

func (d *osDir) Create(op Op, name string) (File, error) {
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, FileMode)
	if err != nil {
		return nil, opError(op, err)
	}
	return &osFile{f}, nil
}

func (d *osDir) Open(op Op, name string) (File, error) {
	f, err := d.root.OpenFile(name, os.O_RDONLY|openNoWait, 0)
	if err != nil {
		return nil, opError(op, err)
	}
	if err := d.checkFile(f, name); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %s: %w", op, f.Name(), err), f.Close())
	}
	return &osFile{f}, nil
}

// checkFile refuses an f that was reached through a link or that others can reach or have made.
func (d *osDir) checkFile(f *os.File, name string) error {
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	named, err := d.root.Lstat(name)
	if err != nil {
		return err
	}
	if !opened.Mode().IsRegular() || !os.SameFile(opened, named) {
		return fmt.Errorf("is a %s, not a regular file of this name", kindOf(named))
	}
	if err := checkOwner(opened); err != nil {
		return err
	}
	return checkLinks(opened)
}

func (d *osDir) Remove(op Op, name string) error { return opError(op, d.root.Remove(name)) }

func (d *osDir) Names(op Op) ([]string, error) {
	self, err := d.root.Open(".")
	if err != nil {
		return nil, opError(op, err)
	}
	defer self.Close() // read-only: nothing to lose
	names, err := self.Readdirnames(MaxNames + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, opError(op, err)
	}
	if len(names) > MaxNames {
		return nil, fmt.Errorf("%s: %s holds more than %d entries", op, d.root.Name(), MaxNames)
	}
	return names, nil
}

func (d *osDir) Allocated(op Op) (int64, error) {
	st, err := d.root.Stat(".")
	if err != nil {
		return 0, opError(op, err)
	}
	return allocatedStat(st), nil
}

func (d *osDir) Close() error { return d.root.Close() }

type osFile struct{ f *os.File }

func (f *osFile) Write(op Op, p []byte) (int, error) {
	n, err := f.f.Write(p)
	return n, opError(op, err)
}

func (f *osFile) Read(op Op, p []byte) (int, error) {
	n, err := f.f.Read(p)
	if err == io.EOF { // nothing to add to it: callers compare it
		return n, err
	}
	return n, opError(op, err)
}

func (f *osFile) Allocated(op Op) (int64, error) {
	n, err := allocatedFile(f.f)
	return n, opError(op, err)
}

func (f *osFile) Close(op Op) error { return opError(op, f.f.Close()) }

// opError puts the label before err, which for os calls already names the path.
func opError(op Op, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", op, err)
}

func kindOf(st fs.FileInfo) string {
	switch mode := st.Mode(); {
	case mode.IsRegular():
		return "regular file"
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeSymlink != 0:
		return "symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "named pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	default:
		return "device or other special file"
	}
}
