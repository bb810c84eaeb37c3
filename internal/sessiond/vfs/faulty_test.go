// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

var errInjected = errors.New("injected")

// must is for steps that set a test up.
func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// openPrivate opens a directory below the one above it.
func openPrivate(t *testing.T, files FS, path string) Dir {
	t.Helper()
	anchor, err := files.OpenAnchor("test.anchor", filepath.Dir(path))
	must(t, err)
	d, err := anchor.OpenPrivate("test.open", filepath.Base(path))
	must(t, err, anchor.Close("test.close"))
	t.Cleanup(func() { _ = d.Close("test.close") })
	return d
}

// story makes every call once and returns what each said, and what the file holds at the end.
func story(files FS, path string) (said map[Op]error, content string) {
	said = map[Op]error{}
	anchor, err := files.OpenAnchor("anchor", filepath.Dir(path))
	if said["anchor"] = err; err != nil {
		return said, ""
	}
	d, err := anchor.OpenPrivate("opendir", filepath.Base(path))
	if said["opendir"] = err; err != nil {
		return said, ""
	}
	_, said["names"] = d.Names("names")
	_, said["measuredir"] = d.Allocated("measuredir")
	if f, err := d.Create("create", "a"); err == nil {
		_, said["write"] = f.Write("write", []byte("0123456789"))
		_, said["measure"] = f.Allocated("measure")
		_, said["facts"] = f.Facts("facts")
		said["sync"] = f.Sync("sync")
		said["close"] = f.Close("close")
	} else {
		said["create"] = err
	}
	b, _ := os.ReadFile(filepath.Join(path, "a"))
	if f, err := d.Open("open", "a"); err == nil {
		_, said["read"] = f.Read("read", make([]byte, 4))
		_ = f.Close("ignored")
	} else {
		said["open"] = err
	}
	_, said["look"] = d.Look("look", "a")
	_, said["factsdir"] = d.Facts("factsdir")
	said["rename"] = d.Rename("rename", "a", "b")
	said["syncdir"] = d.Sync("syncdir")
	said["mkdir"] = d.MakeDir("mkdir", "inner")
	if inner, err := d.OpenDir("openinner", "inner"); err == nil {
		_ = inner.Close("ignored")
	} else {
		said["openinner"] = err
	}
	_ = d.Remove("ignored", "inner")
	_ = d.Remove("ignored", "a")
	said["remove"] = d.Remove("remove", "b")
	said["closedir"] = d.Close("closedir")
	said["removedir"] = anchor.RemoveDir("removedir", filepath.Base(path))
	_ = anchor.Close("ignored")
	return said, string(b)
}

func TestFaultyPassesThrough(t *testing.T) {
	f := &Faulty{FS: OS{}}
	said, content := story(f, filepath.Join(t.TempDir(), "dir"))
	for op, err := range said {
		if err != nil {
			t.Errorf("%s: %v", op, err)
		}
	}
	if content != "0123456789" || f.Struck() || f.Calls() != 26 {
		t.Errorf("file %q, struck %v, %d calls", content, f.Struck(), f.Calls())
	}
}

func TestFaultyStrikesEachCallOnce(t *testing.T) {
	for _, mode := range []Mode{FailCall, FailDone} {
		hit := map[Op]bool{}
		for at := 1; ; at++ {
			f := &Faulty{FS: OS{}, Fault: Fault{At: at, Mode: mode, Err: errInjected}}
			said, _ := story(f, filepath.Join(t.TempDir(), "dir"))
			if !f.Struck() {
				break
			}
			for op, err := range said {
				if errors.Is(err, errInjected) != (f.Hits()[op] > 0) {
					t.Errorf("mode %d, call %d: %s said %v, and was struck %d times", mode, at, op, err, f.Hits()[op])
				}
				if errors.Is(err, errInjected) {
					hit[op] = true
				}
			}
		}
		if len(hit) != 21 { // what is called "ignored" is not looked at
			t.Errorf("mode %d struck only %v", mode, hit)
		}
	}
}

func TestFaultyPersists(t *testing.T) {
	f := &Faulty{FS: OS{}, Fault: Fault{At: 3, Mode: FailCall, Err: errInjected, On: true}}
	said, _ := story(f, filepath.Join(t.TempDir(), "dir"))
	for op, err := range said {
		if (err != nil) != (op != "anchor" && op != "opendir") {
			t.Errorf("%s: %v", op, err)
		}
	}
}

// "Done, but error" leaves the effect behind, a plain failure does not.
func TestFaultyDoneMeansDone(t *testing.T) {
	for mode, done := range map[Mode]bool{FailCall: false, FailDone: true} {
		path := filepath.Join(t.TempDir(), "dir")
		f := &Faulty{FS: OS{}, Fault: Fault{At: 2, Mode: mode, Err: errInjected}}
		anchor, err := f.OpenAnchor("anchor", filepath.Dir(path))
		must(t, err)
		defer anchor.Close("close")
		if _, err := anchor.OpenPrivate("opendir", "dir"); !errors.Is(err, errInjected) {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); (err == nil) != done || (err != nil && !errors.Is(err, fs.ErrNotExist)) {
			t.Errorf("mode %d: %v", mode, err)
		}
	}
}

func TestFaultyWrites(t *testing.T) {
	for _, c := range []struct {
		fault   Fault
		n       int
		err     error
		content string
	}{
		{Fault{Mode: ShortWrite, Keep: 3, Err: io.ErrShortWrite}, 3, io.ErrShortWrite, "012"},
		{Fault{Mode: ShortWrite, Keep: -1}, 9, nil, "012345678"},
		{Fault{Mode: ShortWrite, Keep: 99}, 10, nil, "0123456789"},
		{Fault{Mode: LyingWrite, Keep: 0}, 10, nil, ""},
		{Fault{Mode: LyingWrite, Keep: -99}, 10, nil, ""},
		{Fault{Mode: LyingWrite, Keep: 4}, 10, nil, "0123"},
		{Fault{Mode: FailCall, Err: errInjected}, 0, errInjected, ""},
		{Fault{Mode: FailDone, Err: errInjected}, 10, errInjected, "0123456789"},
	} {
		t.Run(fmt.Sprintf("%+v", c.fault), func(t *testing.T) {
			tapped := ""
			f := &Faulty{FS: OS{}, Tap: func(_ Op, _ string, p []byte) { tapped += string(p) }}
			path := filepath.Join(t.TempDir(), "dir")
			d := openPrivate(t, f, path)
			file, err := d.Create("create", "a")
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close("close")
			f.Fault = c.fault
			f.Fault.At = f.Calls() + 1
			n, err := file.Write("write", []byte("0123456789"))
			if n != c.n || !errors.Is(err, c.err) || (c.err == nil && err != nil) {
				t.Errorf("wrote %d, %v", n, err)
			}
			b, _ := os.ReadFile(filepath.Join(path, "a"))
			if string(b) != c.content || tapped != c.content {
				t.Errorf("file %q, tapped %q, want %q", b, tapped, c.content)
			}
		})
	}
}
