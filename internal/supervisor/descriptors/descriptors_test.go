// SPDX-License-Identifier: Apache-2.0

//go:build linux

package descriptors

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// spread sets the limit so that the next descriptor is that many below it.
func spread(t *testing.T, left uint64) {
	t.Helper()
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: was.Max, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	next, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	number := uint64(next.Fd())
	next.Close()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: number + left, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &was) })
}

func TestTheLastNumbersAreTold(t *testing.T) {
	for left, want := range map[uint64]bool{1: true, Kept - 1: true, Kept: true, Kept + 1: false, 10 * Kept: false} {
		spread(t, left)
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		if got := Among(f, Kept); got != want {
			t.Errorf("with %d left: %v", left, got)
		}
		f.Close()
	}
}

// A listener without a descriptor for whoever comes goes on when there is one.
func TestAGuardedListenerOutlivesAShortage(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	spread(t, 1) // for the one end, and none for the other
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := ln.Accept(); !errors.Is(err, unix.EMFILE) {
		t.Fatalf("without a descriptor: %v", err)
	}
	accepted := make(chan error, 1)
	go func() {
		s, err := Guard(ln).Accept()
		if err == nil {
			s.Close()
		}
		accepted <- err
	}()
	select {
	case err := <-accepted:
		t.Fatalf("without a descriptor: %v", err)
	case <-time.After(2 * acceptRetry):
	}
	spread(t, 10*Kept)
	if err := <-accepted; err != nil {
		t.Error(err)
	}
}

// Who connects when only the kept ones are left is closed without a word; when there are more, it is served.
func TestAGuardedListenerLeavesTheLastNumbers(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	guard := Guard(ln)
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			c, err := guard.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	spread(t, Kept)
	refused := dial()
	if _, err := refused.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("a connection on a kept number reads %v", err)
	}
	refused.Close()
	spread(t, 10*Kept)
	welcome := dial()
	defer welcome.Close()
	(<-accepted).Close()
	ln.Close()
	if c, more := <-accepted; more {
		t.Errorf("%v was accepted besides", c.RemoteAddr())
	}
}
