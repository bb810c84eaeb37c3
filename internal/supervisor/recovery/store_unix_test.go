// SPDX-License-Identifier: Apache-2.0

//go:build unix

package recovery

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/vfs"
	"spawn/internal/unmet"
)

const (
	nobody = 65534
	strayA = "c0000000a-89ab-4cde-8fab-0123456789ab"
)

// onDisk is a store on the real file system with one checkpoint, and its folder.
func onDisk(t *testing.T) (w *world, s *Store, folder string, good Published) {
	t.Helper()
	w = newWorld(vfs.OS{}, filepath.Join(t.TempDir(), "state"))
	s = w.start(t, on(9))
	good = w.publish(t, s, 2, "text")
	return w, s, filepath.Join(w.base, "spawn", "recovery", w.id.Key()), good
}

func TestEverythingIsMadePrivate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	w, _, folder, good := onDisk(t)
	for path, mode := range map[string]os.FileMode{
		w.base: 0o700, filepath.Dir(filepath.Dir(folder)): 0o700, filepath.Dir(folder): 0o700, folder: 0o700, filepath.Join(folder, good.ID+finalEnd): 0o600,
	} {
		if st, err := os.Lstat(path); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, st.Mode(), err)
		}
	}
}

// plants are what may lie at a checkpoint's name. good is a whole checkpoint, and target another copy of it elsewhere.
var plants = map[string]struct {
	put    func(path, target string) error
	status Status
}{
	"symlink":         {func(path, target string) error { return os.Symlink(target, path) }, StatusUnsafe},
	"dangling link":   {func(path, target string) error { return os.Symlink(target+"-absent", path) }, StatusUnsafe},
	"hard link":       {func(path, target string) error { return os.Link(target, path) }, StatusUnsafe},
	"FIFO":            {func(path, _ string) error { return unix.Mkfifo(path, 0o600) }, StatusUnsafe},
	"directory":       {func(path, _ string) error { return os.Mkdir(path, 0o700) }, StatusUnsafe},
	"socket":          {bindSocket, StatusUnsafe},
	"for all to read": {copyWithMode(0o604), StatusUnsafe},
	"for a group":     {copyWithMode(0o640), StatusUnsafe},
	"empty":           {func(path, _ string) error { return os.WriteFile(path, nil, 0o600) }, StatusCorrupt},
	"huge": {func(path, _ string) error {
		return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40))
	}, StatusIncompatible},
	"later format": {func(path, _ string) error { return os.WriteFile(path, []byte(`{"format":4}`), 0o600) }, StatusIncompatible},
}

func bindSocket(path, _ string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	// The path would be too long for a socket's address, so it is bound elsewhere and moved.
	short := fmt.Sprintf("/tmp/recovery-test-%d", os.Getpid())
	return errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: short}), unix.Close(fd), os.Rename(short, path))
}

func copyWithMode(mode os.FileMode) func(path, target string) error {
	return func(path, target string) error {
		b, err := os.ReadFile(target)
		return errors.Join(err, os.WriteFile(path, b, 0o600), os.Chmod(path, mode))
	}
}

// T72: each is listed for what it is, opened no further, changed in nothing, and is in nobody's way.
func TestWhatMayLieAtACheckpointsName(t *testing.T) {
	for name, plant := range plants {
		t.Run(name, func(t *testing.T) {
			w, s, folder, good := onDisk(t)
			target := filepath.Join(t.TempDir(), "target")
			whole, err := os.ReadFile(filepath.Join(folder, good.ID+finalEnd))
			must(t, err, os.WriteFile(target, bytes.ReplaceAll(whole, []byte(good.ID), []byte(strayA)), 0o600))
			path := filepath.Join(folder, strayA+finalEnd)
			must(t, plant.put(path, target))
			before, err := os.Lstat(path)
			must(t, err)
			if got, want := shown(t, s), "1:valid 0:"+string(plant.status); got != want {
				t.Errorf("listed %s, want %s", got, want)
			}
			_, err = s.Read(strayA)
			forgotten := s.Forget(strayA)
			if plant.status == StatusUnsafe {
				if !errors.Is(err, ErrIO) || !errors.Is(forgotten, ErrIO) || strings.Contains(err.Error()+forgotten.Error(), "/") {
					t.Errorf("read: %v, forget: %v", err, forgotten)
				}
				after, err := os.Lstat(path)
				if err != nil || after.Mode() != before.Mode() || !os.SameFile(before, after) {
					t.Errorf("it became %v (%v)", after, err)
				}
				if stats := s.Stats(); stats.Unsafe != 1 || stats.Invalid != 1 {
					t.Errorf("stats %+v", stats)
				}
			} else if err == nil || errors.Is(err, ErrIO) || forgotten != nil {
				t.Errorf("read: %v, forget: %v", err, forgotten)
			}
			if left, err := os.ReadFile(target); err != nil || !bytes.Contains(left, []byte(strayA)) {
				t.Errorf("the target was changed (%v)", err)
			}
			if next := w.publish(t, s, 1, ""); next.Generation != 2 {
				t.Errorf("published %+v", next)
			}
		})
	}
}

