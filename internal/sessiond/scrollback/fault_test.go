// SPDX-License-Identifier: Apache-2.0

//go:build unix

package scrollback

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// life is a log's life: appends with rotation and dropping, a wipe, more appends, with replays in
// between. It checks after each step what must hold whatever goes wrong, and returns the log
// (nil if it could not be made) and the first error of an append or wipe.
func life(t *testing.T, files *vfs.Faulty, dir string) (l *Log, failed error) {
	t.Helper()
	l, err := create(files, dir, fixedAEAD(t), Options{SegmentBytes: 600, MaxLogBytes: 40 << 10})
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
		if i%6 == 5 {
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
	if err == nil && (int64(len(got)) != l.Stats().Text || !strings.HasSuffix(whole, got) || (got == "") != (whole == "")) {
		t.Fatalf("replayed %q of %q", got, whole)
	}
	if l.disabled && !errors.Is(err, ErrDisabled) {
		t.Fatalf("a disabled log replays: %v", err)
	}
}

var faults = []vfs.Fault{
	{Mode: vfs.FailCall, Err: syscall.ENOSPC}, {Mode: vfs.FailCall, Err: syscall.EIO}, {Mode: vfs.FailCall, Err: syscall.EDQUOT},
	{Mode: vfs.FailDone, Err: syscall.EIO},
	{Mode: vfs.ShortWrite, Err: syscall.ENOSPC, Keep: 0}, {Mode: vfs.ShortWrite, Err: syscall.ENOSPC, Keep: 1},
	{Mode: vfs.ShortWrite, Err: syscall.EDQUOT, Keep: HeaderBytes + 7}, {Mode: vfs.ShortWrite, Err: syscall.EFBIG, Keep: -1},
	{Mode: vfs.ShortWrite, Keep: 0}, {Mode: vfs.ShortWrite, Keep: 1}, {Mode: vfs.ShortWrite, Keep: HeaderBytes + 7}, {Mode: vfs.ShortWrite, Keep: -1},
	{Mode: vfs.LyingWrite, Keep: 0}, {Mode: vfs.LyingWrite, Keep: 1}, {Mode: vfs.LyingWrite, Keep: HeaderBytes + 7}, {Mode: vfs.LyingWrite, Keep: -1},
}

// Every call fails once, and once for good, in every way: live output goes on, a replay is whole
// or nothing, no number is used twice, and what can be removed is removed.
func TestFaultAtEveryCall(t *testing.T) {
	for _, fault := range faults {
		for _, fault.On = range []bool{false, true} {
			t.Run(fmt.Sprintf("mode %d keep %d %v on %v", fault.Mode, fault.Keep, fault.Err, fault.On), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "log")
				for fault.At = 1; strike(t, fault, dir); fault.At++ {
				}
				if fault.At < 30 {
					t.Errorf("only %d calls", fault.At)
				}
			})
		}
	}
}

// strike lives one life with one fault in it, and tells whether it struck.
func strike(t *testing.T, fault vfs.Fault, dir string) bool {
	t.Helper()
	var written tape
	files := &vfs.Faulty{FS: vfs.OS{}, Fault: fault, Tap: written.tap}
	l, failed := life(t, files, dir)
	if failed != nil && fault.Err != nil && !errors.Is(failed, fault.Err) {
		t.Fatalf("call %d: error %v hides its cause", fault.At, failed)
	}
	if failed != nil && !files.Struck() {
		t.Fatalf("call %d: error %v without a fault", fault.At, failed)
	}
	written.checkNonces(t)
	struck := files.Struck()
	files.Fault = vfs.Fault{} // space is back
	if l != nil {
		must(t, l.Destroy())
		if _, err := os.Lstat(dir); err == nil {
			t.Fatalf("call %d: the folder is left", fault.At)
		}
	}
	return struck
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
