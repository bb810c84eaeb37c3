// SPDX-License-Identifier: Apache-2.0

package scrollback

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"spawn/internal/sessiond/secret"
	"spawn/internal/sessiond/vfs"

	"golang.org/x/crypto/chacha20poly1305"
)

// fixedKey is the key of the golden file and of every test that has to seal for itself.
var fixedKey = func() (key [32]byte) {
	for i := range key {
		key[i] = byte(i)
	}
	return key
}()

func fixedAEAD(t testing.TB) cipher.AEAD {
	t.Helper()
	aead, err := chacha20poly1305.New(fixedKey[:])
	must(t, err)
	return aead
}

// must is for steps that set a test up.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// folders are the paths of the logs that createAt made; a log itself knows its name alone.
var folders sync.Map

func folderOf(l *Log) string {
	path, _ := folders.Load(l)
	return path.(string)
}

// newLog makes a log under the fixed key in its own folder.
func newLog(t testing.TB, files vfs.FS, o Options) *Log {
	t.Helper()
	l, err := createAt(t, files, filepath.Join(t.TempDir(), "log"), o)
	must(t, err)
	t.Cleanup(func() { _ = l.Destroy() })
	return l
}

// createAt makes a log under the fixed key in the folder path.
func createAt(t testing.TB, files vfs.FS, path string, o Options) (*Log, error) {
	t.Helper()
	l, err := create(openOuter(t, files, path), filepath.Base(path), fixedAEAD(t), o)
	if err == nil {
		folders.Store(l, path)
		t.Cleanup(func() { folders.Delete(l) })
	}
	return l, err
}

// openOuter opens the folder that path is in, until the test is over.
func openOuter(t testing.TB, files vfs.FS, path string) vfs.Dir {
	t.Helper()
	outer, err := files.OpenAnchor("test.anchor", filepath.Dir(path))
	must(t, err)
	t.Cleanup(func() { _ = outer.Close("test.close") })
	return outer
}

func replay(t testing.TB, l *Log) string {
	t.Helper()
	out, err := l.AppendReplay(nil, MaxLogBytes)
	must(t, err)
	return string(out)
}

// files returns the names in the log's folder.
func files(t testing.TB, l *Log) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folderOf(l))
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestReplayIsWhatWasAppended(t *testing.T) {
	l := newLog(t, vfs.OS{}, Options{SegmentBytes: 2000})
	if got := replay(t, l); got != "" {
		t.Fatalf("an empty log replays %q", got)
	}
	want := ""
	for i := range 200 {
		text := fmt.Sprintf("\x1b[3%dmline %d\x1b[0m\r\n", i%8, i)
		must(t, l.Append([]byte(text)))
		want += text
		if got := replay(t, l); got != want {
			t.Fatalf("after %d: replayed %d bytes, want %d", i, len(got), len(want))
		}
	}
	if s := l.Stats(); s.Segments < 5 || s.Text != int64(len(want)) || s.FirstSeq != 1 || s.NextSeq != 201 {
		t.Errorf("%+v", s)
	}
}

func TestReplayKeepsWhatIsBeforeIt(t *testing.T) {
	l := newLog(t, vfs.OS{}, Options{})
	must(t, l.Append([]byte("text")))
	for _, dst := range [][]byte{nil, []byte("head "), append(make([]byte, 0, 100), "head "...)} {
		got, err := l.AppendReplay(dst, 100)
		if want := string(dst) + "text"; err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}

func TestLengthsAroundARecord(t *testing.T) {
	for _, n := range []int{1, MaxRecordBytes - 1, MaxRecordBytes, MaxRecordBytes + 1, 3*MaxRecordBytes - 1, 3*MaxRecordBytes + 1} {
		l := newLog(t, vfs.OS{}, Options{})
		text := bytes.Repeat([]byte("0123456789abcde"), n/15+1)[:n]
		must(t, l.Append(text), l.Append(nil), l.Append([]byte{}))
		if got := replay(t, l); got != string(text) {
			t.Errorf("%d bytes: replayed %d", n, len(got))
		}
		if want := uint64((n+MaxRecordBytes-1)/MaxRecordBytes) + 1; l.Stats().NextSeq != want {
			t.Errorf("%d bytes: next is %d, want %d", n, l.Stats().NextSeq, want)
		}
	}
}

func TestCutPrefersLineEnds(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want int
	}{
		{"abc", 3, 3}, {"abc", 4, 3}, {"abcd", 3, 3}, {"a\nb\ncd", 4, 4}, {"a\nb\ncd", 5, 4}, {"a\nb\ncd", 6, 6},
		{"\nabcdef", 3, 1}, {"abc\n", 3, 3}, {"ab\nc", 3, 3},
	} {
		if got := cut([]byte(c.text), c.most); got != c.want {
			t.Errorf("cut(%q, %d) = %d, want %d", c.text, c.most, got, c.want)
		}
	}
}

