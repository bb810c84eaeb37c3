// SPDX-License-Identifier: Apache-2.0

//go:build unix

package scrollback

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"spawn/internal/chance"
	"spawn/internal/sessiond/vfs"
)

// checkBounds compares the books with themselves, with the disk and with the promise.
func checkBounds(t *testing.T, l *Log) {
	t.Helper()
	s := l.Stats()
	var used int64
	for i := range l.segments {
		used += l.segments[i].charge()
	}
	if used != l.used || s.Charged != l.fixedCharge()+used {
		t.Fatalf("books: %d kept, %d counted", l.used, used)
	}
	if s.Charged > l.chargeMax || s.Segments > MaxFiles {
		t.Fatalf("charge %d of %d in %d files", s.Charged, l.chargeMax, s.Segments)
	}
	names := files(t, l)
	if len(names) != s.Segments {
		t.Fatalf("%d files, %d in the books", len(names), s.Segments)
	}
	var length, storage int64
	for _, name := range append(names, ".") {
		st, err := os.Lstat(filepath.Join(folderOf(l), name))
		must(t, err)
		storage += st.Sys().(*syscall.Stat_t).Blocks * 512
		if name != "." {
			length += st.Size()
		}
	}
	if length != s.Stored {
		t.Fatalf("files hold %d, the books say %d", length, s.Stored)
	}
	// What it really costs: storage, page cache, inodes and names, a replay and its copy, the record buffer and a capture's two.
	const inode, entry = 1024, 512
	if real := storage + length + int64(len(names)+1)*(inode+entry) + 2*s.Text + 3*int64(cap(l.record)); real > s.Charged {
		t.Fatalf("really %d, charged %d", real, s.Charged)
	}
}

func TestChargeHolds(t *testing.T) {
	text := make([]byte, 200<<10)
	random := func(seed uint64) func() int {
		r := rand.New(rand.NewPCG(seed, 0))
		return func() int { return 1 << r.IntN(18) * (1 + r.IntN(3)) / 2 }
	}
	seed := chance.Seed(t)
	for name, c := range map[string]struct {
		o    Options
		size func() int
		n    int
	}{
		"one byte":                  {Options{MaxLogBytes: 1 << 20, SegmentBytes: 32 << 10}, func() int { return 1 }, 60_000},
		"one byte, full size":       {Options{}, func() int { return 1 }, 210_000},
		"a thousand bytes":          {Options{}, func() int { return 1000 }, 4_000},
		"a thousand, one a file":    {Options{SegmentBytes: 1}, func() int { return 1000 }, 2_000},
		"longest record":            {Options{}, func() int { return MaxRecordBytes }, 200},
		"longer than a record":      {Options{}, func() int { return 200 << 10 }, 60},
		"one record a file":         {Options{SegmentBytes: 1}, func() int { return 1 }, 2_000},
		"longest, one a file":       {Options{SegmentBytes: 1}, func() int { return MaxRecordBytes }, 200},
		"smallest log":              {Options{MaxLogBytes: 40 << 10}, func() int { return 3000 }, 1_000},
		"segment as long as log":    {Options{MaxLogBytes: 1 << 20, SegmentBytes: 1 << 20}, func() int { return 4000 }, 2_000},
		fmt.Sprint("random ", seed): {Options{}, random(seed), 3_000},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLog(t, vfs.OS{}, c.o)
			seen := map[string]bool{}
			for i := range c.n {
				if i > 0 && i%701 == 0 {
					checkBounds(t, l)
				}
				must(t, l.Append(text[:max(1, c.size())]))
				if l.active != nil && len(seen) <= MaxFiles {
					seen[l.segments[len(l.segments)-1].name()] = true
				}
				if l.Stats().Charged > l.chargeMax {
					t.Fatalf("charge %d after append %d", l.Stats().Charged, i)
				}
			}
			checkBounds(t, l)
			if l.Stats().FirstSeq == 1 {
				t.Error("the log was never full: the test shows nothing")
			}
			if len(seen) > MaxFiles {
				t.Errorf("%d file names", len(seen))
			}
			if got := replay(t, l); int64(len(got)) != l.Stats().Text || len(got) == 0 {
				t.Errorf("replayed %d bytes", len(got))
			}
		})
	}
}