// The same kinds at a temporary file's name: only a regular file of ours alone is removed.
func TestWhatMayLieAtATemporaryName(t *testing.T) {
	for name, plant := range plants {
		t.Run(name, func(t *testing.T) {
			w, _, folder, _ := onDisk(t)
			target := filepath.Join(t.TempDir(), "target")
			must(t, os.WriteFile(target, []byte("canary"), 0o600))
			path := filepath.Join(folder, tempBegin+strayA[1:])
			must(t, plant.put(path, target))
			again := w.start(t, on(9))
			_, err := os.Lstat(path)
			if gone := errors.Is(err, os.ErrNotExist); gone != (plant.status != StatusUnsafe) {
				t.Errorf("gone: %v", gone)
			}
			if got := shown(t, again); got != "1:valid" {
				t.Errorf("listed %s", got)
			}
			if left, err := os.ReadFile(target); err != nil || string(left) != "canary" {
				t.Errorf("the target holds %q (%v)", left, err)
			}
		})
	}
}

// Text cannot be said to be gone while a file that may hold it is left.
func TestTextOffFailsWhereItCannotKnow(t *testing.T) {
	for name, fails := range map[string]bool{"hard link": true, "for a group": true, "symlink": false, "FIFO": false, "directory": false, "empty": false, "huge": false} {
		for _, file := range []string{strayA + finalEnd, tempBegin + strayA[1:]} {
			_, s, folder, _ := onDisk(t)
			target := filepath.Join(t.TempDir(), "target")
			must(t, os.WriteFile(target, []byte("text"), 0o600), plants[name].put(filepath.Join(folder, file), target))
			p := on(9)
			p.Text = TextModeOff
			if err := s.SetPolicy(p); (err != nil) != fails {
				t.Errorf("%s at %s: %v", name, file, err)
			}
			if policy := s.mu.policy; (policy.Text == TextModePlain) != fails {
				t.Errorf("%s at %s: policy is %s", name, file, policy.Text)
			}
		}
	}
}

func TestAnUnsafeFolderIsRefusedAndLeftAlone(t *testing.T) {
	folders := []string{"spawn", "spawn/recovery", "spawn/recovery/" + newWorld(nil, "").id.Key()}
	for i, name := range folders {
		for kind, put := range map[string]func(path, target string) error{
			"symlink":     func(path, target string) error { return os.Symlink(target, path) },
			"file":        func(path, _ string) error { return os.WriteFile(path, nil, 0o600) },
			"FIFO":        func(path, _ string) error { return unix.Mkfifo(path, 0o600) },
			"group write": func(path, _ string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o770)) },
			"world read":  func(path, _ string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o705)) },
			"of another":  func(path, _ string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chown(path, nobody, nobody)) },
		} {
			if kind == "of another" && os.Geteuid() != 0 {
				continue // only root can make a folder of another user
			}
			base, target := t.TempDir(), t.TempDir()
			path := filepath.Join(base, name)
			must(t, os.MkdirAll(filepath.Dir(path), 0o700), put(path, target))
			before, err := os.Lstat(path)
			must(t, err)
			s, err := newWorld(vfs.OS{}, base).open()
			if open := err == nil; open {
				_ = s.Close()
				if kind != "world read" || i != 0 { // spawn itself may be looked into: others keep things there too
					t.Errorf("%s as a %s was opened", name, kind)
				}
				continue
			}
			if !errors.Is(err, ErrIO) || strings.Contains(err.Error(), "/") {
				t.Errorf("%s as a %s: %v", name, kind, err)
			}
			if after, err := os.Lstat(path); err != nil || after.Mode() != before.Mode() {
				t.Errorf("%s as a %s became %v", name, kind, after.Mode())
			}
			if left, _ := os.ReadDir(target); len(left) != 0 {
				t.Errorf("%s as a %s: made %v behind the link", name, kind, left)
			}
		}
	}
}

// A folder that is swapped under a running daemon redirects nothing.
func TestASwappedFolderRedirectsNothing(t *testing.T) {
	w, s, folder, _ := onDisk(t)
	elsewhere := t.TempDir()
	must(t, os.Rename(folder, folder+"-moved"), os.Symlink(elsewhere, folder))
	w.publish(t, s, 1, "")
	if left, _ := os.ReadDir(elsewhere); len(left) != 0 {
		t.Errorf("wrote %v elsewhere", left)
	}
	if left, _ := os.ReadDir(folder + "-moved"); len(left) != 2 {
		t.Errorf("the folder holds %v", left)
	}
}

