// SPDX-License-Identifier: Apache-2.0

//go:build unix

package verbs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"

	"spawn/internal/sessiond/failpoint"
)

// Listener is a control socket that takes only its own name away when it is closed.
type Listener struct {
	*net.UnixListener
	path  string
	file  os.FileInfo // of the socket that was bound
	close sync.Once
	err   error
}

// Listen binds the control socket at path, for the owner alone. The folder must be private, and the
// caller must hold the lock that makes it the only spawnd there: a socket that lies at path is taken for
// what a dead one left.
func Listen(path string) (*Listener, error) {
	if len(path) > SocketPathMax {
		return nil, fmt.Errorf("listen on %s: the path has %d bytes, at most %d can be used", path, len(path), SocketPathMax)
	}
	if err := removeStale(path); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	failpoint.Pass(failpoint.StaleControl)
	config := net.ListenConfig{Control: privateFromBirth}
	ln, err := config.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err) // net names the path
	}
	u := ln.(*net.UnixListener)
	u.SetUnlinkOnClose(false) // it would remove a successor's socket too
	l := &Listener{UnixListener: u, path: path}
	if l.file, err = l.checkMode(); err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", path, err), u.Close())
	}
	return l, nil
}

// removeStale removes a socket of ours, and nothing else.
func removeStale(path string) error {
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	owner := st.Sys().(*syscall.Stat_t).Uid
	if st.Mode().Type() != fs.ModeSocket || int(owner) != os.Geteuid() {
		return fmt.Errorf("something else lies there (%v of uid %d): move it away", st.Mode(), owner)
	}
	return os.Remove(path)
}

// checkMode returns the bound socket's file, which must be the owner's alone. Where the kernel gives it
// another mode at bind, the private folder has been the barrier until here.
func (l *Listener) checkMode() (os.FileInfo, error) {
	st, err := os.Lstat(l.path)
	if err != nil {
		return nil, err
	}
	if st.Mode().Perm() != 0o600 {
		if err := os.Chmod(l.path, 0o600); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// Close stops listening and removes the socket, if the name is still this one's.
func (l *Listener) Close() error {
	l.close.Do(func() {
		if st, err := os.Lstat(l.path); err == nil && os.SameFile(st, l.file) {
			l.err = os.Remove(l.path)
		}
		l.err = errors.Join(l.err, l.UnixListener.Close())
	})
	return l.err
}
