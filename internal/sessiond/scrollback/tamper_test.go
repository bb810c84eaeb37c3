// SPDX-License-Identifier: Apache-2.0

//go:build unix

package scrollback

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"spawn/internal/sessiond/vfs"

	"golang.org/x/sys/unix"
)

// A store small enough to try everything on: 3 segments of 8 records of equal length.
const (
	smallSegments = 3
	smallRecords  = 8 // in each
	smallText     = 20
	smallLength   = recordOverheadBytes + smallText
)

// store is the small log and its files as they were written.
type store struct {
	t    *testing.T
	l    *Log
	good [smallSegments][]byte
	tail []byte // behind the head of every replay's destination, to see that it is wiped
}

func newStore(t *testing.T) *store {
	s := &store{t: t, l: newLog(t, vfs.OS{}, Options{SegmentBytes: smallRecords * (smallLength + 2*smallText)})}
	for i := range smallSegments * smallRecords {
		must(t, s.l.Append(fmt.Appendf(nil, "%0*d", smallText, i)))
	}
	for i := range s.good {
		var err error
		s.good[i], err = os.ReadFile(s.path(i))
		must(t, err)
		if len(s.good[i]) != smallRecords*smallLength {
			t.Fatalf("segment %d has %d bytes", i, len(s.good[i]))
		}
	}
	s.tail = make([]byte, smallSegments*smallRecords*smallText+100)
	return s
}

func (s *store) path(segment int) string {
	return filepath.Join(folderOf(s.l), s.l.segments[segment].name())
}

// record returns the bytes of record i of the whole store.
func (s *store) record(i int) []byte {
	at := i % smallRecords * smallLength
	return s.good[i/smallRecords][at : at+smallLength]
}

// seqOf is the number of record i of the whole store, and seqAt of the record at a byte.
func seqOf(i int) uint64                { return uint64(i) + 1 }
func seqAt(segment int, at int) uint64  { return seqOf(segment*smallRecords + at/smallLength) }
func endOf(segment int) (behind uint64) { return seqOf((segment + 1) * smallRecords) }

// put writes changed segments, as new files, since ext4 flushes a truncated one; nil leaves one
// as it is.
func (s *store) put(segments [smallSegments][]byte) {
	s.t.Helper()
	for i, b := range segments {
		if b != nil {
			_ = os.Remove(s.path(i)) // a test may have done it
			must(s.t, os.WriteFile(s.path(i), b, 0o600))
		}
	}
}

// refuses wants a replay of these changed segments refused for record seq, with nothing returned,
// and that of the good ones accepted afterwards.
func (s *store) refuses(what string, segments [smallSegments][]byte, seq uint64) {
	s.t.Helper()
	s.put(segments)
	s.refusesNow(what, seq)
	var back [smallSegments][]byte
	for i, b := range segments {
		if b != nil {
			back[i] = s.good[i]
		}
	}
	s.put(back)
}

func (s *store) refusesNow(what string, seq uint64) {
	s.t.Helper()
	for i := range s.tail {
		s.tail[i] = 0xEE
	}
	dst := append(s.tail[:0], "head"...)
	out, err := s.l.AppendReplay(dst, MaxLogBytes)
	var damage *DamageError
	switch {
	case err == nil:
		s.t.Fatalf("%s: accepted", what)
	case !errors.As(err, &damage):
		s.t.Fatalf("%s: error %v", what, err)
	case damage.Seq != seq:
		s.t.Fatalf("%s: %v, want record %d", what, err, seq)
	case string(out) != "head":
		s.t.Fatalf("%s: returned %q", what, out)
	}
	for i, b := range s.tail[len("head"):][:smallSegments*smallRecords*smallText] {
		if b != 0 {
			s.t.Fatalf("%s: byte %d behind the result is not wiped", what, i)
		}
	}
}

func (s *store) accepts() {
	s.t.Helper()
	if got := replay(s.t, s.l); len(got) != smallSegments*smallRecords*smallText {
		s.t.Fatalf("replayed %d bytes of the good store", len(got))
	}
}

func TestEverySingleBitFlipIsRefused(t *testing.T) {
	s := newStore(t)
	for i := range s.good {
		changed := slices.Clone(s.good[i])
		for bit := range len(changed) * 8 {
			changed[bit/8] ^= 1 << (bit % 8)
			s.refuses(fmt.Sprintf("segment %d bit %d", i, bit), one(i, changed), seqAt(i, bit/8))
			changed[bit/8] ^= 1 << (bit % 8)
		}
	}
	s.accepts()
}

// one is a change of one segment.
func one(segment int, b []byte) (segments [smallSegments][]byte) {
	segments[segment] = b
	return segments
}

func TestEveryCutIsRefused(t *testing.T) {
	s := newStore(t)
	for i := range s.good {
		for length := range len(s.good[i]) {
			s.refuses(fmt.Sprintf("segment %d cut to %d", i, length), one(i, append([]byte{}, s.good[i][:length]...)), seqAt(i, length))
		}
	}
	s.accepts()
}