// A file that is exchanged between its examination and its removal is not removed.
func TestAReplacedFileIsNotRemoved(t *testing.T) {
	_, s, folder, good := onDisk(t)
	entries, err := s.List()
	must(t, err)
	path := filepath.Join(folder, good.ID+finalEnd)
	must(t, os.Rename(path, path+"-moved"), os.WriteFile(path, []byte("canary"), 0o600))
	if err := s.removeAll(entries); !errors.Is(err, ErrIO) || !errors.Is(err, vfs.ErrUnsafe) {
		t.Errorf("error %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "canary" {
		t.Errorf("holds %q (%v)", b, err)
	}
}

// Each single bit of the file on disk, changed in place: never valid. But the format's digit is not covered: this payload is
// spelt the same in format 2, has what format 1 has not, and says of a seventh format that it is one.
func TestEachByteOnDisk(t *testing.T) {
	_, s, folder, good := onDisk(t)
	path := filepath.Join(folder, good.ID+finalEnd)
	whole, err := os.ReadFile(path)
	must(t, err)
	digits := map[byte]error{'1': ErrCorrupt, '2': nil, '7': ErrFormat}
	for i := range whole {
		changed := bytes.Clone(whole)
		for bit := range 8 {
			changed[i] = whole[i] ^ 1<<bit
			want, digit := digits[changed[i]]
			if !digit || i != len(`{"format":`) {
				want = ErrCorrupt
			}
			must(t, os.WriteFile(path, changed, 0o600))
			if _, err := s.Read(good.ID); !errors.Is(err, want) {
				t.Errorf("byte %d as %q: %v", i, changed[i], err)
			}
		}
		must(t, os.WriteFile(path, whole[:i], 0o600))
		if _, err := s.Read(good.ID); !errors.Is(err, ErrCorrupt) {
			t.Errorf("first %d bytes: %v", i, err)
		}
	}
	must(t, os.WriteFile(path, whole, 0o600))
	if _, err := s.Read(good.ID); err != nil {
		t.Error(err)
	}
}

// A listing remembers what it decoded, and not for a file that has changed since.
func TestAListingSeesAChange(t *testing.T) {
	_, s, folder, good := onDisk(t)
	path := filepath.Join(folder, good.ID+finalEnd)
	if got := shown(t, s); got != "1:valid" {
		t.Fatal(got)
	}
	whole, err := os.ReadFile(path)
	must(t, err, os.WriteFile(path, append(whole, '\n'), 0o600))
	if got := shown(t, s); got != "0:corrupt" {
		t.Errorf("listed %s", got)
	}
	must(t, os.WriteFile(path, whole, 0o600))
	if got := shown(t, s); got != "1:valid" {
		t.Errorf("listed %s", got)
	}
	must(t, os.Chmod(path, 0o604))
	if got := shown(t, s); got != "0:unsafe" {
		t.Errorf("listed %s", got)
	}
}

// openAs names a folder of state. Where it is set, the test binary only tries to open the store there.
const openAs = "RECOVERY_TEST_OPEN"

func TestMain(m *testing.M) {
	base := os.Getenv(openAs)
	if base == "" {
		os.Exit(m.Run())
	}
	_, err := newWorld(vfs.OS{}, base).open()
	fmt.Println(CodeOf(err), errors.Is(err, vfs.ErrUnsafe))
	os.Exit(0)
}

// A file of another user is unsafe, and a store of another user does not open, even where the modes let us in.
func TestOtherUsers(t *testing.T) {
	unmet.Root(t, "act as two users")
	_, s, folder, good := onDisk(t)
	whole, err := os.ReadFile(filepath.Join(folder, good.ID+finalEnd))
	path := filepath.Join(folder, strayA+finalEnd)
	must(t, err, os.WriteFile(path, bytes.ReplaceAll(whole, []byte(good.ID), []byte(strayA)), 0o600), os.Chown(path, nobody, nobody))
	if got := shown(t, s); got != "1:valid 0:unsafe" {
		t.Errorf("listed %s", got)
	}
	if err := s.Forget(strayA); !errors.Is(err, ErrIO) {
		t.Errorf("forgot it: %v", err)
	}

	base := filepath.Join("/tmp", fmt.Sprintf("recovery-test-%d", os.Getpid()))
	must(t, os.MkdirAll(filepath.Join(base, "spawn", "recovery"), 0o777), os.Chmod(base, 0o777), os.Chmod(filepath.Join(base, "spawn"), 0o755))
	defer os.RemoveAll(base)
	self := filepath.Join(base, "self") // a copy that the other user can run
	binary, err := os.ReadFile(os.Args[0])
	must(t, err, os.WriteFile(self, binary, 0o755))
	cmd := exec.Command(self)
	cmd.Dir, cmd.Env = "/", append(os.Environ(), openAs+"="+base)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != string(CodeIO)+" true\n" {
		t.Errorf("as another user: %v\n%s", err, out)
	}
}
