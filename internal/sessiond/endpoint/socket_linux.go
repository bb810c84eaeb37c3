// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dialRetryWait is how long Dial waits when a listener's backlog is full; the kernel has no event
// for the moment when it is not.
const dialRetryWait = 5 * time.Millisecond

// Held returns a path that leads to the directory that was checked, and not to whatever its own path leads to by
// now. It is good in this process and until Close.
func (f *Folder) Held() string { return fmt.Sprintf("/proc/self/fd/%d", f.dir.Fd()) }

// address names a socket below the folder's descriptor, so that bind and connect resolve it there.
func (f *Folder) address(name string) string { return f.Held() + "/" + name }

// privateSocket is a net control function. Linux gives a bound socket's file the mode of the socket
// itself, less the umask. Setting it before bind leaves no moment at which the file is wider, and
// touches no umask, which all threads would share.
func privateSocket(_, _ string, raw syscall.RawConn) error {
	return control(raw, func(fd int) error { return unix.Fchmod(fd, FileMode) })
}

// privateDatagrams is privateSocket for a socket that wants the sender's credentials with each
// datagram. The option has to be on before the name exists, or the first datagrams carry none.
func privateDatagrams(_, _ string, raw syscall.RawConn) error {
	return control(raw, func(fd int) error {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
			return err
		}
		return unix.Fchmod(fd, FileMode)
	})
}

func control(raw syscall.RawConn, act func(fd int) error) error {
	var actErr error
	if err := raw.Control(func(fd uintptr) { actErr = act(int(fd)) }); err != nil {
		return err
	}
	return actErr
}

func listenStream(f *Folder, name string) (*net.UnixListener, error) {
	defer runtime.KeepAlive(f)
	config := net.ListenConfig{Control: privateSocket}
	l, err := config.Listen(context.Background(), "unix", f.address(name))
	if err != nil {
		return nil, err
	}
	listener := l.(*net.UnixListener)
	// Close would remove by name, and the name may be a successor's by then.
	listener.SetUnlinkOnClose(false)
	return listener, nil
}

func listenDatagrams(f *Folder, name string) (*net.UnixConn, error) {
	defer runtime.KeepAlive(f)
	config := net.ListenConfig{Control: privateDatagrams}
	c, err := config.ListenPacket(context.Background(), "unixgram", f.address(name))
	if err != nil {
		return nil, err
	}
	return c.(*net.UnixConn), nil
}

// Dial connects to a worker and checks that its process runs as our user. ErrNotListening says that
// there is no socket, or nobody behind it; while Locked is true a worker may be about to listen. A
// full backlog is waited for. The context, or DialDeadline, bounds the call.
func (f *Folder) Dial(ctx context.Context, id SessionID) (*net.UnixConn, error) {
	return f.dial(ctx, string(id))
}

// DialName is Dial for the control socket of a daemon.
func (f *Folder) DialName(ctx context.Context, name string) (*net.UnixConn, error) {
	if !isDaemonName(name) {
		return nil, fmt.Errorf("dial in %s: %q is no daemon name", f.path, name)
	}
	return f.dial(ctx, name)
}

func (f *Folder) dial(ctx context.Context, stem string) (*net.UnixConn, error) {
	name := stem + streamSuffix
	ctx, cancel := context.WithTimeout(ctx, DialDeadline)
	defer cancel()
	conn, err := f.connect(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", f.join(name), err)
	}
	if err := CheckPeer(conn); err != nil {
		conn.Close()
		return nil, fmt.Errorf("dial %s: %w", f.join(name), err)
	}
	return conn, nil
}

func (f *Folder) connect(ctx context.Context, name string) (*net.UnixConn, error) {
	defer runtime.KeepAlive(f)
	for {
		if err := f.checkSocket(name); err != nil {
			return nil, err
		}
		conn, err := new(net.Dialer).DialContext(ctx, "unix", f.address(name))
		if err == nil {
			return conn.(*net.UnixConn), nil
		}
		if !errors.Is(err, unix.EAGAIN) {
			return nil, notListening(err)
		}
		if err := wait(ctx, dialRetryWait); err != nil {
			return nil, fmt.Errorf("the backlog stays full: %w", err)
		}
	}
}

// checkSocket refuses to connect through a link or to somebody else's socket.
func (f *Folder) checkSocket(name string) error {
	st, found, err := f.lookup(name)
	if err != nil {
		return err
	}
	if !found {
		return ErrNotListening
	}
	return checkOwn(&st, unix.S_IFSOCK)
}

// notListening marks the two errors that say nobody listens.
func notListening(err error) error {
	if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%w: %w", ErrNotListening, err)
	}
	return err
}

// wait returns after d, or with the context's error.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