// A replay begins with a segment, so a segment must not begin inside an escape sequence: only
// with a batch or behind a line end.
func TestSegmentsBeginWithABatchOrALine(t *testing.T) {
	l := newLog(t, vfs.OS{}, Options{SegmentBytes: 200 << 10})
	// Each batch is one line of two records, which the limit would put into two segments.
	line := []byte(strings.Repeat("\x1b[31mx", (MaxRecordBytes+4096)/6) + "\r\n")
	for range 40 {
		must(t, l.Append(line))
		for _, most := range []int{len(line), 5 * len(line), MaxLogBytes} {
			out, err := l.AppendReplay(nil, most)
			must(t, err)
			if !bytes.HasPrefix(out, []byte("\x1b[31mx\x1b")) {
				t.Fatalf("replay begins with %q", out[:20])
			}
		}
	}
	if s := l.Stats(); s.FirstSeq == 1 || s.NextSeq != 81 {
		t.Errorf("the test shows nothing: %+v", s)
	}
}

// Without any line end a batch still does not grow one file for ever.
func TestEndlessLineRotates(t *testing.T) {
	l := newLog(t, vfs.OS{}, Options{})
	must(t, l.Append(bytes.Repeat([]byte("x"), 5<<20)))
	for _, seg := range l.segments {
		if seg.contents() > 2*SegmentBytesDefault {
			t.Errorf("a segment of %d", seg.contents())
		}
	}
	if got := replay(t, l); len(got) < 1<<20 || strings.Trim(got, "x") != "" {
		t.Errorf("replayed %d bytes", len(got))
	}
}

func TestPlaintextNeverHitsDisk(t *testing.T) {
	const marker = "MARKER-in-the-clear"
	leaked := false
	shim := &vfs.Faulty{FS: vfs.OS{}, Tap: func(_ vfs.Op, _ string, p []byte) {
		leaked = leaked || bytes.Contains(p, []byte(marker[:8]))
	}}
	l := newLog(t, shim, Options{SegmentBytes: 5000})
	for i := range 300 {
		must(t, l.Append([]byte(fmt.Sprintf("%s %d\r\n", marker, i))))
	}
	must(t, l.Append([]byte(strings.Repeat(marker, 10000))))
	if !strings.Contains(replay(t, l), marker) {
		t.Fatal("the marker was never appended")
	}
	for _, name := range files(t, l) {
		b, err := os.ReadFile(filepath.Join(folderOf(l), name))
		must(t, err)
		leaked = leaked || bytes.Contains(b, []byte(marker[:8]))
	}
	if leaked || bytes.Contains(l.record, []byte(marker[:8])) {
		t.Error("plaintext left the text buffers")
	}
}

func TestWipeRemovesEveryFileAndNoNumberComesAgain(t *testing.T) {
	l := newLog(t, vfs.OS{}, Options{SegmentBytes: 500})
	must(t, l.Wipe())
	for i := range 50 {
		must(t, l.Append([]byte("before\r\n")))
		if i%10 == 9 {
			next := l.Stats().NextSeq
			must(t, l.Wipe())
			if names := files(t, l); len(names) != 0 {
				t.Fatalf("left %v", names)
			}
			if s := l.Stats(); s.NextSeq != next || s.FirstSeq != next || s.Text != 0 || s.Stored != 0 || l.used != 0 {
				t.Fatalf("%+v, used %d, next was %d", s, l.used, next)
			}
			if got := replay(t, l); got != "" {
				t.Fatalf("replays %q", got)
			}
		}
	}
	must(t, l.Append([]byte("after\r\n")))
	if got := replay(t, l); got != "after\r\n" {
		t.Errorf("replays %q", got)
	}
}

func TestOldestWholeSegmentsGoFirst(t *testing.T) {
	l := newLog(t, vfs.OS{}, Options{SegmentBytes: 3000, MaxLogBytes: 300 << 10})
	whole := ""
	for i := range 2000 {
		text := fmt.Sprintf("line %05d of the history\r\n", i)
		must(t, l.Append([]byte(text)))
		whole += text
		if i%97 == 0 {
			got := replay(t, l)
			if !strings.HasSuffix(whole, got) || int64(len(got)) != l.Stats().Text {
				t.Fatalf("after %d: %d bytes that are not the newest", i, len(got))
			}
		}
	}
	if s := l.Stats(); s.FirstSeq == 1 || s.Segments < 5 {
		t.Errorf("%+v", s)
	}
}

