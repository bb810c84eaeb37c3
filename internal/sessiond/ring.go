// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"sync/atomic"

	"spawn/internal/sessiond/secret"
)

// ring is the queue from the PTY's reader to the loop: one buffer that the kernel writes into and the screen reads from, so
// that a byte is copied nowhere between the two and a read costs neither of them a lock. Each side waits only when there is
// nothing for it to do, and the other wakes it by a one-slot channel.
//
//	readLoop ──room, put──► buf ──next, done──► loop
//
// A byte counts as queued until the loop is done with it, and is wiped then.
type ring struct {
	filled chan struct{} // 1 slot: something was put, or the end
	freed  chan struct{} // 1 slot: something was taken
	buf    []byte        // the reader makes it
	// start is the position at offset 0 of buf. The reader moves it while the ring is empty: small output stays on the
	// same few pages.
	start uint64
	given atomic.Uint64 // bytes that the reader has put, ever
	taken atomic.Uint64 // bytes that the loop is done with, ever
	ended atomic.Bool   // the reader puts nothing any more
}

func newRing() *ring {
	return &ring{filled: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
}

// room waits for free bytes and returns those that lie together, at most readBytesMax; nil when quit is closed. The caller
// fills the first of them and tells put how many.
func (r *ring) room(quit <-chan struct{}) []byte {
	if r.buf == nil {
		r.buf = make([]byte, ringBytes)
	}
	for {
		given, taken := r.given.Load(), r.taken.Load()
		if given == taken {
			r.start = given
		}
		if free := ringBytes - int(given-taken); free > 0 {
			at := r.offset(given)
			return r.buf[at : at+min(free, ringBytes-at, readBytesMax)]
		}
		select {
		case <-r.freed:
		case <-quit:
			return nil
		}
	}
}

// put passes on the first n bytes of what room returned.
func (r *ring) put(n int) {
	r.given.Add(uint64(n))
	notify(r.filled)
}

// end says that nothing more is put.
func (r *ring) end() {
	r.ended.Store(true)
	notify(r.filled)
}

// next returns the oldest bytes that lie together, at most strideBytes. more is false when there are none and will be none.
// It doesn't wait.
func (r *ring) next() (p []byte, more bool) {
	ended := r.ended.Load() // before given: what was put before the end counts
	given, taken := r.given.Load(), r.taken.Load()
	if given == taken {
		return nil, !ended
	}
	at := r.offset(taken)
	return r.buf[at : at+min(int(given-taken), ringBytes-at, strideBytes)], true
}

// done wipes what next returned and gives its place back to the reader. If there is more, filled is ready again.
func (r *ring) done(p []byte) {
	secret.Wipe(p)
	r.taken.Add(uint64(len(p)))
	notify(r.freed)
	if r.queued() > 0 || r.ended.Load() {
		notify(r.filled)
	}
}

// queued is how many bytes the loop is not done with.
func (r *ring) queued() int { return int(r.given.Load() - r.taken.Load()) }

// wipe forgets what nobody took. Both sides have ended.
func (r *ring) wipe() { secret.Wipe(r.buf) }

func (r *ring) offset(position uint64) int { return int((position - r.start) % ringBytes) }
