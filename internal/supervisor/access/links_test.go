// SPDX-License-Identifier: Apache-2.0

//go:build unix

package access

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// visitor does what a page does with a link's fragment, in words of its own.
type visitor struct {
	name, hostKey string
	key           ed25519.PrivateKey
}

func visitorOf(token, hostKey string) visitor {
	secret, err := url.DecodeString(token)
	if err != nil {
		panic(err)
	}
	made := func(label string) []byte {
		h := hmac.New(sha256.New, secret)
		io.WriteString(h, label)
		return h.Sum(nil)
	}
	return visitor{url.EncodeToString(made("spawn.share.name.v1")[:16]), hostKey, ed25519.NewKeyFromSeed(made("spawn.share.key.v1"))}
}

func (v visitor) visit(nonce, sdp string) Visit {
	text := strings.Join([]string{"spawn.visit.v1", v.hostKey, nonce, clientNonce, v.name, sha(sdp)}, "\n")
	return Visit{Link: v.name, ClientNonce: clientNonce, SDP: sdp, Signature: url.EncodeToString(ed25519.Sign(v.key, []byte(text)))}
}

// gateway is a door with an Authority behind it, under one clock.
type gateway struct {
	*court
	door *Door
}

func newGateway(t *testing.T) gateway {
	t.Helper()
	c := newCourt(t, UnknownNothing)
	return gateway{c, openDoor(t, t.TempDir(), c.clock)}
}

// link makes a link by the owner.
func (g gateway) link(on Resource, r Right) (Grant, visitor) {
	g.t.Helper()
	grant, token := g.share(on, r)
	return grant, visitorOf(token.String(), g.door.HostKey())
}

// enter makes one whole try.
func (g gateway) enter(v visitor) (Grant, error) {
	g.t.Helper()
	c := challenge(g.t, g.door)
	return g.door.CheckVisit(c, v.visit(c.Nonce(), "sdp"), g.Authority)
}

func TestWhoHoldsALinkIsKnownAndTheAnswerIsTheHosts(t *testing.T) {
	g := newGateway(t)
	grant, v := g.link("pane:p0", Write)
	c := challenge(t, g.door)
	visit := v.visit(c.Nonce(), "v=0 offer")
	got, err := g.door.CheckVisit(c, visit, g.Authority)
	if err != nil || got.ID != grant.ID || got.To != (Principal{KindShare, grant.ID}) {
		t.Fatalf("CheckVisit = %+v, %v", got, err)
	}
	sig, err := url.DecodeString(g.door.SignWelcome(c, visit, "v=0 answer"))
	if err != nil {
		t.Fatal(err)
	}
	host, _ := url.DecodeString(v.hostKey)
	text := strings.Join([]string{"spawn.welcome.v1", v.hostKey, c.Nonce(), clientNonce, v.name, sha("v=0 offer"), sha("v=0 answer")}, "\n")
	if !ed25519.Verify(host, []byte(text), sig) {
		t.Error("the answer is not signed over what the protocol says")
	}
	if e := Visitor(Grant{To: got.To, Label: strings.Repeat("x", 64)}); len([]rune(e.Name)) > nameRunesMax || !strings.HasPrefix(e.Name, "Visitor (x") {
		t.Errorf("the visitor is called %q", e.Name)
	}
	if e := Visitor(got); e.Name != "Visitor" || e.Who != got.To || e.Link.ID != grant.ID {
		t.Errorf("the visitor is %+v", e)
	}
	g.wants(got.To, Read, "pane:p0", true)
	g.wants(got.To, Write, "pane:p0", true)
	g.wants(got.To, Read, "pane:p1", false)
	g.wants(got.To, Read, "session:s0", false)
}

// The page makes the same of a token; its tests hold it to the same words.
func TestWhatIsMadeOfAToken(t *testing.T) {
	var token Token
	for i := range token {
		token[i] = byte(i)
	}
	l := newLink(token)
	if name, key := encode(l.name[:]), encode(l.key); name != "U4SzxdMGyghiSXjvlvg47g" || key != "0DQXy47K0hhCVdGqMavQ5W1elMHA8Dz2RggnUt6AawQ" {
		t.Errorf("name %s, key %s", name, key)
	}
}

