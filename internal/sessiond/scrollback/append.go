// SPDX-License-Identifier: Apache-2.0

package scrollback

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"spawn/internal/sessiond/failpoint"
)

var (
	errSpent  = errors.New("sequence numbers spent")
	errBudget = errors.New("record does not fit the log")
)

// Append adds one batch of committed lines. The batch becomes one record, or several if it is
// longer than one may be; each is one write. When it returns nil the batch is in the log. Any
// error means that the log is disabled (errors.Is ErrDisabled) and its files are gone: a history
// with a hole would be a lie, and a number used for half a record can never be used again.
func (l *Log) Append(text []byte) error {
	if l.disabled {
		return ErrDisabled
	}
	// A segment begins with a batch or after a line end, so that a replay, which begins with a
	// segment, does not begin inside an escape sequence.
	clean := true
	for len(text) > 0 {
		n := cut(text, l.recordBytes)
		if err := l.appendRecord(text[:n], clean); err != nil {
			return l.fail(fmt.Errorf("append to scrollback: %w", err))
		}
		clean = text[n-1] == '\n'
		text = text[n:]
	}
	return nil
}

// appendRecord adds one record; clean says whether a segment may begin with it.
func (l *Log) appendRecord(text []byte, clean bool) error {
	if l.next > seqMax {
		return errSpent
	}
	if l.record == nil {
		l.record = make([]byte, l.longestRecord())
	}
	size := int64(len(text))
	fresh, err := l.admit(size, l.rotationDue(size, clean))
	if err != nil {
		return err
	}
	if fresh {
		if err := l.startSegment(); err != nil {
			return err
		}
	}
	seq := l.next
	l.next++ // spent from here on, whatever the write does
	if err := l.write(l.seal(seq, text)); err != nil {
		return err
	}
	l.openLine = text[size-1] != '\n'
	return l.count(seq, size)
}

// rotationDue tells whether a record of n plaintext bytes should start another segment. One that
// must not begin a segment may still do so once the segment has twice its size: a batch without
// a line end must not grow one file for ever.
func (l *Log) rotationDue(n int64, clean bool) bool {
	if l.active == nil {
		return true
	}
	newest := &l.segments[len(l.segments)-1]
	limit := l.segmentCharge
	if !clean {
		limit *= 2
	}
	return newest.contents() > 0 && newest.contents()+recordCharge(n) > limit
}

// admit makes room for a record of n plaintext bytes by dropping whole oldest segments, before a
// file is made for it. It returns whether a new segment is to hold it, which it also is when
// the one it was meant for had to go.
func (l *Log) admit(n int64, fresh bool) (bool, error) {
	for !l.fits(n, fresh) {
		if len(l.segments) == 0 {
			return fresh, errBudget
		}
		if err := l.dropOldest(); err != nil {
			return fresh, err
		}
		fresh = fresh || l.active == nil
	}
	return fresh, nil
}

func (l *Log) fits(n int64, fresh bool) bool {
	if !fresh {
		return l.charge()+l.segments[len(l.segments)-1].growth(n) <= l.chargeMax
	}
	empty := emptySegment()
	return len(l.segments) < MaxFiles && l.charge()+empty.charge()+empty.growth(n) <= l.chargeMax
}

// startSegment closes the newest file and makes the next. The names go round: the file that had
// this one before was unlinked when it was dropped, and a new one is made exclusively, so
// nothing is ever written behind old ciphertext.
func (l *Log) startSegment() error {
	if err := l.closeActive(); err != nil {
		return err
	}
	seg := emptySegment()
	l.slot = l.slot%MaxFiles + 1
	seg.slot, seg.first, seg.last = l.slot, l.next, l.next-1
	seg.joined = l.openLine && len(l.segments) > 0
	// Counted before it exists: should making it fail half-way, it is removed with the others.
	l.segments = append(l.segments, seg)
	l.used += seg.charge()
	file, err := l.dir.Create("segment.create", seg.name())
	if err != nil {
		return err
	}
	l.active = file
	failpoint.Pass(failpoint.SegmentMade)
	return l.measureDir()
}

// write is one call for the whole record. There is no fsync: after a crash nobody has the key.
func (l *Log) write(record []byte) error {
	failpoint.Pass(failpoint.RecordSealed)
	failpoint.Tear(failpoint.RecordTorn, record, func(half []byte) { l.active.Write("segment.append", half) })
	n, err := l.active.Write("segment.append", record)
	failpoint.Pass(failpoint.RecordStored)
	if err == nil && n != len(record) {
		err = io.ErrShortWrite
	}
	return err
}

// count takes a written record of n plaintext bytes into the books. If the storage behind the
// file turns out larger than admit assumed, older segments pay for it.
func (l *Log) count(seq uint64, n int64) error {
	newest := &l.segments[len(l.segments)-1]
	before := newest.charge()
	newest.last = seq
	newest.plain += n
	newest.bytes += n + recordOverheadBytes
	if whole := blocks(newest.bytes); whole > newest.allocated || newest.first == seq {
		measured, err := l.active.Allocated("segment.measure")
		if err != nil {
			return err
		}
		newest.allocated = max(whole, measured)
	}
	l.used += newest.charge() - before
	return l.shrink()
}

// shrink drops oldest segments until the charge is within the limit again, the newest excepted.
func (l *Log) shrink() error {
	for l.charge() > l.chargeMax {
		if len(l.segments) == 1 {
			return errBudget
		}
		if err := l.dropOldest(); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) dropOldest() error {
	if len(l.segments) == 1 {
		if err := l.closeActive(); err != nil {
			return err
		}
	}
	oldest := l.segments[0]
	if err := l.remove(oldest); err != nil {
		return err
	}
	l.used -= oldest.charge()
	l.segments = slices.Delete(l.segments, 0, 1)
	return nil
}

func (l *Log) closeActive() error {
	if l.active == nil {
		return nil
	}
	file := l.active
	l.active = nil
	return file.Close("segment.close")
}

func (l *Log) measureDir() error {
	n, err := l.dir.Allocated("directory.measure")
	if err != nil {
		return err
	}
	l.dirAllocated = n
	return nil
}
