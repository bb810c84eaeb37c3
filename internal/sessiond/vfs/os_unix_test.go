// SPDX-License-Identifier: Apache-2.0

//go:build unix

package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"spawn/internal/unmet"
)

const canary = "the canary is alive"

func openDir(t *testing.T, path string) Dir { t.Helper(); return openPrivate(t, OS{}, path) }

func openAnchor(t *testing.T, path string) Dir {
	t.Helper()
	d, err := OS{}.OpenAnchor("test.anchor", path)
	must(t, err)
	t.Cleanup(func() { _ = d.Close("test.close") })
	return d
}

// plant puts an object of each kind at path. Links lead to target.
var plant = map[string]func(path, target string) error{
	"file":      func(path, _ string) error { return os.WriteFile(path, []byte(canary), 0o600) },
	"directory": func(path, _ string) error { return os.Mkdir(path, 0o700) },
	"symlink":   func(path, target string) error { return os.Symlink(target, path) },
	"dangling":  func(path, target string) error { return os.Symlink(target+"-absent", path) },
	"hard link": func(path, target string) error { return os.Link(target, path) },
	"fifo":      func(path, _ string) error { return unix.Mkfifo(path, 0o600) },
	"socket": func(path, _ string) error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Close(fd))
	},
}

func TestEverythingMadeIsPrivate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	path := filepath.Join(t.TempDir(), "dir")
	f, err := openDir(t, path).Create("test.create", "file")
	must(t, err, f.Close("test.close"))
	for name, want := range map[string]fs.FileMode{path: fs.ModeDir | 0o700, filepath.Join(path, "file"): 0o600} {
		st, err := os.Lstat(name)
		must(t, err)
		if st.Mode() != want {
			t.Errorf("%s has mode %v, want %v", name, st.Mode(), want)
		}
	}
}

func TestPrivateDirectoryIsClosedToOthers(t *testing.T) {
	for _, mode := range []fs.FileMode{0o777, 0o755, 0o500, 0o700} {
		path := filepath.Join(t.TempDir(), "dir")
		must(t, os.Mkdir(path, 0o700), os.Chmod(path, mode))
		openDir(t, path)
		if st, _ := os.Stat(path); st.Mode().Perm() != 0o700 {
			t.Errorf("%v became %v", mode, st.Mode())
		}
	}
}

func TestPrivateDirectoryIsNothingElse(t *testing.T) {
	for kind, put := range plant {
		if kind == "directory" {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			base := t.TempDir()
			path, target := filepath.Join(base, "dir"), filepath.Join(base, "target")
			if kind == "hard link" {
				must(t, os.WriteFile(target, nil, 0o644))
			} else {
				must(t, os.Mkdir(target, 0o755))
			}
			must(t, put(path, target))
			before, err := os.Stat(target)
			must(t, err)
			d, err := openAnchor(t, base).OpenPrivate("test.open", "dir")
			if err == nil {
				_ = d.Close("test.close")
				t.Fatal("opened")
			}
			if !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), path) || !strings.HasPrefix(err.Error(), "test.open: ") {
				t.Errorf("error names neither step nor path: %v", err)
			}
			if after, _ := os.Stat(target); after.Mode() != before.Mode() {
				t.Errorf("target changed from %v to %v", before.Mode(), after.Mode())
			}
		})
	}
}

func TestPrivateDirectoryIsNobodyElses(t *testing.T) {
	unmet.Root(t, "make a directory of another user")
	base := t.TempDir()
	path := filepath.Join(base, "dir")
	must(t, os.Mkdir(path, 0o777), os.Chmod(path, 0o777), os.Chown(path, 65534, 65534))
	if _, err := openAnchor(t, base).OpenPrivate("test.open", "dir"); !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o777 {
		t.Errorf("changed another user's directory to %v", st.Mode())
	}
}

func TestCreateOpensNothingThatIsThere(t *testing.T) {
	for kind, put := range plant {
		t.Run(kind, func(t *testing.T) {
			base := t.TempDir()
			target := filepath.Join(base, "target")
			must(t, os.WriteFile(target, []byte(canary), 0o600))
			d := openDir(t, filepath.Join(base, "dir"))
			must(t, put(filepath.Join(base, "dir", "seg"), target))
			if _, err := d.Create("test.create", "seg"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("error %v", err)
			}
			if b, _ := os.ReadFile(target); string(b) != canary {
				t.Errorf("target holds %q", b)
			}
			if _, err := os.Lstat(target + "-absent"); err == nil {
				t.Error("made a file through a dangling link")
			}
		})
	}
}