// What a capture works in is as much as two record buffers, of whatever size the log is, and is charged from the first record on.
func TestCaptureStaysWithinItsCharge(t *testing.T) {
	for _, o := range []Options{{}, {MaxLogBytes: 64 << 10}} {
		l := newLog(t, vfs.OS{}, o)
		for range 300 {
			must(t, l.Append(make([]byte, 3000)))
		}
		free := Log{segments: l.segments, name: l.name, dirAllocated: l.dirAllocated}
		if extra := l.fixedCharge() - free.fixedCharge(); extra < 3*int64(cap(l.record)) || cap(l.record) < l.recordBytes {
			t.Errorf("%+v: %d charged for buffers, a record has %d", o, extra, cap(l.record))
		}
		tail := openTail(t, l)
		defer tail.Close()
		for pieces := 0; tail.Older(); {
			for more := true; more; pieces++ {
				piece, err := tail.Read(nil)
				must(t, err)
				if cap(tail.buf)+len(piece) > 2*cap(l.record) {
					t.Fatalf("%+v: piece %d takes %d and %d, a record buffer has %d", o, pieces, cap(tail.buf), len(piece), cap(l.record))
				}
				more = len(piece) > 0
			}
		}
	}
}

// Whatever size a log is allowed to have, its longest record fits it.
func TestLongestRecordFitsEveryLog(t *testing.T) {
	text := make([]byte, MaxRecordBytes)
	made := 0
	for most := 10_000; most <= 500_000; most += 1_999 {
		l, err := createAt(t, vfs.OS{}, filepath.Join(t.TempDir(), "log"), Options{MaxLogBytes: most})
		if err != nil {
			continue // too small, as it said
		}
		made++
		for range 3 {
			must(t, l.Append(text[:l.recordBytes]))
			if got := replay(t, l); len(got) < l.recordBytes {
				t.Fatalf("limit %d: replayed %d bytes", most, len(got))
			}
			checkBounds(t, l)
		}
		must(t, l.Destroy())
	}
	if made < 200 {
		t.Errorf("only %d logs", made)
	}
}

// The names go round: after as many segments as there are names the first one comes again, new.
func TestNamesAreReused(t *testing.T) {
	l := newLog(t, vfs.OS{}, Options{SegmentBytes: 1})
	for i := range 3*MaxFiles + 5 {
		must(t, l.Append([]byte("x")))
		if want := fmt.Sprintf("seg-%08d.log", i%MaxFiles+1); l.segments[len(l.segments)-1].name() != want {
			t.Fatalf("segment %d is %s, want %s", i, l.segments[len(l.segments)-1].name(), want)
		}
		st, err := os.Stat(filepath.Join(folderOf(l), l.segments[len(l.segments)-1].name()))
		must(t, err)
		if st.Size() != recordOverheadBytes+1 {
			t.Fatalf("segment %d was appended to an old file: %d bytes", i, st.Size())
		}
	}
}

// greedyFS claims that each file, and the directory, takes so much storage: more than its length, as a file system that
// allocates ahead, or nothing at all, as one that keeps short files within its own records or has not allocated yet.
type greedyFS struct {
	vfs.FS
	claim int64
}

type greedyDir struct {
	vfs.Dir
	claim int64
}

type greedyFile struct {
	vfs.File
	claim int64
}

func (g greedyFS) OpenAnchor(op vfs.Op, path string) (vfs.Dir, error) {
	d, err := g.FS.OpenAnchor(op, path)
	return greedyDir{d, g.claim}, err
}

func (g greedyDir) OpenPrivate(op vfs.Op, name string) (vfs.Dir, error) {
	d, err := g.Dir.OpenPrivate(op, name)
	return greedyDir{d, g.claim}, err
}

func (g greedyDir) Create(op vfs.Op, name string) (vfs.File, error) {
	f, err := g.Dir.Create(op, name)
	return greedyFile{f, g.claim}, err
}

