// SPDX-License-Identifier: Apache-2.0

package rtc

import (
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/pion/webrtc/v4"
)

// mutation is a changed offer. Only what is harmless may connect; what is not refused at once must at
// least never be taken for another certificate.
type mutation struct {
	name string
	sdp  string
}

var fingerprintLine = regexp.MustCompile(`a=fingerprint:sha-256 [0-9A-F:]{95}\r\n`)

// mutations makes variants by a small grammar: what is done to the fingerprint, at which place of the
// description, in which spelling.
func mutations(good, foreign string) (refused, kept []mutation) {
	line := fingerprintLine.FindString(good)
	other := fingerprintLine.FindString(foreign)
	bare := fingerprintLine.ReplaceAllString(good, "")
	value := strings.TrimSuffix(strings.TrimPrefix(line, "a=fingerprint:"), "\r\n")
	hex := strings.TrimPrefix(value, "sha-256 ")
	otherHex := strings.TrimSuffix(strings.TrimPrefix(other, "a=fingerprint:sha-256 "), "\r\n")

	places := map[string]func(sdp, line string) string{
		"session":       func(s, l string) string { return strings.Replace(s, "m=application", l+"m=application", 1) },
		"session start": func(s, l string) string { return strings.Replace(s, "t=0 0\r\n", "t=0 0\r\n"+l, 1) },
		"media":         func(s, l string) string { return strings.Replace(s, "a=mid:0\r\n", "a=mid:0\r\n"+l, 1) },
		"end":           func(s, l string) string { return s + l },
		"second media": func(s, l string) string {
			return s + "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=mid:1\r\n" + l
		},
		"bundled audio": func(s, l string) string {
			return strings.Replace(s, "m=application", "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:1\r\n"+l+"m=application", 1)
		},
	}
	spellings := map[string]func(algorithm, hex string) string{
		"plain":     func(a, h string) string { return "a=fingerprint:" + a + " " + h + "\r\n" },
		"upper":     func(a, h string) string { return "A=FINGERPRINT:" + strings.ToUpper(a) + " " + h + "\r\n" },
		"lower hex": func(a, h string) string { return "a=fingerprint:" + a + " " + strings.ToLower(h) + "\r\n" },
		"mixed":     func(a, h string) string { return "a=Fingerprint:" + a + " " + h + "\r\n" },
		"lf":        func(a, h string) string { return "a=fingerprint:" + a + " " + h + "\n" },
		"cr":        func(a, h string) string { return "a=fingerprint:" + a + " " + h + "\r" },
		"spaces":    func(a, h string) string { return "a=fingerprint:  " + a + "  " + h + " \r\n" },
		"tab":       func(a, h string) string { return "a=fingerprint:" + a + "\t" + h + "\r\n" },
	}
	algorithms := []string{"sha-1", "sha-224", "sha-256", "sha-384", "sha-512", "md5", "sha256", ""}
	for place, put := range places {
		for spelling, spell := range spellings {
			for _, algorithm := range algorithms {
				name := fmt.Sprintf("foreign %s, %s, at %s", algorithm, spelling, place)
				refused = append(refused, mutation{name + ", added", put(good, spell(algorithm, otherHex))})
			}
			for _, algorithm := range algorithms {
				if algorithm == "sha-256" {
					continue
				}
				name := fmt.Sprintf("own %s, %s, at %s", algorithm, spelling, place)
				refused = append(refused, mutation{name + ", alone", put(bare, spell(algorithm, hex))})
			}
		}
	}
	refused = append(refused,
		mutation{"removed", bare}, mutation{"empty", ""}, mutation{"nothing but a version", "v=0\r\n"},
		mutation{"too long", good + strings.Repeat("a=x\r\n", offerMax/5)},
		mutation{"cut fingerprint", strings.Replace(good, hex, hex[:len(hex)-3], 1)},
		mutation{"longer fingerprint", strings.Replace(good, hex, hex+":00", 1)},
		mutation{"no colons", strings.Replace(good, hex, strings.ReplaceAll(hex, ":", ""), 1)},
		mutation{"hidden in a candidate", strings.Replace(good, "a=mid:0", "a=candidate:1 1 udp 1 127.0.0.1 9 typ host fingerprint x\r\na=mid:0", 1)},
		mutation{"RTP", strings.Replace(good, "UDP/DTLS/SCTP", "UDP/TLS/RTP/SAVPF", 1)},
		mutation{"no DTLS", strings.Replace(good, "UDP/DTLS/SCTP", "UDP/SCTP", 1)},
		mutation{"video", strings.Replace(good, "m=application", "m=video", 1)},
		mutation{"no section", good[:strings.Index(good, "m=application")] + line},
	)
	for _, cut := range []int{len(good) / 4, len(good) / 2} {
		refused = append(refused, mutation{fmt.Sprintf("cut at %d", cut), good[:cut]})
	}
	kept = append(kept,
		mutation{"as it is", good},
		mutation{"twice the same", places["media"](good, line)},
		mutation{"at media level", places["media"](bare, line)},
		mutation{"at session level", places["session"](bare, line)},
	)
	return refused, kept
}

