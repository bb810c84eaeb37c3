// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"maps"
	"slices"
	"time"
)

// What says what became of a grant or a principal.
type What string

const (
	Issued       What = "issued"
	Revoked      What = "revoked"
	Expired      What = "expired"
	IssuerGone   What = "issuer_gone"   // its issuer, or whom it was given to, is over
	ResourceGone What = "resource_gone" // all that it was about is closed
	Unpaired     What = "unpaired"      // a device; there is no grant
)

// A Change is one thing that an act brought about. It holds no token.
type Change struct {
	At    time.Time
	What  What
	Grant Grant     // zero when a device or a pane has ended
	Ended Principal // whose connections are to be closed; zero when a principal merely has other rights
	Actor Principal // zero when time, or a resource's end, did it
}

// Audit returns the last changes, the oldest first, to who has Admin on Root.
func (a *Authority) Audit(p Principal) ([]Change, error) {
	if err := a.Check(p, Admin, Root); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.mu.audit), nil
}

// act runs a change under the locks, after what has expired was ended, and tells what came of both.
func (a *Authority) act(f func() error) error {
	a.acting.Lock()
	defer a.acting.Unlock()
	return a.changeAndTell(f)
}

// changeAndTell is act for who holds acting.
func (a *Authority) changeAndTell(f func() error) error {
	changes, err := a.change(f)
	if len(changes) > 0 && a.o.Changed != nil {
		a.o.Changed(changes)
	}
	return err
}

func (a *Authority) change(f func() error) ([]Change, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expireLocked()
	err := f()
	changes := a.mu.changes
	a.mu.changes = nil
	return changes, err
}

func (a *Authority) noteLocked(c Change) {
	c.At = a.o.Now()
	if c.Grant.hidden() {
		c.Grant.ahead.kept = append(c.Grant.ahead.kept, c)
		return
	}
	a.mu.changes = append(a.mu.changes, c)
	a.recordLocked(c)
}

// recordLocked keeps a change that was told, for Audit.
func (a *Authority) recordLocked(c Change) {
	if len(a.mu.audit) == auditMax {
		a.mu.audit = slices.Delete(a.mu.audit, 0, 1)
	}
	a.mu.audit = append(a.mu.audit, c)
}

func (a *Authority) expireLocked() {
	now := a.o.Now()
	for _, g := range slices.SortedFunc(maps.Values(a.mu.grants), byID) {
		if !g.aliveAt(now) {
			a.endLocked(g, Expired, Principal{})
		}
	}
}

// Run tells of what expires while nobody acts, until ctx ends. A check never waits for it: what has
// expired gives nothing from that moment on.
func (a *Authority) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-a.kick:
		case <-ctx.Done():
			return
		}
		_ = a.act(func() error { return nil }) // ends what is due; it has no error of its own
		if next, ok := a.untilExpiry(); ok {
			timer.Reset(min(next, expiryLookMax))
		}
	}
}

// untilExpiry is the time until the next grant expires, by the clock that says so first.
func (a *Authority) untilExpiry() (next time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.o.Now()
	for _, g := range a.mu.grants {
		if g.Expires.IsZero() {
			continue
		}
		left := min(g.Expires.Sub(now), g.Expires.Round(0).Sub(now.Round(0)))
		if !ok || left < next {
			next, ok = left, true
		}
	}
	return next, ok
}