func (g greedyFile) Allocated(vfs.Op) (int64, error) { return g.claim, nil }
func (g greedyDir) Allocated(op vfs.Op) (int64, error) {
	if g.claim == 0 {
		return 0, nil
	}
	return g.Dir.Allocated(op)
}

func TestGreedyStorageCostsOlderSegments(t *testing.T) {
	for claim, segments := range map[int64]int{1 << 20: 6, 4 << 20: 1} {
		l := newLog(t, greedyFS{vfs.OS{}, claim}, Options{})
		for range 1000 {
			must(t, l.Append(make([]byte, 5000)))
			if l.Stats().Charged > MaxLogBytes {
				t.Fatalf("charge %d", l.Stats().Charged)
			}
		}
		if s := l.Stats(); s.Segments != segments || int64(len(replay(t, l))) != s.Text {
			t.Errorf("claim %d: %+v, want %d segments", claim, s, segments)
		}
	}
}

// Where the system says that nothing is allocated, the floors count: whole blocks of each file's length, and of the folder.
func TestStorageThatIsNotReportedIsCharged(t *testing.T) {
	const block, perName, folder = 4096, 1024 + 512, 4096
	for name, size := range map[string]int{"short files": 1, "a block and a byte": block, "several blocks": 3*block + 100} {
		t.Run(name, func(t *testing.T) {
			l := newLog(t, greedyFS{vfs.OS{}, 0}, Options{SegmentBytes: 1})
			for range 20 {
				must(t, l.Append(make([]byte, size)))
			}
			least, s := int64(folder+perName), l.Stats()
			for _, file := range files(t, l) {
				st, err := os.Lstat(filepath.Join(folderOf(l), file))
				must(t, err)
				least += st.Size() + perName + (st.Size()+block-1)/block*block
			}
			if least += 2 * s.Text; s.Segments != 20 || s.Charged < least {
				t.Errorf("charged %d, want at least %d; %+v", s.Charged, least, s)
			}
		})
	}
}

func TestStorageBeyondTheLimitDisables(t *testing.T) {
	l := newLog(t, greedyFS{vfs.OS{}, MaxLogBytes}, Options{})
	if err := l.Append([]byte("text")); !errors.Is(err, ErrDisabled) || !errors.Is(err, errBudget) {
		t.Errorf("error %v", err)
	}
	if names := files(t, l); len(names) != 0 {
		t.Errorf("left %v", names)
	}
}

// A record that cannot be admitted is refused before a file is made for it.
func TestRefusedRecordMakesNoFile(t *testing.T) {
	const text = 2*blockBytes - recordOverheadBytes + 1 // the record needs a third block for one byte
	for short, admitted := range map[int64]bool{0: true, 1: false, blockBytes: false, text: false} {
		created := 0
		l := newLog(t, countingFS{vfs.OS{}, &created}, Options{})
		must(t, l.Append([]byte("x")), l.Wipe()) // now the record buffer is in the books
		empty := emptySegment()
		l.chargeMax = l.charge() + empty.charge() + recordCharge(text) + 2*blockBytes - short
		created = 0
		if err := l.Append(make([]byte, text)); (err == nil) != admitted {
			t.Errorf("%d bytes short: %v", short, err)
		}
		if !admitted && created != 0 {
			t.Errorf("%d bytes short: made %d files", short, created)
		}
	}
}

type countingFS struct {
	vfs.FS
	created *int
}

type countingDir struct {
	vfs.Dir
	created *int
}

func (c countingFS) OpenAnchor(op vfs.Op, path string) (vfs.Dir, error) {
	d, err := c.FS.OpenAnchor(op, path)
	return countingDir{d, c.created}, err
}

func (c countingDir) OpenPrivate(op vfs.Op, name string) (vfs.Dir, error) {
	d, err := c.Dir.OpenPrivate(op, name)
	return countingDir{d, c.created}, err
}

func (c countingDir) Create(op vfs.Op, name string) (vfs.File, error) {
	*c.created++
	return c.Dir.Create(op, name)
}
