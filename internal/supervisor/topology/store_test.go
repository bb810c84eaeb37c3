// SPDX-License-Identifier: Apache-2.0

//go:build unix

package topology

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func storeOf(t *testing.T) *Store {
	t.Helper()
	return NewStore(filepath.Join(t.TempDir(), "topology.json"))
}

func names(t *testing.T, s *Store) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(s.path))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestSaveThenLoad(t *testing.T) {
	s := storeOf(t)
	if got, err := s.Load(); err != nil || !got.Tree.Equal(Tree{}) || got.Kept != "" {
		t.Fatalf("no file: %+v, %v", got, err)
	}
	tree := onePane(t, worker(1))
	old := syscall.Umask(0)
	err := s.Save(tree)
	syscall.Umask(old)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(s.path); err != nil || st.Mode() != 0o600 {
		t.Fatalf("mode %v, %v", st.Mode(), err)
	}
	if got, err := s.Load(); err != nil || !got.Tree.Equal(tree) || got.Why != nil {
		t.Fatalf("Load = %+v, %v", got, err)
	}
	if n := names(t, s); len(n) != 1 {
		t.Fatalf("files %v", n)
	}
}

// faultyDisk fails its n-th call, before or after the call is done, and may write half of a file.
type faultyDisk struct {
	storeDisk
	fail  int
	after bool
	calls int
}

var errFault = errors.New("injected fault")

func (d *faultyDisk) step(f func() error) error {
	d.calls++
	if d.calls != d.fail {
		return f()
	}
	if d.after {
		if err := f(); err != nil {
			return err
		}
	}
	return errFault
}

func (d *faultyDisk) Write(path string, src []byte) error {
	return d.step(func() error {
		if d.calls == d.fail {
			src = src[:len(src)/2]
		}
		return d.storeDisk.Write(path, src)
	})
}

func (d *faultyDisk) Rename(from, to string) error {
	return d.step(func() error { return d.storeDisk.Rename(from, to) })
}

func (d *faultyDisk) SyncDir(path string) error {
	return d.step(func() error { return d.storeDisk.SyncDir(path) })
}

// Whatever call fails, the file holds the old tree or the new one, the caller learns of it, no other file
// stays after the next Load, and saving again works.
func TestAFailedSaveLeavesOneWholeTree(t *testing.T) {
	older := onePane(t, worker(1))
	newer := onePane(t, worker(2))
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			s := storeOf(t)
			if err := s.Save(older); err != nil {
				t.Fatal(err)
			}
			disk := &faultyDisk{fail: n, after: after}
			s.disk = disk
			err := s.Save(newer)
			if disk.calls < n { // no fault was met: every call has been tried
				if err != nil || n < 4 {
					t.Fatalf("run %d without a fault: %v", n, err)
				}
				break
			}
			if !errors.Is(err, errFault) {
				t.Fatalf("fault %d: error %v", n, err)
			}
			if uncertain := n == 3; errors.Is(err, ErrUncertain) != uncertain {
				t.Fatalf("fault %d: error %v", n, err)
			}
			s.disk = storeDisk{}
			got, err := s.Load()
			if err != nil || got.Kept != "" || !got.Tree.Equal(older) && !got.Tree.Equal(newer) {
				t.Fatalf("fault %d: Load = %+v, %v", n, got, err)
			}
			if files := names(t, s); len(files) != 1 {
				t.Fatalf("fault %d: files %v", n, files)
			}
			if err := s.Save(newer); err != nil {
				t.Fatalf("fault %d: save again: %v", n, err)
			}
		}
	}
}

func TestLoadRemovesWhatACrashLeft(t *testing.T) {
	s := storeOf(t)
	tree := onePane(t, worker(1))
	if err := s.Save(tree); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".topology.json.new-A", ".topology.json.new-B", "neighbour"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(s.path), name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Load(); err != nil || !got.Tree.Equal(tree) {
		t.Fatalf("Load = %+v, %v", got, err)
	}
	if got := names(t, s); strings.Join(got, " ") != "neighbour topology.json" {
		t.Fatalf("files %v", got)
	}
}

