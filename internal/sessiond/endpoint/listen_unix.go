// SPDX-License-Identifier: Apache-2.0

//go:build unix

package endpoint

import (
	"errors"
	"fmt"
	"net"
	"sync"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/failpoint"
)

// Endpoints are the two listening sockets of a worker.
type Endpoints struct {
	Supervisor *net.UnixListener
	Lifecycle  *LifecycleListener

	stream    *Stream
	datagrams *boundSocket
}

// Close closes both sockets, and removes their names if the reservation is still held and the names
// still stand for these sockets. A second call does nothing.
func (e *Endpoints) Close() error { return errors.Join(e.stream.Close(), e.datagrams.Close()) }

// Listen binds both sockets of the session under the held lock. It first removes the sockets that a
// dead worker left; anything else at their names is ErrUnsafe. Both exist with mode 0600 from their
// first instant.
func (r *Reservation) Listen() (*Endpoints, error) {
	stream, err := r.ListenStream()
	if err != nil {
		return nil, err
	}
	failpoint.Pass(failpoint.StreamBound)
	conn, socket, err := r.bindLifecycle()
	if err != nil {
		return nil, errors.Join(err, stream.Close())
	}
	failpoint.Pass(failpoint.LifecycleBound)
	return &Endpoints{
		Supervisor: stream.UnixListener,
		Lifecycle:  &LifecycleListener{conn: conn, folder: r.folder, stem: r.stem},
		stream:     stream,
		datagrams:  socket,
	}, nil
}

// Stream is one listening stream socket in the folder.
type Stream struct {
	*net.UnixListener
	socket *boundSocket
}

// Close closes the socket, and removes its name if the reservation is still held and the name still
// stands for this socket. A second call does nothing.
func (s *Stream) Close() error { return s.socket.Close() }

// ListenStream binds stem.sock alone, under the held lock and by the rules of Listen: the control
// socket of a daemon.
func (r *Reservation) ListenStream() (*Stream, error) {
	var listener *net.UnixListener
	name := r.stem + streamSuffix
	socket, err := r.bind(name, func() (func() error, error) {
		l, err := listenStream(r.folder, name)
		if err != nil {
			return nil, err
		}
		listener = l
		return l.Close, nil
	})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", r.folder.join(name), err)
	}
	return &Stream{UnixListener: listener, socket: socket}, nil
}

func (r *Reservation) bindLifecycle() (*net.UnixConn, *boundSocket, error) {
	var conn *net.UnixConn
	name := r.stem + lifecycleSuffix
	socket, err := r.bind(name, func() (func() error, error) {
		c, err := listenDatagrams(r.folder, name)
		if err != nil {
			return nil, err
		}
		conn = c
		return c.Close, nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("listen on %s: %w", r.folder.join(name), err)
	}
	return conn, socket, nil
}

// boundSocket remembers which object a bound name stands for, so that closing late can never remove
// what a successor bound at the same name.
type boundSocket struct {
	reservation *Reservation
	name        string
	identity    Identity
	closeFD     func() error
	once        sync.Once
	err         error
}

// bind runs open, which binds name, while the lock is held, and records what it made.
func (r *Reservation) bind(name string, open func() (func() error, error)) (*boundSocket, error) {
	s := &boundSocket{reservation: r, name: name}
	err := r.whileHeld(func() (err error) {
		if err := r.folder.removeStaleSocket(name); err != nil {
			return err
		}
		failpoint.Pass(failpoint.StaleRemoved)
		if s.closeFD, err = open(); err != nil {
			return err
		}
		if s.identity, err = r.folder.inspectSocket(name); err != nil {
			return errors.Join(err, s.closeFD())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// inspectSocket returns the identity of the socket that was just bound, if it is as it must be.
func (f *Folder) inspectSocket(name string) (Identity, error) {
	st, found, err := f.lookup(name)
	if err != nil {
		return Identity{}, err
	}
	if !found {
		return Identity{}, fmt.Errorf("%w: the new socket has lost its name", ErrUnsafe)
	}
	if err := checkOwn(&st, unix.S_IFSOCK); err != nil {
		return Identity{}, err
	}
	if mode := uint32(st.Mode) & 0o7777; mode != FileMode {
		err := fmt.Errorf("%w: mode %04o, want %04o: the umask takes the owner's rights away",
			ErrUnsafe, mode, FileMode)
		return Identity{}, errors.Join(err, f.unlinkIf(name, identityOf(&st)))
	}
	return identityOf(&st), nil
}

func (s *boundSocket) Close() error {
	s.once.Do(func() {
		unlink := func() error { return s.reservation.folder.unlinkIf(s.name, s.identity) }
		err := s.reservation.whileHeld(unlink)
		if errors.Is(err, ErrNotHeld) {
			err = nil // not ours to remove any more: the next holder does
		}
		s.err = errors.Join(err, s.closeFD())
	})
	return s.err
}
