// SPDX-License-Identifier: Apache-2.0

//go:build unix

package scrollback

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"spawn/internal/sessiond/vfs"
)

// written is one write that reached a file.
type written struct {
	seq  uint64 // 0 when the header was not complete
	data []byte
}

// tape collects all ciphertext ever written.
type tape []written

func (tp *tape) tap(_ vfs.Op, _ string, p []byte) {
	w := written{data: append([]byte(nil), p...)}
	if len(p) >= HeaderBytes {
		w.seq = binary.LittleEndian.Uint64(p[lengthBytes+1:])
	}
	*tp = append(*tp, w)
}

// checkNonces wants each number once over everything written, and every whole record readable.
func (tp tape) checkNonces(t *testing.T) {
	t.Helper()
	seen := map[uint64]bool{}
	aead := fixedAEAD(t)
	for _, w := range tp {
		if w.seq == 0 {
			continue // no byte of ciphertext got out
		}
		if seen[w.seq] {
			t.Fatalf("number %d was used twice", w.seq)
		}
		seen[w.seq] = true
		if len(w.data) < HeaderBytes+int(binary.LittleEndian.Uint32(w.data)) {
			continue
		}
		nonce := append(append([]byte(nil), w.data[lengthBytes+1:HeaderBytes]...), 0, 0, 0, 0)
		if _, err := aead.Open(nil, nonce, w.data[HeaderBytes:], w.data[lengthBytes:HeaderBytes]); err != nil {
			t.Fatalf("record %d: %v", w.seq, err)
		}
	}
}

// wipeStep is when life wipes: after the log has been full.
const wipeStep = 21

// life is a log's life: it takes over a folder with an old segment in it, then come appends with rotation and dropping, a
// wipe, more appends, with replays and captures in between. It checks after each step what must hold whatever goes wrong,
// and returns the log (nil if it could not be made) and the first error of an append or wipe.
func life(t *testing.T, outer vfs.Dir) (l *Log, failed error) {
	t.Helper()
	l, err := create(outer, "log", fixedAEAD(t), Options{SegmentBytes: 600, MaxLogBytes: 40 << 10})
	if err != nil {
		return nil, err
	}
	whole := "" // since the last wipe
	for i := range wipeStep + 9 {
		var err error
		if i == wipeStep {
			err = l.Wipe()
			whole = ""
		} else {
			text := fmt.Sprintf("line %d %s\r\n", i, strings.Repeat("x", 20*(i%5)))
			err = l.Append([]byte(text))
			whole += text
		}
		if failed == nil {
			failed = err
		}
		if (failed != nil) != l.Stats().Disabled || (err != nil && !errors.Is(err, ErrDisabled)) && i != wipeStep {
			t.Fatalf("step %d: error %v, then %v; %+v", i, failed, err, l.Stats())
		}
		if failed == nil && i == wipeStep-1 && l.Stats().FirstSeq == 1 {
			t.Fatal("nothing was dropped: the life is too short")
		}
		switch i % 6 {
		case 3:
			checkTail(t, l, whole)
		case 5:
			checkReplay(t, l, whole)
		}
	}
	return l, failed
}

// checkReplay wants all of the retained text or an error and nothing.
func checkReplay(t *testing.T, l *Log, whole string) {
	t.Helper()
	out, err := l.AppendReplay([]byte("head"), MaxLogBytes)
	got := string(out[len("head"):])
	if err != nil && (got != "" || string(out) != "head") {
		t.Fatalf("error %v came with %q", err, out)
	}
	requireRetained(t, l, got, whole, err)
}

// checkTail wants the same of a capture, whose stretches are whole or an error: what was read before one is the newest.
func checkTail(t *testing.T, l *Log, whole string) {
	t.Helper()
	tail, err := l.Tail()
	if err != nil {
		requireRetained(t, l, "", whole, err)
		return
	}
	stretches, err := readBack(t, tail, func() {})
	got := strings.Join(stretches, "")
	if err != nil && !strings.HasSuffix(whole, got) {
		t.Fatalf("error %v came behind %q of %q", err, got, whole)
	}
	requireRetained(t, l, got, whole, err)
}

func requireRetained(t *testing.T, l *Log, got, whole string, err error) {
	t.Helper()
	if err == nil && (int64(len(got)) != l.Stats().Text || !strings.HasSuffix(whole, got) || (got == "") != (whole == "")) {
		t.Fatalf("read %q of %q", got, whole)
	}
	if l.disabled && !errors.Is(err, ErrDisabled) {
		t.Fatalf("a disabled log is read: %v", err)
	}
}

