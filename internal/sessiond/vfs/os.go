// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// OS is the real file system. It holds directories through os.Root, so every name is resolved
// against the descriptor that was checked, with the system's "do not follow links" flag.
type OS struct{}

var (
	_ FS   = OS{}
	_ Dir  = (*osDir)(nil)
	_ File = (*osFile)(nil)
)

// OpenAnchor implements [FS].
func (OS) OpenAnchor(op Op, path string) (Dir, error) {
	if err := os.MkdirAll(path, DirMode); err != nil {
		return nil, opError(op, err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, opError(op, err)
	}
	return &osDir{root: root}, nil
}

type osDir struct{ root *os.Root }

func (d *osDir) Create(op Op, name string) (File, error) {
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, FileMode)
	if err != nil {
		return nil, opError(op, err)
	}
	return &osFile{f}, nil
}

func (d *osDir) Open(op Op, name string) (File, error) {
	// Look before opening, so that another kind of object, or another user's, is told apart from a file
	// that cannot be read, and no device is ever opened. What was opened is then looked at again.
	named, err := d.root.Lstat(name)
	if err != nil {
		return nil, opError(op, err)
	}
	if err := checkFile(named); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", op, d.path(name), err)
	}
	f, err := d.root.OpenFile(name, os.O_RDONLY|openNoWait, 0)
	if err != nil {
		return nil, opError(op, err)
	}
	if err := checkOpened(f, named); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %s: %w", op, f.Name(), err), f.Close())
	}
	return &osFile{f}, nil
}

func (d *osDir) path(name string) string { return filepath.Join(d.root.Name(), name) }

// checkFile refuses what others can reach by another name or have made.
func checkFile(st fs.FileInfo) error {
	if !st.Mode().IsRegular() {
		return fmt.Errorf("is a %s, not a regular file: %w", kindOf(st), ErrUnsafe)
	}
	if err := checkOwner(st); err != nil {
		return err
	}
	return checkLinks(st)
}

// checkOpened refuses an f that was reached through a link, or that is no longer what named described.
func checkOpened(f *os.File, named fs.FileInfo) error {
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(opened, named) {
		return fmt.Errorf("replaced while it was being opened: %w", ErrUnsafe)
	}
	return checkFile(opened)
}

func (d *osDir) MakeDir(op Op, name string) error { return opError(op, d.root.Mkdir(name, DirMode)) }

func (d *osDir) OpenDir(op Op, name string) (Dir, error) {
	inner, _, err := d.openInner(op, name)
	if err != nil {
		return nil, err
	}
	return inner, nil
}

func (d *osDir) OpenPrivate(op Op, name string) (Dir, error) {
	if err := d.MakeDir(op, name); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	inner, opened, err := d.openInner(op, name)
	if err != nil {
		return nil, err
	}
	if err := inner.makePrivate(opened); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %s: %w", op, d.path(name), err), inner.root.Close())
	}
	return inner, nil
}

// openInner opens a directory and describes it. It looks first: OpenRoot follows a link, and opening a planted FIFO
// would wait. What is opened afterwards must then be the very object that was looked at.
func (d *osDir) openInner(op Op, name string) (inner *osDir, opened fs.FileInfo, err error) {
	named, err := d.root.Lstat(name)
	if err != nil {
		return nil, nil, opError(op, err)
	}
	if !named.IsDir() {
		return nil, nil, fmt.Errorf("%s: %s is a %s, not a directory: %w", op, d.path(name), kindOf(named), ErrUnsafe)
	}
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, nil, opError(op, err)
	}
	opened, err = root.Stat(".")
	if err == nil && !os.SameFile(opened, named) {
		err = fmt.Errorf("%s replaced while it was being opened: %w", d.path(name), ErrUnsafe)
	}
	if err != nil {
		return nil, nil, errors.Join(opError(op, err), root.Close())
	}
	return &osDir{root: root}, opened, nil
}

// makePrivate closes the directory, as it was described, to others. Ours comes first: another user's is never changed.
func (d *osDir) makePrivate(opened fs.FileInfo) error {
	if err := checkOwner(opened); err != nil {
		return err
	}
	if opened.Mode().Perm() == DirMode {
		return nil
	}
	return d.root.Chmod(".", DirMode)
}

func (d *osDir) Look(op Op, name string) (Facts, error) {
	st, err := d.root.Lstat(name)
	if err != nil {
		return Facts{}, opError(op, err)
	}
	return factsOf(st), nil
}

func (d *osDir) Facts(op Op) (Facts, error) {
	st, err := d.root.Stat(".")
	if err != nil {
		return Facts{}, opError(op, err)
	}
	return factsOf(st), nil
}

func (d *osDir) Rename(op Op, from, to string) error {
	switch _, err := d.root.Lstat(to); {
	case err == nil:
		return fmt.Errorf("%s: %s: %w", op, d.path(to), fs.ErrExist)
	case !errors.Is(err, fs.ErrNotExist):
		return opError(op, err)
	}
	return opError(op, d.root.Rename(from, to))
}

func (d *osDir) Sync(op Op) error {
	self, err := d.root.Open(".")
	if err != nil {
		return opError(op, err)
	}
	defer self.Close() // read-only: nothing to lose
	return opError(op, syncDir(self))
}

func (d *osDir) Remove(op Op, name string) error { return opError(op, d.root.Remove(name)) }

func (d *osDir) RemoveDir(op Op, name string) error {
	if !filepath.IsLocal(name) || filepath.Base(name) != name {
		return fmt.Errorf("%s: %s: %w", op, d.path(name), fs.ErrInvalid)
	}
	return opError(op, removeDir(d.root, name))
}

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

func (d *osDir) Close(op Op) error { return opError(op, d.root.Close()) }

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

func (f *osFile) Facts(op Op) (Facts, error) {
	st, err := f.f.Stat()
	if err != nil {
		return Facts{}, opError(op, err)
	}
	return factsOf(st), nil
}

func (f *osFile) Sync(op Op) error { return opError(op, f.f.Sync()) }

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

func factsOf(st fs.FileInfo) Facts {
	facts := Facts{Kind: KindOther, Perm: st.Mode().Perm(), Size: st.Size(), Modified: st.ModTime().UnixNano()}
	switch {
	case st.Mode().IsRegular():
		facts.Kind = KindRegular
	case st.IsDir():
		facts.Kind = KindDir
	}
	addIdentity(&facts, st)
	return facts
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
