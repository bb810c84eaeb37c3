// SPDX-License-Identifier: Apache-2.0

package fanout

import "time"

// Mark says up to where a viewer has everything. One that comes back with it goes on there without a
// snapshot, if the hub still has all that followed; else it is seeded like a new one.
type Mark struct {
	Stream        string // of the Viewer that had it, which names the hub: positions of another say nothing
	Position      uint64 // of the next byte of output: the last Snapshot's Watermark and what followed it
	Epoch, Offset uint64 // where the history goes on; zero for a viewer without
}

// resumeLocked lets a viewer that has joined go on at its mark, and reports whether it could.
//
// A change of size is more than its bytes: who was attached is painted anew. Whether the painting reached
// a viewer that has gone since is not known here, but that it came before every later byte is. So a mark
// counts when it lies behind the painting, and none does while that is under way.
func (h *Hub) resumeLocked(v *Viewer, m Mark) bool {
	if m.Stream != h.name || h.mu.orders.unpainted || m.Position < h.mu.stream.painted {
		return false
	}
	output, ok := h.mu.output.since(m.Position)
	if !ok {
		return false
	}
	var history []piece
	if v.history {
		if history, ok = h.mu.history.since(m.Offset); !ok || m.Epoch != h.mu.stream.epoch {
			return false
		}
	}
	h.tellLocked(v, Resumed{m.Position})
	h.requeueLocked(v, &h.output, output, item{lot: lotOutput})
	h.requeueLocked(v, &h.history, history, item{lot: lotHistory, epoch: m.Epoch, offset: m.Offset})
	v.phase, v.deltas, v.resumed = live, v.history, true
	h.mu.counts.resumes++
	h.greetLocked(v)
	return true
}

// requeueLocked queues kept pieces. An empty queue has room for all that rings keep; see limits.go.
func (h *Hub) requeueLocked(v *Viewer, l *lane, kept []piece, it item) {
	for _, it.piece = range kept {
		l.claim(it.piece)
		if v.queue.put(it) != stored {
			l.release(it.piece, 1)
		}
		it.offset += uint64(it.piece.to - it.piece.from)
	}
}

// repaintedLocked notes that a replay was shown. When nobody who was attached at the last change of size
// waits for a painting any more, the change is done.
func (h *Hub) repaintedLocked(r replay, first bool) {
	o := &h.mu.orders
	if !o.unpainted || r.serial < o.resized {
		return
	}
	for _, v := range h.mu.viewers {
		if v.screen.open {
			return
		}
	}
	o.unpainted = false
	if !first { // before the first replay nobody had a position
		h.mu.stream.painted = h.mu.stream.position + 1
	}
}

// lapseLocked starts the time after which nobody is expected back.
func (h *Hub) lapseLocked() {
	switch {
	case h.mu.ended:
	case h.mu.lapse == nil:
		h.mu.lapse = time.AfterFunc(resumeTimeout, h.forget)
	default:
		h.mu.lapse.Reset(resumeTimeout)
	}
}

// forget wipes what is kept for who did not come back. With the history goes the subscription to it.
func (h *Hub) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.ended {
		return
	}
	if len(h.mu.viewers) == 0 {
		h.mu.output.wipe()
	}
	if !h.historyWantedLocked() {
		h.mu.history.wipe()
		h.subscribeLocked()
		h.flushLocked()
	}
}

func (h *Hub) historyWantedLocked() bool {
	for _, v := range h.mu.viewers {
		if v.history {
			return true
		}
	}
	return false
}
