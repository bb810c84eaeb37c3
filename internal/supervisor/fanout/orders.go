// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"time"

	"spawn/internal/sessiond/wire"
)

type size struct{ cols, rows uint16 }

func (s size) valid() bool {
	return s.cols >= 1 && s.cols <= wire.SizeMax && s.rows >= 1 && s.rows <= wire.SizeMax
}

// settings are what the worker keeps until told otherwise.
type settings struct {
	size  size
	sub   bool        // history is subscribed to
	theme *wire.Theme // nil when no controller has told one
}

// orders are what the worker shall be told. What is wanted is written down first and sent by flush, so
// that a full command queue delays an order and loses none.
type orders struct {
	wanted, sent settings
	// serial counts the changes after which an earlier replay does not do: size and subscription.
	serial  uint64
	resized uint64 // the serial of the last change of size
	// unpainted says that not all who were attached at the last change of size have been painted since.
	unpainted bool
	inflight  []replay    // asked for and not yet there, oldest first; at most one of each kind
	captures  []*capture  // wanted, oldest first; that one alone may be on its way
	retry     *time.Timer // runs flush again after a full queue; nil before the first
}

// replay is one request for a replay. Answers come in the order of the requests.
type replay struct {
	full   bool
	serial uint64 // orders.serial when it was sent: it shows everything up to there
	size   size   // the geometry it will show
}

// need is a viewer's wish for a snapshot. The zero value is none.
type need struct {
	open   bool
	serial uint64 // a replay of an earlier serial does not do
}

func (n need) metBy(r replay) bool { return n.open && r.serial >= n.serial }

func (o *orders) asked(full bool) bool {
	for _, r := range o.inflight {
		if r.full == full {
			return true
		}
	}
	return false
}

// flushLocked sends what is wanted and not yet sent: settings first, so that every replay shows them.
// Several viewers that wait for the same kind of replay share one.
func (h *Hub) flushLocked() {
	if h.mu.ended {
		return
	}
	if err := h.sendLocked(); err != nil && h.o.Busy != nil && errors.Is(err, h.o.Busy) {
		h.retryLocked()
	}
	// Any other error is the end of the source, which Recv reports.
}

func (h *Hub) sendLocked() error {
	o := &h.mu.orders
	if o.wanted.size != o.sent.size {
		if err := h.src.Resize(o.wanted.size.cols, o.wanted.size.rows); err != nil {
			return err
		}
		o.sent.size = o.wanted.size
	}
	if o.wanted.sub != o.sent.sub {
		if err := h.src.SubscribeHistory(o.wanted.sub); err != nil {
			return err
		}
		o.sent.sub = o.wanted.sub
	}
	if o.wanted.theme != nil && o.wanted.theme != o.sent.theme {
		if err := h.src.SetTheme(*o.wanted.theme); err != nil {
			return err
		}
		o.sent.theme = o.wanted.theme
	}
	if err := h.requestLocked(); err != nil {
		return err
	}
	return h.requestCaptureLocked()
}

// requestLocked asks for each kind of replay that a viewer needs and that is not on its way. One that
// is on its way but too old is waited for first: its arrival comes back here.
func (h *Hub) requestLocked() error {
	o := &h.mu.orders
	for _, full := range []bool{true, false} {
		if o.asked(full) || !h.neededLocked(full) {
			continue
		}
		limit := uint32(0) // the screen alone
		if full {
			limit = replayBytesMax
		}
		if err := h.src.RequestReplay(limit); err != nil {
			return err
		}
		o.inflight = append(o.inflight, replay{full, o.serial, o.sent.size})
	}
	return nil
}

func (h *Hub) neededLocked(full bool) bool {
	for _, v := range h.mu.viewers {
		if full && v.full.open || !full && v.screen.open && !v.full.open {
			return true
		}
	}
	return false
}

func (h *Hub) retryLocked() {
	if h.mu.orders.retry == nil {
		h.mu.orders.retry = time.AfterFunc(busyRetry, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.flushLocked()
		})
		return
	}
	h.mu.orders.retry.Reset(busyRetry)
}

// resizeLocked wants another geometry. Every viewer is repainted when it is there.
func (h *Hub) resizeLocked(s size) {
	o := &h.mu.orders
	if s == o.wanted.size {
		return
	}
	o.wanted.size = s
	o.serial++
	o.resized, o.unpainted = o.serial, true
	h.mu.facts.Cols, h.mu.facts.Rows = s.cols, s.rows
	for _, v := range h.mu.viewers {
		v.queue.notify(noticeSize, Size{s.cols, s.rows})
		if v.phase != dropped {
			v.screen = need{true, o.serial}
		}
	}
	h.changed()
}

// subscribeLocked wants history as long as a viewer does, or one that left may come back: without the
// worker need not send it.
func (h *Hub) subscribeLocked() {
	on := h.mu.history.on || h.historyWantedLocked()
	if o := &h.mu.orders; o.wanted.sub != on {
		o.wanted.sub = on
		o.serial++
	}
}
