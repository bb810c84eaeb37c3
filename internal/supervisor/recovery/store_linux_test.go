// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"spawn/internal/sessiond/vfs"
	"spawn/internal/unmet"
)

// mountTemp mounts a tmpfs with the options.
func mountTemp(t *testing.T, options string) string {
	t.Helper()
	unmet.Root(t, "mount")
	at := t.TempDir()
	if err := syscall.Mount("tmpfs", at, "tmpfs", 0, options); err != nil {
		if errors.Is(err, syscall.EPERM) {
			unmet.Skip(t, "mounting is not allowed here")
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(at, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return at
}

// fill takes all space and returns what gives it back.
func fillUp(t *testing.T, at string) func() {
	path := filepath.Join(at, "ballast")
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	for size := 1 << 16; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	return func() { must(t, os.Remove(path)) }
}

// takeInodes makes files until none can be made.
func takeInodes(t *testing.T, at string) func() {
	folder := filepath.Join(at, "many")
	must(t, os.Mkdir(folder, 0o700))
	for i := 0; ; i++ {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprint(i)), nil, 0o600); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			return func() { must(t, os.RemoveAll(folder)) }
		}
	}
}

func remount(t *testing.T, at string) func() {
	must(t, syscall.Mount("", at, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	return func() { must(t, syscall.Mount("", at, "", syscall.MS_REMOUNT, "")) }
}

// fullCycles is how often a file system fills up and has room again (F9).
const fullCycles = 20

// F9: a file system that is really full, of bytes and of inodes, or read-only.
func TestAFullFileSystem(t *testing.T) {
	for name, test := range map[string]struct {
		options string
		exhaust func(*testing.T, string) func()
		errno   error
		noticed bool
	}{
		"bytes":     {"size=1m", fillUp, syscall.ENOSPC, false},
		"inodes":    {"nr_inodes=64", takeInodes, syscall.ENOSPC, true},
		"read-only": {"", remount, syscall.EROFS, true},
	} {
		t.Run(name, func(t *testing.T) {
			at := mountTemp(t, test.options)
			fillAndFree(t, at, test.errno, test.noticed, func(int) func() { return test.exhaust(t, at) })
		})
	}
}

// fillAndFree has no room for a store below a folder and then room again, many times over: what was there stays, the caller is told
// why, nothing is left over, and when there is room again the next one succeeds. noticed is whether a probe has to fail, too.
func fillAndFree(t *testing.T, at string, errno error, noticed bool, exhaust func(cycle int) (restore func())) {
	t.Helper()
	w := newWorld(vfs.OS{}, filepath.Join(at, "state"))
	s := w.start(t, on(2))
	w.publish(t, s, 1, "first")
	for cycle := range fullCycles {
		before := held(t, s)
		restore := exhaust(cycle)
		if err := s.Probe(); noticed && (!errors.Is(err, ErrIO) || !errors.Is(err, errno)) {
			t.Errorf("cycle %d: probe: %v", cycle, err)
		}
		_, err := s.Publish(context.Background(), body(w.now, 2, strings.Repeat("x", longText)))
		if !errors.Is(err, ErrIO) || !errors.Is(err, errno) || errors.Is(err, ErrUnknown) {
			t.Errorf("cycle %d: error %v", cycle, err)
		}
		if got := held(t, s); !maps.Equal(got, before) {
			t.Errorf("cycle %d: holds %v, and held %v", cycle, got, before)
		}
		if stats := s.Stats(); stats.LastError != CodeIO {
			t.Errorf("cycle %d: stats %+v", cycle, stats)
		}
		if left := everythingNamed(t, w); strings.Contains(left, tempBegin) {
			t.Errorf("cycle %d: left %s", cycle, left)
		}
		restore()
		must(t, s.Probe())
		w.publish(t, s, 1, "next")
	}
	if stats := s.Stats(); stats.LastError != "" || stats.Valid != 2 {
		t.Errorf("stats %+v", stats)
	}
}

// longText is what a file has to be cut in the middle of.
const longText = 20_000

// everythingNamed lists the store's folder.
func everythingNamed(t *testing.T, w *world) string {
	t.Helper()
	names, err := os.ReadDir(filepath.Join(w.base, "spawn", "recovery", w.id.Key()))
	must(t, err)
	return fmt.Sprint(names)
}

// F9: RLIMIT_FSIZE cuts a write short for real, elsewhere in each cycle. The limit is a process's, and go test writes files of its
// own in this one, so another one has it.
func TestAFileSizeLimit(t *testing.T) {
	const limited = "SPAWN_TEST_FILE_SIZE_LIMIT"
	if os.Getenv(limited) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAFileSizeLimit$")
		cmd.Env = append(os.Environ(), limited+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	var old syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	fillAndFree(t, t.TempDir(), syscall.EFBIG, false, func(cycle int) func() {
		limit := uint64(cycle * longText / fullCycles)
		must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: old.Max}))
		return func() { must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)) }
	})
}
