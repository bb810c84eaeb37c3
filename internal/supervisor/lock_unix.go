// SPDX-License-Identifier: Apache-2.0

//go:build unix

package supervisor

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lockTriesMax bounds how often a lock file may be exchanged under us before we give up.
const lockTriesMax = 16

// takeLock makes this process the only one that holds the file. The file is never removed: a lock that is
// unlinked while somebody waits for it is two locks. The kernel lets go of it when the process ends, however
// that happens, and no child inherits it.
func takeLock(path string) (*os.File, error) {
	for range lockTriesMax {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open lock %s: %w", path, err)
		}
		if err := flockFile(f, path); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		same, err := isStillAt(f, path)
		if same {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("check lock %s: %w", path, err)
		}
	}
	return nil, fmt.Errorf("take lock %s: the file is being exchanged again and again", path)
}

func flockFile(f *os.File, path string) error {
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look at lock %s: %w", path, err)
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("take lock %s: not a regular file", path)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("take lock %s: %w", path, ErrRunning)
	}
	if err != nil {
		return fmt.Errorf("take lock %s: %w", path, err)
	}
	return nil
}

// isStillAt reports whether the path names the file that f is: somebody may have replaced it between open
// and flock, and then f locks nothing that others would see.
func isStillAt(f *os.File, path string) (bool, error) {
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, there), err
}