func TestOnlyOneFingerprintIsEverAccepted(t *testing.T) {
	e := listen(t)
	p, foreign := loopbackPage(t), loopbackPage(t)
	good := p.offer()
	want, err := checkDescription(good)
	if err != nil {
		t.Fatal(err)
	}
	refused, kept := mutations(good, foreign.offer())
	if len(refused) < 200 {
		t.Fatalf("only %d mutations", len(refused))
	}
	for _, m := range refused {
		if m.sdp == good {
			t.Errorf("%s: the mutation changed nothing", m.name)
		}
		if peer, _, err := e.Answer(testContext(t), m.sdp); err == nil {
			peer.Close()
			t.Errorf("%s: answered\n%s", m.name, m.sdp)
		}
	}
	for _, m := range kept {
		peer, _, err := e.Answer(testContext(t), m.sdp)
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		if peer.certificate != want {
			t.Errorf("%s: another certificate", m.name)
		}
		peer.Close()
	}
	if n := len(e.mu.peers); n != 0 {
		t.Errorf("%d peers are left", n)
	}
}

func TestARelayThatEndsDTLSItselfGetsNoChannel(t *testing.T) {
	e := listen(t)
	honest := loopbackPage(t).offer()
	relay := loopbackPage(t) // its own certificate, its own ufrag, the honest page's fingerprint
	swapped := fingerprintLine.ReplaceAllString(relay.offer(), fingerprintLine.FindString(honest))
	peer, answer, err := e.Answer(testContext(t), swapped)
	if err != nil {
		t.Fatal(err)
	}
	relay.take(answer)
	if c, err := peer.Accept(testContext(t)); err == nil {
		t.Fatalf("%s was opened by another certificate", c.Label())
	}
	awaitEnd(t, peer)
	select {
	case raw := <-relay.ctl.opened:
		t.Errorf("the relay has an open channel: %v", raw)
	default:
	}
}

func TestAnotherAnswerThanTheHostsIsNoUse(t *testing.T) {
	e, p, relay := listen(t), loopbackPage(t), listen(t)
	peer, answer, err := e.Answer(testContext(t), p.offer())
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	_, foreign, err := relay.Answer(testContext(t), p.pc.LocalDescription().SDP)
	if err != nil {
		t.Fatal(err)
	}
	swapped := fingerprintLine.ReplaceAllString(foreign, fingerprintLine.FindString(answer))
	failed := make(chan struct{}, 8)
	p.pc.OnConnectionStateChange(func(s webrtc.PeerConnectionState) {
		if s == webrtc.PeerConnectionStateFailed || s == webrtc.PeerConnectionStateClosed {
			failed <- struct{}{}
		}
	})
	p.take(swapped)
	select {
	case <-failed:
	case <-testContext(t).Done():
		t.Error("the page went on with another certificate")
	}
	select {
	case <-p.ctl.opened:
		t.Error("the page has an open channel")
	default:
	}
}

func FuzzCheckDescription(f *testing.F) {
	f.Add("v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=fingerprint:sha-256 " +
		strings.TrimSuffix(strings.Repeat("AB:", 32), ":") + "\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := checkDescription(text)
		if err != nil {
			return
		}
		// Accepted: then every fingerprint that a sloppy reader finds is that one.
		upper := strings.ToUpper(text)
		want := "SHA-256 " + printFingerprint(got[:])
		if strings.Count(upper, "FINGERPRINT") != strings.Count(upper, "FINGERPRINT:"+want) {
			t.Errorf("accepted with another fingerprint in sight: %q", text)
		}
	})
}

// TestTheHostComparesTheCertificateItself takes the stack's own comparison away: ours must hold alone.
func TestTheHostComparesTheCertificateItself(t *testing.T) {
	with := listen(t)
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	mux := webrtc.NewICEUDPMux(stackLogs{with.log}.NewLogger("mux"), conn)
	s := settings(mux, stackLogs{with.log})
	s.DisableCertificateFingerprintVerification(true)
	without := newEndpoint(mux, conn.LocalAddr().(*net.UDPAddr).AddrPort(), s, with.log)
	defer without.Close()

	relay := loopbackPage(t)
	swapped := fingerprintLine.ReplaceAllString(relay.offer(), fingerprintLine.FindString(loopbackPage(t).offer()))
	peer, answer, err := without.Answer(testContext(t), swapped)
	if err != nil {
		t.Fatal(err)
	}
	relay.take(answer)
	if _, err := io.ReadAll(relay.ctl.wait(t)); err != nil { // DTLS has let it in; the channel is closed at once
		t.Errorf("the relay's channel: %v, want EOF", err)
	}
	select {
	case c := <-peer.accepted:
		t.Errorf("%s was taken from another certificate", c.Label())
	default:
	}
}
