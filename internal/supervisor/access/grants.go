// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

const (
	grantPrefix = "g_"
	linkPrefix  = "l_"
)

// A Scope is some rights on one resource, and with it on all below.
type Scope struct {
	Rights Rights
	On     Resource
}

// A Grant is what somebody was given by somebody. The first grant of an agent or a share is what makes it
// one: Grant.ID is the principal's, and when that grant is over, so is the principal.
type Grant struct {
	ID       string // g_ or l_ and 16 hex digits
	To       Principal
	By       Principal
	Scopes   []Scope
	Label    string    // as cleanText leaves it; may be empty
	IssuedAt time.Time //
	Expires  time.Time // zero: never

	ahead *Ahead // of one that was issued before its pane was there; nil for any other
}

func (g *Grant) founds() bool { return g.ID == g.To.ID }

// aliveAt believes whichever clock says that time is up: the monotonic one stands still while the host
// sleeps, and the other can be set.
func (g *Grant) aliveAt(now time.Time) bool {
	return g.Expires.IsZero() || now.Before(g.Expires) && now.Round(0).Before(g.Expires.Round(0))
}

// deniedTo is the refusal to an issuer that is nobody any more.
func (g *Grant) deniedTo(by Principal) error {
	return &DeniedError{g.Scopes[0].Rights.List()[0], g.Scopes[0].On, by.String()}
}

// copy shares nothing with what the Authority changes later.
func (g *Grant) copy() Grant {
	c := *g
	c.Scopes = slices.Clone(g.Scopes)
	return c
}

// A GrantOrder says what to grant. The zero To makes a new agent.
type GrantOrder struct {
	To     Principal // otherwise a pane, or an agent that the issuer made
	Scopes []Scope
	Label  string
	Life   time.Duration // 0: until it is revoked
}

// Issue grants what the issuer has. The token is a new agent's, and zero for a principal that is known
// without. *DeniedError names the first right that the issuer lacks; ErrOrder and ErrBusy say why nobody
// can be given this, or now.
func (a *Authority) Issue(by Principal, o GrantOrder) (Grant, Token, error) {
	if err := o.check(); err != nil {
		return Grant{}, Token{}, err
	}
	if !by.mayDelegate() {
		return Grant{}, Token{}, &DeniedError{Admin, o.Scopes[0].On, by.String()}
	}
	return a.give(by, Grant{To: o.To, Scopes: slices.Clone(o.Scopes), Label: cleanText(o.Label)}, o.Life, func() error {
		if err := a.mayGive(by, o.Scopes); err != nil {
			return err
		}
		return a.mayReach(by, o.To)
	})
}

