// SPDX-License-Identifier: Apache-2.0

package fanout

import "sync"

// chunk is a block of stream bytes that queues of several viewers point into. Bytes are appended and
// never changed while anybody points at them, so readers of [from,to) need no lock.
type chunk struct {
	refs int // entries of queues and rings that point here; guarded by lane.mu
	n    int // bytes used; written by the hub's reader alone
	buf  [chunkBytes]byte
}

// chunks are wiped before they are put back.
var chunks = sync.Pool{New: func() any { return new(chunk) }}

// lane hands the bytes of one stream to queues without a copy for each. While the newest chunk is still
// waiting somewhere, the next bytes go behind it, so that what queues up also grows into large pieces.
type lane struct {
	mu   sync.Mutex
	tail *chunk // nil when nobody waits for the newest bytes
}

// piece is part of a chunk. Its holder counts in refs.
type piece struct {
	of       *chunk
	from, to int
}

func (p piece) bytes() []byte { return p.of.buf[p.from:p.to] }

// write copies a beginning of src, at most a chunk, and returns it as a piece with readers claims on it,
// at least one, and the rest of src. Only the hub's reader calls it.
func (l *lane) write(src []byte, readers int) (piece, []byte) {
	l.mu.Lock()
	if l.tail == nil || l.tail.n == chunkBytes {
		l.tail = chunks.Get().(*chunk)
	}
	c := l.tail
	c.refs += readers
	l.mu.Unlock()

	from := c.n
	c.n += copy(c.buf[from:], src)
	return piece{c, from, c.n}, src[c.n-from:]
}

// claim counts one more reader of a piece that has one.
func (l *lane) claim(p piece) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p.of.refs++
}

// release gives up n claims. The last one wipes the chunk: terminal text does not linger.
func (l *lane) release(p piece, n int) {
	if n == 0 {
		return
	}
	l.mu.Lock()
	p.of.refs -= n
	last := p.of.refs == 0
	if last && l.tail == p.of {
		l.tail = nil
	}
	l.mu.Unlock()
	if !last {
		return
	}
	clear(p.of.buf[:p.of.n])
	p.of.n = 0
	chunks.Put(p.of)
}
