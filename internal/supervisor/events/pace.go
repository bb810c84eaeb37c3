// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"fmt"
	"time"
)

// A slotKey names what is paced together: one kind of thing of one pane.
type slotKey struct{ resource, slot string }

// A slot lets Entry.Burst events through, and then one each paceEvery; of those that come between, the last
// one is told.
type slot struct {
	burst   int
	left    int       // of the burst
	since   time.Time // from when the next one of it is counted; when none is missing, the last look
	pending *Change   // nil: nothing waits
}

func (s *slot) refill(now time.Time) {
	n := int(now.Sub(s.since) / paceEvery)
	if n <= 0 {
		return
	}
	s.left, s.since = s.left+n, s.since.Add(time.Duration(n)*paceEvery)
	if s.left >= s.burst {
		s.left, s.since = s.burst, now
	}
}

// Note commits an event of a paced type by itself, now or when its turn has come, unless another one of
// its slot replaces it before. So a program cannot drive readers, nor push everybody else's events out of
// the log. The caller holds the lock of the state that it tells of.
func (l *Log) Note(c Change) error {
	entry, err := c.check()
	if err != nil {
		return err
	}
	if entry.Slot == "" {
		return fmt.Errorf("%w: %s is not paced, so it has to be committed", ErrChange, c.Type)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.o.Now()
	key := slotKey{c.Resource, entry.Slot}
	s := l.mu.slots[key]
	if s == nil {
		s = &slot{burst: entry.Burst, left: entry.Burst, since: now}
		l.mu.slots[key] = s
	}
	if s.refill(now); s.left == 0 {
		s.pending = &c
		l.kickRun()
		return nil
	}
	return l.spendLocked(s, c)
}

// spendLocked takes the place of what waits, if anything does.
func (l *Log) spendLocked(s *slot, c Change) error {
	s.left--
	s.pending = nil
	return l.commitLocked([]Change{c})
}

// Run commits what waited for its turn, until ctx ends; then all that still waits.
func (l *Log) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-l.kick:
		case <-ctx.Done():
			l.flush(true)
			return
		}
		if next := l.flush(false); next > 0 {
			timer.Reset(next)
		}
	}
}

// flush commits what is due, or everything, and returns how long the next one has to wait; 0 when none
// does. Slots that are as new are forgotten.
func (l *Log) flush(all bool) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.o.Now()
	var next time.Duration
	for key, s := range l.mu.slots {
		s.refill(now)
		switch {
		case s.pending != nil && (all || s.left > 0):
			s.left = max(s.left, 1)
			_ = l.spendLocked(s, *s.pending) // it was checked; the log has ended at worst
		case s.pending != nil:
			if due := s.since.Add(paceEvery).Sub(now); next == 0 || due < next {
				next = due
			}
		case s.left == s.burst:
			delete(l.mu.slots, key)
		}
	}
	return next
}

func (l *Log) dropSlotsLocked(resource string) {
	for _, e := range catalogue {
		if e.Slot != "" {
			delete(l.mu.slots, slotKey{resource, e.Slot})
		}
	}
}

func (l *Log) kickRun() {
	select {
	case l.kick <- struct{}{}:
	default: // it will look anyway
	}
}