func TestEverySwapOfRecordsIsRefused(t *testing.T) {
	s := newStore(t)
	for a := range smallSegments * smallRecords {
		for b := range a {
			var changed [smallSegments][]byte
			for _, c := range []struct{ at, from int }{{a, b}, {b, a}} {
				seg := c.at / smallRecords
				if changed[seg] == nil {
					changed[seg] = slices.Clone(s.good[seg])
				}
				copy(changed[seg][c.at%smallRecords*smallLength:], s.record(c.from))
			}
			s.refuses(fmt.Sprintf("records %d and %d swapped", a, b), changed, seqOf(b))
		}
	}
	s.accepts()
}

func TestEveryDroppedRecordIsRefused(t *testing.T) {
	s := newStore(t)
	for i := range smallSegments * smallRecords {
		seg, at := i/smallRecords, i%smallRecords*smallLength
		s.refuses(fmt.Sprintf("record %d dropped", i), one(seg, slices.Delete(slices.Clone(s.good[seg]), at, at+smallLength)), seqOf(i))
	}
	s.accepts()
}

// Every record, as a copy or moved, at every place of every segment.
func TestEveryCopiedOrMovedRecordIsRefused(t *testing.T) {
	s := newStore(t)
	for from := range smallSegments * smallRecords {
		for seg := range smallSegments {
			for place := range smallRecords + 1 {
				into := slices.Insert(slices.Clone(s.good[seg]), place*smallLength, s.record(from)...)
				bad := seqOf(seg*smallRecords + place)
				if from == seg*smallRecords+place && place < smallRecords {
					bad++ // in its own place before itself: the second one is the wrong one
				}
				s.refuses(fmt.Sprintf("record %d copied to segment %d place %d", from, seg, place), one(seg, into), bad)
				if source := from / smallRecords; source != seg {
					changed := one(seg, into)
					at := from % smallRecords * smallLength
					changed[source] = slices.Delete(slices.Clone(s.good[source]), at, at+smallLength)
					s.refuses(fmt.Sprintf("record %d moved to segment %d place %d", from, seg, place), changed, min(bad, seqOf(from)))
				}
			}
		}
	}
	s.accepts()
}

func TestGarbageBehindASegmentIsRefused(t *testing.T) {
	s := newStore(t)
	for i := range s.good {
		for _, garbage := range [][]byte{{0}, make([]byte, HeaderBytes), make([]byte, smallLength), make([]byte, 200<<10), s.good[0]} {
			s.refuses(fmt.Sprintf("%d bytes behind segment %d", len(garbage), i), one(i, slices.Concat(s.good[i], garbage)), endOf(i))
		}
	}
	s.accepts()
}

func TestExchangedSegmentsAreRefused(t *testing.T) {
	s := newStore(t)
	for a := range smallSegments {
		for b := range a {
			swapped := one(a, s.good[b])
			swapped[b] = s.good[a]
			s.refuses(fmt.Sprintf("segments %d and %d swapped", a, b), swapped, seqOf(b*smallRecords))
			s.refuses(fmt.Sprintf("segment %d is a copy of %d", a, b), one(a, s.good[b]), seqOf(a*smallRecords))
			s.refuses(fmt.Sprintf("segment %d is a copy of %d", b, a), one(b, s.good[a]), seqOf(b*smallRecords))
		}
	}
	s.accepts()
}

// The newest segment missing is what no record by itself can show.
func TestMissingSegmentsAreRefused(t *testing.T) {
	s := newStore(t)
	for i := range s.good {
		must(t, os.Remove(s.path(i)))
		s.refusesNow(fmt.Sprintf("segment %d missing", i), seqOf(i*smallRecords))
		s.put(one(i, s.good[i]))
	}
	s.accepts()
}

// Every state the file has been in before.
func TestOlderCopiesOfASegmentAreRefused(t *testing.T) {
	l := newLog(t, vfs.OS{}, Options{})
	path := filepath.Join(folderOf(l), "seg-00000001.log")
	var older [][]byte
	for range 10 {
		must(t, l.Append([]byte("the same text")))
		b, err := os.ReadFile(path)
		must(t, err)
		older = append(older, b)
	}
	for i, b := range older[:9] {
		must(t, os.WriteFile(path, b, 0o600))
		var damage *DamageError
		if _, err := l.AppendReplay(nil, MaxLogBytes); !errors.As(err, &damage) || damage.Seq != seqOf(i+1) {
			t.Errorf("copy of %d records: %v", i+1, err)
		}
	}
	must(t, os.WriteFile(path, older[9], 0o600))
	if len(replay(t, l)) != 130 {
		t.Error("the good file is refused")
	}
}

// The segment that had the same file name one round, or one wipe, ago.
func TestEarlierTenantOfAFileNameIsRefused(t *testing.T) {
	l := newLog(t, vfs.OS{}, Options{SegmentBytes: 1})
	must(t, l.Append([]byte("first tenant")))
	path := filepath.Join(folderOf(l), "seg-00000001.log")
	earlier, err := os.ReadFile(path)
	must(t, err)
	for l.slot != 1 || l.next == 2 {
		must(t, l.Append([]byte("later tenant")))
	}
	must(t, os.WriteFile(path, earlier, 0o600))
	var damage *DamageError
	if _, err := l.AppendReplay(nil, MaxLogBytes); !errors.As(err, &damage) || damage.Seq != MaxFiles+1 {
		t.Errorf("error %v", err)
	}
}

