// SPDX-License-Identifier: Apache-2.0

//go:build linux

package endpoint

import (
	"errors"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// listenAs binds as us and listens with another effective uid, on a thread that ends afterwards.
func listenAs(t testing.TB, path string, uid int) int {
	t.Helper()
	type result struct {
		fd  int
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread dies with its credentials
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Bind(fd, &unix.SockaddrUnix{Name: path})
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
			err = errors.Join(err, errno)
		}
		done <- result{fd, errors.Join(err, unix.Listen(fd, 5))}
	}()
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.fd
}
