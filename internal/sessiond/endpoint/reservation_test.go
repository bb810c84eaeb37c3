// SPDX-License-Identifier: Apache-2.0

//go:build linux

package endpoint

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"spawn/internal/unmet"
)

func TestReservationExcludesUntilReleased(t *testing.T) {
	path := newPath(t)
	f, again := openFolder(t, path), openFolder(t, path)
	id := NewSessionID()
	r := reserve(t, f, id)
	if m := mode(t, r.File().Name()); m != 0o600 {
		t.Errorf("lock has mode %v", m)
	}
	for _, folder := range []*Folder{f, again} {
		if _, err := folder.Reserve(id); !errors.Is(err, ErrReserved) {
			t.Errorf("second reservation: %v", err)
		}
		if held, err := folder.Locked(id); err != nil || !held {
			t.Errorf("probe: %t, %v", held, err)
		}
	}
	reserve(t, f, NewSessionID())
	if err := r.Release(); err != nil {
		t.Fatal(err)
	}
	if held, err := f.Locked(id); err != nil || held {
		t.Errorf("probe after release: %t, %v", held, err)
	}
	reserve(t, again, id)
	if err := errors.Join(r.Release(), r.Retire()); err != nil || r.File() != nil {
		t.Errorf("closing again: %v", err)
	}
	if held, err := f.Locked(id); err != nil || !held {
		t.Errorf("closing the old one again freed the new one: %t, %v", held, err)
	}
}

func TestProbeCreatesNothing(t *testing.T) {
	f := openFolder(t, newPath(t))
	if held, err := f.Locked(NewSessionID()); err != nil || held {
		t.Errorf("got %t, %v", held, err)
	}
	if names := entries(t, f.Path()); len(names) != 0 {
		t.Errorf("created %v", names)
	}
}

func TestProbesNeverMakeAReservationFail(t *testing.T) {
	path := newPath(t)
	f := openFolder(t, path)
	id := NewSessionID()
	reserve(t, f, id).Release()
	stop, ready := make(chan struct{}), make(chan struct{}, 2)
	var probes sync.WaitGroup
	for range 2 {
		probes.Go(func() {
			ready <- struct{}{}
			for {
				select {
				case <-stop:
					return
				default:
					if _, err := f.Locked(id); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	<-ready
	<-ready
	for range 2000 {
		r, err := f.Reserve(id)
		if err != nil {
			t.Errorf("a probe was taken for a holder: %v", err)
			break
		}
		r.Release()
	}
	close(stop)
	probes.Wait()
}

func TestHostileLockFileIsRefusedAndLeftAlone(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "canary")
	if err := os.WriteFile(canary, []byte("canary"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]func(path string) error{
		"link to a file":  func(p string) error { return os.Symlink(canary, p) },
		"link to nothing": func(p string) error { return os.Symlink(canary+"-nothing", p) },
		"second name":     func(p string) error { return os.Link(canary, p) },
		"fifo":            func(p string) error { return unix.Mkfifo(p, 0o600) },
		"folder":          func(p string) error { return os.Mkdir(p, 0o700) },
		"socket":          func(p string) error { return unix.Mknod(p, unix.S_IFSOCK|0o600, 0) },
		"of another": func(p string) error {
			return errors.Join(os.WriteFile(p, nil, 0o600), os.Chown(p, nobody, nobody))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "of another" {
				unmet.Root(t, "give a file away")
			}
			f := openFolder(t, newPath(t))
			id := NewSessionID()
			path := filepath.Join(f.Path(), string(id)+lockSuffix)
			if err := plant(path); err != nil {
				t.Fatal(err)
			}
			before := mode(t, path)
			_, reserveErr := f.Reserve(id)
			_, probeErr := f.Locked(id)
			for _, err := range []error{reserveErr, probeErr, f.Sweep(id)} {
				if !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), path) {
					t.Errorf("got %v, want ErrUnsafe and the path", err)
				}
			}
			if after := mode(t, path); after != before {
				t.Errorf("%v became %v", before, after)
			}
			if text, err := os.ReadFile(canary); err != nil || string(text) != "canary" || mode(t, canary) != 0o644 {
				t.Errorf("the canary is %q with mode %v (%v)", text, mode(t, canary), err)
			}
			if _, err := os.Lstat(canary + "-nothing"); err == nil {
				t.Error("a link's target was created")
			}
		})
	}
}

func TestWideLockFileOfOursIsForcedPrivate(t *testing.T) {
	f := openFolder(t, newPath(t))
	id := NewSessionID()
	path := filepath.Join(f.Path(), string(id)+lockSuffix)
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o666)); err != nil {
		t.Fatal(err)
	}
	reserve(t, f, id)
	if m := mode(t, path); m != 0o600 {
		t.Errorf("mode is %v", m)
	}
}

func TestLockOnAFileThatLostItsNameCountsForNothing(t *testing.T) {
	f := openFolder(t, newPath(t))
	id := NewSessionID()
	name := string(id) + lockSuffix
	old, err := f.openLock(name, unix.O_RDWR|unix.O_CREAT) // somebody who opened and did not lock yet
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := reserve(t, f, id).Retire(); err != nil {
		t.Fatal(err)
	}
	successor := reserve(t, f, id)
	if outcome, err := f.lockExclusive(name, old); outcome != lockRetired || err != nil {
		t.Errorf("locking the nameless file: %v, %v", outcome, err)
	}
	if _, err := Inherit(f, id, old); !errors.Is(err, ErrNotHeld) {
		t.Errorf("inheriting the nameless file: %v", err)
	}
	if held, err := f.Locked(id); err != nil || !held {
		t.Errorf("the successor lost its lock: %t, %v", held, err)
	}
	if err := successor.Retire(); err != nil {
		t.Error(err)
	}
}