func TestReplayNeverSplitsASegment(t *testing.T) {
	l := newLog(t, vfs.OS{}, Options{SegmentBytes: 700})
	for i := range 60 {
		must(t, l.Append([]byte(strings.Repeat("x", i%20+1))))
	}
	borders := []int{} // text lengths of the newest 1, 2, … segments
	text := 0
	for i := len(l.segments) - 1; i >= 0; i-- {
		text += int(l.segments[i].plain)
		borders = append(borders, text)
	}
	for most := -1; most <= text+1; most++ {
		want := 0
		for _, b := range borders {
			if b <= most {
				want = b
			}
		}
		out, err := l.AppendReplay([]byte("head"), most)
		if tooLong := errors.Is(err, ErrTooLong); tooLong != (most < borders[0]) || (err != nil && !tooLong) {
			t.Fatalf("%d bytes: error %v", most, err)
		}
		if len(out) != len("head")+want {
			t.Fatalf("%d bytes: %d, want %d", most, len(out)-len("head"), want)
		}
	}
}

func TestFilesArePrivate(t *testing.T) {
	l := newLog(t, vfs.OS{}, Options{SegmentBytes: 100})
	must(t, l.Append([]byte("one")), l.Append([]byte(strings.Repeat("two", 50))))
	for _, name := range append(files(t, l), ".") {
		st, err := os.Lstat(filepath.Join(folderOf(l), name))
		must(t, err)
		if want := fs.FileMode(0o600); st.Mode().IsRegular() && st.Mode() != want {
			t.Errorf("%s has mode %v", name, st.Mode())
		}
		if st.IsDir() && st.Mode().Perm() != 0o700 {
			t.Errorf("the folder has mode %v", st.Mode())
		}
	}
}

func TestCreateRemovesWhatAnEarlierWorkerLeft(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	must(t, os.Mkdir(dir, 0o755))
	for _, name := range []string{"seg-00000001.log", "seg-00000128.log", "seg-99999999.log", "stranger"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o644))
	}
	l, err := createAt(t, vfs.OS{}, dir, Options{})
	must(t, err)
	if got := files(t, l); len(got) != 1 || got[0] != "stranger" {
		t.Errorf("left %v", got)
	}
	must(t, l.Append([]byte("new")))
	if got := replay(t, l); got != "new" {
		t.Errorf("replays %q", got)
	}
	if err := l.Destroy(); err == nil || !strings.Contains(err.Error(), filepath.Base(dir)) {
		t.Errorf("a folder with a stranger in it: %v", err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "stranger")); string(b) != "old" {
		t.Error("removed a file that is not a segment")
	}
}

func TestDestroyLeavesNothingAndEndsTheLog(t *testing.T) {
	key, err := secret.NewKey()
	must(t, err)
	path := filepath.Join(t.TempDir(), "log")
	l, err := Create(openOuter(t, vfs.OS{}, path), "log", key, Options{})
	must(t, err)
	must(t, l.Append([]byte("text")), l.Destroy(), l.Destroy(), key.Destroy(), l.Wipe())
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder: %v", err)
	}
	if err := l.Append([]byte("text")); !errors.Is(err, ErrDisabled) {
		t.Errorf("append: %v", err)
	}
	if out, err := l.AppendReplay([]byte("head"), 100); !errors.Is(err, ErrDisabled) || string(out) != "head" {
		t.Errorf("replay: %q, %v", out, err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, c := range []struct {
		o  Options
		ok bool
	}{
		{Options{}, true},
		{Options{MaxLogBytes: MaxLogBytes}, true},
		{Options{MaxLogBytes: MaxLogBytes + 1}, false},
		{Options{MaxLogBytes: -1}, false},
		{Options{SegmentBytes: -1}, false},
		{Options{SegmentBytes: 1}, true},
		{Options{SegmentBytes: MaxLogBytes + 1}, false},
		{Options{MaxLogBytes: 1000}, false},
		{Options{MaxLogBytes: 64 << 10}, true},
	} {
		dir := filepath.Join(t.TempDir(), "log")
		l, err := createAt(t, vfs.OS{}, dir, c.o)
		if (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.o, err)
		}
		if err == nil {
			_ = l.Destroy()
		} else if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%+v: refused, but made the folder", c.o)
		}
	}
}

func TestSpentNumbersEndTheLog(t *testing.T) {
	l := newLog(t, vfs.OS{}, Options{})
	l.next = seqMax
	must(t, l.Append([]byte("the last one")))
	if got := replay(t, l); got != "the last one" {
		t.Errorf("replays %q", got)
	}
	if err := l.Append([]byte("one too many")); !errors.Is(err, ErrDisabled) || !errors.Is(err, errSpent) {
		t.Errorf("error %v", err)
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	l := newLog(t, vfs.OS{}, Options{SegmentBytes: MaxLogBytes / 2})
	text := []byte("\x1b[1mone line of history\x1b[0m\r\n")
	must(t, l.Append(text))
	n := testing.AllocsPerRun(1000, func() {
		if err := l.Append(text); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
