// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
)

// Terminate ends the terminal and its worker:
//
//	1 TERM, and termGrace for the program to end by itself
//	2 KILL, and killGrace; both only while the program lives
//	3 KILL again, which lets a worker go that keeps the last screen for whoever comes
//	4 a worker that answers nothing, stopped or drowned in requests, is killed itself: the terminal is then
//	  lost, not exited
//
// nil means that nothing of them is left but, perhaps, files, which Close removes. It may be called again,
// and from several goroutines. Recv should go on meanwhile: EXIT is the quickest news of the end.
func (h *Handle) Terminate(ctx context.Context) error {
	err := h.press(ctx, endpoint.SignalTERM, termGrace)
	if errors.Is(err, errLives) {
		err = h.press(ctx, endpoint.SignalKILL, killGrace)
	}
	if err == nil {
		err = h.dismiss(ctx)
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("terminate terminal %s: %w", h.id, errors.Join(context.Cause(ctx), err))
	}
	return h.destroy(ctx, err)
}

// errLives means that the program, or its worker, is still there when the time is over.
var errLives = errors.New("it is still there")

// press signals the program and waits for its end. nil means that it has ended: a worker that answers that
// there is nothing to signal has no program any more, and one of another instance is a successor, so ours
// is gone too. Anything else is, or wraps, errLives.
func (h *Handle) press(ctx context.Context, s endpoint.Signal, grace time.Duration) error {
	if marked(h.exited) {
		return nil
	}
	ack, err := h.Signal(ctx, s)
	failpoint.Pass(failpoint.Pressed)
	switch {
	case err != nil && !marked(h.exited):
		return fmt.Errorf("%w: %w", errLives, err)
	case err != nil || ack == endpoint.AckGone || ack == endpoint.AckStale:
		return nil
	}
	return h.awaitEnd(ctx, grace, h.exited)
}

// dismiss ends a worker that has no program any more. One that was only about to start its program when it was
// pressed may have one by now: it gets the KILL, and the worker is told again when it has ended.
func (h *Handle) dismiss(ctx context.Context) error {
	ack, err := h.Signal(ctx, endpoint.SignalKILL)
	failpoint.Pass(failpoint.Dismissed)
	if err == nil && ack == endpoint.AckDelivered {
		if err := h.awaitEnd(ctx, killGrace, h.exited); err != nil {
			return err
		}
		ack, err = h.Signal(ctx, endpoint.SignalKILL)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errLives, err)
	case ack == endpoint.AckStale:
		return nil
	}
	return h.awaitEnd(ctx, killGrace, nil)
}

// destroy kills the worker's process.
func (h *Handle) destroy(ctx context.Context, why error) error {
	err := killPeer(h.conn)
	if err == nil {
		err = h.awaitEnd(ctx, destroyMax, nil)
	}
	if err != nil {
		return fmt.Errorf("terminate terminal %s: %w: %w", h.id, ErrUnresponsive, errors.Join(why, err))
	}
	return nil
}

// awaitEnd waits for the worker's end, or for the news.
func (h *Handle) awaitEnd(ctx context.Context, most time.Duration, news <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if !h.awaitFree(ctx, news) {
		return errLives
	}
	return nil
}
