// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
)

// content reads a file of a state, or "absent".
func content(t *testing.T, files FS, name string) string {
	t.Helper()
	d, err := files.OpenAnchor("test.anchor", "")
	must(t, err)
	f, err := d.Open("test.open", name)
	if errors.Is(err, fs.ErrNotExist) {
		return "absent"
	}
	must(t, err)
	var out []byte
	for buf := make([]byte, 3); ; {
		n, err := f.Read("test.read", buf)
		out = append(out, buf[:n]...)
		if err == io.EOF {
			return string(out)
		}
		must(t, err)
	}
}

// write makes a file of the parts, syncing where a part says so.
func write(t *testing.T, d Dir, name string, parts ...string) {
	t.Helper()
	f, err := d.Create("create", name)
	must(t, err)
	for _, p := range parts {
		if p == "sync" {
			must(t, f.Sync("sync"))
			continue
		}
		_, err := f.Write("write", []byte(p))
		must(t, err)
	}
	must(t, f.Close("close"))
}

// outcomes are the distinct contents of a and b over all states after the last change.
func outcomes(t *testing.T, c *Crash) []string {
	t.Helper()
	seen := map[string]bool{}
	c.Final(func(s CrashState) bool {
		seen[content(t, s.FS, "a")+" "+content(t, s.FS, "b")] = true
		return true
	})
	return slices.Sorted(maps.Keys(seen))
}

func TestCrashLosesWhatWasNotSynced(t *testing.T) {
	for name, test := range map[string]struct {
		story func(d Dir)
		want  []string
	}{
		"nothing synced": {func(d Dir) { write(t, d, "a", "x") }, []string{"\x00 absent", " absent", "absent absent", "x absent"}},
		"content synced": {func(d Dir) { write(t, d, "a", "x", "sync") }, []string{"absent absent", "x absent"}},
		"name synced":    {func(d Dir) { write(t, d, "a", "x"); must(t, d.Sync("syncdir")) }, []string{"\x00 absent", " absent", "x absent"}},
		"both synced":    {func(d Dir) { write(t, d, "a", "x", "sync"); must(t, d.Sync("syncdir")) }, []string{"x absent"}},
		"renamed": {func(d Dir) {
			write(t, d, "a", "x", "sync")
			must(t, d.Sync("syncdir"), d.Rename("rename", "a", "b"))
		}, []string{"absent x", "x absent"}},
		"renamed, name never synced": {func(d Dir) {
			write(t, d, "a", "x", "sync")
			must(t, d.Rename("rename", "a", "b"))
		}, []string{"absent absent", "absent x", "x absent"}},
		"removed": {func(d Dir) {
			write(t, d, "a", "x", "sync")
			must(t, d.Sync("syncdir"), d.Remove("remove", "a"))
		}, []string{"absent absent", "x absent"}},
		"replaced by removal": {func(d Dir) {
			write(t, d, "a", "x", "sync")
			write(t, d, "b", "y", "sync")
			must(t, d.Sync("syncdir"), d.Remove("remove", "a"), d.Rename("rename", "b", "a"))
		}, []string{"absent y", "x y", "y absent"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewCrash()
			d, err := c.OpenAnchor("anchor", "")
			must(t, err)
			test.story(d)
			if got := outcomes(t, c); !slices.Equal(got, test.want) {
				t.Errorf("could leave %q, want %q", got, test.want)
			}
		})
	}
}

// Sectors are kept one by one, so a file may have a hole of zeroes where a later sector arrived first.
func TestCrashTearsAWrite(t *testing.T) {
	for _, sectors := range []int{2, 9} {
		c := NewCrash()
		d, err := c.OpenAnchor("anchor", "")
		must(t, err)
		write(t, d, "a", strings.Repeat("x", 512*sectors))
		must(t, d.Sync("syncdir"))
		got := outcomes(t, c)
		for _, want := range []string{
			"", strings.Repeat("x", 512), strings.Repeat("\x00", 512) + strings.Repeat("x", 512*(sectors-1)),
			strings.Repeat("\x00", 512*sectors), strings.Repeat("x", 512*sectors),
		} {
			if !slices.Contains(got, want+" absent") {
				t.Errorf("%d sectors: never leaves %d bytes that begin with %q", sectors, len(want), want[:min(4, len(want))])
			}
		}
		c.Final(func(s CrashState) bool {
			if s.Sampled != (sectors > crashSectorsExact) {
				t.Errorf("%d sectors: sampled is %t", sectors, s.Sampled)
			}
			return true
		})
	}
}

