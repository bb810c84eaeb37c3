// SPDX-License-Identifier: Apache-2.0

//go:build unix

package access

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	fileMode = 0o600
	// newSuffix ends the name of a file that is being written. One that is found was left by a crash:
	// nothing ever reads it, and the next write removes it.
	newSuffix = ".new"
)

// ErrUnsafe means that a file or folder is not one that we may trust: another owner's, open to others,
// a link, or no regular file. The error names the path. Nothing has been changed about it.
var ErrUnsafe = errors.New("unsafe file")

// folder is held open, so that every file is found below the folder that was checked, even if its
// name comes to mean another.
type folder struct {
	name string
	fd   int
}

// openFolder refuses a folder that is a link, another owner's, or one in which others may write.
func openFolder(name string) (*folder, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open folder %s: %w", name, err)
	}
	f := &folder{name: name, fd: fd}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, errors.Join(fmt.Errorf("check folder %s: %w", name, err), f.Close())
	}
	if int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		return nil, errors.Join(fmt.Errorf("check folder %s (owner %d, mode %#o): %w", name, st.Uid, st.Mode&0o7777, ErrUnsafe), f.Close())
	}
	return f, nil
}

func (f *folder) path(base string) string { return filepath.Join(f.name, base) }

// Close lets go of the folder.
func (f *folder) Close() error { return unix.Close(f.fd) }

// read returns a whole file of at most limit bytes. It must be a regular file of ours, with one name
// and no rights for others. fs.ErrNotExist when there is none.
func (f *folder) read(base string, limit int64) ([]byte, error) {
	// O_NONBLOCK: a FIFO in the file's place must be refused, not waited for.
	fd, err := unix.Openat(f.fd, base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: f.path(base), Err: err}
	}
	file := os.NewFile(uintptr(fd), f.path(base))
	defer file.Close()
	if err := f.check(file, limit); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) > limit {
		return nil, fmt.Errorf("read %s: longer than %d bytes", file.Name(), limit)
	}
	return raw, nil
}

func (f *folder) check(file *os.File, limit int64) error {
	st, err := file.Stat()
	if err != nil {
		return err
	}
	sys := st.Sys().(*syscall.Stat_t)
	if !st.Mode().IsRegular() || int(sys.Uid) != os.Geteuid() || st.Mode().Perm()&0o077 != 0 || sys.Nlink != 1 {
		return fmt.Errorf("check %s (owner %d, mode %v, %d names): %w", file.Name(), sys.Uid, st.Mode(), sys.Nlink, ErrUnsafe)
	}
	if st.Size() > limit {
		return fmt.Errorf("check %s: longer than %d bytes", file.Name(), limit)
	}
	return nil
}

// create makes a file that must not exist yet; fs.ErrExist otherwise. Under its name it is whole from
// the first moment: linking a written file is the one way to do both.
func (f *folder) create(base string, content []byte) error {
	if err := f.writeNew(base, content); err != nil {
		return err
	}
	defer unix.Unlinkat(f.fd, base+newSuffix, 0)
	if err := unix.Linkat(f.fd, base+newSuffix, f.fd, base, 0); err != nil {
		return &os.PathError{Op: "create", Path: f.path(base), Err: err}
	}
	return f.sync()
}

// replace puts the content in the file's place: after a crash it holds the old or the new, never a mix.
// An error of the last step leaves open which.
func (f *folder) replace(base string, content []byte) error {
	if err := f.writeNew(base, content); err != nil {
		return err
	}
	if err := unix.Renameat(f.fd, base+newSuffix, f.fd, base); err != nil {
		return &os.PathError{Op: "replace", Path: f.path(base), Err: err}
	}
	return f.sync()
}

// writeNew writes and syncs the file beside its place, after removing what a crash may have left there.
func (f *folder) writeNew(base string, content []byte) error {
	if err := f.sweep(base); err != nil {
		return err
	}
	name := base + newSuffix
	fd, err := unix.Openat(f.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, fileMode)
	if err != nil {
		return &os.PathError{Op: "create", Path: f.path(name), Err: err}
	}
	file := os.NewFile(uintptr(fd), f.path(name))
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, unix.Unlinkat(f.fd, name, 0))
	}
	return nil
}

// sweep removes what a crash left of writing the file. After a crash in create it is a second name of
// the file itself, which read would refuse.
func (f *folder) sweep(base string) error {
	if err := unix.Unlinkat(f.fd, base+newSuffix, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "remove", Path: f.path(base + newSuffix), Err: err}
	}
	return nil
}

func (f *folder) sync() error {
	if err := unix.Fsync(f.fd); err != nil {
		return &os.PathError{Op: "sync", Path: f.name, Err: err}
	}
	return nil
}
