// SPDX-License-Identifier: Apache-2.0

package scrollback

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"spawn/internal/sessiond/secret"
	"spawn/internal/sessiond/vfs"
)

// AppendReplay appends the newest history to dst: as many whole segments as have at most maxBytes
// of text between them, all of them if they fit. It is everything or nothing. On an error, which
// is a *DamageError if the files are not what was written, dst is returned as it came and what
// had been decrypted behind it is wiped. If dst has too little room it is copied, once, to a larger
// buffer, and the old one is the caller's to wipe.
func (l *Log) AppendReplay(dst []byte, maxBytes int) ([]byte, error) {
	if l.disabled {
		return dst, ErrDisabled
	}
	run, text := l.newest(int64(maxBytes))
	if len(run) == 0 {
		if len(l.segments) > 0 {
			return dst, fmt.Errorf("replay scrollback into %d bytes: %w", maxBytes, ErrTooLong)
		}
		return dst, nil
	}
	out := slices.Grow(dst, int(text))
	if err := l.readRun(out, run); err != nil {
		secret.Wipe(out[len(dst) : len(dst)+int(text)])
		return dst, fmt.Errorf("replay scrollback: %w", err)
	}
	return out[:len(dst)+int(text)], nil
}

// newest returns the longest run of newest segments whose text fits, and the length of the text.
func (l *Log) newest(maxBytes int64) (run []segment, text int64) {
	first := len(l.segments)
	for first > 0 && text+l.segments[first-1].plain <= maxBytes {
		first--
		text += l.segments[first].plain
	}
	return l.segments[first:], text
}

// readRun appends the text of run to out, which has room for it. The run must lead without a gap
// to the last record that was ever appended.
func (l *Log) readRun(out []byte, run []segment) error {
	want := run[0].first
	for _, seg := range run {
		if seg.first != want {
			return &DamageError{seg.name(), want, "segments do not follow each other"}
		}
		var err error
		if out, err = l.readSegment(out, seg); err != nil {
			return err
		}
		want = seg.last + 1
	}
	if want != l.next {
		return &DamageError{run[len(run)-1].name(), want, "the log ends too early"}
	}
	return nil
}

// readSegment appends the text of one segment to out. The file must hold exactly the records that
// memory lists, and then end.
func (l *Log) readSegment(out []byte, seg segment) (_ []byte, err error) {
	file, err := l.dir.Open("replay.open", seg.name())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &DamageError{seg.name(), seg.first, "the file is missing"}
	}
	if err != nil {
		return nil, fmt.Errorf("record %d: %w", seg.first, err)
	}
	defer file.Close("replay.close") // read-only: nothing to lose
	in := window{file: file, op: "replay.read", buf: l.record}
	textLeft := seg.plain
	for seq := seg.first; seq <= seg.last; seq++ {
		before := len(out)
		if out, err = l.readRecord(out, &in, seq, textLeft, &seg); err != nil {
			return nil, err
		}
		textLeft -= int64(len(out) - before)
	}
	if err := l.checkEnd(&in, &seg, textLeft); err != nil {
		return nil, err
	}
	return out, nil
}

// checkEnd demands that a segment's file ends behind its last record, and that no text is missing.
func (l *Log) checkEnd(in *window, seg *segment, textLeft int64) error {
	switch rest, err := in.peek(1); {
	case err != nil:
		return fmt.Errorf("record %d: %w", seg.last+1, err)
	case len(rest) > 0:
		return &DamageError{seg.name(), seg.last + 1, "bytes behind the last record"}
	case textLeft != 0:
		return &DamageError{seg.name(), seg.last, "less text than was appended"}
	}
	return nil
}

// recordLength is the length of the record with number seq, whose text has at most textLeft bytes.
func (l *Log) recordLength(in *window, seq uint64, textLeft int64, seg *segment) (int, error) {
	header, err := in.peek(HeaderBytes)
	if err != nil {
		return 0, fmt.Errorf("record %d: %w", seq, err)
	}
	if len(header) < HeaderBytes {
		return 0, &DamageError{seg.name(), seq, "file ends in or before its header"}
	}
	length, reason := parse(header, seq, min(textLeft, int64(l.recordBytes)))
	if reason != "" {
		return 0, &DamageError{seg.name(), seq, reason}
	}
	return length, nil
}

// readRecord appends the text of the record with number seq, at most textLeft bytes, to out.
func (l *Log) readRecord(out []byte, in *window, seq uint64, textLeft int64, seg *segment) ([]byte, error) {
	length, err := l.recordLength(in, seq, textLeft, seg)
	if err != nil {
		return nil, err
	}
	record, err := in.peek(length)
	if err != nil {
		return nil, fmt.Errorf("record %d: %w", seq, err)
	}
	if len(record) < length {
		return nil, &DamageError{seg.name(), seq, "file ends in its ciphertext"}
	}
	if out, err = l.open(out, record, seq); err != nil {
		return nil, &DamageError{seg.name(), seq, "does not authenticate"}
	}
	in.skip(length)
	return out, nil
}

// window reads a file through a buffer that holds one longest record.
type window struct {
	file       vfs.File
	op         vfs.Op // of each read
	buf        []byte
	start, end int // buf[start:end] is read and not yet skipped
}

// peek returns the next n bytes, or fewer if the file ends first. They stay valid until the next
// peek. n is at most len(buf).
func (w *window) peek(n int) ([]byte, error) {
	for w.end-w.start < n {
		w.end = copy(w.buf, w.buf[w.start:w.end])
		w.start = 0
		got, err := w.file.Read(w.op, w.buf[w.end:])
		w.end += got
		if err == io.EOF {
			break
		}
		if err == nil && got == 0 {
			err = io.ErrNoProgress
		}
		if err != nil {
			return nil, err
		}
	}
	return w.buf[w.start:min(w.end, w.start+n)], nil
}

func (w *window) skip(n int) { w.start += n }