func TestOpenReadsOnlyAPlainFileOfOurs(t *testing.T) {
	for kind, put := range plant {
		t.Run(kind, func(t *testing.T) {
			base := t.TempDir()
			dir := filepath.Join(base, "dir")
			d := openDir(t, dir)
			// The target is in the same directory, where a link may lead as far as os.Root goes.
			must(t, os.WriteFile(filepath.Join(dir, "target"), []byte(canary), 0o600))
			linkTo := filepath.Join(dir, "target")
			if kind == "symlink" {
				linkTo = "target"
			}
			must(t, put(filepath.Join(dir, "seg"), linkTo))
			f, err := d.Open("test.open", "seg")
			if err == nil {
				_ = f.Close("test.close")
			}
			if opened := err == nil; opened != (kind == "file") || !opened && !errors.Is(err, ErrUnsafe) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestNamesStayInsideTheDirectory(t *testing.T) {
	base := t.TempDir()
	must(t, os.WriteFile(filepath.Join(base, "target"), []byte(canary), 0o600))
	d := openDir(t, filepath.Join(base, "dir"))
	for _, name := range []string{"../target", filepath.Join(base, "target"), "a/../../target"} {
		if _, err := d.Open("test.open", name); err == nil {
			t.Errorf("opened %s", name)
		}
		if err := d.Remove("test.remove", name); err == nil {
			t.Errorf("removed %s", name)
		}
		if _, err := d.Create("test.create", name+"2"); err == nil {
			t.Errorf("created %s2", name)
		}
	}
	if b, _ := os.ReadFile(filepath.Join(base, "target")); string(b) != canary {
		t.Errorf("target holds %q", b)
	}
}

// A folder swapped under a running worker changes nothing for it.
func TestHeldDirectorySurvivesASwap(t *testing.T) {
	base := t.TempDir()
	path, other := filepath.Join(base, "dir"), filepath.Join(base, "other")
	d := openDir(t, path)
	must(t, os.Mkdir(other, 0o700), os.Rename(path, path+"-moved"), os.Symlink(other, path))
	f, err := d.Create("test.create", "seg")
	must(t, err, f.Close("test.close"))
	if _, err := os.Lstat(filepath.Join(path+"-moved", "seg")); err != nil {
		t.Error(err)
	}
	if names, _ := os.ReadDir(other); len(names) != 0 {
		t.Errorf("wrote to the other directory: %v", names)
	}
}

func TestNamesIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dir")
	d := openDir(t, path)
	for i := range MaxNames + 1 {
		must(t, os.WriteFile(filepath.Join(path, fmt.Sprint(i)), nil, 0o600))
		if i+1 < MaxNames {
			continue
		}
		names, err := d.Names("test.list")
		if full := i+1 > MaxNames; full != (err != nil) || (!full && len(names) != MaxNames) {
			t.Errorf("%d entries: listed %d, error %v", i+1, len(names), err)
		}
	}
}

func TestAllocatedIsWhatTheSystemSays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dir")
	d := openDir(t, path)
	f, err := d.Create("test.create", "seg")
	must(t, err)
	defer f.Close("test.close")
	for range 5 {
		if n, err := f.Write("test.write", make([]byte, 5000)); n != 5000 || err != nil {
			t.Fatal(n, err)
		}
		st, err := os.Stat(filepath.Join(path, "seg"))
		must(t, err)
		got, err := f.Allocated("test.measure")
		if want := int64(st.Sys().(*syscall.Stat_t).Blocks) * 512; err != nil || got != want {
			t.Errorf("%d, %v, want %d", got, err, want)
		}
	}
	st, err := os.Stat(path)
	must(t, err)
	got, err := d.Allocated("test.measure")
	if want := int64(st.Sys().(*syscall.Stat_t).Blocks) * 512; err != nil || got != want {
		t.Errorf("directory: %d, %v, want %d", got, err, want)
	}
}

func TestRemoveDirRemovesOnlyAnEmptyDirectory(t *testing.T) {
	base := t.TempDir()
	full, file := filepath.Join(base, "full"), filepath.Join(base, "full", "file")
	must(t, os.Mkdir(full, 0o700), os.WriteFile(file, nil, 0o600))
	link := filepath.Join(base, "link")
	must(t, os.Mkdir(filepath.Join(base, "empty"), 0o700), os.Symlink("empty", link))
	d, inner := openAnchor(t, base), openAnchor(t, full)
	for path, err := range map[string]error{
		full: d.RemoveDir("test.remove", "full"), file: inner.RemoveDir("test.remove", "file"), link: d.RemoveDir("test.remove", "link"),
		filepath.Join(base, "absent"): d.RemoveDir("test.remove", "absent"),
		filepath.Join(base, "empty"):  inner.RemoveDir("test.remove", "../empty"),
	} {
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v", path, err)
		}
	}
	if _, err := os.Lstat(link); err != nil {
		t.Error(err)
	}
	must(t, os.Remove(file), d.RemoveDir("test.remove", "full"), d.RemoveDir("test.remove", "empty"))
	if err := d.RemoveDir("test.remove", "empty"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a second time: %v", err)
	}
}

// A directory below a held one is opened as it is or not at all.
func TestInnerDirectoryIsOpenedUnchanged(t *testing.T) {
	for kind, put := range plant {
		t.Run(kind, func(t *testing.T) {
			base := t.TempDir()
			target := filepath.Join(base, "target")
			if kind == "hard link" {
				must(t, os.WriteFile(target, nil, 0o600))
			} else {
				must(t, os.Mkdir(target, 0o755))
			}
			d := openAnchor(t, base)
			must(t, put(filepath.Join(base, "inner"), target))
			if kind == "directory" {
				must(t, os.Chmod(filepath.Join(base, "inner"), 0o777))
			}
			inner, err := d.OpenDir("test.open", "inner")
			if kind != "directory" {
				if err == nil || !errors.Is(err, ErrUnsafe) {
					t.Fatalf("error %v", err)
				}
				return
			}
			must(t, err)
			defer inner.Close("test.close")
			if facts, err := inner.Facts("test.facts"); err != nil || facts.Perm != 0o777 || facts.UID != os.Geteuid() {
				t.Errorf("facts %+v, %v", facts, err)
			}
		})
	}
}