// What is kept opens nothing: neither the name, nor the public key, nor the hash of the token.
func TestNothingThatIsKeptOpensALink(t *testing.T) {
	g := newGateway(t)
	grant, token := g.share("pane:p0", Read)
	v := visitorOf(token.String(), g.door.HostKey())
	kept := g.mu.links[grant.ID]
	hash := token.hash()
	for what, secret := range map[string][]byte{
		"public key": kept.key, "name": append(kept.name[:], kept.name[:]...), "hash": hash[:],
	} {
		thief := visitorOf(url.EncodeToString(secret), v.hostKey)
		thief.name = v.name
		if _, err := g.enter(thief); !errors.Is(err, ErrLink) {
			t.Errorf("with the %s: %v", what, err)
		}
	}
	if strings.Contains(fmt.Sprintf("%+v %+v %+v", kept, g.mu.grants[grant.ID], g.mu.audit), token.String()) {
		t.Error("the token is kept")
	}
}

// Each of these has one answer, and it is that of a link that never was.
func TestWhatIsNotALivingLinkIsRefusedAlike(t *testing.T) {
	g := newGateway(t)
	for name, breaks := range map[string]func(grant Grant, v *visitor, visit *Visit){
		"never was": func(_ Grant, v *visitor, visit *Visit) { visit.Link = url.EncodeToString(make([]byte, 16)) },
		"zero token": func(_ Grant, v *visitor, visit *Visit) {
			*v = visitorOf(url.EncodeToString(make([]byte, 32)), v.hostKey)
		},
		"wrong secret": func(_ Grant, v *visitor, _ *Visit) { _, v.key, _ = ed25519.GenerateKey(nil) },
		"another link's": func(_ Grant, v *visitor, _ *Visit) {
			_, other := g.link("pane:p1", Read)
			v.name = other.name
		},
		"another host's":  func(_ Grant, v *visitor, _ *Visit) { v.hostKey = url.EncodeToString(make([]byte, 32)) },
		"revoked":         func(grant Grant, _ *visitor, _ *Visit) { _ = g.RevokeLink(Owner, grant.ID) },
		"expired":         func(Grant, *visitor, *Visit) { g.clock.Advance(time.Hour) },
		"of what is gone": func(Grant, *visitor, *Visit) { g.tree.remove("pane:p0"); g.Gone("pane:p0") },
	} {
		t.Run(name, func(t *testing.T) {
			g.tree.put("pane:p0", "window:w0")
			grant, v := g.link("pane:p0", Read)
			if _, err := g.enter(v); err != nil {
				t.Fatal(err)
			}
			var asked Visit
			breaks(grant, &v, &asked)
			c := challenge(t, g.door)
			visit := v.visit(c.Nonce(), "sdp")
			if asked.Link != "" {
				visit.Link = asked.Link
			}
			if got, err := g.door.CheckVisit(c, visit, g.Authority); err != ErrLink || got.ID != "" {
				t.Errorf("%+v, %v; want %v", got, err, ErrLink)
			}
			if c.offered {
				t.Error("a bad visit has used the challenge up")
			}
		})
	}
}

func TestAVisitServesOnceOnItsOwnConnection(t *testing.T) {
	g := newGateway(t)
	_, v := g.link("pane:p0", Read)
	c := challenge(t, g.door)
	visit := v.visit(c.Nonce(), "sdp")
	if _, err := g.door.CheckVisit(challenge(t, g.door), visit, g.Authority); !errors.Is(err, ErrLink) {
		t.Errorf("on another connection: %v", err)
	}
	late := challenge(t, g.door)
	lateVisit := v.visit(late.Nonce(), "sdp")
	g.clock.Advance(ChallengeLife + 1)
	if _, err := g.door.CheckVisit(late, lateVisit, g.Authority); !errors.Is(err, ErrStale) {
		t.Errorf("late: %v", err)
	}
	c = challenge(t, g.door)
	visit = v.visit(c.Nonce(), "sdp")
	if passed := inParallel(16, func() error { _, err := g.door.CheckVisit(c, visit, g.Authority); return err }); passed != 1 {
		t.Errorf("%d of 16 at once passed, want 1", passed)
	}
	b := newBrowser(t)
	b.pair(t, g.door, "one")
	if _, err := g.door.CheckOffer(c, b.offer(t, c.Nonce(), "sdp")); !errors.Is(err, ErrStale) {
		t.Errorf("a device's offer after a visit: %v", err)
	}
	for range 3 { // and the link serves again, on connections of its own
		if _, err := g.enter(v); err != nil {
			t.Error(err)
		}
	}
}

