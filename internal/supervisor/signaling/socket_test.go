// SPDX-License-Identifier: Apache-2.0

package signaling

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"spawn/internal/supervisor/access"
)

func (d *desk) code(t *testing.T) access.Code {
	t.Helper()
	c, err := d.door.NewCode()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// pairedLine returns a fresh line of a browser that has paired.
func (d *desk) pairedLine(t *testing.T) *line {
	t.Helper()
	b := newBrowser(t)
	first := b.dial(d.server)
	first.pair(d.code(t))
	first.ws.CloseNow()
	return b.dial(d.server)
}

func await[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-testContext(t).Done():
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

func TestPairAndConnectOnOneSocketAndAgainWithoutACode(t *testing.T) {
	d, b := openDesk(t), newBrowser(t)
	code := d.code(t)
	if want := d.server.URL() + "#pair=" + code.String(); d.server.PairURL(code) != want || len(code.String()) != 22 {
		t.Errorf("the pairing address is %s", d.server.PairURL(code))
	}
	l := b.dial(d.server)
	l.pair(code)
	if got := l.exchange("offer 1"); got != "answer to offer 1" {
		t.Errorf("answer %q", got)
	}
	again := b.dial(d.server)
	again.exchange("offer 2")
	if p := d.peers.last(); p.offer != "offer 2" || p.who.Who != (access.Principal{Kind: access.KindDevice, ID: b.device}) || p.who.Name != "Go" {
		t.Errorf("the peer was made for %+v, %q", p.who, p.offer)
	}
}

func TestCandidatesBeforeTheAnswerAreHeld(t *testing.T) {
	d := openDesk(t)
	l := d.pairedLine(t)
	l.send(candidateMessage("early 1"))
	l.send(candidateMessage("early 2"))
	l.send(l.offerMessage("offer"))
	l.send(candidateMessage("between"))
	l.checkAnswer("offer", l.hear("answer"))
	l.sendText(`{"type":"candidate","candidate":{"candidate":"late","sdpMid":"0","sdpMLineIndex":0,"usernameFragment":"abcd"}}`)
	p := d.peers.last()
	for _, want := range []string{"early 1", "early 2", "between", "late"} {
		if got := await(t, p.candidates, "a candidate"); got != want {
			t.Errorf("candidate %q, want %q", got, want)
		}
	}
}

func TestTooManyEarlyCandidatesEndTheSocket(t *testing.T) {
	d := openDesk(t)
	l := d.pairedLine(t)
	for i := range candidatesMax + 1 {
		l.send(candidateMessage(fmt.Sprint(i)))
	}
	l.hearRefusal("protocol")
}

func TestSocketAndPeerEndTogetherInTheRightWay(t *testing.T) {
	d := openDesk(t)
	l := d.pairedLine(t)
	l.exchange("offer")
	p := d.peers.last()
	close(p.done) // the peer connection fails: the socket closes
	l.hearEnd()
	await(t, p.orphaned, "the orphan's word")

	l = l.browser.dial(d.server)
	l.exchange("offer")
	p = d.peers.last()
	l.ws.CloseNow() // the socket closes: the peer is told, and not ended
	await(t, p.orphaned, "the orphan's word")

	l = l.browser.dial(d.server)
	l.exchange("offer")
	p = d.peers.last()
	d.stop()
	l.hearEnd()
	await(t, p.orphaned, "the orphan's word")
}

func TestARecordedSessionIsOfNoUse(t *testing.T) {
	d := openDesk(t)
	b := newBrowser(t)
	first := b.dial(d.server)
	code := d.code(t)
	pairing := first.pairMessage(code, "Go")
	first.pair(code)
	offer := first.offerMessage("offer")
	first.send(offer)
	first.hear("answer")
	made := d.peers.answered()

	l := b.dial(d.server)
	l.send(pairing)
	l.hearRefusal("pair.invalid")
	l = b.dial(d.server)
	l.send(offer)
	l.hearRefusal("auth.signature")

	var together sync.WaitGroup
	for range 8 {
		other := b.dial(d.server)
		together.Go(func() {
			other.send(offer)
			other.hearRefusal("auth.signature")
		})
	}
	together.Wait()
	first.send(offer) // twice on its own socket
	first.hearRefusal("protocol")
	if n := d.peers.answered(); n != made {
		t.Errorf("%d peers were made of replays", n-made)
	}
}

func TestWhatARelayChangesIsRefused(t *testing.T) {
	d := openDesk(t)
	good := d.pairedLine(t)
	stranger := newBrowser(t)
	stranger.device, stranger.hostKey = "d_0123456789abcdef", good.hostKey
	l := stranger.dial(d.server)
	l.send(l.offerMessage("offer"))
	l.hearRefusal("auth.unknown_device")

	other := d.pairedLine(t)
	for name, change := range map[string]struct {
		code   string
		change func(l *line, m map[string]any)
	}{
		"sdp":                 {"auth.signature", func(_ *line, m map[string]any) { m["sdp"] = "other" }},
		"client nonce":        {"auth.signature", func(_ *line, m map[string]any) { m["client_nonce"] = other.clientNonce }},
		"device":              {"auth.signature", func(_ *line, m map[string]any) { m["device"] = other.device }},
		"no signature":        {"protocol", func(_ *line, m map[string]any) { delete(m, "sig") }},
		"empty signature":     {"protocol", func(_ *line, m map[string]any) { m["sig"] = "" }},
		"null signature":      {"protocol", func(_ *line, m map[string]any) { m["sig"] = nil }},
		"older type":          {"protocol", func(_ *line, m map[string]any) { m["type"] = "offer.v0" }},
		"a version":           {"protocol", func(_ *line, m map[string]any) { m["proto"] = 0 }},
		"another type's part": {"protocol", func(_ *line, m map[string]any) { m["mac"] = "x" }},
		"case variant":        {"protocol", func(_ *line, m map[string]any) { m["Device"] = m["device"] }},
	} {
		t.Run(name, func(t *testing.T) {
			l := good.browser.dial(d.server)
			m := l.offerMessage("offer")
			change.change(l, m)
			l.send(m)
			l.hearRefusal(change.code)
		})
	}
	if n := d.peers.answered(); n != 0 {
		t.Errorf("%d peers were made", n)
	}
}

func TestMessagesThatAreNotOursEndTheSocket(t *testing.T) {
	d := openDesk(t)
	good := d.pairedLine(t)
	offer := good.offerMessage("offer")
	duplicate := strings.Replace(fmt.Sprintf(`{"type":"offer","device":%q,"client_nonce":%q,"sdp":"offer","sig":%q}`, offer["device"], offer["client_nonce"], offer["sig"]),
		`"sdp"`, `"sdp":"x","sdp"`, 1)
	for name, text := range map[string]string{
		"nothing": "", "null": "null", "array": "[]", "text": `"offer"`, "unknown type": `{"type":"x"}`, "no type": `{}`, "garbage": "\x00\x01", "duplicate": duplicate,
		"trailing": `{"type":"candidate","candidate":{"candidate":"x"}}{}`, "deep": strings.Repeat("[", 10000), "host's message": `{"type":"answer","sdp":"x","sig":"y"}`,
		"candidate without one": `{"type":"candidate"}`, "candidate of text": `{"type":"candidate","candidate":"x"}`, "big index": `{"type":"candidate","candidate":{"sdpMLineIndex":70000}}`,
		"candidate with more": `{"type":"candidate","candidate":{"candidate":"x","x":1}}`, "bad UTF-8 name": "{\"type\":\"pair\",\"name\":\"\xff\"}",
	} {
		t.Run(name, func(t *testing.T) {
			l := good.browser.dial(d.server)
			if err := l.ws.Write(testContext(t), websocket.MessageText, []byte(text)); err != nil {
				t.Fatal(err)
			}
			l.hearRefusal("protocol")
		})
	}
	t.Run("binary", func(t *testing.T) {
		l := good.browser.dial(d.server)
		if err := l.ws.Write(testContext(t), websocket.MessageBinary, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		l.hearRefusal("protocol")
	})
	t.Run("too long", func(t *testing.T) {
		l := good.browser.dial(d.server)
		_ = l.ws.Write(testContext(t), websocket.MessageText, []byte(`{"type":"`+strings.Repeat("x", messageMax)+`"}`))
		l.hearEnd()
	})
	t.Run("after the answer", func(t *testing.T) {
		l := good.browser.dial(d.server)
		l.exchange("offer")
		l.send(map[string]any{"type": "pair", "device_key": "x"})
		l.hearRefusal("protocol")
	})
	t.Run("two pairings", func(t *testing.T) {
		l := newBrowser(t).dial(d.server)
		l.pair(d.code(t))
		l.send(l.pairMessage(d.code(t), "Go"))
		l.hearRefusal("auth.signature")
	})
	t.Run("wrong code", func(t *testing.T) {
		l := newBrowser(t).dial(d.server)
		l.send(l.pairMessage(access.Code{1}, "Go"))
		l.hearRefusal("pair.invalid")
	})
	if n := d.peers.answered(); n != 1 {
		t.Errorf("%d peers were made, want 1", n)
	}
}

func TestFullIsSaid(t *testing.T) {
	d := openDesk(t)
	l := d.pairedLine(t)
	d.peers.err = errors.New("full, or anything else")
	l.send(l.offerMessage("offer"))
	l.hearRefusal("busy")
	d.peers.err = fmt.Errorf("answer: %w", ErrProtocol)
	l = l.browser.dial(d.server)
	l.send(l.offerMessage("offer"))
	l.hearRefusal("protocol")
}

func TestSocketsAreBoundedAndThoseThatSayNothingAreClosed(t *testing.T) {
	d := openDesk(t)
	b := newBrowser(t)
	silent := b.dial(d.server)
	paired := b.dial(d.server)
	paired.pair(d.code(t))
	var waiting []*line
	for range handshakesMax - 2 {
		waiting = append(waiting, b.dial(d.server))
	}
	resp, body := d.ask(t, upgrade(d.authority(), "Origin: http://"+d.authority()))
	wantRefused(t, "one handshake too many", resp, body)
	paired.exchange("offer") // is known now, and makes room
	b.dial(d.server)

	for _, l := range waiting {
		l.exchange("offer")
	}
	known := []*line{paired}
	for d.peers.answered() < socketsPerSourceMax-2 {
		l := b.dial(d.server)
		l.exchange("offer")
		known = append(known, l)
	}
	resp, body = d.ask(t, upgrade(d.authority(), "Origin: http://"+d.authority()))
	wantRefused(t, "one socket too many", resp, body)
	silent.hearEnd() // by the deadline of a handshake
	d.awaitRoom(t)
	b.dial(d.server).exchange("offer")
	for _, l := range known {
		l.send(candidateMessage("x")) // those with a peer stay
	}
}

// awaitRoom waits until the server has counted off a socket whose end the page has heard already.
func (d *desk) awaitRoom(t *testing.T) {
	t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for range 10_000 {
		d.server.sockets.mu.Lock()
		room := d.server.sockets.open < socketsPerSourceMax
		d.server.sockets.mu.Unlock()
		if room {
			return
		}
		<-look.C
	}
	t.Fatal("no room is made")
}

func TestRefusalsDoNotGrow(t *testing.T) {
	d := openDesk(t)
	b := d.pairedLine(t).browser
	for range 200 {
		l := b.dial(d.server)
		m := maps.Clone(l.offerMessage("offer"))
		m["sdp"] = "other"
		l.send(m)
		l.hearRefusal("auth.signature")
	}
	d.stop()
	s := &d.server.sockets
	if s.open != 0 || s.handshakes != 0 || len(s.bySource) != 0 {
		t.Errorf("left: %d sockets, %d handshakes, %v", s.open, s.handshakes, s.bySource)
	}
}
