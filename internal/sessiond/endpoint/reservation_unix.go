// SPDX-License-Identifier: Apache-2.0

//go:build unix

package endpoint

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/failpoint"
)

// Reservation is a held lock on one session, or on the one name of a daemon.
//
// The lock belongs to the open file description, not to a process: spawnd takes it, passes the
// descriptor to the worker and closes its own, and from then on it lives exactly as long as the
// worker. It is never unlocked by hand, for that would free it for every holder of the description.
//
// Holders lock exclusively, probes share. So whoever is refused can tell a holder from a probe.
type Reservation struct {
	folder   *Folder
	stem     string
	identity Identity // of the lock file

	mu   sync.Mutex
	file *os.File // nil once released or retired
}

// Reserve takes the lock of a session, creating its file when absent. ErrReserved says that somebody
// holds it, ErrUnsafe that something else stands at its name.
func (f *Folder) Reserve(id SessionID) (*Reservation, error) { return f.reserve(string(id)) }

// ReserveName takes the lock name.lock of a daemon that must run once for this folder. A name is 1 to
// 36 lower-case letters, and so never a session id.
func (f *Folder) ReserveName(name string) (*Reservation, error) {
	if !isDaemonName(name) {
		return nil, fmt.Errorf("reserve %s: %q is no daemon name", f.path, name)
	}
	return f.reserve(name)
}

func isDaemonName(name string) bool {
	if len(name) < 1 || len(name) > sessionIDLen {
		return false
	}
	for _, c := range []byte(name) {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

func (f *Folder) reserve(stem string) (*Reservation, error) {
	name := stem + lockSuffix
	for range reserveTriesMax {
		file, err := f.openLock(name, unix.O_RDWR|unix.O_CREAT)
		if err != nil {
			return nil, fmt.Errorf("reserve %s: %w", f.join(name), err)
		}
		failpoint.Pass(failpoint.ReserveOpened)
		outcome, err := f.lockExclusive(name, file)
		if outcome == lockTaken {
			failpoint.Pass(failpoint.ReserveCompared)
			id, err := identityOfFile(file)
			if err != nil {
				file.Close()
				return nil, fmt.Errorf("reserve %s: %w", f.join(name), err)
			}
			return &Reservation{folder: f, stem: stem, identity: id, file: file}, nil
		}
		file.Close()
		if err != nil {
			return nil, fmt.Errorf("reserve %s: %w", f.join(name), err)
		}
		if outcome == lockProbed {
			time.Sleep(probeWait) //house:allow a lock that others share has no event to wait for
		}
	}
	return nil, fmt.Errorf("reserve %s: %w: the lock file kept changing", f.join(name), ErrReserved)
}

// probeWait is how long Reserve lets a probe finish; a probe holds its shared lock for two system
// calls.
const probeWait = 200 * time.Microsecond

// lockOutcome is what one try to lock a file came to.
type lockOutcome int

const (
	lockFailed  lockOutcome = iota // see the error
	lockTaken                      // ours, and the name still stands for the file
	lockRetired                    // the name stands for another file by now: start over
	lockProbed                     // only probes hold it: try again
)

// lockExclusive tries to lock the file that was opened by name. A file can lose its name between
// open and lock, when its holder retires it; a lock on such a file excludes nobody.
func (f *Folder) lockExclusive(name string, file *os.File) (lockOutcome, error) {
	fd := int(file.Fd())
	err := flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		if flock(fd, unix.LOCK_SH|unix.LOCK_NB) == nil {
			return lockProbed, nil
		}
		return lockFailed, ErrReserved
	}
	if err != nil {
		return lockFailed, fmt.Errorf("lock: %w", err)
	}
	failpoint.Pass(failpoint.ReserveLocked)
	same, err := f.names(name, file)
	if err != nil {
		return lockFailed, err
	}
	if !same {
		return lockRetired, nil
	}
	return lockTaken, nil
}

// openLock opens a lock file and checks that it is one. Opening never blocks and never follows a
// link; the type is looked at first, since opening a device can have effects.
func (f *Folder) openLock(name string, flags int) (*os.File, error) {
	st, found, err := f.lookup(name)
	if err != nil {
		return nil, err
	}
	if found {
		if err := checkOwn(&st, unix.S_IFREG); err != nil {
			return nil, err
		}
	}
	flags |= unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK
	fd, err := openRetry(int(f.dir.Fd()), name, flags, FileMode)
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%w: a symbolic link", ErrUnsafe)
	}
	if err != nil {
		return nil, err
	}
	if err := makePrivate(fd, unix.S_IFREG, FileMode); err != nil {
		unix.Close(fd)
		return nil, err
	}
	// A regular file needs no poller, and the flag would travel to the worker.
	if err := unix.SetNonblock(fd, false); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("clear O_NONBLOCK: %w", err)
	}
	return os.NewFile(uintptr(fd), f.join(name)), nil
}

