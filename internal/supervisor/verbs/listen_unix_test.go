// SPDX-License-Identifier: Apache-2.0

//go:build unix

package verbs

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestSocketIsTheOwnersAlone(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Lstat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after closing: %v", err)
	}
}

func TestADeadSocketIsReplacedAndASuccessorsIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	first, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Listen(path) // the first is taken for dead: the lock says so
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the successor is gone: %v", err)
	}
	_ = c.Close()
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

func TestNothingButASocketIsRemoved(t *testing.T) {
	for name, plant := range map[string]func(path, canary string) error{
		"file":    func(path, _ string) error { return os.WriteFile(path, []byte("x"), 0o600) },
		"link":    func(path, canary string) error { return os.Symlink(canary, path) },
		"folder":  func(path, _ string) error { return os.Mkdir(path, 0o700) },
		"channel": func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, canary := filepath.Join(dir, "s"), filepath.Join(dir, "canary")
			if err := errors.Join(os.WriteFile(canary, []byte("c"), 0o600), plant(path, canary)); err != nil {
				t.Fatal(err)
			}
			if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v", err)
			}
			if _, err := os.Lstat(path); err != nil {
				t.Error("it was removed")
			}
			if c, _ := os.ReadFile(canary); string(c) != "c" {
				t.Error("the canary is harmed")
			}
		})
	}
}

func TestLongPathsAreRefusedBeforeAnyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("x", SocketPathMax))
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), "107") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a file exists")
	}
}
