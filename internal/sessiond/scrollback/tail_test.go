// SPDX-License-Identifier: Apache-2.0

package scrollback

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"spawn/internal/sessiond/vfs"
)

// readBack reads a whole tail. between runs after each piece.
func readBack(t testing.TB, tail *Tail, between func()) (stretches []string, err error) {
	t.Helper()
	defer tail.Close()
	for tail.Older() {
		stretch := ""
		for {
			piece, err := tail.Read(nil)
			if err != nil {
				return stretches, err
			}
			if len(piece) == 0 {
				break
			}
			stretch += string(piece)
			between()
		}
		stretches = append([]string{stretch}, stretches...)
	}
	if tail.More() {
		t.Error("there is more than all")
	}
	return stretches, nil
}

func openTail(t testing.TB, l *Log) *Tail {
	t.Helper()
	tail, err := l.Tail()
	must(t, err)
	return tail
}

// The stretches are what a replay is at the moment of the first look, whatever is appended while they are read, and each begins
// with a line.
func TestTailIsTheReplayOfItsMoment(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		l := newLog(t, vfs.OS{}, Options{SegmentBytes: 4000})
		line := func() []byte {
			text := strings.Repeat("x", 1+r.IntN(300))
			if r.IntN(4) > 0 { // else the line goes on
				text += "\r\n"
			}
			return []byte(text)
		}
		for range 20 + r.IntN(100) {
			must(t, l.Append(line()))
		}
		want := replay(t, l)
		stretches, err := readBack(t, openTail(t, l), func() { must(t, l.Append(line())) })
		must(t, err)
		if got := strings.Join(stretches, ""); got != want {
			t.Fatalf("seed %d: read %d bytes back, a replay has %d", seed, len(got), len(want))
		}
		for i, s := range stretches[:max(0, len(stretches)-1)] {
			if !strings.HasSuffix(s, "\r\n") {
				t.Fatalf("seed %d: the stretch behind %d begins within a line", seed, i)
			}
		}
		if len(l.segments) > 3 && len(stretches) < 2 {
			t.Errorf("seed %d: %d segments came in one stretch", seed, len(l.segments))
		}
	}
}

// A piece takes a bounded part of the files, whether records are large or tiny.
func TestTailReadsABoundedPieceAtOnce(t *testing.T) {
	for name, batch := range map[string][]byte{
		"longest records": []byte(strings.Repeat("text\r\n", MaxRecordBytes/6)),
		"tiny records":    []byte("\n"),
		"an endless line": []byte(strings.Repeat("x", MaxRecordBytes)),
	} {
		t.Run(name, func(t *testing.T) {
			c := &countedReads{}
			l := newLog(t, c, Options{})
			for range 40 {
				must(t, l.Append(batch))
			}
			for len(batch) == 1 && l.Stats().Stored < 4*PieceBytes {
				must(t, l.Append(batch))
			}
			want, pieces := l.Stats().Text, 0
			tail := openTail(t, l)
			defer tail.Close()
			for tail.Older() {
				for {
					c.bytes = 0
					piece, err := tail.Read(nil)
					must(t, err)
					if len(piece) > PieceBytes || c.bytes > 2*PieceBytes { // what is read ahead is the next piece's
						t.Fatalf("a piece of %d bytes took %d bytes of the files", len(piece), c.bytes)
					}
					if len(piece) == 0 {
						break
					}
					pieces++
					want -= int64(len(piece))
				}
			}
			if want != 0 || pieces < 4 {
				t.Errorf("%d bytes are missing from %d pieces", want, pieces)
			}
		})
	}
}

// countedReads counts the bytes that are read of files.
type countedReads struct {
	vfs.OS
	bytes int
}

func (c *countedReads) OpenAnchor(op vfs.Op, path string) (vfs.Dir, error) {
	d, err := c.OS.OpenAnchor(op, path)
	return countedDir{d, c}, err
}

type countedDir struct {
	vfs.Dir
	c *countedReads
}

