// SPDX-License-Identifier: Apache-2.0

//go:build linux

package endpoint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"spawn/internal/unmet"
)

func mode(t testing.TB, path string) os.FileMode {
	t.Helper()
	st, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Mode()
}

func TestFolderIsCreatedPrivateWithAllAboveIt(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	path := filepath.Join(newPath(t), "a", "b")
	f := openFolder(t, path)
	if f.Path() != path {
		t.Errorf("path is %s", f.Path())
	}
	for p := path; filepath.Base(p) != "w"; p = filepath.Dir(p) {
		if m := mode(t, p); m != os.ModeDir|0o700 {
			t.Errorf("%s has mode %v", p, m)
		}
	}
}

func TestFolderOfOursIsForcedPrivate(t *testing.T) {
	for _, m := range []os.FileMode{0o777, 0o755, 0o701, 0o1777, 0o500 | os.ModeSetgid} {
		path := newPath(t)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, m); err != nil {
			t.Fatal(err)
		}
		openFolder(t, path)
		if got := mode(t, path); got != os.ModeDir|0o700 {
			t.Errorf("%v became %v", m, got)
		}
	}
}

func TestHostileFolderIsRefusedByNameAndLeftAlone(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "canary")
	if err := os.Mkdir(canary, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]func(path string) error{
		"link to a folder":  func(p string) error { return os.Symlink(canary, p) },
		"link to nothing":   func(p string) error { return os.Symlink(canary+"/nothing", p) },
		"file":              func(p string) error { return os.WriteFile(p, []byte("x"), 0o644) },
		"fifo":              func(p string) error { return unix.Mkfifo(p, 0o644) },
		"socket":            func(p string) error { return unix.Mknod(p, unix.S_IFSOCK|0o644, 0) },
		"folder of another": func(p string) error { return errors.Join(os.Mkdir(p, 0o755), os.Chown(p, nobody, nobody)) },
		"folder above of another": func(p string) error {
			return os.Chown(filepath.Dir(p), nobody, nobody)
		},
		"folder above for everyone": func(p string) error {
			return os.Chmod(filepath.Dir(p), 0o777)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "another") {
				unmet.Root(t, "give a folder away")
			}
			path := newPath(t)
			if err := plant(path); err != nil {
				t.Fatal(err)
			}
			before, beforeErr := os.Lstat(path)
			f, err := OpenFolder(path)
			if err == nil {
				f.Close()
			}
			if !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want ErrUnsafe and the path", err)
			}
			after, afterErr := os.Lstat(path)
			if (beforeErr == nil) != (afterErr == nil) || beforeErr == nil && before.Mode() != after.Mode() {
				t.Errorf("%v became %v", before, after)
			}
			if m := mode(t, canary); m != os.ModeDir|0o755 || len(entries(t, canary)) != 0 {
				t.Errorf("the canary has mode %v", m)
			}
		})
	}
}