func TestEveryAlteredByteOfAVisitIsRefused(t *testing.T) {
	g := newGateway(t)
	_, v := g.link("pane:p0", Read)
	c := challenge(t, g.door)
	good := v.visit(c.Nonce(), "v=0\r\na=fingerprint:sha-256 AB\r\n")
	fields := map[string]func(*Visit) *string{
		"link": func(v *Visit) *string { return &v.Link }, "nonce": func(v *Visit) *string { return &v.ClientNonce },
		"sdp": func(v *Visit) *string { return &v.SDP }, "signature": func(v *Visit) *string { return &v.Signature },
	}
	for name, field := range fields {
		for i := range *field(&good) {
			bad := good
			text := []byte(*field(&bad))
			text[i] ^= 1
			*field(&bad) = string(text)
			if _, err := g.door.CheckVisit(c, bad, g.Authority); !errors.Is(err, ErrLink) && !errors.Is(err, ErrProtocol) {
				t.Errorf("%s altered at %d: %v", name, i, err)
			}
		}
		for _, text := range []string{"", (*field(&good))[1:], *field(&good) + "A"} {
			bad := good
			*field(&bad) = text
			if _, err := g.door.CheckVisit(c, bad, g.Authority); err == nil {
				t.Errorf("%s as %d characters passed", name, len(text))
			}
		}
	}
	if _, err := g.door.CheckVisit(c, good, g.Authority); err != nil {
		t.Errorf("the right one after all of those: %v", err)
	}
}

// sometime is Links whose link ends while the signature is looked at.
type sometime struct {
	*Authority
	between func()
}

func (s sometime) CheckLink(name, text, sig []byte) (Grant, error) {
	s.o.Tree.(*forest).asked = s.between // the rights are asked for after the signature and before the visit is noted
	defer func() { s.o.Tree.(*forest).asked = nil }()
	return s.Authority.CheckLink(name, text, sig)
}

func TestALinkThatEndsBetweenTheStepsLetsNobodyIn(t *testing.T) {
	for name, end := range map[string]func(gateway, Grant){
		"revoked": func(g gateway, link Grant) {
			g.tree.asked = nil
			if err := g.RevokeLink(Owner, link.ID); err != nil {
				g.t.Error(err)
			}
		},
		"expired": func(g gateway, _ Grant) { g.clock.Advance(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t)
			link, v := g.link("pane:p0", Read)
			c := challenge(t, g.door)
			ended := false
			links := sometime{g.Authority, func() {
				if !ended {
					ended = true
					end(g, link)
				}
			}}
			if _, err := g.door.CheckVisit(c, v.visit(c.Nonce(), "sdp"), links); !errors.Is(err, ErrLink) || !ended {
				t.Errorf("%v, ended %v", err, ended)
			}
			if g.Alive(link.To) {
				t.Error("who would have come in is somebody")
			}
		})
	}
}

