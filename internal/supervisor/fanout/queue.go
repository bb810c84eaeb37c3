// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"sync"
	"sync/atomic"
	"time"
)

// lot says what an entry of a queue is.
type lot uint8

const (
	lotOutput   lot = 1
	lotHistory  lot = 2
	lotSnapshot lot = 3
	lotEvent    lot = 4
)

// item is one entry of a viewer's queue, and owns a claim on its piece or painting.
type item struct {
	lot           lot
	piece         piece     // lotOutput, lotHistory
	epoch, offset uint64    // lotHistory: of the piece's first byte
	painting      *painting // lotSnapshot
	event         Event     // lotEvent
}

// painting is a snapshot for one viewer. Its Stream is shared.
type painting struct {
	Snapshot
	of *canvas
}

// canvas counts the paintings that show one replay's bytes, and wipes these with the last.
type canvas struct {
	refs   atomic.Int32
	stream []byte
}

func (c *canvas) release() {
	if c.refs.Add(-1) == 0 {
		clear(c.stream)
	}
}

// notice is a kind of event of which only the newest counts, so that it needs no place in the order and
// no program can fill a queue with it.
type notice uint8

const (
	noticeControl notice = iota
	noticeSize
	noticeTitle
	noticeCwd
	noticeForeground
	noticeKinds
)

// queue is what waits for one viewer. The hub's reader puts and never waits; the viewer's writer takes.
type queue struct {
	output, history *lane // of the hub; only to release pieces

	mu       sync.Mutex
	changed  sync.Cond // something to take, or closed
	items    []item
	head     int // items before it are taken
	bytes    int // charge of items[head:], at most what pace allowed when the last was put
	notices  [noticeKinds]Event
	pending  int  // notices that are set
	told     int  // where the search for the next notice begins: behind the one taken last
	turn     bool // the last entry taken was a notice: an item is next
	finished bool // nothing is put any more

	clock func() time.Time
	pace  pace
	since time.Time // when the writer got the item that it is giving to the sink; zero when it waits here
	given int       // bytes of that item
	taken uint64    // bytes of all items that the writer has got
}

func newQueue(output, history *lane, clock func() time.Time) *queue {
	q := &queue{output: output, history: history, clock: clock, pace: pace{last: queueBytesNew}}
	q.changed.L = &q.mu
	return q
}

// charge is what an item counts against the bound. Snapshots are counted apart: there are at most
// two, a full one and one of the screen.
func (it item) charge() int {
	if it.lot == lotSnapshot {
		return itemCharge
	}
	return itemCharge + it.piece.to - it.piece.from
}

// size is how many bytes the sink takes with an item.
func (it item) size() int {
	if it.lot == lotSnapshot {
		return len(it.painting.Stream)
	}
	return it.piece.to - it.piece.from
}

// release gives up what an item that is not in the queue any more has claimed.
func (q *queue) release(it item) {
	switch it.lot {
	case lotOutput:
		q.output.release(it.piece, 1)
	case lotHistory:
		q.history.release(it.piece, 1)
	case lotSnapshot:
		it.painting.of.release()
	}
}

// outcome of putting an item.
type outcome uint8

const (
	stored outcome = iota
	joined         // it became part of an earlier item, whose claim covers it
	full           // it does not fit
)

// put adds an item. Unless it was stored, its claim is still the caller's.
func (q *queue) put(it item) outcome {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.finished {
		return full
	}
	grown := it.piece.to - it.piece.from
	if q.fits(grown) && q.join(it) {
		q.bytes += grown
		return joined
	}
	if !q.fits(it.charge()) {
		return full
	}
	q.append(it)
	return stored
}

// fits reports whether n more bytes may wait. The clock is asked only when there are many already.
func (q *queue) fits(n int) bool {
	return q.bytes+n <= queueBytesMin || q.bytes+n <= q.bound()
}

// bound is how many bytes may wait now.
func (q *queue) bound() int {
	var stuck time.Duration
	if !q.since.IsZero() && q.bytes >= chunkBytes {
		stuck = q.clock().Sub(q.since)
	}
	return q.pace.bound(stuck)
}

// idle reports whether nothing waits and no call of the sink is under way. It stays so while the caller keeps
// the hub's lock, under which alone anything is put.
func (q *queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.since.IsZero() && q.head == len(q.items) && q.pending == 0 && !q.finished
}

// passed counts bytes that went past the queue.
func (q *queue) passed(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken += uint64(n)
}

// load says how many bytes wait, how many may, and how many have been taken.
func (q *queue) load() (waiting, bound int, taken uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes, q.bound(), q.taken
}

