// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"spawn/internal/sessiond/wire"
)

var (
	// ErrNoCapture means that the worker, of an older build, can't be captured.
	ErrNoCapture = errors.New("worker does not know how to be captured")
	// ErrCaptures means that as many captures wait as may.
	ErrCaptures = errors.New("too many captures of this pane")
	// ErrUnanswered means that the worker did not answer in captureTimeout. It may yet; nobody is told then.
	ErrUnanswered = errors.New("worker does not answer")
)

// capture is one request for text. Answers come in the order of the requests, and the next request is sent
// when the answer to the one before is there: the worker never holds two.
type capture struct {
	req    wire.CaptureReq
	sent   bool
	answer chan []byte // 1 slot; whoever takes the payload wipes it. Nil when nobody waits any more.
}

// Capture asks the worker what it shows and has shown, as text. No viewer takes part in it, and it changes
// nothing for any. It waits for other captures, for captureTimeout at most, and while ctx lasts.
func (h *Hub) Capture(ctx context.Context, req wire.CaptureReq) (wire.Capture, error) {
	shot, err := h.capture(ctx, req)
	if err != nil {
		return wire.Capture{}, fmt.Errorf("capture terminal: %w", err)
	}
	return shot, nil
}

func (h *Hub) capture(ctx context.Context, req wire.CaptureReq) (wire.Capture, error) {
	answer, err := h.askCapture(req)
	if err != nil {
		return wire.Capture{}, err
	}
	deadline := time.NewTimer(captureTimeout)
	defer deadline.Stop()
	select {
	case payload := <-answer:
		return h.readCapture(payload)
	case <-ctx.Done():
		err = ctx.Err()
	case <-deadline.C:
		err = ErrUnanswered
	case <-h.done:
		err = ErrEnded
	}
	h.forsake(answer)
	return wire.Capture{}, err
}

func (h *Hub) askCapture(req wire.CaptureReq) (chan []byte, error) {
	if !h.hello.Can(wire.CapCapture) {
		return nil, ErrNoCapture
	}
	req.Wraps = req.Wraps && h.hello.Can(wire.CapWraps)
	if _, err := wire.AppendCaptureReq(nil, req); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	o := &h.mu.orders
	switch {
	case h.mu.ended:
		return nil, ErrEnded
	case len(o.captures) >= capturesMax:
		return nil, ErrCaptures
	}
	c := &capture{req: req, answer: make(chan []byte, 1)}
	o.captures = append(o.captures, c)
	h.flushLocked()
	return c.answer, nil
}

// requestCaptureLocked sends the oldest request unless that is on its way.
func (h *Hub) requestCaptureLocked() error {
	o := &h.mu.orders
	if len(o.captures) == 0 || o.captures[0].sent {
		return nil
	}
	err := h.src.RequestCapture(o.captures[0].req)
	o.captures[0].sent = err == nil
	return err
}

// capturedLocked hands the answer to whoever asked. It is read there: the text may be long, and the reader
// has a terminal to serve.
func (h *Hub) capturedLocked(payload []byte) error {
	o := &h.mu.orders
	if len(o.captures) == 0 || !o.captures[0].sent {
		return fmt.Errorf("%w: nobody asked for it", ErrProtocol)
	}
	if answer := o.captures[0].answer; answer != nil {
		answer <- bytes.Clone(payload)
	}
	o.captures = slices.Delete(o.captures, 0, 1)
	h.flushLocked()
	return nil
}

// readCapture reads an answer. One that is malformed ends the connection, as any such frame does.
func (h *Hub) readCapture(payload []byte) (wire.Capture, error) {
	defer clear(payload)
	shot, err := wire.DecodeCapture(payload)
	if err != nil {
		h.src.Close()
		return wire.Capture{}, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return shot, nil
}

// forsake gives a request up: one that is sent keeps its place until its answer comes.
func (h *Hub) forsake(answer chan []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := &h.mu.orders
	o.captures = slices.DeleteFunc(o.captures, func(c *capture) bool { return c.answer == answer && !c.sent })
	for _, c := range o.captures {
		if c.answer == answer {
			c.answer = nil
		}
	}
	select {
	case payload := <-answer:
		clear(payload)
	default:
	}
}
