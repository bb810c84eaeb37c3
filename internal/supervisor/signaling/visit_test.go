// SPDX-License-Identifier: Apache-2.0

package signaling

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"spawn/internal/supervisor/access"
)

// hut is a tree of one pane, p0.
type hut struct{}

func (hut) Above(r access.Resource) ([]access.Resource, bool) {
	return []access.Resource{access.Root}, r == "pane:p0"
}

func newRights(t *testing.T, door *access.Door) *access.Authority {
	t.Helper()
	rights, _, err := access.NewAuthority(access.AuthorityOptions{Tree: hut{}, Devices: door})
	if err != nil {
		t.Fatal(err)
	}
	return rights
}

// guest is what a browser makes of a link, in words of its own: the key that signs, the name that is sent, and the
// host's key. It asks over the lines of a browser that is paired with nothing.
type guest struct {
	*browser
	name string
	key  ed25519.PrivateKey
}

// link makes a link to p0 and returns its grant and what is behind its #share=.
func (d *desk) link(t *testing.T, life time.Duration) (access.Grant, string) {
	t.Helper()
	grant, token, err := d.rights.Share(access.Owner, access.ShareOrder{On: "pane:p0", Right: access.Read, Label: "review", Life: life})
	if err != nil {
		t.Fatal(err)
	}
	address, fragment, ok := strings.Cut(d.server.ShareURL(token), "#share=")
	if !ok || address != d.server.URL() {
		t.Fatalf("the link is %s", d.server.ShareURL(token))
	}
	return grant, fragment
}

func newGuest(t *testing.T, fragment string) *guest {
	t.Helper()
	secret, hostKey, _ := strings.Cut(fragment, ".")
	token, err := b64.DecodeString(secret)
	if err != nil || len(token) != 32 {
		t.Fatalf("the link's secret has %d bytes, %v", len(token), err)
	}
	made := func(label string) []byte {
		h := hmac.New(sha256.New, token)
		io.WriteString(h, label)
		return h.Sum(nil)
	}
	b := newBrowser(t)
	b.hostKey = hostKey
	return &guest{b, b64.EncodeToString(made("spawn.share.name.v1")[:16]), ed25519.NewKeyFromSeed(made("spawn.share.key.v1"))}
}

func (g *guest) visitMessage(l *line, sdp string) map[string]any {
	text := strings.Join([]string{"spawn.visit.v1", g.hostKey, l.nonce, l.clientNonce, g.name, sha(sdp)}, "\n")
	return map[string]any{
		"type": "visit", "link": g.name, "client_nonce": l.clientNonce, "sdp": sdp, "sig": b64.EncodeToString(ed25519.Sign(g.key, []byte(text))),
	}
}

// exchange sends the visit and returns the answer, which the host that the link names must have signed.
func (g *guest) exchange(l *line, sdp string) string {
	g.t.Helper()
	l.send(g.visitMessage(l, sdp))
	m := l.hear("answer")
	host, _ := b64.DecodeString(g.hostKey)
	sig, _ := b64.DecodeString(m.Sig)
	text := strings.Join([]string{"spawn.welcome.v1", g.hostKey, l.nonce, l.clientNonce, g.name, sha(sdp), sha(m.SDP)}, "\n")
	if !ed25519.Verify(host, []byte(text), sig) {
		g.t.Fatal("the answer is not the host's")
	}
	return m.SDP
}

func TestTwoVisitorsComeByOneLink(t *testing.T) {
	d := openDesk(t)
	grant, fragment := d.link(t, time.Hour)
	one, two := newGuest(t, fragment), newGuest(t, fragment)
	if one.hostKey != d.door.HostKey() {
		t.Error("the link does not name the host's key")
	}
	first, second := one.dial(d.server), two.dial(d.server)
	if first.host != one.hostKey {
		t.Error("the challenge shows another key")
	}
	for i, sdp := range []string{one.exchange(first, "offer 1"), two.exchange(second, "offer 2")} {
		if want := []string{"answer to offer 1", "answer to offer 2"}[i]; sdp != want {
			t.Errorf("answer %q, want %q", sdp, want)
		}
	}
	if p := d.peers.last(); d.peers.answered() != 2 || p.who.Who != grant.To || p.who.Name != "Visitor (review)" || p.who.Link.ID != grant.ID {
		t.Errorf("%d peers, the last for %+v", d.peers.answered(), p.who)
	}
	if devices := d.door.Devices(); len(devices) != 0 {
		t.Errorf("visitors are paired: %+v", devices)
	}
	first.send(candidateMessage("mine"))
	if got := await(t, d.peers.peers[0].candidates, "a candidate"); got != "mine" {
		t.Errorf("candidate %q", got)
	}
}

