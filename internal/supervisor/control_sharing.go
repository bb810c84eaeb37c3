// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"strings"
	"time"

	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/verbs"
)

// IssueGrant implements verbs.Granting.
func (s verbServer) IssueGrant(ctx context.Context, p verbs.GrantIssueParams) (verbs.GrantIssueResult, error) {
	order := access.GrantOrder{Scopes: mapped(p.Scopes, scopeOf), Label: p.Label, Life: time.Duration(p.Seconds) * time.Second}
	if p.Principal != "" {
		kind, id, _ := strings.Cut(p.Principal, ":")
		order.To = access.Principal{Kind: access.PrincipalKind(kind), ID: id}
	}
	g, token, err := s.authority.Issue(principalOf(ctx), order)
	if err != nil {
		return verbs.GrantIssueResult{}, sharingError(err)
	}
	r := verbs.GrantIssueResult{Grant: g.ID, Principal: g.To.String()}
	if order.To == (access.Principal{}) {
		r.Token = token.String()
	}
	return r, nil
}

// scopeOf reads a scope whose rights the verb has checked.
func scopeOf(s verbs.Scope) access.Scope {
	var rights []access.Right
	for _, name := range s.Rights {
		if r, err := access.ParseRight(name); err == nil {
			rights = append(rights, r)
		}
	}
	return access.Scope{Rights: access.RightsOf(rights...), On: access.Resource(s.Resource)}
}

// Grants implements verbs.Granting.
func (s verbServer) Grants(ctx context.Context, _ verbs.Empty) (verbs.GrantListResult, error) {
	var r verbs.GrantListResult
	for _, g := range s.authority.Grants(principalOf(ctx)) {
		if g.To.Kind == access.KindShare {
			continue
		}
		shown := verbs.Grant{
			Grant: g.ID, Principal: g.To.String(), Label: g.Label, By: g.By.String(), IssuedAt: g.IssuedAt.UnixMilli(),
			Scopes: mapped(g.Scopes, func(s access.Scope) verbs.Scope {
				return verbs.Scope{Resource: string(s.On), Rights: mapped(s.Rights.List(), access.Right.String)}
			}),
		}
		if !g.Expires.IsZero() {
			shown.ExpiresAt = g.Expires.UnixMilli()
		}
		r.Grants = append(r.Grants, shown)
	}
	return r, nil
}

// RevokeGrant implements verbs.Granting. What was open by the grant is closed when it returns.
func (s verbServer) RevokeGrant(ctx context.Context, p verbs.GrantRevokeParams) (verbs.Empty, error) {
	err := s.authority.Revoke(principalOf(ctx), p.Grant)
	s.admitted.review()
	return verbs.Empty{}, sharingError(err)
}

// Devices implements verbs.Granting.
func (s verbServer) Devices(context.Context, verbs.Empty) (verbs.DeviceListResult, error) {
	return verbs.DeviceListResult{Devices: mapped(s.door.Devices(), func(d access.Device) verbs.Device {
		return verbs.Device{
			Device: d.ID, Name: d.Name, PairedAt: time.Unix(d.CreatedAt, 0).UnixMilli(), SeenAt: time.Unix(d.LastSeen, 0).UnixMilli(),
			Online: s.admitted.online(access.Principal{Kind: access.KindDevice, ID: d.ID}),
		}
	})}, nil
}

// RevokeDevice implements verbs.Granting. What the browser had open is closed when it returns.
func (s verbServer) RevokeDevice(ctx context.Context, p verbs.DeviceRevokeParams) (verbs.Empty, error) {
	err := s.authority.Unpair(principalOf(ctx), p.Device)
	s.admitted.review()
	return verbs.Empty{}, sharingError(err)
}

// sharingErrors are the refusals of the Authority and the door in the words of verbs.
var sharingErrors = []struct {
	err  error
	code verbs.Code
}{
	{access.ErrOrder, verbs.CodeInvalidParams},
	{access.ErrProtocol, verbs.CodeInvalidParams},
	{access.ErrNoGrant, verbs.CodeNoGrant},
	{access.ErrUnknownDevice, verbs.CodeNoDevice},
	{access.ErrBusy, verbs.CodeFull},
}

func sharingError(err error) error {
	for _, e := range sharingErrors {
		if errors.Is(err, e.err) {
			return verbs.Errorf(e.code, "%s", err)
		}
	}
	return verbError(err)
}
