// SPDX-License-Identifier: Apache-2.0

//go:build linux

package endpoint

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/chance"
	"spawn/internal/sessiond/scrollback"
	"spawn/internal/sessiond/secret"
	"spawn/internal/sessiond/vfs"
)

const (
	// swapsMin is how often at least something has to be exchanged meanwhile.
	swapsMin = 200
	// swapWithin bounds the rounds where nothing is exchanged, or nothing goes through, for whatever reason.
	swapWithin     = 20 * time.Second
	swapWithinLong = 30 * time.Minute
)

// outside is what must not be touched: a file, and a folder with one more.
type outside struct{ file, folder, inner string }

func newOutside(t *testing.T) outside {
	t.Helper()
	dir := t.TempDir()
	o := outside{filepath.Join(dir, "file"), filepath.Join(dir, "folder"), filepath.Join(dir, "folder", "seg-00000001.log")}
	for _, err := range []error{
		os.WriteFile(o.file, []byte("canary"), 0o644), os.Mkdir(o.folder, 0o755), os.WriteFile(o.inner, []byte("canary"), 0o644),
		os.Chmod(o.file, 0o644), os.Chmod(o.folder, 0o755), os.Chmod(o.inner, 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func (o outside) requireUntouched(t *testing.T) {
	t.Helper()
	for path, want := range map[string]os.FileMode{o.file: 0o644, o.folder: os.ModeDir | 0o755, o.inner: 0o644} {
		if st, err := os.Lstat(path); err != nil || st.Mode() != want {
			t.Errorf("%s: %v, %v", path, st, err)
		}
	}
	if names := entries(t, o.folder); len(names) != 1 {
		t.Errorf("outside there is %v", names)
	}
	for _, path := range []string{o.file, o.inner} {
		if text, err := os.ReadFile(path); err != nil || string(text) != "canary" {
			t.Errorf("%s holds %q, %v", path, text, err)
		}
	}
}

// Whatever is exchanged for a link to something outside, between a look at it and its use, nothing outside is opened for
// writing, made, removed, or given another mode.
func TestSwappedBetweenCheckAndUse(t *testing.T) {
	// How often each way is gone while what it leads to is exchanged; a long run takes the hundred thousand of the list of
	// attacks.
	rounds, within := chance.Size(500, 100_000), swapWithin
	if chance.Long() {
		within = swapWithinLong
	}
	ran, swapped := 0, 0
	for name, c := range map[string]struct {
		suffix string // of the name below the folder; "" is the folder itself
		target func(o outside) string
		use    func(f *Folder, id SessionID) error
	}{
		"lock taken": {lockSuffix, func(o outside) string { return o.file }, func(f *Folder, id SessionID) error {
			r, err := f.Reserve(id)
			if err != nil {
				return err
			}
			return r.Release()
		}},
		"lock probed": {lockSuffix, func(o outside) string { return o.file }, func(f *Folder, id SessionID) error {
			if fd, err := unix.Openat(int(f.dir.Fd()), string(id)+lockSuffix, unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, FileMode); err == nil {
				unix.Close(fd)
			}
			_, err := f.Locked(id)
			return err
		}},
		"lock retired": {lockSuffix, func(o outside) string { return o.file }, func(f *Folder, id SessionID) error { return f.Sweep(id) }},
		"log swept": {scrollbackSuffix, func(o outside) string { return o.folder }, func(f *Folder, id SessionID) error {
			unix.Mkdirat(int(f.dir.Fd()), string(id)+scrollbackSuffix, 0o700)
			return f.Sweep(id)
		}},
		"log made and destroyed": {scrollbackSuffix, func(o outside) string { return o.folder }, func(f *Folder, id SessionID) error {
			return logLife(f, id, func() {})
		}},
		"log in a folder exchanged": {"", func(o outside) string { return o.folder }, func(f *Folder, id SessionID) error {
			return logLife(f, id, func() {
				if _, found, err := f.lookup(ScrollbackName(id)); !found {
					t.Errorf("the log was made elsewhere: %v", err)
				}
			})
		}},
		"replies swept": {replySuffix, func(o outside) string { return o.folder }, func(f *Folder, id SessionID) error {
			unix.Mkdirat(int(f.dir.Fd()), string(id)+replySuffix, 0o700)
			return f.Sweep(id)
		}},
		"socket bound": {streamSuffix, func(o outside) string { return o.file }, func(f *Folder, id SessionID) error {
			r, err := f.Reserve(id)
			if err != nil {
				return err
			}
			defer r.Release()
			e, err := r.Listen()
			if err != nil {
				return err
			}
			return errors.Join(e.Supervisor.Close(), e.Lifecycle.conn.Close()) // as one who is killed: the names stay
		}},
		"folder opened": {"", func(o outside) string { return o.folder }, func(f *Folder, _ SessionID) error {
			again, err := OpenFolder(f.Path())
			if err == nil {
				again.Close()
			}
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			o, path, id := newOutside(t), newPath(t), NewSessionID()
			f := openFolder(t, path)
			at, real := int(f.dir.Fd()), string(id)+c.suffix
			bait := "bait"
			if c.suffix == "" {
				at, real, bait = unix.AT_FDCWD, path, path+"-bait"
			}
			stop, swapping, swaps := make(chan struct{}), sync.WaitGroup{}, atomic.Int64{}
			swapping.Go(func() { exchange(at, real, bait, &swaps, stop) })
			n, done, deadline := 0, 0, time.Now().Add(within)
			for ; (n < rounds || swaps.Load() < swapsMin || done == 0) && time.Now().Before(deadline); n++ {
				layBait(at, real, bait, c.target(o))
				if c.use(f, id) == nil { // whatever else it says, it did nothing outside
					done++
				}
			}
			close(stop)
			swapping.Wait()
			if n < rounds || swaps.Load() < swapsMin || done == 0 {
				t.Errorf("%d rounds of %d, %d exchanges, %d went through: the test shows less than it says", n, rounds, swaps.Load(), done)
			}
			o.requireUntouched(t)
			ran, swapped = ran+n, swapped+int(swaps.Load())
		})
	}
	chance.Tell(t, "T24 swapped under a use", 0, ran, swapped)
}

// logLife makes a log as a worker does, writes to it, lets the caller look, and destroys it.
func logLife(f *Folder, id SessionID, look func()) error {
	key, err := secret.NewKey()
	if err != nil {
		return err
	}
	defer key.Destroy()
	place, err := vfs.OS{}.OpenAnchor("test.anchor", f.Held())
	if err != nil {
		return err
	}
	defer place.Close("test.close")
	log, err := scrollback.Create(place, ScrollbackName(id), key, scrollback.Options{})
	if err != nil {
		return err
	}
	err = log.Append([]byte("a line\r\n"))
	look()
	return errors.Join(err, log.Destroy())
}

// layBait sees to it that one of two names is a link, and not both.
func layBait(at int, real, bait, target string) {
	isLink := func(name string) bool {
		var b [1]byte
		_, err := unix.Readlinkat(at, name, b[:])
		return err == nil
	}
	switch first, second := isLink(real), isLink(bait); {
	case first && second:
		unix.Unlinkat(at, real, 0)
	case !first && !second:
		unix.Unlinkat(at, bait, 0)
		if unix.Symlinkat(target, at, bait) == unix.EEXIST { // the real folder is there, and its own name may have become free
			unix.Symlinkat(target, at, real)
		}
	}
}

// exchange swaps two names, again and again. One of them may be missing for a moment.
func exchange(at int, a, b string, swaps *atomic.Int64, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
			if unix.Renameat2(at, a, at, b, unix.RENAME_EXCHANGE) == nil {
				swaps.Add(1)
			}
		}
	}
}
