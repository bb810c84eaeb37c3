// SPDX-License-Identifier: Apache-2.0

// Package scrollback is the worker's encrypted, bounded log of committed lines.
//
//	Append ──► cut into records ──► admit (drop oldest segments) ──► seal ──► one write
//	             ≤ 64 KiB             ≤ 8 MiB of charge                       seg-0000000n.log
//	AppendReplay ◄── newest whole segments ◄── open, in order, every record or nothing
//
// The log serves reattaching while its worker lives: the key dies with the process, so nothing
// here is made durable (no fsync anywhere) and nothing is ever recovered. What a later process
// finds is unreadable and is removed. In return the log never guesses: what it cannot prove
// complete and unchanged it does not return. The bytes are drawn in record.go, the bound is
// explained in charge.go, and docs/scrollback.md says what is and is not protected.
package scrollback

import (
	"crypto/cipher"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"spawn/internal/sessiond/secret"
	"spawn/internal/sessiond/vfs"
)

// Bounds of a log.
const (
	// SegmentBytesDefault is how much charge records may add to a segment before the next
	// record starts another one (see recordCharge: a third of it is text).
	SegmentBytesDefault = 256 << 10
	// MaxLogBytes is the ceiling on the charge of the whole log. Lower is allowed, higher is not.
	MaxLogBytes = 8 << 20
	// MaxFiles is how many segment files exist at most, and how many names are ever used.
	MaxFiles = 128
	// MaxRecordBytes is the plaintext of one record at most; a longer batch becomes several.
	MaxRecordBytes = 64 << 10

	// seqMax is where the log stops for good, far below 2^64: a nonce never comes again. At a
	// million records a second it is nine years away.
	seqMax = 1 << 48
	// segmentsPerLog sizes the default segment of a lowered log, so that dropping the oldest one
	// costs a part of the history and not all of it.
	segmentsPerLog = 8
	// recordsPerLog sizes the longest record of a lowered log, for which there are several buffers: they would take up half of
	// a small one.
	recordsPerLog = 64
)

// ErrDisabled says that the log is gone: an earlier append failed and could not be undone, or the
// log was destroyed. No history is available from now on; everything else may go on.
var ErrDisabled = errors.New("scrollback disabled")

// ErrTooLong says that not even the newest segment fits the space a replay was given. Segments
// are never split; ask for more.
var ErrTooLong = errors.New("newest scrollback segment is longer than the space for it")

// DamageError says that the files are not what was appended. Nothing of them was returned.
type DamageError struct {
	Segment string // name of the file
	Seq     uint64 // the first record that is missing, changed, or one too many
	Reason  string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("scrollback damaged: %s, record %d: %s", e.Segment, e.Seq, e.Reason)
}

// Options are the knobs of a log. The zero value means the defaults.
type Options struct {
	SegmentBytes int // charge per segment before rotation; 0 means SegmentBytesDefault or, in a lowered log, less
	MaxLogBytes  int // charge of the whole log; 0 means MaxLogBytes
}

// Log is one worker's history. It is not safe for concurrent use: the worker's loop owns it.
type Log struct {
	outer vfs.Dir // the folder that holds the log's own; nil once that is removed
	name  string  // of the log's folder in it
	dir   vfs.Dir // the log's folder; nil once destroyed
	aead  cipher.AEAD

	segmentCharge int64 // charge at which rotation is due
	chargeMax     int64
	recordBytes   int // plaintext of one record at most, so that one record always fits the log

	segments     []segment // oldest first; sequence numbers run through without a gap
	active       vfs.File  // the last segment, open for appending; nil when there is none
	slot         int32     // of the last segment file made; 0 before the first
	openLine     bool      // the last record ended within a line
	next         uint64    // sequence number of the next record; grows with each attempt, never resets
	dirAllocated int64     // storage of the directory itself
	used         int64     // sum of segment.charge over segments
	disabled     bool

	record []byte           // a sealed record, or what a replay has read: never plaintext; nil before the first use
	nonce  [NonceBytes]byte // of the record being sealed or opened; see setNonce
}

