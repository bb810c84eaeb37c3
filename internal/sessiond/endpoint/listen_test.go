// SPDX-License-Identifier: Apache-2.0

//go:build linux

package endpoint

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/unmet"
)

// dialAndAccept dials a session by name and fails unless it is e that answers.
func dialAndAccept(t testing.TB, f *Folder, id SessionID, e *Endpoints) *net.UnixConn {
	t.Helper()
	conn, err := f.Dial(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	e.Supervisor.SetDeadline(time.Now().Add(5 * time.Second))
	accepted, err := e.Supervisor.AcceptUnix()
	if err != nil {
		t.Fatalf("the name leads to another listener: %v", err)
	}
	defer accepted.Close()
	if err := CheckPeer(accepted); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestSocketsArePrivateFromTheirFirstInstant(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	f := openFolder(t, newPath(t))
	id := NewSessionID()
	stop := make(chan struct{})
	var seen sync.Map
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, suffix := range []string{lockSuffix, streamSuffix, lifecycleSuffix} {
				if st, found, err := f.lookup(string(id) + suffix); err == nil && found {
					seen.Store(st.Mode&0o7777, suffix)
				}
			}
		}
	})
	for range 1000 {
		r, err := f.Reserve(id)
		if err != nil {
			t.Fatal(err)
		}
		e, err := r.Listen()
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(e.Close(), r.Retire()); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	watcher.Wait()
	seen.Range(func(mode, suffix any) bool {
		if mode != uint32(0o600) {
			t.Errorf("%s was seen with mode %04o", suffix, mode)
		}
		return true
	})
	if _, ok := seen.Load(uint32(0o600)); !ok {
		t.Error("the watcher saw nothing")
	}
}

func TestUmaskThatLocksTheOwnerOutIsAnErrorNotAWideMode(t *testing.T) {
	f := openFolder(t, newPath(t))
	r := reserve(t, f, NewSessionID())
	defer syscall.Umask(syscall.Umask(0o277))
	if _, err := r.Listen(); !errors.Is(err, ErrUnsafe) {
		t.Errorf("got %v", err)
	}
	if names := entries(t, f.Path()); len(names) != 1 {
		t.Errorf("left %v", names)
	}
}

func TestListenWantsTheLock(t *testing.T) {
	f := openFolder(t, newPath(t))
	r := reserve(t, f, NewSessionID())
	r.Release()
	if _, err := r.Listen(); !errors.Is(err, ErrNotHeld) {
		t.Errorf("got %v", err)
	}
	if names := entries(t, f.Path()); len(names) != 1 {
		t.Errorf("left %v", names)
	}
}

func TestListenReplacesOnlyStaleSocketsOfOurs(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "canary")
	if err := os.WriteFile(canary, []byte("canary"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]func(path string) error{
		"link to a file":  func(p string) error { return os.Symlink(canary, p) },
		"link to nothing": func(p string) error { return os.Symlink(canary+"-nothing", p) },
		"second name":     func(p string) error { return os.Link(canary, p) },
		"file":            func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"fifo":            func(p string) error { return unix.Mkfifo(p, 0o600) },
		"folder":          func(p string) error { return os.Mkdir(p, 0o700) },
		"of another":      foreignSocket,
	} {
		for _, suffix := range []string{streamSuffix, lifecycleSuffix} {
			t.Run(name+suffix, func(t *testing.T) {
				if name == "of another" {
					unmet.Root(t, "give a socket away")
				}
				f := openFolder(t, newPath(t))
				id := NewSessionID()
				path := filepath.Join(f.Path(), string(id)+suffix)
				if err := plant(path); err != nil {
					t.Fatal(err)
				}
				before := mode(t, path)
				_, err := reserve(t, f, id).Listen()
				if !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), path) {
					t.Errorf("got %v, want ErrUnsafe and the path", err)
				}
				if after := mode(t, path); after != before {
					t.Errorf("%v became %v", before, after)
				}
				if names := entries(t, f.Path()); len(names) != 2 {
					t.Errorf("left %v", names)
				}
				if text, err := os.ReadFile(canary); err != nil || string(text) != "canary" || mode(t, canary) != 0o644 {
					t.Errorf("the canary is %q (%v)", text, err)
				}
				if _, err := os.Lstat(canary + "-nothing"); err == nil {
					t.Error("a link's target was created")
				}
			})
		}
	}
	f := openFolder(t, newPath(t))
	id := NewSessionID()
	leave(t, f, id)
	dialAndAccept(t, f, id, listen(t, reserve(t, f, id))).Close()
}

