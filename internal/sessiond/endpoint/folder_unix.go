// SPDX-License-Identifier: Apache-2.0

//go:build unix

package endpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Folder is an open worker folder. Its methods are safe for concurrent use; Close is the last call.
type Folder struct {
	path string
	dir  *os.File
}

// OpenFolder opens the folder at an absolute path and creates it, and what is missing above it, with
// mode 0700. An existing folder has to be a real directory of ours; its mode is then forced to 0700.
// The folder above has to belong to us or root, and if others than its owner may write to it, it has to
// be sticky: otherwise they could exchange ours. Errors name the path.
func OpenFolder(path string) (*Folder, error) {
	path = filepath.Clean(path)
	if !filepath.IsAbs(path) || path == string(filepath.Separator) {
		return nil, fmt.Errorf("open worker folder %s: not the absolute path of a folder", path)
	}
	if len(path) > FolderPathMax {
		return nil, fmt.Errorf("open worker folder %s: %w: %d bytes, at most %d",
			path, ErrPathTooLong, len(path), FolderPathMax)
	}
	parent := filepath.Dir(path)
	if err := os.MkdirAll(parent, FolderMode); err != nil {
		return nil, fmt.Errorf("open worker folder %s: %w", path, err)
	}
	above, err := openParent(parent)
	if err != nil {
		return nil, fmt.Errorf("open worker folder %s: %w", path, err)
	}
	defer above.Close()
	dir, err := openPrivateDir(above, filepath.Base(path))
	if err != nil {
		return nil, fmt.Errorf("open worker folder %s: %w", path, err)
	}
	return &Folder{path: path, dir: dir}, nil
}

// Path returns the absolute path that the folder was opened by.
func (f *Folder) Path() string { return f.path }

// Close lets the folder go. Reservations and sockets in it must be closed before.
func (f *Folder) Close() { f.dir.Close() }

// openParent opens the folder above ours. Links on the way to it are the owner's choice.
func openParent(path string) (*os.File, error) {
	fd, err := openRetry(unix.AT_FDCWD, path, parentFlags|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	above := os.NewFile(uintptr(fd), path)
	if err := checkParent(fd); err != nil {
		above.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return above, nil
}

func checkParent(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("stat: %w", err)
	}
	if st.Uid != 0 && st.Uid != uint32(os.Geteuid()) {
		return fmt.Errorf("%w: the folder above belongs to uid %d", ErrUnsafe, st.Uid)
	}
	switch mode := uint32(st.Mode); {
	case mode&unix.S_ISVTX != 0:
		return nil
	case mode&0o002 != 0:
		return fmt.Errorf("%w: everyone may write to the folder above (mode %04o)", ErrUnsafe, mode&0o7777)
	case mode&0o020 != 0 && !private(st.Gid, st.Uid):
		return fmt.Errorf("%w: group %d may write to the folder above (mode %04o)", ErrUnsafe, st.Gid, mode&0o7777)
	}
	return nil
}

// private reports whether a group is a user's own, who is its one member: where systems make such groups they give them
// the user's number, and let folders be writable for them. Whoever adds a member means it to have the user's rights.
func private(gid, uid uint32) bool { return gid == uid }

// openPrivateDir opens the directory name below above, creates it when absent, and makes sure that
// it is ours alone. It never follows a link and never changes what belongs to somebody else.
func openPrivateDir(above *os.File, name string) (*os.File, error) {
	at := int(above.Fd())
	if err := unix.Mkdirat(at, name, FolderMode); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("create: %w", err)
	}
	fd, err := openRetry(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil, fmt.Errorf("%w: not a directory", ErrUnsafe)
	case err != nil:
		return nil, err
	}
	dir := os.NewFile(uintptr(fd), name)
	if err := makePrivate(fd, unix.S_IFDIR, FolderMode); err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// makePrivate checks that the open file is ours and of the given type, then forces its mode.
func makePrivate(fd int, format, mode uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("stat: %w", err)
	}
	if err := checkOwn(&st, format); err != nil {
		return err
	}
	if uint32(st.Mode)&0o7777 == mode {
		return nil
	}
	if err := unix.Fchmod(fd, mode); err != nil {
		return fmt.Errorf("set mode %04o: %w", mode, err)
	}
	return nil
}

// checkOwn refuses what we may not trust: another type, another owner, a second name.
func checkOwn(st *unix.Stat_t, format uint32) error {
	mode := uint32(st.Mode)
	if mode&unix.S_IFMT != format {
		return fmt.Errorf("%w: wrong type (mode %06o)", ErrUnsafe, mode)
	}
	if st.Uid != uint32(os.Geteuid()) {
		return fmt.Errorf("%w: owned by uid %d", ErrUnsafe, st.Uid)
	}
	if format != unix.S_IFDIR && st.Nlink > 1 {
		return fmt.Errorf("%w: %d links", ErrUnsafe, st.Nlink)
	}
	return nil
}

// lookup describes what name stands for in the folder, not what a link there points to. found is
// false when there is no such name.
func (f *Folder) lookup(name string) (st unix.Stat_t, found bool, err error) {
	err = unix.Fstatat(int(f.dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return st, false, nil
	}
	if err != nil {
		return st, false, fmt.Errorf("stat %s: %w", f.join(name), err)
	}
	return st, true, nil
}

// unlinkIf removes name if it still stands for the object with that identity. The caller holds the
// lock, so nobody who keeps the rules can exchange the object in between.
func (f *Folder) unlinkIf(name string, want Identity) error {
	st, found, err := f.lookup(name)
	if err != nil || !found || identityOf(&st) != want {
		return err
	}
	if err := unix.Unlinkat(int(f.dir.Fd()), name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove %s: %w", f.join(name), err)
	}
	return nil
}

// join returns the path of name for messages.
func (f *Folder) join(name string) string { return filepath.Join(f.path, name) }

func identityOf(st *unix.Stat_t) Identity {
	return Identity{Dev: uint64(st.Dev), Ino: uint64(st.Ino)}
}

// openRetry is openat that a signal cannot interrupt.
func openRetry(at int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(at, name, flags, mode)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
