// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"time"

	"spawn/internal/sessiond/wire"
)

// foregroundPace sees to it that the name of the foreground command goes outward at most once in foregroundEvery
// (session specification, §4.1), whatever a worker sends. Of names that come faster the last one is told. Guarded by
// Hub.mu.
type foregroundPace struct {
	told  time.Time // when one was told last; zero before the first
	name  string    // the newest
	timer *time.Timer
}

func (h *Hub) foregroundLocked(payload []byte) error {
	name, err := wire.DecodeForeground(payload)
	if err != nil {
		return err
	}
	p := &h.mu.foreground
	p.name = name
	if name == h.mu.facts.Foreground {
		return nil // told, or told again before what was to be told came about
	}
	rest := foregroundEvery - time.Since(p.told)
	switch {
	case rest <= 0:
		h.tellForegroundLocked()
	case p.timer == nil:
		p.timer = time.AfterFunc(rest, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.tellForegroundLocked()
		})
	}
	return nil
}

// tellForegroundLocked tells the newest name, unless it is the one that was told.
func (h *Hub) tellForegroundLocked() {
	p := &h.mu.foreground
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	if h.mu.ended || p.name == h.mu.facts.Foreground {
		return
	}
	p.told = time.Now()
	h.factLocked(&h.mu.facts.Foreground, p.name, noticeForeground, Foreground{p.name})
}