// names reports whether name stands for the open file.
func (f *Folder) names(name string, file *os.File) (bool, error) {
	st, found, err := f.lookup(name)
	if err != nil || !found {
		return false, err
	}
	id, err := identityOfFile(file)
	return err == nil && id == identityOf(&st), err
}

func identityOfFile(file *os.File) (Identity, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return Identity{}, fmt.Errorf("stat lock: %w", err)
	}
	return identityOf(&st), nil
}

// Inherit takes over the reservation of a session whose locked descriptor this process got from its
// parent. It verifies that file is the session's lock file, that somebody holds the lock, and that
// it is this description that holds it. From then on the descriptor closes on exec and belongs to
// the Reservation; on error it is the caller's still.
func Inherit(f *Folder, id SessionID, file *os.File) (*Reservation, error) {
	name := string(id) + lockSuffix
	if err := f.checkInherited(name, file); err != nil {
		return nil, fmt.Errorf("inherit %s: %w", f.join(name), err)
	}
	identity, err := identityOfFile(file)
	if err != nil {
		return nil, fmt.Errorf("inherit %s: %w", f.join(name), err)
	}
	unix.CloseOnExec(int(file.Fd()))
	return &Reservation{folder: f, stem: string(id), identity: identity, file: file}, nil
}

func (f *Folder) checkInherited(name string, file *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return fmt.Errorf("stat: %w", err)
	}
	if err := checkOwn(&st, unix.S_IFREG); err != nil {
		return err
	}
	if mode := uint32(st.Mode) & 0o7777; mode != FileMode {
		return fmt.Errorf("%w: mode %04o, want %04o", ErrUnsafe, mode, FileMode)
	}
	if same, err := f.names(name, file); err != nil || !same {
		return errors.Join(fmt.Errorf("%w: the descriptor is another file", ErrNotHeld), err)
	}
	// The order matters: locking the inherited description first would take a lock that nobody held.
	if held, err := f.probe(name); err != nil || !held {
		return errors.Join(fmt.Errorf("%w: the descriptor is not locked", ErrNotHeld), err)
	}
	if err := flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("%w: another description holds the lock: %w", ErrNotHeld, err)
	}
	return nil
}

// File returns the locked descriptor, to pass to the worker; nil after Release or Retire. It stays
// the Reservation's.
func (r *Reservation) File() *os.File {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.file
}

// Release closes the descriptor and leaves the lock file. If a worker holds the same description,
// the session stays reserved. A second call does nothing.
func (r *Reservation) Release() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.releaseLocked()
}

func (r *Reservation) releaseLocked() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	if err != nil {
		return fmt.Errorf("release %s: %w", r.folder.join(r.stem+lockSuffix), err)
	}
	return nil
}

// Retire ends a session's reservation for good: it removes what senders of lifecycle requests left
// behind, then, while still holding the lock, the lock file if the name still stands for it, then
// closes. It is the last thing a worker does in the folder.
func (r *Reservation) Retire() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	return errors.Join(
		r.folder.removeTree(r.stem+replySuffix),
		r.unlinkLocked(),
		r.releaseLocked(),
	)
}

func (r *Reservation) unlinkLocked() error {
	err := r.folder.unlinkIf(r.stem+lockSuffix, r.identity)
	failpoint.Pass(failpoint.LockRemoved)
	return err
}

// whileHeld runs act if the reservation is held, and keeps it from being released meanwhile.
func (r *Reservation) whileHeld(act func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return ErrNotHeld
	}
	return act()
}

// flock is flock(2) that a signal cannot interrupt.
func flock(fd, how int) error {
	for {
		err := unix.Flock(fd, how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