func TestSegmentOfAnotherKeyIsRefused(t *testing.T) {
	s := newStore(t)
	fixedKey[0] ^= 1
	other := newStore(t)
	fixedKey[0] ^= 1
	for i := range s.good {
		s.refuses(fmt.Sprintf("segment %d of another session", i), one(i, other.good[i]), seqOf(i*smallRecords))
	}
	s.accepts()
}

// forge seals a record under the right key, as no attacker can: it shows that the kind, the number
// and the amount of text are checked, and not only that the seal is.
func forge(t *testing.T, k kind, seq, nonce uint64, text string) []byte {
	record := binary.LittleEndian.AppendUint32(nil, uint32(len(text)+TagBytes))
	record = append(record, byte(k))
	record = binary.LittleEndian.AppendUint64(record, seq)
	n := make([]byte, 12)
	binary.LittleEndian.PutUint64(n, nonce)
	return fixedAEAD(t).Seal(record, n, []byte(text), record[lengthBytes:])
}

func TestForgedRecordsAreRefused(t *testing.T) {
	s := newStore(t)
	last := seqOf(smallSegments*smallRecords - 1)
	text := fmt.Sprintf("%0*d", smallText, 23)
	for _, c := range []struct {
		what   string
		record []byte
		seq    uint64
	}{
		{"kind 0", forge(t, 0, last, last, text), last},
		{"kind 2", forge(t, 2, last, last, text), last},
		{"kind 129", forge(t, kindHistory|0x80, last, last, text), last},
		{"number of the one before", forge(t, kindHistory, last-1, last, text), last},
		{"nonce of the one before", forge(t, kindHistory, last, last-1, text), last},
		{"text one byte longer", forge(t, kindHistory, last, last, text+"x"), last},
		{"text one byte shorter", forge(t, kindHistory, last, last, text[1:]), last},
		{"no text", forge(t, kindHistory, last, last, ""), last},
	} {
		s.refuses(c.what, one(2, slices.Concat(s.good[2][:7*smallLength], c.record)), c.seq)
	}
	long := binary.LittleEndian.AppendUint32(nil, MaxRecordBytes+TagBytes+1)
	long = slices.Concat(long, s.record(23)[lengthBytes:], make([]byte, 2*MaxRecordBytes))
	s.refuses("longer than any record", one(2, slices.Concat(s.good[2][:7*smallLength], long)), last)
	if forged := forge(t, kindHistory, last, last, text); !slices.Equal(forged, s.record(23)) {
		t.Error("forge does not make what the log makes: the test shows nothing")
	}
	s.accepts()
}

func TestSpecialFilesInPlaceOfASegmentAreRefused(t *testing.T) {
	s := newStore(t)
	path, aside := s.path(1), filepath.Join(folderOf(s.l), "aside")
	for what, put := range map[string]func() error{
		"symbolic link": func() error { return os.Symlink("aside", path) },
		"hard link":     func() error { return os.Link(aside, path) },
		"fifo":          func() error { return unix.Mkfifo(path, 0o600) },
		"directory":     func() error { return os.Mkdir(path, 0o700) },
	} {
		must(t, os.Rename(path, aside), put())
		if out, err := s.l.AppendReplay(nil, MaxLogBytes); err == nil || len(out) != 0 {
			t.Errorf("%s: %q, %v", what, out, err)
		}
		must(t, os.Remove(path), os.Rename(aside, path))
		s.accepts()
	}
}

// What is not asked for is not looked at.
func TestDamageOutsideTheRunDoesNotMatter(t *testing.T) {
	s := newStore(t)
	s.put(one(0, []byte("damaged")))
	out, err := s.l.AppendReplay(nil, 2*smallRecords*smallText)
	if err != nil || len(out) != 2*smallRecords*smallText {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	s.refusesNow("the whole log", 1)
}

// The list in memory itself is checked: a hole in it, or an end before the last number given out,
// is never taken for the whole log.
func TestListOfSegmentsMustLeadToTheEnd(t *testing.T) {
	s := newStore(t)
	all := slices.Clone(s.l.segments)
	for _, c := range []struct {
		what string
		list []segment
		seq  uint64
	}{
		{"without the newest", all[:2], endOf(1)},
		{"without the middle one", slices.Concat(all[:1], all[2:]), seqOf(smallRecords)},
	} {
		s.l.segments = slices.Clone(c.list)
		out, err := s.l.AppendReplay(nil, MaxLogBytes)
		var damage *DamageError
		if !errors.As(err, &damage) || damage.Seq != c.seq || len(out) != 0 {
			t.Errorf("%s: %d bytes, %v, want record %d", c.what, len(out), err, c.seq)
		}
	}
	s.l.segments = all
	s.accepts()
}