func (d countedDir) OpenPrivate(op vfs.Op, name string) (vfs.Dir, error) {
	inner, err := d.Dir.OpenPrivate(op, name)
	return countedDir{inner, d.c}, err
}

func (d countedDir) Open(op vfs.Op, name string) (vfs.File, error) {
	f, err := d.Dir.Open(op, name)
	return countedFile{f, d.c}, err
}

type countedFile struct {
	vfs.File
	c *countedReads
}

func (f countedFile) Read(op vfs.Op, p []byte) (int, error) {
	n, err := f.File.Read(op, p)
	f.c.bytes += n
	return n, err
}

// What is dropped or wiped while it is about to be read does not come back, and what is newer stands.
func TestTailTellsWhatWasDropped(t *testing.T) {
	fill := func(t *testing.T) *Log {
		l := newLog(t, vfs.OS{}, Options{SegmentBytes: 4000})
		for i := range 100 {
			must(t, l.Append(fmt.Appendf(nil, "line %d of a hundred, and some more of it\r\n", i)))
		}
		return l
	}
	t.Run("the oldest", func(t *testing.T) {
		l := fill(t)
		tail := openTail(t, l)
		defer tail.Close()
		if !tail.Older() {
			t.Fatal("there is no text")
		}
		piece, err := tail.Read(nil)
		must(t, err, l.dropOldest())
		if !strings.Contains(string(piece), "line 99 ") {
			t.Fatalf("the newest stretch is %q", piece)
		}
		for len(piece) > 0 {
			piece, err = tail.Read(nil)
			must(t, err)
		}
		kept := len(l.segments) - 1
		for range kept {
			must(t, l.dropOldest())
		}
		if !tail.More() || tail.Older() {
			t.Error("there was more, and it is gone")
		}
	})
	for name, lose := range map[string]func(l *Log) error{
		"the one that is read": func(l *Log) error {
			var err error
			for range slices.Clone(l.segments) {
				err = errors.Join(err, l.dropOldest())
			}
			return err
		},
		"all, by a wipe": (*Log).Wipe,
		"all, and more came": func(l *Log) error {
			return errors.Join(l.Wipe(), l.Append([]byte("secret no more\r\n")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := fill(t)
			tail := openTail(t, l)
			defer tail.Close()
			tail.Older()
			must(t, tail.enter(), lose(l))
			if piece, err := tail.Read(nil); !errors.Is(err, ErrDropped) || len(piece) > 0 {
				t.Errorf("read %q, %v", piece, err)
			}
			if tail.Older() {
				t.Error("there is an older stretch")
			}
		})
	}
}

func TestTailFindsWhatWasDoneToTheFiles(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"a bit":    func(path string) error { return change(path, func(b []byte) []byte { b[40] ^= 1; return b }) },
		"the end":  func(path string) error { return change(path, func(b []byte) []byte { return b[:len(b)-1] }) },
		"one more": func(path string) error { return change(path, func(b []byte) []byte { return append(b, 0) }) },
		"the file": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			l := newLog(t, vfs.OS{}, Options{SegmentBytes: 4000})
			for range 100 {
				must(t, l.Append([]byte("some line of some length, so that there are several files\r\n")))
			}
			must(t, harm(filepath.Join(folderOf(l), l.segments[1].name())))
			stretches, err := readBack(t, openTail(t, l), func() {})
			damage := (*DamageError)(nil)
			if !errors.As(err, &damage) || damage.Segment != l.segments[1].name() || len(stretches) != len(l.segments)-2 {
				t.Errorf("%d stretches of %d segments, %v", len(stretches), len(l.segments), err)
			}
		})
	}
	l := newLog(t, vfs.OS{}, Options{})
	must(t, l.Destroy())
	if _, err := l.Tail(); !errors.Is(err, ErrDisabled) {
		t.Errorf("the tail of a log that is gone: %v", err)
	}
}

func change(path string, f func([]byte) []byte) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, f(b), 0o600)
}