func TestDelayedCleanupLeavesASuccessorAlone(t *testing.T) {
	f := openFolder(t, newPath(t))
	id := NewSessionID()
	first := reserve(t, f, id)
	old := listen(t, first)
	first.Release()
	successor := listen(t, reserve(t, f, id))
	if err := old.Close(); err != nil {
		t.Error(err)
	}
	dialAndAccept(t, f, id, successor).Close()
	if names := entries(t, f.Path()); len(names) != 3 {
		t.Errorf("left %v", names)
	}
}

func TestCleanupRemovesOnlyTheRecordedSocket(t *testing.T) {
	f := openFolder(t, newPath(t))
	id := NewSessionID()
	e := listen(t, reserve(t, f, id))
	path := filepath.Join(f.Path(), string(id)+streamSuffix)
	if err := os.Rename(path, path+".kept"); err != nil { // keeps the inode from being given again
		t.Fatal(err)
	}
	if err := unix.Mknod(path, unix.S_IFSOCK|0o600, 0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Close(), e.Close()); err != nil {
		t.Error(err)
	}
	for _, p := range []string{path, path + ".kept"} {
		if _, err := os.Lstat(p); err != nil {
			t.Errorf("removed what it had not made: %v", err)
		}
	}
	if _, err := os.Lstat(filepath.Join(f.Path(), string(id)+lifecycleSuffix)); err == nil {
		t.Error("its own socket stays")
	}
}

func TestDialTellsNobodyFromBusy(t *testing.T) {
	f := openFolder(t, newPath(t))
	id := NewSessionID()
	if _, err := f.Dial(context.Background(), id); !errors.Is(err, ErrNotListening) {
		t.Errorf("no socket: %v", err)
	}
	leave(t, f, id)
	if _, err := f.Dial(context.Background(), id); !errors.Is(err, ErrNotListening) {
		t.Errorf("stale socket: %v", err)
	}
	if err := f.Sweep(id); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(f.Path(), string(id)+streamSuffix)
	busy := rawListener(t, path, 0)
	defer unix.Close(busy)
	first, err := f.Dial(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := f.Dial(ctx, id); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrNotListening) {
		t.Errorf("full backlog: %v", err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("a busy worker lost its socket: %v", err)
	}
	dialled := make(chan error, 1)
	go func() {
		conn, err := f.Dial(context.Background(), id)
		if err == nil {
			conn.Close()
		}
		dialled <- err
	}()
	accepted, _, err := unix.Accept(busy)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(accepted)
	if err := <-dialled; err != nil {
		t.Errorf("after the backlog had room: %v", err)
	}
}

// rawListener listens with a backlog that package net does not offer.
func rawListener(t testing.TB, path string, backlog int) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, backlog)); err != nil {
		t.Fatal(err)
	}
	return fd
}

func TestDialFollowsNoLink(t *testing.T) {
	f := openFolder(t, newPath(t))
	id := NewSessionID()
	elsewhere := filepath.Join(filepath.Dir(f.Path()), "s")
	defer unix.Close(rawListener(t, elsewhere, 5))
	if err := os.Symlink(elsewhere, filepath.Join(f.Path(), string(id)+streamSuffix)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Dial(context.Background(), id); !errors.Is(err, ErrUnsafe) {
		t.Errorf("got %v", err)
	}
}

func TestAnotherUserGetsNothingEvenWhenModesAreLoose(t *testing.T) {
	unmet.Root(t, "start a process of another user")
	f := openFolder(t, newPath(t))
	id := NewSessionID()
	e := listen(t, reserve(t, f, id))
	stream := filepath.Join(f.Path(), string(id)+streamSuffix)
	for path, m := range map[string]os.FileMode{filepath.Dir(f.Path()): 0o755, f.Path(): 0o755, stream: 0o666} {
		if err := os.Chmod(path, m); err != nil {
			t.Fatal(err)
		}
	}
	stranger := startRole(t, "dial", nobody, nil, stream)
	conn, err := e.Supervisor.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	if uid, err := PeerUID(conn); err != nil || uid != nobody {
		t.Errorf("peer is %d, %v", uid, err)
	}
	if err := CheckPeer(conn); !errors.Is(err, ErrPeer) {
		t.Errorf("got %v, want ErrPeer", err)
	}
	conn.Close()
	stranger.expect(t, "closed")
}

func TestDialRefusesAListenerOfAnotherUser(t *testing.T) {
	unmet.Root(t, "become another user")
	// SO_PEERCRED of a listener is of the thread that called listen.
	f := openFolder(t, newPath(t))
	id := NewSessionID()
	path := filepath.Join(f.Path(), string(id)+streamSuffix)
	fd := listenAs(t, path, nobody)
	defer unix.Close(fd)
	if _, err := f.Dial(context.Background(), id); !errors.Is(err, ErrPeer) {
		t.Errorf("got %v, want ErrPeer", err)
	}
}
