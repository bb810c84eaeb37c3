// SPDX-License-Identifier: Apache-2.0

//go:build unix

package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"spawn/internal/supervisor/config"
	"spawn/internal/unmet"
)

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	st, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Mode()
}

func TestCreateMakesPrivateFoldersUnderAnyUmask(t *testing.T) {
	old := unix.Umask(0)
	defer unix.Umask(old)
	root := t.TempDir()
	f, err := config.Resolve(func(string) string { return "" }, root)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.Create(); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{f.Config, f.State, f.Runtime, filepath.Dir(f.State)} {
		if got := mode(t, path); got != os.ModeDir|0o700 {
			t.Errorf("%s has mode %v", path, got)
		}
	}
}

func TestCreateNarrowsAFolderOfOurs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spawn")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := config.CreatePrivate(path); err != nil {
		t.Fatal(err)
	}
	if got := mode(t, path); got != os.ModeDir|0o700 {
		t.Fatalf("mode %v", got)
	}
}

// What somebody planted where our folder should be is refused by name and left as it was.
func TestCreateRefusesWhatItMayNotTrust(t *testing.T) {
	plant := map[string]func(t *testing.T, path string){
		"file": func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("canary"), 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"link": func(t *testing.T, path string) {
			target := filepath.Join(filepath.Dir(path), "target")
			if err := os.Mkdir(target, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
		},
		"dangling link": func(t *testing.T, path string) {
			if err := os.Symlink(filepath.Join(filepath.Dir(path), "nowhere"), path); err != nil {
				t.Fatal(err)
			}
		},
		"fifo": func(t *testing.T, path string) {
			if err := unix.Mkfifo(path, 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"other owner": func(t *testing.T, path string) {
			unmet.Root(t, "give a folder away")
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(path, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		},
		"other's parent": func(t *testing.T, path string) {
			unmet.Root(t, "give a folder away")
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(filepath.Dir(path), 65534, 65534); err != nil {
				t.Fatal(err)
			}
		},
		"parent open to all": func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
		},
		"parent open to a group": func(t *testing.T, path string) {
			unmet.Root(t, "give a folder to a group that it is not in")
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(filepath.Dir(path), -1, 65534); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Dir(path), 0o770); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, do := range plant {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "spawn")
			do(t, path)
			before := mode(t, path)
			err := config.CreatePrivate(path)
			if !errors.Is(err, config.ErrUnsafe) || !strings.Contains(err.Error(), filepath.Dir(path)) {
				t.Fatalf("error %v", err)
			}
			if after := mode(t, path); after != before {
				t.Fatalf("mode went from %v to %v", before, after)
			}
		})
	}
}

func TestCreateAcceptsAStickyParent(t *testing.T) {
	parent := t.TempDir()
	if err := os.Chmod(parent, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if err := config.CreatePrivate(filepath.Join(parent, "spawn")); err != nil {
		t.Fatal(err)
	}
}
