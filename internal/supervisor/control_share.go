// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"time"

	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/verbs"
)

// shareLife is how long a link is good whose maker does not say: a look together, and not a forgotten door.
const shareLife = time.Hour

// CreateShare implements verbs.Sharing.
func (s verbServer) CreateShare(ctx context.Context, p verbs.ShareCreateParams) (verbs.ShareCreateResult, error) {
	most, life := s.inForce.shareMax(), time.Duration(p.Seconds)*time.Second
	switch {
	case life > most:
		return verbs.ShareCreateResult{}, verbs.Errorf(verbs.CodeInvalidParams, "seconds is at most %d: access.share_max_seconds says so",
			int(most.Seconds())).With("param", "seconds")
	case life == 0:
		life = min(shareLife, most)
	}
	order := access.ShareOrder{On: access.Resource(p.Resource), Right: access.Read, Label: p.Label, Life: life}
	if p.Right == access.Write.String() {
		order.Right = access.Write
	}
	g, token, err := s.authority.Share(principalOf(ctx), order)
	if err != nil {
		return verbs.ShareCreateResult{}, sharingError(err)
	}
	return verbs.ShareCreateResult{Share: g.ID, URL: s.server.ShareURL(token), ExpiresAt: g.Expires.UnixMilli()}, nil
}

// Shares implements verbs.Sharing.
func (s verbServer) Shares(ctx context.Context, _ verbs.Empty) (verbs.ShareListResult, error) {
	return verbs.ShareListResult{Shares: mapped(s.authority.Links(principalOf(ctx)), func(l access.Link) verbs.Share {
		return verbs.Share{
			Share: l.ID, Resource: string(l.Scopes[0].On), Right: l.Right().String(), Label: l.Label, By: l.By.String(),
			IssuedAt: l.IssuedAt.UnixMilli(), ExpiresAt: l.Expires.UnixMilli(), UsedAt: usedAt(l.Used), Open: s.pages.visits.of(l.ID),
		}
	})}, nil
}

// RevokeShare implements verbs.Sharing. What was open by the link is closed when it returns.
func (s verbServer) RevokeShare(ctx context.Context, p verbs.ShareRevokeParams) (verbs.Empty, error) {
	err := s.authority.RevokeLink(principalOf(ctx), p.Share)
	s.admitted.review()
	return verbs.Empty{}, sharingError(err)
}
