// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

const (
	// An idle terminal should cost little, a busy one should need few system calls: the buffer starts
	// small and doubles each time one read fills it. When nothing has come for quietMax it becomes small again.
	readerBufferMin = 4 << 10
	quietMax        = time.Second
	// ReadAheadMax is the largest buffer, and so the most that a Reader takes of a stream before anybody has asked for it. It
	// holds one whole hot frame (64 KiB and its header) and the begin of the next.
	ReadAheadMax = 72 << 10
	// emptyReadsMax is how often the source may return neither bytes nor an error in a row.
	emptyReadsMax = 100
)

// ErrWiped is what Next returns after Wipe.
var ErrWiped = errors.New("frame reader is wiped")

// Reader cuts a byte stream into frames. Payloads up to 72 KiB lie in one reused buffer, so that
// reading them allocates nothing and several come with one system call; longer ones get memory of
// their own, which is wiped and let go at the next call. It is not safe for concurrent use.
type Reader struct {
	src    io.Reader
	accept Direction

	buf        []byte // nil before the first Next
	start, end int    // buf[start:end] is read and not yet handed out
	filled     bool   // the last read filled the buffer: the next one may use a larger one
	timed      bool   // the source has a deadline from us
	lent       []byte // the payload that the caller holds, wiped at the next call; nil when none
	err        error  // the error that ended the stream; it stays
}

// NewReader returns a Reader of r that accepts only kinds that go in direction dir.
func NewReader(r io.Reader, dir Direction) *Reader {
	return &Reader{src: r, accept: dir}
}

// Next returns the next frame. The payload is valid until the next call of Next or Wipe, which
// overwrite it. The error is io.EOF at the end of the stream between two frames,
// io.ErrUnexpectedEOF within one, an error of this package for an illegal header, else the
// source's. After an error every call returns it again.
func (r *Reader) Next() (Kind, []byte, error) {
	r.reclaim()
	if r.err != nil {
		return 0, nil, r.err
	}
	k, payload, err := r.next()
	if err != nil {
		r.wipe(err)
		return 0, nil, err
	}
	r.lent = payload
	return k, payload, nil
}

// Wipe overwrites all that the Reader has buffered. Its owner calls it when it gives up the stream.
func (r *Reader) Wipe() { r.wipe(ErrWiped) }

func (r *Reader) wipe(err error) {
	r.reclaim()
	clear(r.buf)
	r.buf, r.start, r.end = nil, 0, 0
	if r.err == nil {
		r.err = err
	}
}

// reclaim takes the payload back from the caller.
func (r *Reader) reclaim() {
	clear(r.lent)
	r.lent = nil
}

func (r *Reader) next() (Kind, []byte, error) {
	if err := r.fill(HeaderLen); err != nil {
		return 0, nil, err
	}
	k, n, err := parseHeader(r.buf[r.start:r.end], r.accept)
	if err != nil {
		return 0, nil, err
	}
	if HeaderLen+n > ReadAheadMax {
		payload, err := r.large(n)
		return k, payload, err
	}
	if err := r.fill(HeaderLen + n); err != nil {
		return 0, nil, err
	}
	payload := r.buf[r.start+HeaderLen : r.start+HeaderLen+n : r.start+HeaderLen+n]
	r.start += HeaderLen + n
	return k, payload, nil
}

// large reads a payload of n bytes, whose header lies at start and which the buffer cannot hold.
func (r *Reader) large(n int) ([]byte, error) {
	payload := make([]byte, n)
	got := copy(payload, r.buf[r.start+HeaderLen:r.end])
	clear(r.buf[r.start:r.end])
	r.start, r.end = 0, 0
	if _, err := io.ReadFull(r.src, payload[got:]); err != nil {
		clear(payload)
		return nil, withinFrame(err)
	}
	return payload, nil
}

// fill reads until at least n bytes, at most ReadAheadMax, lie from start on.
func (r *Reader) fill(n int) error {
	if r.end-r.start >= n {
		return nil
	}
	r.room(n)
	for empty := 0; r.end-r.start < n; {
		r.limit()
		got, err := r.src.Read(r.buf[r.end:])
		if r.timed && got == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
			r.shrink()
			continue
		}
		r.end += got
		r.filled = r.end == len(r.buf)
		if r.end-r.start >= n {
			return nil // an error that came with enough bytes comes again with the next read
		}
		if err != nil {
			return r.ended(err)
		}
		if got > 0 {
			empty = 0
		} else if empty++; empty >= emptyReadsMax {
			return fmt.Errorf("read frame: %w", io.ErrNoProgress)
		}
	}
	return nil
}

// limit bounds the time of the next read while a large buffer lies empty, where the source can do that. Nobody else
// may set its read deadline then.
func (r *Reader) limit() {
	source, can := r.src.(interface{ SetReadDeadline(time.Time) error })
	large := r.start == r.end && len(r.buf) > readerBufferMin
	if !can || !large && !r.timed {
		return
	}
	until := time.Time{}
	if large {
		until = time.Now().Add(quietMax)
	}
	r.timed = source.SetReadDeadline(until) == nil && large
}

// shrink gives an empty buffer up for a small one.
func (r *Reader) shrink() {
	clear(r.buf)
	r.buf, r.start, r.end = make([]byte, readerBufferMin), 0, 0
}

// ended turns the error of a read that left a frame incomplete into the error of Next.
func (r *Reader) ended(err error) error {
	if errors.Is(err, io.EOF) && r.end == r.start {
		return io.EOF
	}
	return withinFrame(err)
}

func withinFrame(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read frame: %w", err)
}

// room moves the unread bytes to the front of a buffer of at least n bytes.
func (r *Reader) room(n int) {
	size := max(len(r.buf), readerBufferMin)
	unread := r.buf[r.start:r.end]
	if r.filled {
		size *= 2
	}
	size = min(max(size, n), ReadAheadMax)
	if size > len(r.buf) {
		grown := make([]byte, size)
		copy(grown, unread)
		clear(r.buf)
		r.buf = grown
	} else {
		copy(r.buf, unread)
		clear(r.buf[max(len(unread), r.start):r.end]) // what the move left behind
	}
	r.start, r.end, r.filled = 0, len(unread), false
}