// Whoever may write to the folder above may exchange ours: each mode of it, with a group of others and with the owner's
// own, over each kind of thing that may stand in our place.
func TestFolderAboveIsWritableForItsOwnerAlone(t *testing.T) {
	const others = 4242
	own := uint32(os.Geteuid())
	for _, c := range []struct {
		mode    uint32
		group   int
		trusted bool
	}{
		{0o700, others, true}, {0o755, others, true}, {0o750, others, true}, {0o555, others, true}, {0o2755, others, true},
		{0o770, others, false}, {0o775, others, false}, {0o2775, others, false}, {0o720, others, false}, {0o730, others, false},
		{0o770, int(own), true}, {0o775, int(own), true}, {0o2775, int(own), true},
		{0o702, others, false}, {0o777, others, false}, {0o777, int(own), false}, {0o703, int(own), false}, {0o2777, int(own), false},
		{0o1777, others, true}, {0o1770, others, true}, {0o1777, int(own), true}, {0o1775, others, true}, {0o3777, others, true},
	} {
		for kind, plant := range map[string]func(path string) error{
			"nothing": func(string) error { return nil },
			"ours":    func(p string) error { return os.Mkdir(p, 0o755) },
			"a file":  func(p string) error { return os.WriteFile(p, []byte("x"), 0o644) },
			"a link":  func(p string) error { return os.Symlink("/", p) },
			"a fifo":  func(p string) error { return unix.Mkfifo(p, 0o644) },
		} {
			path := newPath(t)
			above := filepath.Dir(path)
			if c.group == others {
				unmet.Root(t, "give a folder to another group")
			}
			if err := errors.Join(plant(path), os.Chown(above, -1, c.group), unix.Chmod(above, c.mode)); err != nil {
				t.Fatal(err)
			}
			before, _ := os.Lstat(path)
			f, err := OpenFolder(path)
			if err == nil {
				f.Close()
			}
			want := c.trusted && (kind == "nothing" || kind == "ours")
			if want != (err == nil) || err != nil && (!errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), path)) {
				t.Errorf("%s below %04o of group %d: %v", kind, c.mode, c.group, err)
			}
			after, _ := os.Lstat(path)
			if !want && (before == nil) != (after == nil) || !want && before != nil && before.Mode() != after.Mode() {
				t.Errorf("%s below %04o of group %d: %v became %v", kind, c.mode, c.group, before, after)
			}
		}
	}
}

func TestFolderPathMustBeAbsolute(t *testing.T) {
	for _, path := range []string{"", ".", "w", "/", "//"} {
		if f, err := OpenFolder(path); err == nil {
			f.Close()
			t.Errorf("opened %q", path)
		}
	}
}

func TestFolderWhosePathIsTooLongForSocketsIsRefusedBeforeAnythingExists(t *testing.T) {
	above := filepath.Dir(newPath(t))
	for _, filler := range []string{"x", "é"} {
		for extra := range 4 {
			size := FolderPathMax - len(above) - 1 + extra
			name := strings.Repeat(filler, size/len(filler))
			name += strings.Repeat("y", size-len(name))
			path := filepath.Join(above, name)
			f, err := OpenFolder(path)
			if fits := extra == 0; fits != (err == nil) {
				t.Fatalf("%d bytes: %v", len(path), err)
			}
			if err == nil {
				// The longest socket name has to work by its plain path too.
				e := listen(t, reserve(t, f, NewSessionID()))
				name := e.datagrams.name
				if n := len(filepath.Join(path, name)); n != sunPathMax {
					t.Errorf("the longest socket path has %d bytes, want %d", n, sunPathMax)
				}
				f.Close()
				continue
			}
			if !errors.Is(err, ErrPathTooLong) || !strings.Contains(err.Error(), path) {
				t.Errorf("%d bytes: got %v", len(path), err)
			}
			if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%d bytes: something was created: %v", len(path), err)
			}
		}
	}
}

func TestExchangedFolderChangesNothingForWhoHoldsIt(t *testing.T) {
	path := newPath(t)
	f := openFolder(t, path)
	id := NewSessionID()
	if err := os.Rename(path, path+"-moved"); err != nil {
		t.Fatal(err)
	}
	decoy := t.TempDir()
	if err := os.Symlink(decoy, path); err != nil {
		t.Fatal(err)
	}
	e := listen(t, reserve(t, f, id))
	conn := dialAndAccept(t, f, id, e)
	conn.Close()
	lies := func() {
		if names := entries(t, path+"-moved"); len(names) != 2 { // the lock is there too
			t.Errorf("beside the log the folder holds %v", names)
		}
	}
	if err := errors.Join(e.Close(), logLife(f, id, lies)); err != nil {
		t.Error(err)
	}
	if names := entries(t, decoy); len(names) != 0 {
		t.Errorf("the decoy received %v", names)
	}
	if names := entries(t, path+"-moved"); len(names) != 1 {
		t.Errorf("the folder holds %v", names)
	}
}
