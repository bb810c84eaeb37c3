// SPDX-License-Identifier: Apache-2.0

package scrollback

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"spawn/internal/sessiond/secret"
	"spawn/internal/sessiond/vfs"
)

// PieceBytes is what Tail.Read takes from the files at most, all that belongs to a record counted. One longest record fits;
// in a lowered log, whose records are shorter, it is as much as one of those.
const PieceBytes = MaxRecordBytes + recordOverheadBytes

// ErrDropped says that text which was about to be read was dropped meanwhile, as the oldest of the log, or wiped. What is newer has
// been read, or was wiped too.
var ErrDropped = errors.New("scrollback was dropped while it was read")

// Tail reads the log from its end at one moment back to its begin, a stretch at a time, and each stretch forward in pieces. The log goes on
// between two calls: what is appended meanwhile is not read, what is dropped is gone.
//
//	oldest ─────────────────────────────────────────► newest │ appended since
//	        stretch 3 │ stretch 2       │ stretch 1          │
//	                    piece piece ──►   piece piece ──►    end
//
// A stretch is a segment, or several if a line goes on from one to the next, so it begins with a line. It must be read
// to its end before the next one is asked for. The files are checked as for a replay, as far as they are read.
// A Tail holds a file open; Close must be called.
type Tail struct {
	log   *Log
	begin uint64 // of the log at that moment
	older uint64 // numbers below have not been read
	next  uint64 // of the stretch's next record
	end   uint64 // behind the stretch's last record

	seg      segment // that is being read
	file     vfs.File
	in       window
	textLeft int64 // in seg
	buf      []byte
}

// Tail begins at the end of the log as it is now.
func (l *Log) Tail() (*Tail, error) {
	if l.disabled {
		return nil, ErrDisabled
	}
	t := &Tail{log: l, begin: l.Stats().FirstSeq, older: l.next, next: l.next, end: l.next}
	if n := len(l.segments); n > 0 && l.segments[n-1].last+1 != l.next {
		return nil, &DamageError{l.segments[n-1].name(), l.segments[n-1].last + 1, "the log ends too early"}
	}
	return t, nil
}

// More reports whether there was older text than what has been read. It may have been dropped since.
func (t *Tail) More() bool { return t.begin < t.older }

// Older goes to the stretch before what has been read. It reports false when there is none any more.
func (t *Tail) Older() bool {
	t.end = t.older
	for len(t.log.segments) > 0 && t.log.segments[0].first < t.older {
		i := t.log.holding(t.older - 1)
		t.older = t.log.segments[i].first
		t.next = t.older
		if !t.log.segments[i].joined {
			return true
		}
	}
	return t.next < t.end
}

// holding is the index of the segment with a number, which is in one.
func (l *Log) holding(seq uint64) int {
	i := len(l.segments) - 1
	for i > 0 && l.segments[i].first > seq {
		i--
	}
	return i
}

// Read appends the next piece of the stretch to dst, at least a record and at most PieceBytes of the files; nothing at the stretch's
// end. On an error nothing is appended, and there is nothing more to read: ErrDropped, ErrDisabled, or what AppendReplay
// returns; what had been decrypted is wiped. If dst has no room for a piece it is copied, once, to a larger buffer, and the old one
// is the caller's to wipe.
func (t *Tail) Read(dst []byte) ([]byte, error) {
	room := slices.Grow(dst, t.log.longestRecord())
	out, err := t.read(room)
	if err != nil {
		secret.Wipe(room[len(dst):cap(room)])
		t.older, t.next, t.end = 0, 0, 0
		return dst, fmt.Errorf("read scrollback back: %w", err)
	}
	return out, nil
}

func (t *Tail) read(out []byte) ([]byte, error) {
	if t.file != nil && !t.log.holds(t.seg) {
		return out, ErrDropped
	}
	for taken := 0; t.next < t.end; {
		if t.log.disabled {
			return out, ErrDisabled
		}
		if err := t.enter(); err != nil {
			return out, err
		}
		length, err := t.log.recordLength(&t.in, t.next, t.textLeft, &t.seg)
		if err != nil {
			return out, err
		}
		if taken += length; taken > t.log.longestRecord() {
			break
		}
		before := len(out)
		text, err := t.log.readRecord(out, &t.in, t.next, t.textLeft, &t.seg)
		if err != nil {
			return out, err
		}
		out = text
		t.textLeft -= int64(len(out) - before)
		t.next++
		if err := t.leave(); err != nil {
			return out, err
		}
	}
	return out, nil
}

// enter opens the segment of the next record, unless it is open.
func (t *Tail) enter() error {
	if t.file != nil {
		return nil
	}
	if len(t.log.segments) == 0 || t.log.segments[0].first > t.next {
		return ErrDropped
	}
	t.seg = t.log.segments[t.log.holding(t.next)]
	if t.seg.first != t.next {
		return &DamageError{t.seg.name(), t.next, "segments do not follow each other"}
	}
	file, err := t.log.dir.Open("tail.open", t.seg.name())
	if errors.Is(err, fs.ErrNotExist) {
		return &DamageError{t.seg.name(), t.seg.first, "the file is missing"}
	}
	if err != nil {
		return fmt.Errorf("record %d: %w", t.next, err)
	}
	if t.buf == nil {
		t.buf = make([]byte, t.log.longestRecord()) // the log's own is in use between two pieces
	}
	t.file, t.in, t.textLeft = file, window{file: file, op: "tail.read", buf: t.buf}, t.seg.plain
	return nil
}

// leave closes the segment behind its last record. Of one that has grown since, only what is older was looked at.
func (t *Tail) leave() error {
	if t.next <= t.seg.last && t.next < t.end {
		return nil
	}
	err := error(nil)
	if t.next == t.seg.last+1 && !t.log.grown(t.seg) {
		err = t.log.checkEnd(&t.in, &t.seg, t.textLeft)
	}
	t.closeFile()
	return err
}

// holds reports whether a segment has not been dropped.
func (l *Log) holds(seg segment) bool {
	return slices.ContainsFunc(l.segments, func(s segment) bool { return s.first == seg.first })
}

// grown reports whether records were added to a segment.
func (l *Log) grown(seg segment) bool {
	n := len(l.segments)
	return n > 0 && l.segments[n-1].first == seg.first && l.segments[n-1].last != seg.last
}

func (t *Tail) closeFile() {
	if t.file != nil {
		_ = t.file.Close("tail.close") // read-only: nothing to lose
		t.file = nil
	}
}

// Close lets go of the files.
func (t *Tail) Close() { t.closeFile() }
