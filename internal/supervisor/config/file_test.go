// SPDX-License-Identifier: Apache-2.0

//go:build unix

package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"spawn/internal/supervisor/ownfile"
)

func newSettings(t *testing.T, src string) *File {
	t.Helper()
	f := OpenFile(filepath.Join(t.TempDir(), "config.hujson"))
	if src != "" {
		put(t, f.path, src)
	}
	return f
}

func put(t *testing.T, path, src string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, f *File) string {
	t.Helper()
	src, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

func TestSetMakesAPrivateFile(t *testing.T) {
	old := unix.Umask(0)
	defer unix.Umask(old)
	f := newSettings(t, "")
	out, err := f.Set(SetParams{Path: "recovery.enabled", Value: "true"})
	if err != nil || out != (SetResult{File: f.path, Live: true}) {
		t.Fatalf("Set = %+v, %v", out, err)
	}
	st, err := os.Stat(f.path)
	if err != nil || st.Mode() != 0o600 {
		t.Fatalf("mode %v, %v", st.Mode(), err)
	}
	if c, err := f.Load(); err != nil || !c.Recovery.Enabled {
		t.Fatalf("Load = %+v, %v", c.Recovery, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(f.path)); len(left) != 1 {
		t.Fatalf("left behind: %v", left)
	}
}

func TestUnsafeFilesAreRefusedAndLeftAlone(t *testing.T) {
	for name, plant := range map[string]func(path string) error{
		"link":        func(p string) error { return os.Symlink("/etc/hostname", p) },
		"fifo":        func(p string) error { return unix.Mkfifo(p, 0o600) },
		"folder":      func(p string) error { return os.Mkdir(p, 0o700) },
		"group":       func(p string) error { return errors.Join(os.WriteFile(p, []byte("{}"), 0o600), os.Chmod(p, 0o620)) },
		"everybody":   func(p string) error { return errors.Join(os.WriteFile(p, []byte("{}"), 0o600), os.Chmod(p, 0o602)) },
		"second name": func(p string) error { return errors.Join(os.WriteFile(p, []byte("{}"), 0o600), os.Link(p, p+"2")) },
		"other owner": func(p string) error {
			if os.Geteuid() != 0 {
				return os.Symlink("/etc/hostname", p) // only root can give a file away
			}
			return errors.Join(os.WriteFile(p, []byte("{}"), 0o644), os.Chown(p, 65534, 65534))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newSettings(t, "")
			if err := plant(f.path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.Lstat(f.path)
			_, loadErr := f.Load()
			_, setErr := f.Set(SetParams{Path: "recovery.enabled", Value: "true"})
			_, checkErr := f.Check()
			for _, err := range []error{loadErr, setErr, checkErr} {
				if !errors.Is(err, ErrUnsafeFile) || !strings.Contains(err.Error(), f.path) {
					t.Errorf("error %v", err)
				}
			}
			after, _ := os.Lstat(f.path)
			if after.Mode() != before.Mode() || !os.SameFile(before, after) {
				t.Error("it was changed")
			}
		})
	}
}

func TestAFileThatOthersMayReadIsFine(t *testing.T) {
	f := newSettings(t, "{}")
	if err := os.Chmod(f.path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Set(SetParams{Path: "recovery.enabled", Value: "true"}); err != nil {
		t.Fatal(err)
	}
	if st, _ := os.Stat(f.path); st.Mode() != 0o600 {
		t.Errorf("mode %v after a set", st.Mode())
	}
}

// faultyDisk fails at the n-th call, or does something there.
type faultyDisk struct {
	ownfile.OS
	n, at int
	do    func() error
}

func (d *faultyDisk) step() error {
	if d.n++; d.n == d.at {
		return d.do()
	}
	return nil
}

func (d *faultyDisk) Write(path string, src []byte) error {
	if err := d.OS.Write(path, src[:len(src)/2]); err != nil {
		return err
	}
	if err := d.step(); err != nil {
		return err // half of it is there
	}
	return errors.Join(os.Remove(path), d.OS.Write(path, src))
}

func (d *faultyDisk) Rename(from, to string) error {
	if err := d.step(); err != nil {
		return err
	}
	return d.OS.Rename(from, to)
}

func (d *faultyDisk) SyncDir(path string) error {
	if err := d.step(); err != nil {
		return err
	}
	return d.OS.SyncDir(path)
}

// Wherever a write fails, the file is the old or the new one, whole, and nothing else is left.
func TestAFailedWriteLeavesOneWholeFile(t *testing.T) {
	const before = "{} // mine\n"
	broken := errors.New("disk is broken")
	for at := 1; ; at++ {
		f := newSettings(t, before)
		d := &faultyDisk{at: at, do: func() error { return broken }}
		f.disk = d
		_, err := f.Set(SetParams{Path: "recovery.enabled", Value: "true"})
		if d.n < at {
			if err != nil {
				t.Fatal(err)
			}
			if at != 4 {
				t.Fatalf("%d steps could fail, not 3", at-1)
			}
			return
		}
		if !errors.Is(err, broken) {
			t.Fatalf("step %d: %v", at, err)
		}
		renamed := content(t, f) != before
		if renamed != errors.Is(err, ErrUncertain) {
			t.Errorf("step %d: %v, and the file is %q", at, err, content(t, f))
		}
		if _, err := Parse([]byte(content(t, f))); err != nil {
			t.Errorf("step %d: %v", at, err)
		}
		if left, _ := os.ReadDir(filepath.Dir(f.path)); len(left) != 1 {
			t.Errorf("step %d left %v", at, left)
		}
	}
}

func TestSetDoesNotOverwriteAnotherHand(t *testing.T) {
	f := newSettings(t, "{}")
	const theirs = "{\"viewers\": {\"max\": 2}}"
	f.disk = &faultyDisk{at: 1, do: func() error { return os.WriteFile(f.path, []byte(theirs), 0o600) }}
	if _, err := f.Set(SetParams{Path: "recovery.enabled", Value: "true"}); !errors.Is(err, ErrChanged) {
		t.Fatalf("error %v", err)
	}
	if got := content(t, f); got != theirs {
		t.Fatalf("the file is %q", got)
	}
}

func TestCheckTellsFaultsAndHasNoEffect(t *testing.T) {
	f := newSettings(t, "{\n\"x\": 1}")
	before := f.stamp()
	got, err := f.Check()
	if err != nil || got.OK || len(got.Problems) != 1 || got.Problems[0].Line != 2 || got.File != f.path {
		t.Fatalf("Check = %+v, %v", got, err)
	}
	if f.stamp() != before {
		t.Error("the file was touched")
	}
	put(t, f.path, "{}")
	if got, err := f.Check(); err != nil || !got.OK || len(got.Problems) != 0 {
		t.Fatalf("Check = %+v, %v", got, err)
	}
}

func TestAnEmptyFileIsNotAnAbsentOne(t *testing.T) {
	f := newSettings(t, "")
	if c, err := f.Load(); err != nil || c.Viewers.Max != 64 {
		t.Fatalf("no file: %+v, %v", c, err)
	}
	put(t, f.path, "")
	var problems Problems
	if _, err := f.Load(); !errors.As(err, &problems) {
		t.Fatalf("an empty file: %v", err)
	}
}
