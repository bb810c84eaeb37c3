// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/unmet"
)

// stranger is an ordinary user who is not ours.
const stranger = 65534

// as runs f on a thread of its own as another user.
func as(t *testing.T, uid int, f func() error) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread dies with its credentials
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
			done <- errno
			return
		}
		done <- f()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// connected returns a socket of the kind that is connected to the path.
func connected(kind int, path string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	return fd, unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}

// Should ever the modes be loosened, a worker tells another user nothing, not even HELLO, and obeys no datagram of theirs;
// its supervisor notices nothing.
func TestWorkerTellsAnotherUserNothing(t *testing.T) {
	unmet.Root(t, "connect as another user")
	p := launchProcess(t)
	peer := dial(t, p.folder, p.id)
	peer.startScript(`stty -echo; trap 'echo term-taken' TERM; echo ready; while :; do read -r x && echo "got-$x"; done`)
	peer.untilOutput("ready\r\n")
	stream := filepath.Join(p.folder.Path(), p.id.String()+".sock")
	lifecycle := filepath.Join(p.folder.Path(), p.id.String()+".lifecycle.sock")
	for path, mode := range map[string]os.FileMode{p.folder.Path(): 0o755, stream: 0o666, lifecycle: 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}

	const knocks = 20
	for range knocks {
		var fd int
		as(t, stranger, func() (err error) {
			fd, err = connected(unix.SOCK_STREAM, stream)
			return err
		})
		file := os.NewFile(uintptr(fd), stream)
		conn, err := net.FileConn(file)
		file.Close()
		if err != nil {
			t.Fatal(err)
		}
		conn.SetReadDeadline(time.Now().Add(patience))
		told, err := io.ReadAll(conn)
		conn.Close()
		if len(told) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("a stranger is told %d bytes, then %v", len(told), err)
		}
	}

	instance, err := hex.DecodeString(peer.hello.InstanceID)
	if err != nil {
		t.Fatal(err)
	}
	as(t, stranger, func() error {
		fd, err := connected(unix.SOCK_DGRAM, lifecycle)
		if err == nil {
			defer unix.Close(fd)
			_, err = unix.Write(fd, append(instance, byte(endpoint.SignalKILL)))
		}
		return err
	})
	// Requests are taken in their order: when ours is obeyed, theirs was not.
	if _, err := p.folder.Signal(t.Context(), p.id, endpoint.InstanceID(instance), endpoint.SignalTERM); err != nil {
		t.Fatal(err)
	}
	peer.type_("still here\r") // some shells look at their traps when they have read
	peer.untilOutput("term-taken\r\n")
	peer.untilOutput("got-still here\r\n")
}