// segment is what memory knows of one file. The files are checked against it and never the
// other way round.
type segment struct {
	slot        int32  // the file's number, 1 to MaxFiles
	joined      bool   // its text goes on with the line in which the segment before ends
	first, last uint64 // sequence numbers; last < first while it is empty
	bytes       int64  // exact length of the file
	plain       int64  // plaintext in it
	allocated   int64  // storage behind it, measured, never below its length in whole blocks
}

func (s segment) name() string { return fmt.Sprintf("seg-%08d.log", s.slot) }

// Create makes an empty log in the directory name of outer, which it makes 0700 or takes over from a
// worker that is gone, whose segments it removes: without their key they are noise. outer stays the
// caller's, and open until the log is destroyed: from it alone the log's folder is ever reached. The key must
// outlive the log and serve no other one, because both would start at the same nonce.
func Create(outer vfs.Dir, name string, key *secret.Key, o Options) (*Log, error) {
	return create(outer, name, key.AEAD(), o)
}

func create(outer vfs.Dir, name string, aead cipher.AEAD, o Options) (*Log, error) {
	l := &Log{outer: outer, name: name, aead: aead, next: 1, segments: make([]segment, 0, MaxFiles)}
	if err := l.setBounds(o); err != nil {
		return nil, fmt.Errorf("create scrollback %s: %w", name, err)
	}
	var err error
	if l.dir, err = outer.OpenPrivate("scrollback.open", name); err != nil {
		return nil, fmt.Errorf("create scrollback %s: %w", name, err)
	}
	if err := l.takeOver(); err != nil {
		return nil, errors.Join(fmt.Errorf("create scrollback %s: %w", name, err), l.dir.Close("directory.close"))
	}
	return l, nil
}

// setBounds takes the options over. It wants room for one record of a useful size: a smaller
// log would lose its history at the first append, and a refused start says so sooner.
func (l *Log) setBounds(o Options) error {
	if o.MaxLogBytes < 0 || o.MaxLogBytes > MaxLogBytes {
		return fmt.Errorf("max-log-bytes %d is not between 0 (default) and %d", o.MaxLogBytes, MaxLogBytes)
	}
	if o.SegmentBytes < 0 || o.SegmentBytes > MaxLogBytes {
		return fmt.Errorf("segment-bytes %d is not between 0 (default) and %d", o.SegmentBytes, MaxLogBytes)
	}
	l.chargeMax, l.segmentCharge = int64(o.MaxLogBytes), int64(o.SegmentBytes)
	if l.chargeMax == 0 {
		l.chargeMax = MaxLogBytes
	}
	if l.segmentCharge == 0 {
		l.segmentCharge = min(SegmentBytesDefault, l.chargeMax/segmentsPerLog)
	}
	l.recordBytes = min(MaxRecordBytes, int(l.chargeMax/recordsPerLog), recordThatFits(l.chargeMax-l.fixedCharge()))
	if l.recordBytes < recordBytesMin {
		return fmt.Errorf("max-log-bytes %d has no room for one record of %d bytes", l.chargeMax, recordBytesMin)
	}
	return nil
}

// takeOver removes what an earlier worker left and measures the directory.
func (l *Log) takeOver() error {
	names, err := l.dir.Names("scrollback.list")
	if err != nil {
		return err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "seg-") || !strings.HasSuffix(name, ".log") {
			continue // not ours to judge; a leftover stranger only keeps Destroy from removing the folder
		}
		if err := l.dir.Remove("scrollback.sweep", name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return l.measureDir()
}

// Stats is what a log holds.
type Stats struct {
	Segments int    // files
	FirstSeq uint64 // oldest retained record; equals NextSeq when there is none
	NextSeq  uint64 // the number the next record will carry
	Text     int64  // plaintext bytes that a full replay returns
	Stored   int64  // exact bytes in the files
	Charged  int64  // charge against MaxLogBytes
	Disabled bool   // no history until the worker ends
}

// Stats counts; it reads no file.
func (l *Log) Stats() Stats {
	s := Stats{Segments: len(l.segments), FirstSeq: l.next, NextSeq: l.next, Charged: l.charge(), Disabled: l.disabled}
	if len(l.segments) > 0 {
		s.FirstSeq = l.segments[0].first
	}
	for _, seg := range l.segments {
		s.Text += seg.plain
		s.Stored += seg.bytes
	}
	return s
}
