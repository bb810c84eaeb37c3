// SPDX-License-Identifier: Apache-2.0

//go:build unix

package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// privateMode is the mode of every folder of ours: the owner alone.
const privateMode = 0o700

// ErrUnsafe means that a folder is not one that we may trust: not a folder, a symbolic link, another
// owner's, or inside a folder in which anybody may swap it. The error names the path. Nothing has been
// changed about it.
var ErrUnsafe = errors.New("unsafe folder")

// CreatePrivate makes the folder, and those above it that are missing, with mode 0700. One that exists
// must be a real folder of ours; its mode is then narrowed to 0700. What belongs to somebody else is
// refused and left as it is: os.MkdirAll would accept it.
func CreatePrivate(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), privateMode); err != nil {
		return fmt.Errorf("create folder %s: %w", path, err)
	}
	if err := os.Mkdir(path, privateMode); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("create folder %s: %w", path, err)
	}
	if err := checkParent(filepath.Dir(path)); err != nil {
		return err
	}
	return narrow(path)
}

// narrow opens the folder without following a link, so that what is checked is what is changed.
func narrow(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open folder %s (%w): %w", path, ErrUnsafe, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("check folder %s: %w", path, err)
	}
	if int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("check folder %s (owner is uid %d, not %d): %w", path, st.Uid, os.Geteuid(), ErrUnsafe)
	}
	if st.Mode&0o7777 == privateMode {
		return nil
	}
	if err := unix.Fchmod(fd, privateMode); err != nil {
		return fmt.Errorf("narrow folder %s: %w", path, err)
	}
	return nil
}

// checkParent refuses a parent in which somebody else may rename our folder away: one that is neither ours
// nor root's, or that every user may write to, or a group of several. A sticky one, such as /tmp, is fine: there only
// the owner may. A group of the owner's own number is that user alone, as systems make them.
func checkParent(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return fmt.Errorf("check folder %s: %w", path, err)
	}
	if st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("check folder %s (owner is uid %d): %w", path, st.Uid, ErrUnsafe)
	}
	switch {
	case st.Mode&unix.S_ISVTX != 0:
	case st.Mode&0o002 != 0:
		return fmt.Errorf("check folder %s (every user may rename what is in it): %w", path, ErrUnsafe)
	case st.Mode&0o020 != 0 && st.Gid != st.Uid:
		return fmt.Errorf("check folder %s (group %d may rename what is in it): %w", path, st.Gid, ErrUnsafe)
	}
	return nil
}