func TestRetireLeavesAReplacedLockFile(t *testing.T) {
	f := openFolder(t, newPath(t))
	id := NewSessionID()
	r := reserve(t, f, id)
	path := r.File().Name()
	if err := errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := r.Retire(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("somebody else's lock file was removed: %v", err)
	}
}

func TestInheritWantsTheLockedDescriptorItself(t *testing.T) {
	f := openFolder(t, newPath(t))
	id := NewSessionID()
	name := string(id) + lockSuffix
	open := func() *os.File {
		file, err := f.openLock(name, unix.O_RDWR|unix.O_CREAT)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		return file
	}
	if _, err := Inherit(f, id, open()); !errors.Is(err, ErrNotHeld) {
		t.Errorf("unlocked: %v", err)
	}
	if held, err := f.Locked(id); err != nil || held {
		t.Errorf("a refused descriptor holds the lock: %t, %v", held, err)
	}
	r := reserve(t, f, id)
	if _, err := Inherit(f, id, open()); !errors.Is(err, ErrNotHeld) {
		t.Errorf("another description: %v", err)
	}
	if _, err := Inherit(f, NewSessionID(), r.File()); !errors.Is(err, ErrNotHeld) {
		t.Errorf("another session: %v", err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if _, err := Inherit(f, id, null); !errors.Is(err, ErrUnsafe) {
		t.Errorf("another type: %v", err)
	}
	if _, err := Inherit(f, id, os.NewFile(999, "closed")); err == nil {
		t.Error("inherited a closed descriptor")
	}
	dup, err := unix.Dup(int(r.File().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	heir, err := Inherit(f, id, os.NewFile(uintptr(dup), "dup"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Release(); err != nil {
		t.Fatal(err)
	}
	if held, err := f.Locked(id); err != nil || !held {
		t.Errorf("the heir lost the lock: %t, %v", held, err)
	}
	if err := heir.Retire(); err != nil {
		t.Fatal(err)
	}
	if names := entries(t, f.Path()); len(names) != 0 {
		t.Errorf("left %v", names)
	}
}

func TestLockLivesExactlyAsLongAsTheWorker(t *testing.T) {
	for _, end := range []string{"clean", "killed"} {
		t.Run(end, func(t *testing.T) {
			f := openFolder(t, newPath(t))
			id := NewSessionID()
			r := reserve(t, f, id)
			worker := startRole(t, "worker", uint32(os.Geteuid()), []*os.File{r.File()}, f.Path(), string(id))
			worker.expect(t, "ready")
			if err := r.Release(); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Reserve(id); !errors.Is(err, ErrReserved) {
				t.Fatalf("the worker does not hold the lock: %v", err)
			}
			if err := f.Sweep(id); !errors.Is(err, ErrReserved) || len(entries(t, f.Path())) != 3 {
				t.Fatalf("sweep under a living worker: %v, left %v", err, entries(t, f.Path()))
			}
			conn, err := f.Dial(context.Background(), id)
			if err != nil {
				t.Fatal(err)
			}
			conn.Close()
			if end == "clean" {
				worker.stdin.Close()
				worker.expect(t, "retired")
			} else if err := worker.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			worker.Wait()
			if end == "killed" && len(entries(t, f.Path())) != 3 {
				t.Errorf("a killed worker left %v", entries(t, f.Path()))
			}
			if err := f.Sweep(id); err != nil {
				t.Error(err)
			}
			if names := entries(t, f.Path()); len(names) != 0 {
				t.Errorf("left %v", names)
			}
		})
	}
}

func TestDaemonNamesCannotBeSessions(t *testing.T) {
	f := openFolder(t, newPath(t))
	for _, name := range []string{"", "a/b", "..", "spawnd.lock", string(NewSessionID()), strings.Repeat("x", 37), "Spawnd"} {
		if r, err := f.ReserveName(name); err == nil {
			r.Release()
			t.Errorf("reserved %q", name)
		}
		if _, err := f.LockedName(name); err == nil {
			t.Errorf("probed %q", name)
		}
		if _, err := f.DialName(context.Background(), name); err == nil || errors.Is(err, ErrNotListening) {
			t.Errorf("dialled %q: %v", name, err)
		}
	}
	r, err := f.ReserveName("spawnd")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if _, err := f.ReserveName("spawnd"); !errors.Is(err, ErrReserved) {
		t.Errorf("second daemon: %v", err)
	}
	if held, err := f.LockedName("spawnd"); err != nil || !held {
		t.Errorf("probe: %t, %v", held, err)
	}
	s, err := r.ListenStream()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := f.DialName(context.Background(), "spawnd")
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if ids, err := f.Scan(); err != nil || len(ids) != 0 {
		t.Errorf("the daemon is listed as a session: %v, %v", ids, err)
	}
	if err := s.Close(); err != nil || len(entries(t, f.Path())) != 1 {
		t.Errorf("closing: %v, left %v", err, entries(t, f.Path()))
	}
}
