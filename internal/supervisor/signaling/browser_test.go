// SPDX-License-Identifier: Apache-2.0

package signaling

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/access"
)

var b64 = base64.RawURLEncoding

// browser is what a browser keeps: its key, and what it pinned when it paired. It signs in words of its
// own; nothing is shared with the code under test.
type browser struct {
	t       *testing.T
	key     *ecdsa.PrivateKey
	hostKey string
	device  string
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, key: key}
}

// told is every message of the host in one.
type told struct {
	Type     string `json:"type"`
	Proto    int    `json:"proto"`
	Nonce    string `json:"nonce"`
	HostKey  string `json:"host_key"`
	Device   string `json:"device"`
	HostName string `json:"host_name"`
	MAC      string `json:"mac"`
	SDP      string `json:"sdp"`
	Sig      string `json:"sig"`
	Code     string `json:"code"`
	Message  string `json:"message"`
}

// line is one signalling socket of a browser.
type line struct {
	*browser
	ws          *websocket.Conn
	nonce, host string // of the challenge
	clientNonce string
}

// dial opens a socket and takes the challenge.
func (b *browser) dial(s *Server) *line {
	b.t.Helper()
	ws, _, err := websocket.Dial(testContext(b.t), strings.Replace(s.URL(), "http", "ws", 1)+"api/signal", &websocket.DialOptions{
		HTTPHeader: http.Header{"Origin": {strings.TrimSuffix(s.URL(), "/")}}, Subprotocols: []string{Subprotocol},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { ws.CloseNow() })
	ws.SetReadLimit(messageMax)
	l := &line{browser: b, ws: ws}
	c := l.hear("challenge")
	if c.Proto != 1 {
		b.t.Fatalf("challenge of proto %d", c.Proto)
	}
	l.nonce, l.host = c.Nonce, c.HostKey
	nonce := make([]byte, 32)
	rand.Read(nonce)
	l.clientNonce = b64.EncodeToString(nonce)
	return l
}

func (l *line) sendText(text string) {
	l.t.Helper()
	if err := l.ws.Write(testContext(l.t), websocket.MessageText, []byte(text)); err != nil {
		l.t.Fatal(err)
	}
}

func (l *line) send(m map[string]any) {
	l.t.Helper()
	text, err := strictjson.Marshal(m)
	if err != nil {
		l.t.Fatal(err)
	}
	l.sendText(string(text))
}

// hear returns the next message, which must be of the type.
func (l *line) hear(kind string) told {
	l.t.Helper()
	_, text, err := l.ws.Read(testContext(l.t))
	if err != nil {
		l.t.Fatalf("waiting for %s: %v", kind, err)
	}
	var m told
	if err := strictjson.Unmarshal(text, &m); err != nil || m.Type != kind {
		l.t.Fatalf("heard %s, %v; want %s", text, err, kind)
	}
	return m
}

// hearRefusal wants an error of the code, and then the end.
func (l *line) hearRefusal(code string) {
	l.t.Helper()
	if m := l.hear("error"); m.Code != code || m.Message == "" {
		l.t.Errorf("refused with %q: %q, want %q", m.Code, m.Message, code)
	}
	l.hearEnd()
}

func (l *line) hearEnd() {
	l.t.Helper()
	if kind, text, err := l.ws.Read(testContext(l.t)); err == nil {
		l.t.Errorf("heard %v %s, want the end", kind, text)
	}
	if testContext(l.t).Err() != nil {
		l.t.Error("the socket was not closed")
	}
}

func proof(code access.Code, parts ...string) string {
	h := hmac.New(sha256.New, code[:])
	h.Write([]byte(strings.Join(parts, "\n")))
	return b64.EncodeToString(h.Sum(nil))
}

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return b64.EncodeToString(sum[:])
}

func (l *line) deviceKey() string {
	raw, err := l.key.PublicKey.Bytes()
	if err != nil {
		l.t.Fatal(err)
	}
	return b64.EncodeToString(raw)
}

func (l *line) pairMessage(code access.Code, name string) map[string]any {
	id := sha256.Sum256(code[:])
	return map[string]any{
		"type": "pair", "device_key": l.deviceKey(), "name": name, "code_id": b64.EncodeToString(id[:8]),
		"mac": proof(code, "spawn.pair.device.v1", l.nonce, l.host, l.deviceKey(), name),
	}
}

// pair pairs, and pins what the host has proved.
func (l *line) pair(code access.Code) {
	l.t.Helper()
	l.send(l.pairMessage(code, "Go"))
	m := l.hear("paired")
	if m.MAC != proof(code, "spawn.pair.host.v1", l.nonce, l.host, l.deviceKey(), m.Device) {
		l.t.Fatal("the host did not prove that it knows the code")
	}
	l.hostKey, l.device = l.host, m.Device
}

func (l *line) offerMessage(sdp string) map[string]any {
	l.t.Helper()
	text := strings.Join([]string{"spawn.offer.v1", l.hostKey, l.nonce, l.clientNonce, l.device, sha(sdp)}, "\n")
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, l.key, sum[:])
	if err != nil {
		l.t.Fatal(err)
	}
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	return map[string]any{"type": "offer", "device": l.device, "client_nonce": l.clientNonce, "sdp": sdp, "sig": b64.EncodeToString(sig)}
}

// checkAnswer returns the answer if the pinned host signed it.
func (l *line) checkAnswer(offer string, m told) string {
	l.t.Helper()
	host, _ := b64.DecodeString(l.hostKey)
	sig, _ := b64.DecodeString(m.Sig)
	text := strings.Join([]string{"spawn.answer.v1", l.hostKey, l.nonce, l.clientNonce, l.device, sha(offer), sha(m.SDP)}, "\n")
	if !ed25519.Verify(host, []byte(text), sig) {
		l.t.Fatal("the answer is not the host's")
	}
	return m.SDP
}

// exchange sends an offer and returns the checked answer.
func (l *line) exchange(offer string) string {
	l.t.Helper()
	l.send(l.offerMessage(offer))
	return l.checkAnswer(offer, l.hear("answer"))
}

func candidateMessage(candidate string) map[string]any {
	return map[string]any{"type": "candidate", "candidate": map[string]any{"candidate": candidate, "sdpMid": "0", "sdpMLineIndex": 0}}
}
