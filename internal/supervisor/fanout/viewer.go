// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/control"
)

// phase is how a viewer stands to the stream.
//
//	seeding ──snapshot──► live ──overflow──► dropped
//	   ▲                                        │
//	   └───────────── Viewer.Snapshot ──────────┘     any ──Detach──► gone
type phase uint8

const (
	seeding phase = 1 // waits for its first snapshot, gets no output
	live    phase = 2 // gets output
	dropped phase = 3 // was too slow; gets nothing but control, Exit, Lost and Removed until it asks
	gone    phase = 4 // detached
)

// AttachOptions say what a viewer is.
type AttachOptions struct {
	Cols, Rows uint16 // what the viewer would like; both zero when it does not care
	History    bool   // send committed history after the first full snapshot
	ReadOnly   bool   // may only watch, ever
	Guest      bool   // gives the terminal neither size nor colours, also while it controls
	Screen     bool   // seed with the screen alone; else with the whole history too
	Name       string // shown to the other viewers
	Resume     Mark   // where the view stands of a viewer that comes back; zero for a new one
}

// Viewer is one attached sink. Its methods may be called from anywhere, from the sink's calls too.
type Viewer struct {
	hub    *Hub
	id     control.ViewerID
	name   string
	guest  bool
	sink   Sink
	prompt PromptSink // sink, if it is one; else nil
	queue  *queue
	done   chan struct{} // closed by Detach
	once   sync.Once     // closes the sink

	// The rest is guarded by hub.mu.
	phase       phase
	history     bool        // wants deltas, and the worker has them
	deltas      bool        // gets deltas: it has had a full snapshot and missed none since
	full        need        // of a full snapshot
	screen      need        // of one of the screen
	unavailable bool        // the next snapshot stands for a full one that could not be had
	resumed     bool        // it went on at its mark
	drops       uint64      // times that it was dropped
	wanted      size        // what it would like; zero when it does not care
	theme       *wire.Theme // its colours; nil when it told none
}

// Attach adds a viewer. Its first snapshot is on its way when Attach returns, and before it there is no
// output, unless the viewer goes on at its mark. The hub owns the sink from now on and closes it, with an error too.
func (h *Hub) Attach(sink Sink, o AttachOptions) (*Viewer, error) {
	v, err := h.join(sink, o)
	if err != nil {
		sink.Close()
		return nil, fmt.Errorf("attach viewer: %w", err)
	}
	failpoint.Pass(failpoint.ViewerAttached)
	go v.writeLoop()
	return v, nil
}

func (h *Hub) join(sink Sink, o AttachOptions) (*Viewer, error) {
	wanted := size{o.Cols, o.Rows}
	if wanted != (size{}) && !wanted.valid() {
		return nil, ErrSize
	}
	if o.Guest {
		wanted = size{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.ended {
		return nil, ErrEnded
	}
	if len(h.mu.viewers) >= h.o.viewersMax() {
		return nil, ErrFull
	}
	h.mu.facts.Used = time.Now()
	h.mu.lastID++
	v := &Viewer{
		hub: h, id: h.mu.lastID, name: wire.ClipText(o.Name, nameBytesMax), guest: o.Guest, sink: sink,
		queue: newQueue(&h.output, &h.history, time.Now), done: make(chan struct{}),
		phase: seeding, history: o.History && h.hello.History, wanted: wanted,
	}
	v.prompt, _ = sink.(PromptSink)
	h.mu.viewers = append(h.mu.viewers, v)
	h.writers.Add(1)
	h.report(Joined{v.id, v.name, o.ReadOnly})
	_ = h.steerLocked(control.Act{Op: control.OpJoin, Viewer: v.id, ReadOnly: o.ReadOnly}) // a new id is never refused
	v.queue.notify(noticeControl, h.controlLocked(v))
	h.subscribeLocked()
	v.screen = need{} // of a change of size that its own coming made: the first snapshot shows it
	if h.resumeLocked(v, o.Resume) {
		h.flushLocked()
	} else {
		v.askLocked(!o.Screen)
	}
	h.changed()
	return v, nil
}

// ID names the viewer among those of its pane.
func (v *Viewer) ID() control.ViewerID { return v.id }

// Stream names the stream that the viewer's positions belong to, for its Mark.
func (v *Viewer) Stream() string { return v.hub.name }

// Resumed reports whether the viewer went on at its mark when it was attached.
func (v *Viewer) Resumed() bool {
	v.hub.mu.Lock()
	defer v.hub.mu.Unlock()
	return v.resumed
}

// Snapshot asks for a fresh snapshot: of history and screen, or of the screen alone. A viewer that was
// dropped is live again with it.
func (v *Viewer) Snapshot(full bool) error {
	v.hub.mu.Lock()
	defer v.hub.mu.Unlock()
	if err := v.usableLocked(); err != nil {
		return err
	}
	if v.phase == dropped {
		v.phase = seeding
	}
	v.askLocked(full)
	return nil
}

func (v *Viewer) askLocked(full bool) {
	n := need{true, v.hub.mu.orders.serial}
	if full {
		v.full = n
	} else {
		v.screen = n
	}
	v.hub.flushLocked()
}

// waitsFor reports whether the answer to r is what the viewer waits for. One that waits for a full
// snapshot and has none yet has no use for the screen before.
func (v *Viewer) waitsFor(r replay) bool {
	if r.full {
		return v.full.metBy(r)
	}
	return v.screen.metBy(r) && (v.phase == live || !v.full.open)
}

func (v *Viewer) usableLocked() error {
	switch {
	case v.phase == gone:
		return ErrDetached
	case v.hub.mu.ended:
		return ErrEnded
	}
	return nil
}

// Detach ends the viewer at once: what waits for it is thrown away and its sink is closed. It may be
// called more than once, and does not wait for a call of the sink that is under way.
func (v *Viewer) Detach() {
	h := v.hub
	h.mu.Lock()
	if v.phase != gone {
		v.phase = gone
		h.mu.viewers = slices.DeleteFunc(h.mu.viewers, func(o *Viewer) bool { return o == v })
		_ = h.steerLocked(control.Act{Op: control.OpLeave, Viewer: v.id}) // it is joined
		h.report(Left{v.id})
		h.subscribeLocked()
		h.lapseLocked()
		h.flushLocked()
		v.queue.finish()
		v.queue.discard()
		_, _, taken := v.queue.load()
		h.mu.counts.bytes += taken
		close(v.done)
		h.changed()
	}
	h.mu.Unlock()
	failpoint.Pass(failpoint.ViewerDetached)
	v.closeSink()
}

func (v *Viewer) closeSink() { v.once.Do(v.sink.Close) }

// writeLoop is the viewer's own goroutine: it may block in the sink as long as that likes.
func (v *Viewer) writeLoop() {
	defer v.hub.writers.Done()
	defer v.closeSink()
	for {
		it, ok := v.queue.take()
		if !ok {
			return
		}
		err := v.deliver(it)
		failpoint.Pass(failpoint.FrameGiven)
		v.queue.release(it)
		if err != nil {
			v.Detach()
			return
		}
	}
}

func (v *Viewer) deliver(it item) error {
	switch it.lot {
	case lotOutput:
		return v.sink.Output(it.piece.bytes())
	case lotHistory:
		return v.sink.Event(HistoryDelta{it.epoch, it.offset, it.piece.bytes()})
	case lotSnapshot:
		return v.sink.Snapshot(it.painting.Snapshot)
	}
	return v.sink.Event(it.event)
}
