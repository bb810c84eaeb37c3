// SPDX-License-Identifier: Apache-2.0

//go:build unix

package endpoint

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const readdirBatch = 256

// Scan returns the ids of all sessions that have a lock file, sorted. It says nothing about whether
// anybody holds the lock, and changes nothing.
func (f *Folder) Scan() ([]SessionID, error) {
	names, err := f.listing()
	if err != nil {
		return nil, fmt.Errorf("scan %s: %w", f.path, err)
	}
	ids := sessionsWith(names, lockSuffix)
	slices.Sort(ids)
	return ids, nil
}

// listing is all names in the folder.
func (f *Folder) listing() ([]string, error) {
	dir, err := f.openDir(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return readNames(dir, scanEntriesMax)
}

// sessionsWith returns the sessions whose file with that suffix is among the names.
func sessionsWith(names []string, suffix string) (ids []SessionID) {
	for _, name := range names {
		stem, ok := strings.CutSuffix(name, suffix)
		if !ok {
			continue
		}
		if id, err := ParseSessionID(stem); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// SweepReplies removes the reply folders of sessions that have no lock file. A worker's end takes its own folder
// away; but a sender of a signal that is killed at the wrong moment leaves one of a worker that has ended before,
// and no Scan finds that session. It is done under the session's lock, and what somebody else holds stays.
func (f *Folder) SweepReplies() error {
	names, err := f.listing()
	if err != nil {
		return fmt.Errorf("sweep replies in %s: %w", f.path, err)
	}
	known := sessionsWith(names, lockSuffix)
	var errs []error
	for _, id := range sessionsWith(names, replySuffix) {
		if slices.Contains(known, id) {
			continue // its end, or Sweep, takes the folder away
		}
		r, err := f.Reserve(id)
		if err == nil {
			err = r.Retire()
		}
		if !errors.Is(err, ErrReserved) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// openDir opens a directory of the folder without following links.
func (f *Folder) openDir(name string) (*os.File, error) {
	fd, err := openRetry(int(f.dir.Fd()), name,
		unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.join(name)), nil
}

// readNames returns the names in dir, at most limit. A directory that was removed after it was opened,
// as a sender does with its reply folder, is an empty one.
func readNames(dir *os.File, limit int) ([]string, error) {
	var names []string
	for {
		batch, err := dir.Readdirnames(readdirBatch)
		names = append(names, batch...)
		if len(names) > limit {
			return nil, fmt.Errorf("more than %d entries", limit)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, unix.ENOENT) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Locked reports whether somebody holds a session's lock. It shares the lock for a moment when nobody
// does, which Reserve knows how to tell from a holder. A process that dies lets its lock go together
// with its connections, in no promised order.
func (f *Folder) Locked(id SessionID) (bool, error) {
	held, err := f.probe(string(id) + lockSuffix)
	if err != nil {
		return false, fmt.Errorf("probe %s: %w", f.join(string(id)+lockSuffix), err)
	}
	return held, nil
}

// LockedName is Locked for the name of a daemon.
func (f *Folder) LockedName(name string) (bool, error) {
	if !isDaemonName(name) {
		return false, fmt.Errorf("probe %s: %q is no daemon name", f.path, name)
	}
	return f.Locked(SessionID(name))
}

func (f *Folder) probe(name string) (bool, error) {
	for range reserveTriesMax {
		held, current, err := f.probeOnce(name)
		if err != nil || current {
			return held, err
		}
	}
	return false, fmt.Errorf("%w: the lock file kept changing", ErrReserved)
}

// probeOnce looks at the file that name stands for now. current is false when that file lost its
// name while it was looked at.
func (f *Folder) probeOnce(name string) (held, current bool, err error) {
	file, err := f.openLock(name, unix.O_RDONLY)
	if errors.Is(err, unix.ENOENT) {
		return false, true, nil
	}
	if err != nil {
		return false, true, err
	}
	defer file.Close()
	err = flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		return false, true, nil
	}
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return false, true, fmt.Errorf("lock: %w", err)
	}
	current, err = f.names(name, file)
	return true, current, err
}

// Sweep removes everything a session left behind, if nobody holds its lock: sockets, reply sockets,
// log, and last the lock file. ErrReserved says that somebody holds it and that nothing was touched;
// ErrUnsafe that something foreign stands at one of its names, which then stays, with the lock file.
func (f *Folder) Sweep(id SessionID) error {
	r, err := f.Reserve(id)
	if err != nil {
		return fmt.Errorf("sweep session %s: %w", id, err)
	}
	err = errors.Join(
		f.removeStaleSocket(r.stem+streamSuffix),
		f.removeStaleSocket(r.stem+lifecycleSuffix),
		f.removeTree(r.stem+scrollbackSuffix),
	)
	if err != nil {
		return errors.Join(fmt.Errorf("sweep session %s: %w", id, err), r.Release())
	}
	return r.Retire()
}

// removeStaleSocket removes the socket at name, whose owner is gone since we hold the lock. Anything
// but a socket of ours stays and is an error.
func (f *Folder) removeStaleSocket(name string) error {
	st, found, err := f.lookup(name)
	if err != nil || !found {
		return err
	}
	if err := checkOwn(&st, unix.S_IFSOCK); err != nil {
		return fmt.Errorf("remove stale socket %s: %w", f.join(name), err)
	}
	return f.unlinkIf(name, identityOf(&st))
}

// removeTree removes a session's folder and the files in it. Such folders hold no folders; one in
// there is not ours, and stops us.
func (f *Folder) removeTree(name string) error {
	_, found, err := f.lookup(name)
	if err != nil || !found {
		return err
	}
	if err := f.emptyDir(name); err != nil {
		return fmt.Errorf("remove %s: %w", f.join(name), err)
	}
	err = unix.Unlinkat(int(f.dir.Fd()), name, unix.AT_REMOVEDIR)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove %s: %w", f.join(name), err)
	}
	return nil
}

// emptyDir removes the files in a directory of ours, through its descriptor.
func (f *Folder) emptyDir(name string) error {
	dir, err := f.openDir(name)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return fmt.Errorf("%w: not a directory", ErrUnsafe)
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		return fmt.Errorf("stat: %w", err)
	}
	if err := checkOwn(&st, unix.S_IFDIR); err != nil {
		return err
	}
	entries, err := readNames(dir, sweepEntriesMax)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := unix.Unlinkat(int(dir.Fd()), entry, 0); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("remove %s: %w", entry, err)
		}
	}
	return nil
}