// join extends an item that the new bytes continue. It looks past one item of another kind, because
// output and history come by turns; their order among each other carries no meaning, but neither may
// pass a snapshot, nor an event: whatever breaks the history's chain is one.
func (q *queue) join(it item) bool {
	if it.lot != lotOutput && it.lot != lotHistory {
		return false
	}
	for i := len(q.items) - 1; i >= max(q.head, len(q.items)-2); i-- {
		last := &q.items[i]
		if last.lot == lotSnapshot || last.lot == lotEvent {
			return false
		}
		if last.lot != it.lot {
			continue
		}
		if last.piece.of != it.piece.of || last.piece.to != it.piece.from {
			return false
		}
		last.piece.to = it.piece.to
		return true
	}
	return false
}

func (q *queue) append(it item) {
	if q.head > 0 && len(q.items) == cap(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, it)
	q.bytes += it.charge()
	q.changed.Signal()
}

// paint puts a snapshot and removes what it makes superfluous: the last snapshot that still waits and
// shows no more than this one, and the output that continued it. A slow viewer of a pane that is
// resized again and again is thus owed one painting, not all of them.
func (q *queue) paint(p *painting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.finished {
		p.of.release()
		return
	}
	from := -1
	for i := q.head; i < len(q.items) && from < 0; i++ {
		if it := q.items[i]; it.lot == lotSnapshot && (p.Full || !it.painting.Full) {
			from = i
		}
	}
	q.remove(func(i int, it item) bool {
		if p.Full && isHistory(it) {
			return true
		}
		return from >= 0 && i >= from && (it.lot == lotOutput || it.lot == lotSnapshot)
	})
	q.append(item{lot: lotSnapshot, painting: p})
}

// isHistory reports whether a full snapshot tells what it says.
func isHistory(it item) bool {
	switch it.event.(type) {
	case HistoryWipe, HistoryGap:
		return true
	}
	return it.lot == lotHistory
}

// remove takes out the waiting items for which gone is true.
func (q *queue) remove(gone func(i int, it item) bool) {
	kept := q.items[:q.head]
	for i := q.head; i < len(q.items); i++ {
		it := q.items[i]
		if gone(i, it) {
			q.bytes -= it.charge()
			q.release(it)
			continue
		}
		kept = append(kept, it)
	}
	clear(q.items[len(kept):])
	q.items = kept
}

// discard throws all items away.
func (q *queue) discard() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.remove(func(int, item) bool { return true })
	q.items, q.head = nil, 0
}

// notify sets the newest event of a kind.
func (q *queue) notify(n notice, e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.finished {
		return
	}
	if q.notices[n] == nil {
		q.pending++
	}
	q.notices[n] = e
	q.changed.Signal()
}

// finish lets the writer end once it has taken what is there.
func (q *queue) finish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.finished = true
	q.changed.Signal()
}

// take waits for the next item; the claim passes to the caller. It is false when all is taken and the
// queue has finished.
func (q *queue) take() (item, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.back()
	for q.head == len(q.items) && q.pending == 0 {
		if q.finished {
			return item{}, false
		}
		q.changed.Wait()
	}
	it := q.next()
	q.since, q.given = q.clock(), it.size()
	q.taken += uint64(q.given)
	return it, true
}

// back notes that the sink has taken the last item.
func (q *queue) back() {
	if q.bytes >= chunkBytes {
		q.pace.took(q.given, q.clock().Sub(q.since))
	}
	q.since = time.Time{}
}

// next takes a notice or an item; one is there.
func (q *queue) next() item {
	// Notices go first, but by turns: a program that changes its title without end starves nobody.
	q.turn = q.pending > 0 && (!q.turn || q.head == len(q.items))
	if q.turn {
		return q.takeNotice()
	}
	it := q.items[q.head]
	q.items[q.head] = item{}
	q.head++
	q.bytes -= it.charge()
	if q.head == len(q.items) {
		q.rewind()
	}
	return it
}

// rewind makes an empty queue start at the front, without the memory that a burst needed.
func (q *queue) rewind() {
	q.items, q.head = q.items[:0], 0
	if cap(q.items) > 64 {
		q.items = nil
	}
}

func (q *queue) takeNotice() item {
	for q.notices[q.told] == nil {
		q.told = (q.told + 1) % len(q.notices)
	}
	e := q.notices[q.told]
	q.notices[q.told] = nil
	q.told = (q.told + 1) % len(q.notices)
	q.pending--
	return item{lot: lotEvent, event: e}
}
