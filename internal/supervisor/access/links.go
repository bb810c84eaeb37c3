// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"slices"
	"time"
)

// A link's token stays in the browser of who opens it. Two things are made of it, of which neither tells the
// token or the other:
//
//	token ──HMAC spawn.share.name.v1──► name: 16 bytes, which a visitor sends
//	      └─HMAC spawn.share.key.v1───► seed of the Ed25519 key that signs the visitor's offer
//
// spawnd keeps the name and the public half of the key. Whoever reads those, or carries the signalling, can
// neither open the link nor stand for who did.

// ErrLink means that no living link made this request: unknown, expired, revoked, or altered on its way. The
// caller may not learn which.
var ErrLink = errors.New("the share link is not valid")

// link is what is kept of one share link beside its grant.
type link struct {
	name [linkNameBytes]byte
	key  ed25519.PublicKey
	used time.Time // when a visit began last; zero: never
}

func newLink(t Token) *link {
	name, seed := derived(t, "spawn.share.name.v1"), derived(t, "spawn.share.key.v1")
	key := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
	return &link{name: [linkNameBytes]byte(name), key: key}
}

func derived(t Token, label string) []byte {
	h := hmac.New(sha256.New, t[:])
	h.Write([]byte(label))
	return h.Sum(nil)
}

// nobodysKey stands in where there is no link, so that the work is the same. What it verifies is refused too.
var nobodysKey = newLink(Token{}).key

// A Visit is the signed wish to connect of who holds a link; all fields as they travel.
type Visit struct {
	Link        string // the link's name
	ClientNonce string
	SDP         string
	Signature   string // over visitText, by the link's key
}

// Links are the share links. An Authority has them.
type Links interface {
	// CheckLink returns the living link of that name whose key has signed the text. There is one error,
	// ErrLink, and no telling why.
	CheckLink(name, text, signature []byte) (Grant, error)
}

// CheckVisit returns the link under which the offer was made, if its key has signed it under this challenge,
// which serves for one good offer.
func (d *Door) CheckVisit(c *Challenge, v Visit, links Links) (Grant, error) {
	if _, err := decode(v.ClientNonce, nonceBytes); err != nil {
		return Grant{}, err
	}
	name, err := decode(v.Link, linkNameBytes)
	if err != nil {
		return Grant{}, err
	}
	sig, err := decode(v.Signature, ed25519.SignatureSize)
	if err != nil {
		return Grant{}, err
	}
	if !d.serves(c) {
		return Grant{}, ErrStale
	}
	g, err := links.CheckLink(name, visitText(d.HostKey(), c.nonce, v.ClientNonce, v.Link, v.SDP), sig)
	if err != nil {
		return Grant{}, err
	}
	if !d.spend(c) {
		return Grant{}, ErrStale
	}
	return g, nil
}

// Visitor is who came in by the link.
func Visitor(g Grant) Entrant {
	name := "Visitor"
	if g.Label != "" {
		name += " (" + g.Label + ")"
	}
	return Entrant{Who: g.To, Name: cleanText(name), Link: g}
}

// serves reports whether the challenge may still bring an offer.
func (d *Door) serves(c *Challenge) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !c.offered && !d.now().After(c.expires)
}

// spend uses the challenge up, and reports false when that was done or its time is over.
func (d *Door) spend(c *Challenge) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.offered || d.now().After(c.expires) {
		return false
	}
	c.offered = true
	return true
}

// SignWelcome signs the host's answer to a checked visit, so that the page knows it for that of the host whose
// key the link names.
func (d *Door) SignWelcome(c *Challenge, v Visit, answerSDP string) string {
	return encode(d.host.sign(welcomeText(d.HostKey(), c.nonce, v.ClientNonce, v.Link, v.SDP, answerSDP)))
}

// CheckLink implements Links. The work is the same whether there is such a link or not.
func (a *Authority) CheckLink(name, text, signature []byte) (Grant, error) {
	g, key := a.findLink(name)
	signed := ed25519.Verify(key, text, signature)
	// A link whose maker may not see that any more gives nothing, as if it had ended.
	if !signed || g.ID == "" || a.Check(g.To, Read, g.Scopes[0].On) != nil || !a.visited(g.ID) {
		return Grant{}, ErrLink
	}
	return g, nil
}

// findLink looks at every name, and at all of each, whatever it finds. Without a living link the grant is zero.
func (a *Authority) findLink(name []byte) (Grant, ed25519.PublicKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var found Grant
	key := nobodysKey
	for id, l := range a.mu.links {
		if subtle.ConstantTimeCompare(l.name[:], name) == 1 && a.mu.grants[id].aliveAt(a.o.Now()) {
			found, key = a.mu.grants[id].copy(), l.key
		}
	}
	return found, key
}

// visited notes that a visit begins, and reports false when the link has ended meanwhile.
func (a *Authority) visited(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	l, ok := a.mu.links[id]
	if !ok || !a.mu.grants[id].aliveAt(a.o.Now()) {
		return false
	}
	l.used = a.o.Now()
	return true
}

// A Link is a share link as it is listed. It holds no token.
type Link struct {
	Grant
	Used time.Time // when a visit began last; zero: never
}

// Right is the most that the link gives.
func (l Link) Right() Right {
	if l.Scopes[0].Rights.Has(Write) {
		return Write
	}
	return Read
}

// Links lists the living links that the principal may end, the oldest first.
func (a *Authority) Links(p Principal) []Link {
	var list []Link
	_ = a.act(func() error { // which ends what has expired
		for id, l := range a.mu.links {
			list = append(list, Link{a.mu.grants[id].copy(), l.used})
		}
		return nil
	})
	list = slices.DeleteFunc(list, func(l Link) bool { return !a.mayEnd(p, l.Grant) })
	slices.SortFunc(list, func(x, y Link) int { return cmp.Or(x.IssuedAt.Compare(y.IssuedAt), cmp.Compare(x.ID, y.ID)) })
	return list
}

// mayEnd reports whether the principal may end a link: who made it, or made who did, and who has Admin on what it
// is to.
func (a *Authority) mayEnd(p Principal, g Grant) bool {
	if a.Check(p, Admin, g.Scopes[0].On) == nil {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fromLocked(&g, p)
}

// RevokeLink ends a link. Who may not end it gets ErrNoGrant whether it exists or not.
func (a *Authority) RevokeLink(by Principal, id string) error {
	if !slices.ContainsFunc(a.Links(by), func(l Link) bool { return l.ID == id }) {
		return ErrNoGrant
	}
	return a.act(func() error {
		g, ok := a.mu.grants[id]
		if !ok {
			return ErrNoGrant
		}
		a.endLocked(g, Revoked, by)
		return nil
	})
}
