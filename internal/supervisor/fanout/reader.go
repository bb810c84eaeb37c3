// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"bytes"
	"fmt"

	"spawn/internal/sessiond/wire"
)

// apply takes one frame of the worker to the viewers. It never waits for any of them.
//
// hop out 5/6: the bytes are copied once, and each viewer's queue gets a piece of them or overflows.
func (h *Hub) apply(kind wire.Kind, payload []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch kind {
	case wire.KindOutput:
		h.outputLocked(payload)
		return nil
	case wire.KindReplay:
		return h.replayLocked(payload)
	case wire.KindCapture:
		return h.capturedLocked(payload)
	case wire.KindHistory:
		return h.historyLocked(payload)
	case wire.KindHistoryWipe:
		return h.wipeLocked(payload)
	case wire.KindExit:
		return h.exitLocked(payload)
	case wire.KindForeground:
		return h.foregroundLocked(payload)
	case wire.KindNotice:
		return h.noticeLocked(payload)
	}
	return fmt.Errorf("%w: nobody asked for it", ErrProtocol)
}

func (h *Hub) outputLocked(p []byte) {
	h.mu.stream.position += uint64(len(p))
	h.activeLocked()
	h.spreadLocked(&h.output, &h.mu.output, p, item{lot: lotOutput}, func(v *Viewer) bool { return v.phase == live })
	for _, f := range h.mu.followers {
		f.hearLocked(p)
	}
}

// spreadLocked copies p into l once, queues it for the viewers that it concerns, and keeps it in r. What does
// not fit a queue drops that viewer, for which nothing else changes.
func (h *Hub) spreadLocked(l *lane, r *ring, p []byte, it item, concerns func(*Viewer) bool) {
	targets := h.mu.scratch[:0]
	for _, v := range h.mu.viewers {
		if concerns(v) {
			targets = append(targets, v)
		}
	}
	h.mu.scratch = targets
	if it.lot == lotOutput && len(p) <= promptMax {
		targets = promptly(targets, p)
	}
	kept := 0
	if r.on {
		kept = 1
	}
	for len(p) > 0 && len(targets)+kept > 0 {
		it.piece, p = l.write(p, len(targets)+kept)
		unclaimed, left := 0, targets[:0]
		if r.on && !r.keep(it.piece) {
			unclaimed++
		}
		for _, v := range targets {
			outcome := v.queue.put(it)
			if outcome != stored {
				unclaimed++
			}
			if outcome == full {
				h.dropLocked(v)
				continue
			}
			left = append(left, v)
		}
		l.release(it.piece, unclaimed)
		it.offset += uint64(it.piece.to - it.piece.from)
		targets = left
	}
}

// promptly gives p at once to the viewers that wait for it and can take it, and returns the others. It is the
// only call of a sink under the lock, and one that does not wait.
func promptly(targets []*Viewer, p []byte) (others []*Viewer) {
	others = targets[:0]
	for _, v := range targets {
		if v.prompt != nil && v.queue.idle() && v.prompt.Prompt(p) {
			v.queue.passed(len(p))
			continue
		}
		others = append(others, v)
	}
	return others
}

// replayLocked gives the answer to the oldest request to those who wait for one like it. Whatever
// output came before it is in their queues or in the replay, whatever comes after it is in neither: the
// watermark is exactly here.
func (h *Hub) replayLocked(payload []byte) error {
	watermark, stream, err := wire.DecodeReplay(payload)
	if err != nil {
		return err
	}
	s, o := &h.mu.stream, &h.mu.orders
	if len(o.inflight) == 0 {
		return fmt.Errorf("%w: nobody asked for it", ErrProtocol)
	}
	if s.positioned && watermark != s.position {
		return fmt.Errorf("%w: watermark %d after %d bytes", ErrProtocol, watermark, s.position)
	}
	first := !s.positioned
	s.position, s.positioned = watermark, true
	if !h.mu.output.on { // somebody is seeded, and may leave and come back
		h.mu.output.restart(watermark)
	}
	r := o.inflight[0]
	o.inflight = append(o.inflight[:0], o.inflight[1:]...)
	if r.full && (len(stream) == 0 || len(stream) > snapshotBytesMax) {
		h.unavailableLocked(r)
	} else {
		h.showLocked(r, stream)
	}
	h.repaintedLocked(r, first)
	h.flushLocked()
	return nil
}

// unavailableLocked turns the wish for history into one for the screen, which the worker always has.
func (h *Hub) unavailableLocked(r replay) {
	for _, v := range h.mu.viewers {
		if v.full.metBy(r) {
			v.full, v.unavailable, v.deltas = need{}, true, false
			v.screen = need{true, max(v.screen.serial, r.serial)}
		}
	}
}

// showLocked queues a snapshot for all who wait for one like r.
func (h *Hub) showLocked(r replay, stream []byte) {
	var shown *canvas
	for _, v := range h.mu.viewers {
		if !v.waitsFor(r) {
			continue
		}
		if shown == nil {
			shown = &canvas{stream: bytes.Clone(stream)}
			shown.refs.Add(1)
		}
		shown.refs.Add(1)
		h.seedLocked(v, r, shown)
	}
	if shown != nil {
		shown.release()
	}
}