func TestARecordedVisitIsOfNoUse(t *testing.T) {
	d := openDesk(t)
	_, fragment := d.link(t, time.Hour)
	g := newGuest(t, fragment)
	first := g.dial(d.server)
	visit := g.visitMessage(first, "offer")
	first.send(visit)
	first.hear("answer")

	var together sync.WaitGroup
	for range 8 {
		other := g.dial(d.server)
		together.Go(func() {
			other.send(visit)
			other.hearRefusal("share.invalid")
		})
	}
	together.Wait()
	first.send(visit) // twice on its own socket
	first.hearRefusal("protocol")
	if n := d.peers.answered(); n != 1 {
		t.Errorf("%d peers were made, want 1", n)
	}
}

// Whoever carries the signalling swaps what they like: the fingerprint in the offer above all.
func TestWhatARelayChangesInAVisitIsRefused(t *testing.T) {
	const offer = "v=0\r\na=fingerprint:sha-256 AA:BB\r\n"
	d := openDesk(t)
	_, fragment := d.link(t, time.Hour)
	_, elsewhere := d.link(t, time.Hour)
	g, other := newGuest(t, fragment), newGuest(t, elsewhere)
	for name, change := range map[string]struct {
		code   string
		change func(l *line, m map[string]any)
	}{
		"fingerprint":  {"share.invalid", func(_ *line, m map[string]any) { m["sdp"] = strings.Replace(offer, "AA", "CC", 1) }},
		"client nonce": {"share.invalid", func(_ *line, m map[string]any) { m["client_nonce"] = b64.EncodeToString(make([]byte, 32)) }},
		"link":         {"share.invalid", func(_ *line, m map[string]any) { m["link"] = other.name }},
		"signature":    {"share.invalid", func(l *line, m map[string]any) { m["sig"] = other.visitMessage(l, offer)["sig"] }},
		"another host's key": {"share.invalid", func(l *line, m map[string]any) {
			m["sig"] = (&guest{&browser{hostKey: sha("x")}, g.name, g.key}).visitMessage(l, offer)["sig"]
		}},
		"as a device's offer": {"protocol", func(_ *line, m map[string]any) { m["type"] = "offer" }},
		"no signature":        {"protocol", func(_ *line, m map[string]any) { delete(m, "sig") }},
		"empty link":          {"protocol", func(_ *line, m map[string]any) { m["link"] = "" }},
		"an older type":       {"protocol", func(_ *line, m map[string]any) { m["type"] = "visit.v0" }},
		"another type's part": {"protocol", func(_ *line, m map[string]any) { m["device"] = "d_0123456789abcdef" }},
		"case variant":        {"protocol", func(_ *line, m map[string]any) { m["Link"] = m["link"] }},
	} {
		t.Run(name, func(t *testing.T) {
			l := g.dial(d.server)
			m := g.visitMessage(l, offer)
			change.change(l, m)
			l.send(m)
			l.hearRefusal(change.code)
		})
	}
	if n := d.peers.answered(); n != 0 {
		t.Errorf("%d peers were made", n)
	}
	g.exchange(g.dial(d.server), offer)
}

// A link that has ended is refused in the very words that one is that never was.
func TestAnEndedLinkIsAnsweredAsOneThatNeverWas(t *testing.T) {
	d := openDesk(t)
	never := newGuest(t, b64.EncodeToString(make([]byte, 32))+"."+d.door.HostKey())
	revoked, fragment := d.link(t, time.Hour)
	_, brief := d.link(t, time.Nanosecond)
	if err := d.rights.RevokeLink(access.Owner, revoked.ID); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, g := range []*guest{never, newGuest(t, fragment), newGuest(t, brief)} {
		l := g.dial(d.server)
		l.send(g.visitMessage(l, "offer"))
		m := l.hear("error")
		texts = append(texts, m.Code+" "+m.Message)
		l.hearEnd()
	}
	if texts[0] != texts[1] || texts[0] != texts[2] || !strings.HasPrefix(texts[0], "share.invalid ") {
		t.Errorf("answered %q", texts)
	}
}

func TestNoRoomForAVisitIsSaid(t *testing.T) {
	d := openDesk(t)
	_, fragment := d.link(t, time.Hour)
	g := newGuest(t, fragment)
	for err, code := range map[error]string{ErrVisits: "share.full", access.ErrLink: "share.invalid", io.EOF: "busy"} {
		d.peers.err = err
		l := g.dial(d.server)
		l.send(g.visitMessage(l, "offer"))
		l.hearRefusal(code)
	}
}
