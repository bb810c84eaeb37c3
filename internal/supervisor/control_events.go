// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/events"
	"spawn/internal/supervisor/verbs"
)

// Follow implements verbs.Happenings. Who has become nobody is told nothing more.
func (s verbServer) Follow(ctx context.Context, p verbs.EventsSubscribeParams) (verbs.EventsSubscribeResult, func(context.Context) (verbs.Raw, error), error) {
	who := principalOf(ctx)
	log := s.panes.told.log
	place, err := log.Subscribe(
		events.From{Source: p.Source, Cursor: p.Cursor}, events.Filter{Types: p.Types, Resources: p.Resources}, s.mayKnow(who),
	)
	if errors.Is(err, events.ErrFrom) {
		err = verbs.Errorf(verbs.CodeSubscription, "%s", err)
	}
	if err != nil {
		return verbs.EventsSubscribeResult{}, nil, err
	}
	first := true
	next := func(ctx context.Context) (verbs.Raw, error) {
		if first {
			first = false
			s.panes.reads(ctx)
		}
		batch, err := place.Next(ctx)
		if err != nil {
			return nil, err
		}
		if !s.authority.Alive(who) {
			return nil, events.ErrClosed
		}
		return strictjson.Marshal(batch)
	}
	return verbs.EventsSubscribeResult{Source: log.Source()}, next, nil
}

// mayKnow is what the principal may be told of, looked up anew each time.
func (s verbServer) mayKnow(who access.Principal) events.May {
	return func(right, resource string, above []string) bool {
		r, err := access.ParseRight(right)
		last := mapped(above, func(r string) access.Resource { return access.Resource(r) })
		return err == nil && s.authority.May(who, r, access.Resource(resource), last)
	}
}
