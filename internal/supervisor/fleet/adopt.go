// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
)

// Adopt takes over the worker of a terminal that somebody else launched. Every error but ErrHeld is a
// *Refusal.
func (f *Fleet) Adopt(ctx context.Context, id endpoint.SessionID) (*Handle, error) {
	if err := f.claim(id); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, adoptTimeout)
	defer cancel()
	c, seen, err := f.approach(ctx, id)
	r := decide(seen)
	if r.do == adopt {
		failpoint.Pass(failpoint.AdoptGreeted)
		return f.drive(id, c), nil
	}
	defer f.release(id, nil)
	refusal := &Refusal{ID: id, Code: r.code, Err: err}
	switch r.do {
	case sweep:
		f.sweep(refusal)
		failpoint.Pass(failpoint.AdoptSwept)
	case dismiss:
		_, err := f.folder.Signal(ctx, id, c.instance, endpoint.SignalKILL)
		failpoint.Pass(failpoint.AdoptDismissed)
		refusal.Err = errors.Join(refusal.Err, err, c.conn.Close())
	}
	return nil, refusal
}

// sweep removes what an ended worker left. Somebody may have taken the reservation meanwhile, and then
// nothing was touched.
func (f *Fleet) sweep(r *Refusal) {
	switch err := f.folder.Sweep(r.ID); {
	case err == nil:
	case errors.Is(err, endpoint.ErrReserved):
		r.Code, r.Err = CodeNotListening, err
	default:
		r.Code, r.Err = CodeUnswept, err
	}
}

// AdoptAll takes over every worker in the folder that this fleet does not hold, and removes what ended
// ones left. All are tried at once, adoptionsMax at a time, each with its own deadline, so a stopped
// worker delays nobody else. Refusals with CodeEnded are left out: nothing is wrong with them. Both lists
// are sorted by id. The error says that the folder could not be read.
func (f *Fleet) AdoptAll(ctx context.Context) ([]*Handle, []*Refusal, error) {
	if err := f.folder.SweepReplies(); err != nil {
		f.log.Warn("cannot remove what senders of signals left", "error", err)
	}
	failpoint.Pass(failpoint.RepliesSwept)
	ids, err := f.folder.Scan()
	if err != nil {
		return nil, nil, fmt.Errorf("adopt terminals: %w", err)
	}
	ids = slices.DeleteFunc(ids, f.holds)
	var (
		mu      sync.Mutex
		adopted []*Handle
		refused []*Refusal
		running sync.WaitGroup
	)
	places := make(chan struct{}, adoptionsMax)
	for _, id := range ids {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			h, err := f.Adopt(ctx, id)
			mu.Lock()
			defer mu.Unlock()
			if refusal := (*Refusal)(nil); h != nil {
				adopted = append(adopted, h)
			} else if errors.As(err, &refusal) && refusal.Code != CodeEnded {
				refused = append(refused, refusal)
			}
		})
	}
	running.Wait()
	slices.SortFunc(adopted, func(a, b *Handle) int { return strings.Compare(string(a.id), string(b.id)) })
	slices.SortFunc(refused, func(a, b *Refusal) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return adopted, refused, nil
}