func TestAnUnreadableFileIsKeptAside(t *testing.T) {
	s := storeOf(t)
	for n, text := range []string{"", "{", "\x00\x00", strings.Replace(string(golden(t, "v3.json")), `"version":3`, `"version":9`, 1)} {
		if err := os.WriteFile(s.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := s.Load()
		if err != nil || got.Why == nil || !got.Tree.Equal(Tree{}) {
			t.Fatalf("file %d: Load = %+v, %v", n, got, err)
		}
		kept, err := os.ReadFile(got.Kept)
		if err != nil || string(kept) != text || !strings.HasPrefix(filepath.Base(got.Kept), ".") {
			t.Fatalf("file %d: kept %q as %s, %v", n, kept, got.Kept, err)
		}
		if _, err := os.Lstat(s.path); !os.IsNotExist(err) {
			t.Fatalf("file %d is still there", n)
		}
	}
	for range keptMax - 4 {
		os.WriteFile(s.path, []byte("bad"), 0o600)
		if _, err := s.Load(); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(s.path, []byte("bad"), 0o600)
	if _, err := s.Load(); err == nil {
		t.Fatal("more files were put aside than the bound says")
	}
	if src, _ := os.ReadFile(s.path); string(src) != "bad" {
		t.Fatal("a file that could not be put aside was lost")
	}
}

func TestLoadRefusesAnUnsafeFile(t *testing.T) {
	valid := golden(t, "v3.json")
	plant := map[string]func(path string) error{
		"open to others": func(path string) error {
			return errors.Join(os.WriteFile(path, valid, 0o600), os.Chmod(path, 0o644))
		},
		"link": func(path string) error {
			return errors.Join(os.WriteFile(path+".target", valid, 0o600), os.Symlink(path+".target", path))
		},
		"hard link": func(path string) error {
			return errors.Join(os.WriteFile(path+".target", valid, 0o600), os.Link(path+".target", path))
		},
		"fifo":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
	}
	if os.Geteuid() == 0 {
		plant["other owner"] = func(path string) error {
			return errors.Join(os.WriteFile(path, valid, 0o600), os.Chown(path, 65534, 65534))
		}
	}
	for name, do := range plant {
		t.Run(name, func(t *testing.T) {
			s := storeOf(t)
			if err := do(s.path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.Lstat(s.path)
			if got, err := s.Load(); !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), s.path) {
				t.Fatalf("Load = %+v, %v", got, err)
			}
			if after, err := os.Lstat(s.path); err != nil || after.Mode() != before.Mode() {
				t.Fatalf("it was touched: %v, %v", after, err)
			}
		})
	}
}

// Save puts a file of ours in the place of a planted link and leaves its target alone.
func TestSaveDoesNotWriteThroughALink(t *testing.T) {
	s := storeOf(t)
	target := s.path + ".target"
	if err := errors.Join(os.WriteFile(target, []byte("canary"), 0o600), os.Symlink(target, s.path)); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(Tree{}); err != nil {
		t.Fatal(err)
	}
	if src, _ := os.ReadFile(target); string(src) != "canary" {
		t.Fatalf("the target holds %q", src)
	}
}

// A file of a version before is read, and the next Save brings it up.
func TestLoadReadsTheVersionsBefore(t *testing.T) {
	for name, panes := range map[string]int{"v1.json": 3, "v2.json": 6} {
		s := storeOf(t)
		if err := os.WriteFile(s.path, golden(t, name), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := s.Load()
		if err != nil || got.Kept != "" || len(got.Tree.Panes) != panes {
			t.Fatalf("Load = %+v, %v", got, err)
		}
		if err := s.Save(got.Tree); err != nil {
			t.Fatal(err)
		}
		if again, err := s.Load(); err != nil || !again.Tree.Equal(got.Tree) {
			t.Fatalf("Load = %+v, %v", again, err)
		}
	}
}