// errnos are the errors of systems that any call may return.
var errnos = []error{
	syscall.ENOSPC, syscall.EIO, syscall.EDQUOT, syscall.EROFS, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EACCES,
	syscall.EINTR, syscall.EFBIG, syscall.ESTALE,
}

// cutShort are the ways in which a write goes half-way: after nothing, one byte, a header and some, all but one byte.
func cutShort() (all []vfs.Fault) {
	for _, keep := range []int{0, 1, HeaderBytes + 7, -1} {
		for _, errno := range append([]error{nil}, errnos...) {
			all = append(all, vfs.Fault{Mode: vfs.ShortWrite, Err: errno, Keep: keep})
		}
		all = append(all, vfs.Fault{Mode: vfs.LyingWrite, Keep: keep})
	}
	return all
}

// Every operation of the package fails with every error, before it did anything and after it did all, once and from then
// on; every write is a short one and a lying one too. Live output goes on, a replay and a capture are whole or nothing, no
// number is used twice, and what can be removed is removed. In memory, so that all of it fits into seconds.
func TestFaultAtEveryCall(t *testing.T) {
	faults := cutShort()
	for _, errno := range errnos {
		faults = append(faults, vfs.Fault{Mode: vfs.FailCall, Err: errno}, vfs.Fault{Mode: vfs.FailDone, Err: errno})
	}
	strikeEach(t, faults, func(*testing.T) (vfs.FS, string) { return vfs.NewCrash(), "anchor" })
}

// The same on the file system that is there, with one error of each kind.
func TestFaultAtEveryCallOnDisk(t *testing.T) {
	faults := []vfs.Fault{
		{Mode: vfs.FailCall, Err: syscall.ENOSPC}, {Mode: vfs.FailDone, Err: syscall.EIO},
		{Mode: vfs.ShortWrite, Err: syscall.EDQUOT, Keep: HeaderBytes + 7}, {Mode: vfs.ShortWrite, Keep: -1}, {Mode: vfs.LyingWrite, Keep: 1},
	}
	strikeEach(t, faults, func(t *testing.T) (vfs.FS, string) { return vfs.OS{}, t.TempDir() })
}

// strikeEach lives lives with each fault at call 1, 2, 3, … until it strikes no more, and wants every operation of the
// source to have been struck.
func strikeEach(t *testing.T, faults []vfs.Fault, fresh func(*testing.T) (vfs.FS, string)) {
	all, writes := operations(t)
	for _, fault := range faults {
		for _, fault.On = range []bool{false, true} {
			t.Run(fmt.Sprintf("mode %d keep %d %v on %v", fault.Mode, fault.Keep, fault.Err, fault.On), func(t *testing.T) {
				want, struck := all, map[vfs.Op]int{}
				if fault.Mode == vfs.ShortWrite || fault.Mode == vfs.LyingWrite {
					want = writes
				}
				files, base := fresh(t)
				for fault.At = 1; strike(t, fault, files, base, struck); fault.At++ {
				}
				if got := slices.Sorted(maps.Keys(struck)); !slices.Equal(got, want) {
					t.Errorf("%d calls, struck %v, the source has %v", fault.At, got, want)
				}
			})
		}
	}
}

// strike lives one life with one fault in it, notes what it struck, and tells whether it did.
func strike(t *testing.T, fault vfs.Fault, disk vfs.FS, base string, struck map[vfs.Op]int) bool {
	t.Helper()
	var written tape
	plantSegment(t, disk, base)
	files := &vfs.Faulty{FS: disk, Tap: written.tap}
	outer, err := files.OpenAnchor("test.anchor", base)
	must(t, err)
	files.Fault = fault
	files.Fault.At += files.Calls()
	l, failed := life(t, outer)
	if failed != nil && fault.Err != nil && !errors.Is(failed, fault.Err) {
		t.Fatalf("call %d: error %v hides its cause", fault.At, failed)
	}
	if failed != nil && !files.Struck() {
		t.Fatalf("call %d: error %v without a fault", fault.At, failed)
	}
	written.checkNonces(t)
	if l != nil {
		before := hits(files)
		if err := l.Destroy(); (err != nil) != (hits(files) > before) {
			t.Fatalf("call %d: %d faults, and Destroy says %v", fault.At, hits(files)-before, err)
		}
	}
	for op, n := range files.Hits() {
		struck[op] += n
	}
	struckAny := files.Struck()
	files.Fault = vfs.Fault{} // space is back
	if l != nil {
		must(t, l.Destroy())
		if _, err := outer.Look("test.look", "log"); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("call %d: the folder is left: %v", fault.At, err)
		}
	}
	must(t, outer.Close("test.close"))
	return struckAny
}