// seedLocked queues a snapshot for one viewer; from here on it gets the stream.
func (h *Hub) seedLocked(v *Viewer, r replay, shown *canvas) {
	s := h.mu.stream
	p := &painting{of: shown, Snapshot: Snapshot{
		Cols: r.size.cols, Rows: r.size.rows, Watermark: s.position, Stream: shown.stream,
		Full: r.full, Unavailable: v.unavailable,
	}}
	if r.full {
		v.full = need{}
		if v.deltas = v.history && s.anchored; v.deltas {
			p.Epoch, p.Offset = s.epoch, s.offset
		}
	}
	if v.screen.metBy(r) {
		v.screen = need{}
	}
	v.unavailable = false
	v.queue.paint(p)
	h.mu.counts.snapshots++
	if v.phase != live {
		v.phase = live
		h.greetLocked(v)
	}
}

// historyLocked takes committed lines, or the anchor that answers a subscription.
func (h *Hub) historyLocked(payload []byte) error {
	b, err := wire.DecodeHistory(payload)
	if err != nil {
		return err
	}
	s := &h.mu.stream
	anchor := len(b.Text) == 0
	if !anchor && !s.anchored {
		return fmt.Errorf("%w: history without an anchor", ErrProtocol)
	}
	if s.anchored && (b.Epoch != s.epoch || b.Offset != s.offset) {
		h.gapLocked()
	}
	s.epoch, s.offset = b.Epoch, b.Offset+uint64(len(b.Text))
	s.anchored = s.anchored || anchor
	if !h.mu.history.on && h.mu.orders.wanted.sub {
		h.mu.history.restart(b.Offset)
	}
	it := item{lot: lotHistory, epoch: b.Epoch, offset: b.Offset}
	h.spreadLocked(&h.history, &h.mu.history, b.Text, it, func(v *Viewer) bool { return v.deltas })
	return nil
}

func (h *Hub) wipeLocked(payload []byte) error {
	epoch, err := wire.DecodeHistoryWipe(payload)
	if err != nil {
		return err
	}
	h.mu.stream.epoch, h.mu.stream.offset = epoch, 0
	if h.mu.history.on {
		h.mu.history.restart(0)
	}
	for _, v := range h.mu.viewers {
		if v.deltas {
			h.tellLocked(v, HistoryWipe{epoch})
		}
	}
	return nil
}

// gapLocked ends the deltas of all who have them until they have had a full snapshot.
func (h *Hub) gapLocked() {
	h.mu.history.wipe()
	for _, v := range h.mu.viewers {
		if v.deltas {
			v.deltas = false
			h.tellLocked(v, HistoryGap{})
		}
	}
}

func (h *Hub) exitLocked(payload []byte) error {
	exit, err := wire.DecodeExit(payload)
	if err != nil {
		return err
	}
	h.mu.facts.Exit = &exit
	h.rouseLocked()
	for _, v := range h.mu.viewers {
		if v.phase != seeding { // who is being seeded is told after its snapshot
			h.tellLocked(v, Exit{exit})
		}
	}
	h.changed()
	return nil
}

func (h *Hub) noticeLocked(payload []byte) error {
	n, err := wire.DecodeNotice(payload)
	if err != nil {
		return err
	}
	if n.Kind == wire.NoticeMark && !h.promptLocked(n.Text) {
		return nil // a program printed it
	}
	h.report(Noticed{n})
	switch n.Kind {
	case wire.NoticeTitle:
		h.factLocked(&h.mu.facts.Title, n.Text, noticeTitle, Title{n.Text})
	case wire.NoticeCwd:
		h.factLocked(&h.mu.facts.Cwd, n.Text, noticeCwd, Cwd{n.Text})
	case wire.NoticeHistoryLost:
		h.gapLocked()
	}
	return nil
}

// factLocked takes a new value of a fact and tells it, unless it is the old one.
func (h *Hub) factLocked(fact *string, value string, n notice, e Event) {
	if *fact == value {
		return
	}
	*fact = value
	h.notifyLocked(n, e)
	h.changed()
}

// notifyLocked tells all viewers but those that were dropped, which are told when they are seeded.
func (h *Hub) notifyLocked(n notice, e Event) {
	for _, v := range h.mu.viewers {
		if v.phase != dropped {
			v.queue.notify(n, e)
		}
	}
}

// tellLocked queues an event that has its place in the order.
func (h *Hub) tellLocked(v *Viewer, e Event) {
	it := item{lot: lotEvent, event: e}
	if v.queue.put(it) == full {
		h.dropLocked(v)
		v.queue.put(it)
	}
}

// greetLocked tells a viewer that has just been seeded what holds beside the screen.
func (h *Hub) greetLocked(v *Viewer) {
	f := h.mu.facts
	if f.Title != "" {
		v.queue.notify(noticeTitle, Title{f.Title})
	}
	if f.Cwd != "" {
		v.queue.notify(noticeCwd, Cwd{f.Cwd})
	}
	if f.Foreground != "" {
		v.queue.notify(noticeForeground, Foreground{f.Foreground})
	}
	if f.Exit != nil {
		h.tellLocked(v, Exit{*f.Exit})
	}
}

// dropLocked throws away what waits for a viewer that does not keep up. Nobody else notices; the viewer
// learns it when its sink takes something again, and may ask for a snapshot.
func (h *Hub) dropLocked(v *Viewer) {
	v.queue.discard()
	v.drops++
	h.mu.counts.drops++
	v.phase, v.full, v.screen, v.unavailable = dropped, need{}, need{}, false
	v.queue.put(item{lot: lotEvent, event: Dropped{ReasonLagging}})
	if v.history { // whether it has deltas or not: a gap may be among what was thrown away
		v.deltas = false
		v.queue.put(item{lot: lotEvent, event: HistoryGap{}})
	}
	if e := h.mu.facts.Exit; e != nil {
		v.queue.put(item{lot: lotEvent, event: Exit{*e}})
	}
}