// Whose maker may not show it any more, a link shows to nobody, and does again when the maker may.
func TestALinkGivesNoMoreThanItsMakerHas(t *testing.T) {
	g := newGateway(t)
	agent, _ := g.issue(Owner, Principal{}, 0, Scope{RightsOf(Admin), "session:s0"})
	grant, token, err := g.Share(agent.To, ShareOrder{On: "pane:p0", Right: Read, Life: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	v := visitorOf(token.String(), g.door.HostKey())
	g.tree.put("pane:p0", "window:w1") // out of the agent's session
	if _, err := g.enter(v); !errors.Is(err, ErrLink) {
		t.Errorf("elsewhere: %v", err)
	}
	g.tree.put("pane:p0", "window:w0")
	if _, err := g.enter(v); err != nil {
		t.Errorf("back again: %v", err)
	}
	if err := g.Revoke(Owner, agent.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := g.enter(v); !errors.Is(err, ErrLink) || g.Alive(grant.To) {
		t.Errorf("without its maker: %v", err)
	}
}

func TestLinksAreListedToWhoMayEndThem(t *testing.T) {
	g := newGateway(t)
	s0, _ := g.issue(Owner, Principal{}, 0, Scope{RightsOf(Admin), "session:s0"})
	s1, _ := g.issue(Owner, Principal{}, 0, Scope{RightsOf(Admin), "session:s1"})
	first, v := g.link("pane:p0", Read)
	g.clock.Advance(time.Second)
	second, _ := g.link("session:s1", Write)
	lists := func(p Principal, want ...string) {
		t.Helper()
		var got []string
		for _, l := range g.Links(p) {
			got = append(got, l.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v is shown %v, want %v", p, got, want)
		}
	}
	lists(Owner, first.ID, second.ID)
	lists(device, first.ID, second.ID)
	lists(s0.To, first.ID)
	lists(s1.To, second.ID)
	lists(pane0)
	lists(first.To)
	lists(Unknown)

	if l := g.Links(Owner); !l[0].Used.IsZero() || l[0].Right() != Read || l[1].Right() != Write {
		t.Errorf("listed %+v", l)
	}
	g.clock.Advance(time.Minute)
	if _, err := g.enter(v); err != nil {
		t.Fatal(err)
	}
	if l := g.Links(Owner); !l[0].Used.Equal(g.clock.Now()) || !l[1].Used.IsZero() {
		t.Errorf("used %v and %v", l[0].Used, l[1].Used)
	}

	for _, p := range []Principal{s1.To, pane0, first.To, Unknown} {
		if err := g.RevokeLink(p, first.ID); err != ErrNoGrant {
			t.Errorf("%v ends it: %v", p, err)
		}
		if err := g.RevokeLink(p, "l_0000000000000000"); err != ErrNoGrant {
			t.Errorf("%v ends what is not there: %v", p, err)
		}
	}
	if err := g.RevokeLink(s0.To, first.ID); err != nil {
		t.Error(err)
	}
	if err := g.RevokeLink(Owner, s0.ID); err != ErrNoGrant {
		t.Errorf("a grant is ended as a link: %v", err)
	}
	g.clock.Advance(time.Hour)
	lists(Owner)
	if len(g.mu.links) != 0 {
		t.Errorf("%d links are kept that have ended", len(g.mu.links))
	}
}

func TestLinksAreBounded(t *testing.T) {
	g := newGateway(t)
	agent, _ := g.issue(Owner, Principal{}, 0, Scope{RightsOf(Admin), "pane:p0"})
	order := ShareOrder{On: "pane:p0", Right: Read, Life: time.Hour}
	for range linksMax - linksKept {
		if _, _, err := g.Share(agent.To, order); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := g.Share(agent.To, order); !errors.Is(err, ErrBusy) {
		t.Errorf("a program takes what is kept for its user: %v", err)
	}
	for range linksKept {
		g.share("pane:p0", Read)
	}
	_, _, err := g.Share(Owner, ShareOrder{On: "pane:p0", Right: Read, Life: time.Minute})
	if !errors.Is(err, ErrBusy) {
		t.Errorf("one too many: %v", err)
	}
	g.issue(Owner, Principal{}, 0, Scope{RightsOf(Read), "pane:p0"}) // is no link
	if err := g.RevokeLink(Owner, g.Links(Owner)[0].ID); err != nil {
		t.Fatal(err)
	}
	g.share("pane:p0", Read)
}

// The next spawnd knows no link of this one, whatever it reads from the folder.
func TestTheNextSpawndKnowsNoLink(t *testing.T) {
	g := newGateway(t)
	_, v := g.link("pane:p0", Read)
	next := newCourt(t, UnknownNothing)
	c := challenge(t, g.door)
	if _, err := g.door.CheckVisit(c, v.visit(c.Nonce(), "sdp"), next.Authority); !errors.Is(err, ErrLink) {
		t.Error(err)
	}
	if len(next.Links(Owner)) != 0 {
		t.Error("it lists one")
	}
}