func hits(files *vfs.Faulty) (n int) {
	for _, of := range files.Hits() {
		n += of
	}
	return n
}

// plantSegment leaves what a worker that was killed leaves.
func plantSegment(t *testing.T, disk vfs.FS, base string) {
	t.Helper()
	outer, err := disk.OpenAnchor("test.anchor", base)
	must(t, err)
	dir, err := outer.OpenPrivate("test.open", "log")
	must(t, err)
	if _, err := dir.Look("test.look", "seg-00000007.log"); errors.Is(err, fs.ErrNotExist) { // else a life that never began left it
		old, err := dir.Create("test.create", "seg-00000007.log")
		must(t, err, old.Close("test.close"))
	}
	must(t, dir.Close("test.close"), outer.Close("test.close"))
}

// operations are the labels of file calls that the package's source holds, and those of them that write.
func operations(t *testing.T) (all, writes []vfs.Op) {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	must(t, err)
	label := regexp.MustCompile(`^"([a-z]+\.[a-z]+)"$`)
	seen, written := map[vfs.Op]bool{}, map[vfs.Op]bool{}
	labelOf := func(n ast.Node) (vfs.Op, bool) {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return "", false
		}
		m := label.FindStringSubmatch(lit.Value)
		return vfs.Op(strings.Trim(lit.Value, `"`)), m != nil
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		must(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if op, ok := labelOf(n); ok {
				seen[op] = true
			}
			if call, ok := n.(*ast.CallExpr); ok && len(call.Args) > 0 {
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Write" {
					if op, ok := labelOf(call.Args[0]); ok {
						written[op] = true
					}
				}
			}
			return true
		})
	}
	all, writes = slices.Sorted(maps.Keys(seen)), slices.Sorted(maps.Keys(written))
	if len(all) < 15 || len(writes) < 1 {
		t.Fatalf("the source has only %v, %v", all, writes)
	}
	return all, writes
}

// The failing append's number is gone although nothing of its record is: a second log that went on
// with it would repeat a keystream.
func TestFailedAppendBurnsItsNumber(t *testing.T) {
	for _, fault := range []vfs.Fault{
		{Keep: 0, Err: syscall.ENOSPC}, {Keep: 1, Err: syscall.ENOSPC}, {Keep: HeaderBytes, Err: syscall.ENOSPC},
		{Keep: HeaderBytes + 1, Err: syscall.ENOSPC}, {Keep: -1, Err: syscall.ENOSPC}, {Keep: -1},
	} {
		var written tape
		shim := &vfs.Faulty{FS: vfs.OS{}, Tap: written.tap}
		l := newLog(t, shim, Options{})
		must(t, l.Append([]byte("first")))
		before := l.Stats().NextSeq
		shim.Fault = fault
		shim.Fault.At, shim.Fault.Mode = shim.Calls()+1, vfs.ShortWrite
		if err := l.Append([]byte("second")); !errors.Is(err, cmp.Or(fault.Err, io.ErrShortWrite)) || !errors.Is(err, ErrDisabled) {
			t.Fatalf("error %v", err)
		}
		if s := l.Stats(); s.NextSeq != before+1 || !s.Disabled || s.Segments != 0 {
			t.Errorf("%+v", s)
		}
		if names := files(t, l); len(names) != 0 {
			t.Errorf("left %v", names)
		}
		if err := l.Append([]byte("third")); err != ErrDisabled {
			t.Errorf("error %v", err)
		}
		written.checkNonces(t)
	}
}

// A wipe that cannot remove a file must not let the cleared text come back.
func TestFailedWipeDisables(t *testing.T) {
	shim := &vfs.Faulty{FS: vfs.OS{}}
	l := newLog(t, shim, Options{SegmentBytes: 1})
	must(t, l.Append([]byte("one")), l.Append([]byte("two")), l.Append([]byte("three")))
	shim.Fault = vfs.Fault{At: 1, Mode: vfs.FailCall, Err: syscall.EIO, On: true}
	if err := l.Wipe(); !errors.Is(err, syscall.EIO) || !errors.Is(err, ErrDisabled) {
		t.Errorf("error %v", err)
	}
	if _, err := l.AppendReplay(nil, 100); !errors.Is(err, ErrDisabled) {
		t.Errorf("replay: %v", err)
	}
	if s := l.Stats(); s.Segments != 3 || len(files(t, l)) != 3 {
		t.Errorf("%+v: what could not be removed must stay known", s)
	}
	shim.Fault = vfs.Fault{}
	must(t, l.Wipe())
	if names := files(t, l); len(names) != 0 {
		t.Errorf("left %v", names)
	}
}
