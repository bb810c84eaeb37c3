// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"spawn/internal/sessiond/wire"
)

// ErrTyping means that as many wait to type as may.
var ErrTyping = errors.New("too many wait to type into this pane")

// Type types p, at most 64 KiB, which is not kept, beside whoever controls the pane: nobody gains or loses
// control, and the size stays. All of p is typed at once, so no key of anybody else comes in between. It waits
// while the worker's queue is full and ctx lasts. The caller has checked that whoever asks may type.
func (h *Hub) Type(ctx context.Context, p []byte) error {
	if err := h.typeIn(ctx, p); err != nil {
		return fmt.Errorf("type into terminal: %w", err)
	}
	return nil
}

func (h *Hub) typeIn(ctx context.Context, p []byte) error {
	if len(p) > wire.InputMax {
		return ErrSize
	}
	err := h.tryType(p, false)
	if !h.busy(err) {
		return err
	}
	if err := h.queueToType(1); err != nil {
		return err
	}
	defer func() { _ = h.queueToType(-1) }() // leaving is never refused
	retry := time.NewTicker(busyRetry)
	defer retry.Stop()
	for {
		select {
		case <-retry.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-h.done:
			return ErrEnded
		}
		if err := h.tryType(p, true); !h.busy(err) {
			return err
		}
	}
}

// tryType hands p over, behind those who have waited for it longer.
func (h *Hub) tryType(p []byte, waited bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.mu.ended || h.mu.facts.Exit != nil:
		return ErrEnded
	case h.mu.typing > 0 && !waited:
		return h.o.Busy
	}
	err := h.src.Input(p)
	if err == nil || h.busy(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrEnded, err)
}

func (h *Hub) queueToType(n int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.typing+n > typersMax {
		return ErrTyping
	}
	h.mu.typing += n
	return nil
}