// Every number of changes is visited, and a state is a file system of its own.
func TestCrashStatesAreApart(t *testing.T) {
	c := NewCrash()
	d := openPrivate(t, c, "dir")
	write(t, d, "a", "x", "sync")
	visited := map[int]bool{}
	c.States(func(s CrashState) bool {
		visited[s.Done] = true
		inner := openPrivate(t, s.FS, "dir") // made anew where the name was lost
		_ = inner.Remove("remove", "a")
		write(t, inner, "a", "other", "sync")
		return true
	})
	if len(visited) != c.Len()+1 {
		t.Errorf("visited %d of %d", len(visited), c.Len()+1)
	}
	if f, err := d.Open("open", "a"); err != nil {
		t.Error(err)
	} else if got := make([]byte, 9); true {
		if n, _ := f.Read("read", got); !bytes.Equal(got[:n], []byte("x")) {
			t.Errorf("the original holds %q", got[:n])
		}
	}
}

// What the model says of names is what the real thing says.
func TestCrashAnswersAsTheSystemDoes(t *testing.T) {
	for name, files := range map[string]FS{"real": OS{}, "model": NewCrash(), "counted": &Faulty{FS: NewCrash()}} {
		t.Run(name, func(t *testing.T) {
			d, err := files.OpenAnchor("anchor", t.TempDir()+"/below/it")
			must(t, err)
			defer d.Close("close")
			must(t, d.MakeDir("mkdir", "inner"), d.Sync("sync"))
			write(t, d, "a", "12345", "sync")
			write(t, d, "b", "")
			_, createErr := d.Create("create", "a")
			_, openErr := d.Open("open", "inner")
			_, openDirErr := d.OpenDir("opendir", "a")
			_, privateErr := d.OpenPrivate("private", "a")
			_, lookErr := d.Look("look", "absent")
			for what, got := range map[string][2]error{
				"create over": {createErr, fs.ErrExist}, "mkdir over": {d.MakeDir("mkdir", "a"), fs.ErrExist},
				"rename over": {d.Rename("rename", "a", "b"), fs.ErrExist}, "rename of nothing": {d.Rename("rename", "c", "d"), fs.ErrNotExist},
				"remove nothing": {d.Remove("remove", "c"), fs.ErrNotExist}, "look at nothing": {lookErr, fs.ErrNotExist},
				"open a directory": {openErr, ErrUnsafe}, "open a file as a directory": {openDirErr, ErrUnsafe},
				"make a file private": {privateErr, ErrUnsafe}, "remove no directory": {d.RemoveDir("rmdir", "c"), fs.ErrNotExist},
			} {
				if !errors.Is(got[0], got[1]) {
					t.Errorf("%s: %v, want %v", what, got[0], got[1])
				}
			}
			must(t, d.Rename("rename", "a", "c"))
			f, err := d.Open("open", "c")
			must(t, err)
			facts, err := f.Facts("facts")
			must(t, err, f.Close("close"))
			looked, err := d.Look("look", "c")
			must(t, err)
			if !facts.SameObject(looked) || facts.Kind != KindRegular || facts.Size != 5 || facts.Links != 1 || facts.Perm != FileMode {
				t.Errorf("facts %+v, by name %+v", facts, looked)
			}
			inner, err := d.OpenDir("opendir", "inner")
			must(t, err)
			defer inner.Close("close")
			if facts, err := inner.Facts("facts"); err != nil || facts.Kind != KindDir || facts.Perm != DirMode {
				t.Errorf("directory: %+v, %v", facts, err)
			}
			if names, err := d.Names("names"); err != nil || len(names) != 3 {
				t.Errorf("names %v, %v", names, err)
			}
			private, err := d.OpenPrivate("private", "inner") // as it is
			must(t, err)
			write(t, private, "x", "")
			if d.RemoveDir("rmdir", "inner") == nil || d.RemoveDir("rmdir", "b") == nil {
				t.Error("a file, or a directory with one in it, was removed")
			}
			must(t, private.Remove("remove", "x"), private.Close("close"), d.RemoveDir("rmdir", "inner"))
			if names, err := d.Names("names"); err != nil || len(names) != 2 {
				t.Errorf("names %v, %v", names, err)
			}
		})
	}
}