// mayGive reports the first right of the scopes that by lacks.
func (a *Authority) mayGive(by Principal, scopes []Scope) error {
	for _, s := range scopes {
		for _, r := range s.Rights.List() {
			if err := a.Check(by, r, s.On); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o GrantOrder) check() error {
	if len(o.Scopes) == 0 || len(o.Scopes) > scopesMax {
		return fmt.Errorf("%w: it has %d scopes, not 1 to %d", ErrOrder, len(o.Scopes), scopesMax)
	}
	for _, s := range o.Scopes {
		if _, err := ParseResource(string(s.On)); err != nil || s.Rights == 0 || s.Rights&^RightsOf(Read, Write, Spawn, Admin) != 0 {
			return fmt.Errorf("%w: a scope names no right or no resource", ErrOrder)
		}
	}
	if o.Life < 0 {
		return fmt.Errorf("%w: it would have expired before it was made", ErrOrder)
	}
	if o.To != (Principal{}) && o.To.Kind != KindPane && o.To.Kind != KindAgent {
		return fmt.Errorf("%w: only panes and agents can be given more", ErrOrder)
	}
	return checkSentName(o.Label)
}

// mayReach reports whether by may hand something to the principal: to any pane that it may read, and to
// agents whose grants it may revoke.
func (a *Authority) mayReach(by, to Principal) error {
	switch to.Kind {
	case KindPane:
		return a.Check(by, Read, Resource("pane:"+to.ID))
	case KindAgent:
		all := a.Check(by, Admin, Root) == nil
		a.mu.Lock()
		defer a.mu.Unlock()
		if g := a.mu.grants[to.ID]; g == nil || g.To != to || !all && g.By != by {
			return ErrNoGrant
		}
	}
	return nil
}

// A ShareOrder says what a link shows. It opens a way in for people who are not the user, so only who has
// Admin on the resource may ask for it.
type ShareOrder struct {
	On    Resource // a pane or a session
	Right Right    // Read, or Write, which for a link includes seeing what one writes to
	Label string
	Life  time.Duration // above 0, at most ShareLifeMax
}

// Share makes a link. The token goes into the link's fragment, which a browser sends to nobody.
func (a *Authority) Share(by Principal, o ShareOrder) (Grant, Token, error) {
	if _, err := ParseResource(string(o.On)); err != nil || o.On.Kind() != "pane" && o.On.Kind() != "session" {
		return Grant{}, Token{}, fmt.Errorf("%w: a link is to a pane or a session", ErrOrder)
	}
	if o.Right != Read && o.Right != Write {
		return Grant{}, Token{}, fmt.Errorf("%w: a link gives read or write", ErrOrder)
	}
	if o.Life <= 0 || o.Life > ShareLifeMax {
		return Grant{}, Token{}, fmt.Errorf("%w: a link lives for up to %v", ErrOrder, ShareLifeMax)
	}
	if err := checkSentName(o.Label); err != nil {
		return Grant{}, Token{}, err
	}
	link := Grant{To: Principal{Kind: KindShare}, Scopes: []Scope{{RightsOf(Read, o.Right), o.On}}, Label: cleanText(o.Label)}
	return a.give(by, link, o.Life, func() error { return a.Check(by, Admin, o.On) })
}

// give adds the grant if allowed says so and nothing has gone meanwhile. It asks again when something has:
// what is allowed must be so at the moment from which Gone would find the grant.
func (a *Authority) give(by Principal, g Grant, life time.Duration, allowed func() error) (Grant, Token, error) {
	var token Token
	for {
		a.mu.Lock()
		gone := a.mu.gone
		a.mu.Unlock()
		if !a.Alive(by) {
			return Grant{}, Token{}, g.deniedTo(by)
		}
		if err := allowed(); err != nil {
			return Grant{}, Token{}, err
		}
		stale := false
		err := a.act(func() error {
			if stale = gone != a.mu.gone; stale {
				return nil
			}
			var err error
			token, err = a.addLocked(by, &g, life)
			return err
		})
		switch {
		case err != nil:
			return Grant{}, Token{}, err
		case !stale:
			return g, token, nil
		}
	}
}

func (a *Authority) addLocked(by Principal, g *Grant, life time.Duration) (Token, error) {
	switch { // either may have ended while the rights were looked at
	case !a.livesLocked(by):
		return Token{}, g.deniedTo(by)
	case g.To.ID != "" && !a.livesLocked(g.To):
		return Token{}, ErrNoGrant
	}
	room, links := grantsMax, linksMax
	if !by.owns() {
		room, links = room-grantsKept, links-linksKept
	}
	if len(a.mu.grants) >= room {
		return Token{}, fmt.Errorf("%w: there are %d grants; revoke some", ErrBusy, len(a.mu.grants))
	}
	if g.To.Kind == KindShare && len(a.mu.links) >= links {
		return Token{}, fmt.Errorf("%w: there are %d share links; revoke some", ErrBusy, len(a.mu.links))
	}
	id, err := a.newIDLocked(g.To.Kind)
	if err != nil {
		return Token{}, err
	}
	g.ID, g.By, g.IssuedAt = id, by, a.o.Now()
	if life > 0 {
		g.Expires = g.IssuedAt.Add(life)
	}
	var token Token
	if g.To.ID == "" { // nobody yet
		if g.To.Kind == "" {
			g.To.Kind = KindAgent
		}
		g.To.ID = id
		if token, err = newToken(a.o.Rand); err != nil {
			return Token{}, err
		}
		a.mu.tokens[g.To] = token.hash()
		if g.To.Kind == KindShare {
			a.mu.links[id] = newLink(token)
		}
	}
	kept := g.copy()
	a.mu.grants[id] = &kept
	a.mu.to[g.To] = append(a.mu.to[g.To], &kept)
	a.noteLocked(Change{What: Issued, Grant: g.copy(), Actor: by})
	select {
	case a.kick <- struct{}{}:
	default: // Run will look anyway
	}
	return token, nil
}

// livesLocked is Alive for what Gone does not end.
func (a *Authority) livesLocked(p Principal) bool {
	switch p.Kind {
	case KindDevice:
		return a.o.Devices.Paired(p.ID)
	case KindAgent, KindShare:
		g, ok := a.mu.grants[p.ID]
		return ok && g.To == p && g.aliveAt(a.o.Now())
	}
	return true
}

func (a *Authority) newIDLocked(kind PrincipalKind) (string, error) {
	prefix := grantPrefix
	if kind == KindShare {
		prefix = linkPrefix
	}
	for {
		var raw [grantIDBytes]byte
		if _, err := io.ReadFull(a.o.Rand, raw[:]); err != nil {
			return "", fmt.Errorf("name a grant: %w", err)
		}
		id := prefix + hex.EncodeToString(raw[:])
		if _, taken := a.mu.grants[id]; !taken {
			return id, nil
		}
	}
}

// Grants lists what the principal may know of: its own, what it issued, what came of that, and with Admin
// on Root everything. Links are among them. The oldest comes first.
func (a *Authority) Grants(p Principal) []Grant {
	all := a.Check(p, Admin, Root) == nil
	var list []Grant
	_ = a.act(func() error { // it has no error of its own
		for _, g := range a.mu.grants {
			if !g.hidden() && (all || g.To == p || a.fromLocked(g, p)) {
				list = append(list, g.copy())
			}
		}
		return nil
	})
	slices.SortFunc(list, func(x, y Grant) int { return cmp.Or(x.IssuedAt.Compare(y.IssuedAt), cmp.Compare(x.ID, y.ID)) })
	return list
}

// fromLocked reports whether p issued the grant, or made an agent that did, and so on.
func (a *Authority) fromLocked(g *Grant, p Principal) bool {
	for g != nil {
		if g.By == p {
			return true
		}
		g = a.mu.grants[g.By.ID] // an agent's id is that of the grant that made it, which is older than g
	}
	return false
}

// Revoke ends a grant or link, and with a principal that it made all that this principal issued. Who did
// not issue it, and has no Admin on Root, gets ErrNoGrant whether it exists or not.
func (a *Authority) Revoke(by Principal, id string) error {
	all := a.Check(by, Admin, Root) == nil
	return a.act(func() error {
		g, ok := a.mu.grants[id]
		if !ok || !all && !a.fromLocked(g, by) {
			return ErrNoGrant
		}
		a.endLocked(g, Revoked, by)
		return nil
	})
}

// Unpair ends a paired browser, and all that it issued. The file of devices is written first: an error
// means that the browser stays paired.
func (a *Authority) Unpair(by Principal, device string) error {
	if err := a.Check(by, Admin, Root); err != nil {
		return err
	}
	a.acting.Lock()
	defer a.acting.Unlock()
	if err := a.o.Devices.Unpair(device); err != nil { // writes a file, so not under mu
		return err
	}
	return a.changeAndTell(func() error {
		a.endPrincipalLocked(Principal{KindDevice, device}, Unpaired, by)
		return nil
	})
}

// Gone ends what was granted on resources that are not there any more, and to and by the panes among them.
// Ids are never used again, so a late call gives nobody anything.
func (a *Authority) Gone(resources ...Resource) {
	_ = a.act(func() error {
		a.mu.gone++
		for _, g := range slices.Collect(maps.Values(a.mu.grants)) {
			g.Scopes = slices.DeleteFunc(g.Scopes, func(s Scope) bool { return slices.Contains(resources, s.On) })
			if len(g.Scopes) == 0 {
				a.endLocked(g, ResourceGone, Principal{})
			}
		}
		for _, r := range resources {
			if r.Kind() == "pane" {
				a.endPrincipalLocked(Principal{KindPane, r.ID()}, ResourceGone, Principal{})
			}
		}
		return nil
	})
}

// endLocked ends one grant. One that ended before, as part of another's end, is left alone.
func (a *Authority) endLocked(g *Grant, why What, actor Principal) {
	if a.mu.grants[g.ID] != g {
		return
	}
	delete(a.mu.grants, g.ID)
	a.mu.to[g.To] = slices.DeleteFunc(a.mu.to[g.To], func(o *Grant) bool { return o == g })
	if len(a.mu.to[g.To]) == 0 {
		delete(a.mu.to, g.To)
	}
	change := Change{What: why, Grant: g.copy(), Actor: actor}
	if !g.founds() {
		a.noteLocked(change)
		return
	}
	change.Ended = g.To
	a.noteLocked(change)
	a.endAroundLocked(g.To)
}

// endPrincipalLocked ends a principal that no grant made.
func (a *Authority) endPrincipalLocked(p Principal, why What, actor Principal) {
	a.noteLocked(Change{What: why, Ended: p, Actor: actor})
	a.endAroundLocked(p)
}

// endAroundLocked takes away whom nobody stands for any more: the principal's token, what it was given
// and what it issued.
func (a *Authority) endAroundLocked(p Principal) {
	delete(a.mu.tokens, p)
	delete(a.mu.links, p.ID) // no other principal has a link's id
	var around []*Grant
	for _, g := range a.mu.grants {
		if g.By == p || g.To == p {
			around = append(around, g)
		}
	}
	slices.SortFunc(around, byID)
	for _, g := range around {
		a.endLocked(g, IssuerGone, Principal{})
	}
}

func byID(x, y *Grant) int { return cmp.Compare(x.ID, y.ID) }
