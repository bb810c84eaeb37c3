// SPDX-License-Identifier: Apache-2.0

//go:build linux

package endpoint

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"spawn/internal/unmet"
)

// leave makes everything that a killed worker can leave behind.
func leave(t testing.TB, f *Folder, id SessionID) {
	t.Helper()
	r := reserve(t, f, id)
	e := listen(t, r)
	for _, dir := range []string{filepath.Join(f.Path(), ScrollbackName(id)), filepath.Join(f.Path(), string(id)+replySuffix)} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"seg-00000001.log", "seg-00000002.log"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.Release() // first, so that closing leaves the names
	e.Close()
	if names := entries(t, f.Path()); len(names) != 5 {
		t.Fatalf("left %v", names)
	}
}

func TestSweepRemovesEverythingOfADeadWorkerAndNothingElse(t *testing.T) {
	f := openFolder(t, newPath(t))
	dead, alive := NewSessionID(), NewSessionID()
	leave(t, f, dead)
	listen(t, reserve(t, f, alive))
	if err := os.WriteFile(filepath.Join(f.Path(), "other"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Sweep(dead); err != nil {
		t.Fatal(err)
	}
	want := []string{string(alive) + lifecycleSuffix, string(alive) + lockSuffix, string(alive) + streamSuffix, "other"}
	slices.Sort(want)
	if names := entries(t, f.Path()); !slices.Equal(names, want) {
		t.Errorf("left %v, want %v", names, want)
	}
	if err := f.Sweep(alive); !errors.Is(err, ErrReserved) || len(entries(t, f.Path())) != len(want) {
		t.Errorf("sweeping the living: %v, left %v", err, entries(t, f.Path()))
	}
	if err := f.Sweep(NewSessionID()); err != nil || len(entries(t, f.Path())) != len(want) {
		t.Errorf("sweeping nothing: %v, left %v", err, entries(t, f.Path()))
	}
}

func TestSweepStopsAtWhatIsNotOurs(t *testing.T) {
	canary := t.TempDir()
	if err := os.WriteFile(filepath.Join(canary, "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]func(stem string) error{
		"log is a link":             func(p string) error { return os.Symlink(canary, p+scrollbackSuffix) },
		"log is a file":             func(p string) error { return os.WriteFile(p+scrollbackSuffix, nil, 0o600) },
		"log holds a folder":        func(p string) error { return os.MkdirAll(p+scrollbackSuffix+"/deeper", 0o700) },
		"reply folder is a link":    func(p string) error { return os.Symlink(canary, p+replySuffix) },
		"socket is a link":          func(p string) error { return os.Symlink(canary+"/kept", p+streamSuffix) },
		"socket is a file":          func(p string) error { return os.WriteFile(p+lifecycleSuffix, nil, 0o600) },
		"socket is a fifo":          func(p string) error { return unix.Mkfifo(p+streamSuffix, 0o600) },
		"socket has a second name":  func(p string) error { return secondName(p) },
		"socket belongs to another": func(p string) error { return foreignSocket(p + streamSuffix) },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "socket belongs to another" {
				unmet.Root(t, "give a socket away")
			}
			f := openFolder(t, newPath(t))
			id := NewSessionID()
			if err := plant(filepath.Join(f.Path(), string(id))); err != nil {
				t.Fatal(err)
			}
			before := entries(t, f.Path())
			if err := f.Sweep(id); err == nil {
				t.Error("swept")
			}
			for _, name := range before {
				if _, err := os.Lstat(filepath.Join(f.Path(), name)); err != nil {
					t.Errorf("%s is gone", name)
				}
			}
			if _, err := os.Lstat(filepath.Join(canary, "kept")); err != nil {
				t.Error("a link was followed")
			}
			if held, err := f.Locked(id); err != nil || held {
				t.Errorf("the lock stays held: %t, %v", held, err)
			}
		})
	}
}

func secondName(stem string) error {
	return errors.Join(
		unix.Mknod(stem+streamSuffix, unix.S_IFSOCK|0o600, 0),
		os.Link(stem+streamSuffix, stem+".second"),
	)
}

func foreignSocket(path string) error {
	return errors.Join(unix.Mknod(path, unix.S_IFSOCK|0o600, 0), os.Chown(path, nobody, nobody))
}

func TestScanListsSessionsAlone(t *testing.T) {
	f := openFolder(t, newPath(t))
	var want []SessionID
	for range 300 {
		id := NewSessionID()
		reserve(t, f, id).Release()
		want = append(want, id)
	}
	slices.Sort(want)
	for _, name := range []string{"spawnd.lock", "x.lock", string(NewSessionID()) + ".sock", ".lock",
		string(NewSessionID()) + ".lock.lock", "0123456789abcdef0123456789abcdef0123.lock"} {
		if err := os.WriteFile(filepath.Join(f.Path(), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if ids, err := f.Scan(); err != nil || !slices.Equal(ids, want) {
			t.Errorf("got %d ids, %v", len(ids), err)
		}
	}
}

// A sender that is killed between making the reply folder and using it can leave one of a session that has ended.
func TestReplyFoldersOfEndedSessionsAreSwept(t *testing.T) {
	f := openFolder(t, newPath(t))
	over, dead, alive := NewSessionID(), NewSessionID(), NewSessionID()
	leave(t, f, dead)
	listen(t, reserve(t, f, alive))
	for _, id := range []SessionID{over, alive} {
		if err := os.Mkdir(filepath.Join(f.Path(), string(id)+replySuffix), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(f.Path(), string(over)+replySuffix, "0123"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.SweepReplies(); err != nil {
		t.Fatal(err)
	}
	for _, name := range entries(t, f.Path()) {
		if strings.HasPrefix(name, string(over)) {
			t.Errorf("%s is left", name)
		}
	}
	if n := len(entries(t, f.Path())); n != 5+4 {
		t.Errorf("%d names are left, want those of the dead and the living session", n)
	}
	canary := filepath.Join(f.Path(), "canary")
	link := filepath.Join(f.Path(), string(over)+replySuffix)
	if err := errors.Join(os.Mkdir(canary, 0o700), os.WriteFile(canary+"/kept", nil, 0o600), os.Symlink(canary, link)); err != nil {
		t.Fatal(err)
	}
	if err := f.SweepReplies(); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a link in place of the folder: %v", err)
	}
	if _, err := os.Lstat(canary + "/kept"); err != nil {
		t.Error("a link was followed")
	}
}
