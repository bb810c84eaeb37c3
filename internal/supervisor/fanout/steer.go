// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"time"

	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/control"
)

// Input types p, at most 64 KiB, which is not kept. It waits while the worker's queue is full, which
// holds up this viewer alone; input of a viewer that loses control meanwhile is dropped with
// control.ErrNotController, so nothing is typed that was meant under an earlier controller. Two inputs
// of one viewer must not be under way at once, or their order is lost.
//
// hop in 2/6: control decides, and its decision and the hand-over are one step.
func (v *Viewer) Input(p []byte) error {
	if len(p) > wire.InputMax {
		return ErrSize
	}
	generation, err := v.aim()
	if err != nil {
		return err
	}
	for {
		err := v.offer(generation, p)
		if err == nil || !v.hub.busy(err) {
			return err
		}
		if err := v.pause(); err != nil {
			return err
		}
	}
}

// aim asks control, and returns the generation under which the input may be typed.
func (v *Viewer) aim() (control.Generation, error) {
	h := v.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := v.usableLocked(); err != nil {
		return 0, err
	}
	h.mu.facts.Used = time.Now()
	if h.mu.control.Controller() != v.id { // the controller's keys need no rule
		if err := h.steerLocked(control.Act{Op: control.OpType, Viewer: v.id}); err != nil {
			return 0, err
		}
		h.flushLocked()
	}
	return h.mu.control.Generation(), nil
}

// offer hands the input over, if it still counts.
func (v *Viewer) offer(g control.Generation, p []byte) error {
	h := v.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := v.usableLocked(); err != nil {
		return err
	}
	if !h.mu.control.Holds(v.id, g) {
		return control.ErrNotController
	}
	failpoint.Pass(failpoint.InputAllowed)
	return h.src.Input(p)
}

// pause waits until it is worth trying a full source again.
func (v *Viewer) pause() error {
	t := time.NewTimer(busyRetry)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-v.done:
		return ErrDetached
	case <-v.hub.done:
		return ErrEnded
	}
}

func (h *Hub) busy(err error) bool { return h.o.Busy != nil && errors.Is(err, h.o.Busy) }

// Resize tells the viewer's geometry. It is the pane's while the viewer controls it; else the error is
// control's, and the geometry is kept for when it does. A guest's is none: ErrGuest.
func (v *Viewer) Resize(cols, rows uint16) error {
	s := size{cols, rows}
	if !s.valid() {
		return ErrSize
	}
	return v.set(func() { v.wanted = s })
}

// Steer acts for a viewer of that id: OpRequest, OpRelease and OpTake as it would itself, OpGrant to it, as the
// controller would. A viewer that is not there is control.ErrNotJoined.
func (h *Hub) Steer(op control.Op, id control.ViewerID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.ended {
		return ErrEnded
	}
	act := control.Act{Op: op, Viewer: id, Now: time.Now()}
	if op == control.OpGrant {
		act.Viewer, act.Target = h.mu.control.Controller(), id
		switch {
		case h.viewerLocked(id) == nil:
			return control.ErrNotJoined
		case act.Viewer == 0: // nobody is asked on a free pane
			return control.ErrNoRequest
		}
	}
	if err := h.steerLocked(act); err != nil {
		return err
	}
	h.flushLocked()
	return nil
}

// SetTheme tells the colours that the terminal answers queries with, under the rule of Resize.
func (v *Viewer) SetTheme(t wire.Theme) error {
	return v.set(func() { v.theme = &t })
}

func (v *Viewer) set(keep func()) error {
	h := v.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := v.usableLocked(); err != nil {
		return err
	}
	if v.guest {
		return ErrGuest
	}
	keep()
	if err := h.steerLocked(control.Act{Op: control.OpSize, Viewer: v.id}); err != nil {
		return err
	}
	h.adoptLocked(v)
	h.flushLocked()
	return nil
}

// RequestControl asks the controller for control; a free pane is had at once, and a controller that does
// not answer within control.RequestTimeout has granted.
func (v *Viewer) RequestControl() error { return v.steer(control.OpRequest, 0) }

// Take takes control without asking. The caller has checked that the viewer may.
func (v *Viewer) Take() error { return v.steer(control.OpTake, 0) }

// ReleaseControl gives control up, or withdraws the viewer's request for it.
func (v *Viewer) ReleaseControl() error { return v.steer(control.OpRelease, 0) }

// Grant answers the request of another viewer with yes.
func (v *Viewer) Grant(to control.ViewerID) error { return v.steer(control.OpGrant, to) }

// Deny answers the request of another viewer with no.
func (v *Viewer) Deny(to control.ViewerID) error { return v.steer(control.OpDeny, to) }

func (v *Viewer) steer(op control.Op, target control.ViewerID) error {
	h := v.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := v.usableLocked(); err != nil {
		return err
	}
	if err := h.steerLocked(control.Act{Op: op, Viewer: v.id, Target: target, Now: time.Now()}); err != nil {
		return err
	}
	h.flushLocked()
	return nil
}

// steerLocked applies an act and tells all viewers what it changed. The caller flushes.
func (h *Hub) steerLocked(a control.Act) error {
	next, events, err := h.mu.control.Apply(a)
	if err != nil {
		return err
	}
	changed := next.Generation() != h.mu.control.Generation()
	h.mu.control = next
	if changed {
		c := h.controlLocked(nil)
		h.report(Steered{c.Generation, c.Controller, c.ControllerName})
	}
	if len(events) == 0 {
		return nil
	}
	for _, e := range events {
		if v := h.viewerLocked(e.Viewer); e.Kind == control.EventControl && v != nil {
			h.adoptLocked(v)
		}
	}
	for _, v := range h.mu.viewers {
		v.queue.notify(noticeControl, h.controlLocked(v))
	}
	h.watchRequestLocked()
	return nil
}

// adoptLocked makes the controller's geometry and colours the pane's.
func (h *Hub) adoptLocked(v *Viewer) {
	if v.wanted.valid() {
		h.resizeLocked(v.wanted)
	}
	if v.theme != nil && h.hello.Can(wire.CapTheme) {
		h.mu.orders.wanted.theme = v.theme
	}
}

// watchRequestLocked lets the clock grant the open request.
func (h *Hub) watchRequestLocked() {
	asker, deadline := h.mu.control.Request()
	if h.mu.expiry != nil {
		h.mu.expiry.Stop()
	}
	if asker != 0 && !h.mu.ended {
		h.mu.expiry = time.AfterFunc(time.Until(deadline), h.expire)
	}
}

func (h *Hub) expire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.ended {
		return
	}
	_ = h.steerLocked(control.Act{Op: control.OpExpire, Now: time.Now()}) // never refused
	h.flushLocked()
}

func (h *Hub) viewerLocked(id control.ViewerID) *Viewer {
	for _, v := range h.mu.viewers {
		if v.id == id {
			return v
		}
	}
	return nil
}

// controlLocked describes control as v sees it, or somebody who is no viewer.
func (h *Hub) controlLocked(v *Viewer) Control {
	c := Control{Controller: h.mu.control.Controller(), Generation: h.mu.control.Generation()}
	c.You = v != nil && c.Controller == v.id
	if by := h.viewerLocked(c.Controller); by != nil {
		c.ControllerName = by.name
	}
	asker, _ := h.mu.control.Request()
	if by := h.viewerLocked(asker); by != nil {
		c.Request = &ControlRequest{asker, by.name}
	}
	return c
}
