// SPDX-License-Identifier: Apache-2.0

package supervisor_test

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/pion/ice/v4"
	"github.com/pion/webrtc/v4"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/verbs"
)

// visitTime bounds what these tests wait for; nothing takes it when all is right.
const visitTime = 30 * time.Second

var b64 = base64.RawURLEncoding

func signed(parts ...string) []byte { return []byte(strings.Join(parts, "\n")) }

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return b64.EncodeToString(sum[:])
}

// share makes a link as the owner.
func (h *host) share(p verbs.ShareCreateParams) verbs.ShareCreateResult {
	h.Helper()
	var made verbs.ShareCreateResult
	h.call(verbs.ShareCreate, p, &made)
	return made
}

func (h *host) shares() []verbs.Share {
	h.Helper()
	var list verbs.ShareListResult
	h.call(verbs.ShareList, verbs.Empty{}, &list)
	return list.Shares
}

// signal is every message of the host's signalling in one.
type signal struct {
	Type    string `json:"type"`
	Proto   int    `json:"proto"`
	Nonce   string `json:"nonce"`
	HostKey string `json:"host_key"`
	SDP     string `json:"sdp"`
	Sig     string `json:"sig"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// visitor is a browser that has nothing but the link, in Go and in words of its own.
type visitor struct {
	t      *testing.T
	ws     *websocket.Conn
	pc     *webrtc.PeerConnection
	ctl    *webrtc.DataChannel
	opened chan string   // labels of channels
	heard  chan heard    // on spawn.ctl
	output chan string   // on a pane's channel
	ended  chan struct{} // spawn.ctl is closed
	nextID uint64        //
	ptys   map[string]*webrtc.DataChannel
}

// heard is every message on spawn.ctl in one.
type heard struct {
	ID    uint64 `json:"id"`
	OK    raw    `json:"ok"`
	Error *struct {
		Code    string            `json:"code"`
		Message string            `json:"message"`
		Data    map[string]string `json:"data"`
	} `json:"error"`
	Event string `json:"event"`
}

// raw is JSON as it came.
type raw string

func (r *raw) UnmarshalJSON(text []byte) error {
	*r = raw(text)
	return nil
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), visitTime)
	t.Cleanup(cancel)
	return ctx
}

func await[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-bounded(t).Done():
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

// knock makes one whole exchange of descriptions with the link, and returns the answer, or the code of the refusal.
// The relay, if there is one, changes what the visitor sends.
func (v *visitor) knock(link, offer string, relay func(map[string]any)) (answer, code string) {
	v.t.Helper()
	address, fragment, _ := strings.Cut(link, "#share=")
	secret, hostKey, _ := strings.Cut(fragment, ".")
	token, err := b64.DecodeString(secret)
	if err != nil {
		v.t.Fatal(err)
	}
	made := func(label string) []byte {
		mac := hmac.New(sha256.New, token)
		mac.Write([]byte(label))
		return mac.Sum(nil)
	}
	v.ws, _, err = websocket.Dial(bounded(v.t), strings.Replace(address, "http", "ws", 1)+"api/signal", &websocket.DialOptions{
		HTTPHeader: http.Header{"Origin": {strings.TrimSuffix(address, "/")}}, Subprotocols: []string{"spawn.signal.v1"},
	})
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { v.ws.CloseNow() })
	challenge, nonce := v.signal(), make([]byte, 32)
	if challenge.HostKey != hostKey {
		v.t.Fatal("the host shows another key than the link names")
	}
	rand.Read(nonce)
	name, own := b64.EncodeToString(made("spawn.share.name.v1")[:16]), b64.EncodeToString(nonce)
	sig := ed25519.Sign(ed25519.NewKeyFromSeed(made("spawn.share.key.v1")), signed("spawn.visit.v1", hostKey, challenge.Nonce, own, name, sha(offer)))
	m := map[string]any{"type": "visit", "link": name, "client_nonce": own, "sdp": offer, "sig": b64.EncodeToString(sig)}
	if relay != nil {
		relay(m)
	}
	v.send(m)
	said := v.signal()
	if said.Type == "error" {
		_, _, _ = v.ws.Read(bounded(v.t)) // the end of the socket, to which this answers
		return "", said.Code
	}
	host, _ := b64.DecodeString(hostKey)
	theirs, _ := b64.DecodeString(said.Sig)
	if !ed25519.Verify(host, signed("spawn.welcome.v1", hostKey, challenge.Nonce, own, name, sha(offer), sha(said.SDP)), theirs) {
		v.t.Fatal("the answer is not that of the host that the link names")
	}
	return said.SDP, ""
}

func (v *visitor) signal() signal {
	v.t.Helper()
	_, text, err := v.ws.Read(bounded(v.t))
	if err != nil {
		v.t.Fatal(err)
	}
	var m signal
	if err := strictjson.Unmarshal(text, &m); err != nil {
		v.t.Fatalf("%s: %v", text, err)
	}
	return m
}

func (v *visitor) send(m map[string]any) {
	v.t.Helper()
	text, err := strictjson.Marshal(m)
	if err == nil {
		err = v.ws.Write(bounded(v.t), websocket.MessageText, text)
	}
	if err != nil {
		v.t.Fatal(err)
	}
}

// newVisitor has a connection that has not begun, and its offer.
func newVisitor(t *testing.T) (v *visitor, offer string, candidates []string) {
	t.Helper()
	var se webrtc.SettingEngine
	se.SetIncludeLoopbackCandidate(true)
	se.SetInterfaceFilter(func(name string) bool { return name == "lo" })
	se.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	se.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	pc, err := webrtc.NewAPI(webrtc.WithSettingEngine(se)).NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.GracefulClose() })
	v = &visitor{
		t: t, pc: pc, opened: make(chan string, 8), heard: make(chan heard, 1000), output: make(chan string, 1000), ended: make(chan struct{}),
		ptys: map[string]*webrtc.DataChannel{},
	}
	v.ctl = v.channel("spawn.ctl", func(m []byte) {
		var said heard
		if err := strictjson.Unmarshal(m, &said); err == nil {
			v.heard <- said
		}
	})
	v.ctl.OnClose(func() { close(v.ended) })
	description, err := pc.CreateOffer(nil)
	if err != nil {
		t.Fatal(err)
	}
	all := webrtc.GatheringCompletePromise(pc)
	pc.OnICECandidate(func(c *webrtc.ICECandidate) {
		if c != nil {
			candidates = append(candidates, c.ToJSON().Candidate)
		}
	})
	if err := pc.SetLocalDescription(description); err != nil {
		t.Fatal(err)
	}
	await(t, all, "the own addresses")
	return v, description.SDP, candidates
}

func (v *visitor) channel(label string, hear func([]byte)) *webrtc.DataChannel {
	v.t.Helper()
	c, err := v.pc.CreateDataChannel(label, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	c.OnOpen(func() { v.opened <- label })
	c.OnMessage(func(m webrtc.DataChannelMessage) { hear(m.Data) })
	return c
}

// visit comes in by the link and returns what hello says of it.
func visit(t *testing.T, link string) (*visitor, string) {
	t.Helper()
	v, offer, candidates := newVisitor(t)
	answer, code := v.knock(link, offer, nil)
	if code != "" {
		t.Fatalf("refused: %s", code)
	}
	for _, c := range candidates {
		v.send(map[string]any{"type": "candidate", "candidate": map[string]any{"candidate": c, "sdpMid": "0", "sdpMLineIndex": 0}})
	}
	if err := v.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer}); err != nil {
		t.Fatal(err)
	}
	await(t, v.opened, "spawn.ctl")
	hello, code := v.ask("hello", `{"proto":2}`)
	if code != "" {
		t.Fatalf("hello: %s", code)
	}
	return v, hello
}

// ask returns the answer to a request, or the code of its refusal.
func (v *visitor) ask(verb, params string) (ok, code string) {
	v.t.Helper()
	v.nextID++
	text, err := strictjson.Marshal(map[string]any{"id": v.nextID, "verb": verb, "params": value(params)})
	if err != nil {
		v.t.Fatal(err)
	}
	if err := v.ctl.SendText(string(text)); err != nil {
		v.t.Fatal(err)
	}
	for {
		m := await(v.t, v.heard, "the answer to "+verb)
		switch {
		case m.ID != v.nextID:
		case m.Error != nil:
			return m.Error.Message, m.Error.Code
		default:
			return string(m.OK), ""
		}
	}
}

// value is JSON that goes as it is.
type value string

// MarshalJSON is what strictjson calls.
func (v value) MarshalJSON() ([]byte, error) { return []byte(v), nil }

// attach opens a pane's channel and becomes its viewer, of a small window.
func (v *visitor) attach(pane string) (code string) {
	v.t.Helper()
	v.ptys[pane] = v.channel("spawn.pty."+pane, func(p []byte) { v.output <- string(p) })
	await(v.t, v.opened, "the pane's channel")
	_, code = v.ask("view.attach", `{"pane":"`+pane+`","cols":20,"rows":5,"history":false}`)
	return code
}

// sees waits until the pane's output has the text.
func (v *visitor) sees(text string) {
	v.t.Helper()
	seen := ""
	for !strings.Contains(seen, text) {
		seen += await(v.t, v.output, "output with "+text)
	}
}

// echoes answers each line that it reads.
const echoes = `while read line; do echo "got $line"; done`

// waits for the text on the pane's screen, as the owner reads it.
func (h *host) sees(pane, text string) {
	h.Helper()
	var got verbs.PaneWaitResult
	h.call(verbs.PaneWait, verbs.PaneWaitParams{Pane: pane, Text: text, TimeoutMS: uint32(visitTime.Milliseconds())}, &got)
}

func (h *host) pane(id string) verbs.Pane {
	h.Helper()
	var list verbs.PaneListResult
	h.call(verbs.PaneList, verbs.Empty{}, &list)
	for _, p := range list.Panes {
		if p.ID == id {
			return p
		}
	}
	h.Fatalf("there is no %s", id)
	panic("unreachable")
}

func TestAReadLinkShowsOnePaneAndEndsAtOnce(t *testing.T) {
	h := start(t, options(t))
	defer func() { h.signal(); h.ended() }()
	h.terminal(echoes)
	h.terminal(echoes)
	before := h.pane("p0")
	link := h.share(verbs.ShareCreateParams{Resource: "pane:p0", Label: "review"})
	v, hello := visit(t, link.URL)
	if want := `"principal":"share:` + link.Share + `","visit":{"resource":"pane:p0","right":"read","expires_at":`; !strings.Contains(hello, want) || !strings.Contains(hello, `"viewer_name":"Visitor (review)"`) {
		t.Errorf("hello says %s", hello)
	}
	if code := v.attach("p0"); code != "" {
		t.Fatalf("attach: %s", code)
	}
	h.call(verbs.PaneSend, verbs.PaneSendParams{Pane: "p0", Text: "hello\r"}, &verbs.PaneSendResult{})
	v.sees("got hello")

	// What is not shown is as what is not there, and nothing can be changed or typed.
	if list, _ := v.ask("pane.list", `{}`); strings.Count(list, `"id":`) != 1 || !strings.Contains(list, `"id":"p0"`) {
		t.Errorf("it lists %s", list)
	}
	if there, missing := v.attach("p1"), v.attach("p9"); there != "denied.read" || missing != there {
		t.Errorf("attached to another pane: %q, and to what is not there: %q", there, missing)
	}
	for _, verb := range []string{"pane.capture", "pane.search", "pane.wait", "viewer.list"} {
		more := map[string]string{"pane.search": `,"text":"x"`, "pane.wait": `,"text":"x"`}[verb]
		there, code := v.ask(verb, `{"pane":"p1"`+more+`}`)
		missing, other := v.ask(verb, `{"pane":"p9"`+more+`}`)
		if code != "denied.read" || other != code || strings.ReplaceAll(there, "p1", "p9") != missing {
			t.Errorf("%s: %s %q, and %s %q for what is not there", verb, code, there, other, missing)
		}
	}
	for verb, params := range map[string]string{
		"pane.send": `{"pane":"p0","text":"x"}`, "pane.rename": `{"pane":"p0","name":"x"}`, "pane.close": `{"pane":"p0"}`, "pane.new": `{}`, "pair.new": `{}`,
		"share.create": `{"resource":"pane:p0"}`, "device.list": `{}`, "server.info": `{}`, "config.get": `{}`, "control.take": `{"pane":"p0","viewer":"1"}`,
	} {
		if said, code := v.ask(verb, params); !strings.HasPrefix(code, "denied.") {
			t.Errorf("%s: %s %s", verb, code, said)
		}
	}
	for verb, params := range map[string]string{
		"view.take": `{"pane":"p0"}`, "view.request": `{"pane":"p0"}`, "view.resize": `{"pane":"p0","cols":20,"rows":5}`,
	} {
		if said, code := v.ask(verb, params); !strings.HasPrefix(code, "denied.") {
			t.Errorf("%s: %s %s", verb, code, said)
		}
	}
	if err := v.ptys["p0"].Send([]byte("typed\r")); err != nil {
		t.Fatal(err)
	}
	v.ask("ping", `{}`)
	h.call(verbs.PaneSend, verbs.PaneSendParams{Pane: "p0", Text: "mine\r"}, &verbs.PaneSendResult{})
	v.sees("got mine")
	var screen verbs.PaneCaptureResult
	h.call(verbs.PaneCapture, verbs.PaneCaptureParams{Pane: "p0"}, &screen)
	if text := strings.Join(screen.Lines, "\n"); strings.Contains(text, "typed") {
		t.Errorf("a visitor typed:\n%s", text)
	}
	if now := h.pane("p0"); now.Cols != before.Cols || now.Rows != before.Rows {
		t.Errorf("the terminal was %d×%d and is %d×%d", before.Cols, before.Rows, now.Cols, now.Rows)
	}

	second, _ := visit(t, link.URL)
	if all := h.shares(); len(all) != 1 || all[0].Open != 2 || all[0].UsedAt < all[0].IssuedAt || all[0].By != "owner" || all[0].Label != "review" || all[0].Right != "read" {
		t.Errorf("listed is %+v", all)
	}
	h.call(verbs.ShareRevoke, verbs.ShareRevokeParams{Share: link.Share}, &verbs.Empty{})
	await(t, v.ended, "the end of the first visit")
	await(t, second.ended, "the end of the second")
	if all := h.shares(); len(all) != 0 {
		t.Errorf("listed is %+v", all)
	}
	late, offer, _ := newVisitor(t)
	if _, code := late.knock(link.URL, offer, nil); code != "share.invalid" {
		t.Errorf("afterwards: %q", code)
	}
}

func TestAWriteLinkTypesAndLeavesTheSizeAlone(t *testing.T) {
	h := start(t, options(t))
	defer func() { h.signal(); h.ended() }()
	h.terminal(echoes)
	before := h.pane("p0")
	link := h.share(verbs.ShareCreateParams{Resource: "session:s0", Right: "write"})
	v, _ := visit(t, link.URL)
	if code := v.attach("p0"); code != "" {
		t.Fatalf("attach: %s", code)
	}
	if said, code := v.ask("view.request", `{"pane":"p0"}`); code != "" {
		t.Errorf("it asks for control: %s %s", code, said)
	}
	if err := v.ptys["p0"].Send([]byte("typed\r")); err != nil {
		t.Fatal(err)
	}
	h.sees("p0", "got typed")
	for verb, params := range map[string]string{
		"view.resize": `{"pane":"p0","cols":20,"rows":5}`,
		"view.theme":  `{"pane":"p0","foreground":"#000000","background":"#000000","cursor":"#000000","palette":[]}`,
	} {
		if said, code := v.ask(verb, params); code != "denied.visitor" {
			t.Errorf("%s: %s %s", verb, code, said)
		}
	}
	for verb, params := range map[string]string{ // what is placed and called how is for those who live here
		"pane.zoom": `{"pane":"p0"}`, "pane.resize": `{"pane":"p0","axis":"cols","ratio":1000}`, "pane.rename": `{"pane":"p0","name":"x"}`,
		"pane.swap": `{"pane":"p0","with":"p0"}`, "session.rename": `{"session":"s0","name":"x"}`, "window.rename": `{"window":"w0","name":"x"}`,
		"pane.close": `{"pane":"p0"}`, "pane.new": `{}`, "pane.split": `{"pane":"p0","axis":"cols"}`,
	} {
		if said, code := v.ask(verb, params); !strings.HasPrefix(code, "denied.") {
			t.Errorf("%s: %s %s", verb, code, said)
		}
	}
	if now := h.pane("p0"); now.Cols != before.Cols || now.Rows != before.Rows || now.Name != before.Name {
		t.Errorf("the terminal was %+v and is %+v", before, now)
	}
}

func TestAVisitEndsWhenItsTimeIsUp(t *testing.T) {
	h := start(t, options(t))
	defer func() { h.signal(); h.ended() }()
	h.terminal(echoes)
	link := h.share(verbs.ShareCreateParams{Resource: "pane:p0", Seconds: 5})
	v, _ := visit(t, link.URL)
	await(t, v.ended, "the end of the visit")
	if now := time.Now().UnixMilli(); now < link.ExpiresAt {
		t.Errorf("it ended %d ms early", link.ExpiresAt-now)
	}
	late, offer, _ := newVisitor(t)
	if _, code := late.knock(link.URL, offer, nil); code != "share.invalid" {
		t.Errorf("afterwards: %q", code)
	}
}

// A link is for a few who look together. Those who are there stay, and whoever leaves makes room.
func TestVisitsOfALinkAreBounded(t *testing.T) {
	h := start(t, options(t))
	defer func() { h.signal(); h.ended() }()
	h.terminal(echoes)
	link := h.share(verbs.ShareCreateParams{Resource: "pane:p0"})
	other := h.share(verbs.ShareCreateParams{Resource: "pane:p0"})
	var inside []*visitor
	for range 8 {
		v, _ := visit(t, link.URL)
		inside = append(inside, v)
	}
	v, offer, _ := newVisitor(t)
	if _, code := v.knock(link.URL, offer, nil); code != "share.full" {
		t.Errorf("the ninth: %q", code)
	}
	if _, code := v.knock(other.URL, offer, nil); code != "" {
		t.Errorf("by another link: %q", code)
	}
	inside[0].pc.GracefulClose()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for gone := bounded(t); h.shares()[0].Open == 8; {
		select {
		case <-look.C:
		case <-gone.Done():
			t.Fatal("who has left is counted")
		}
	}
	visit(t, link.URL)
	if _, code := inside[1].ask("ping", `{}`); code != "" {
		t.Errorf("who was there: %s", code)
	}
}

// A relay that puts its own certificate in the place of the visitor's gets nothing.
func TestASwappedFingerprintIsRefused(t *testing.T) {
	h := start(t, options(t))
	defer func() { h.signal(); h.ended() }()
	h.terminal(echoes)
	link := h.share(verbs.ShareCreateParams{Resource: "pane:p0"})
	v, offer, _ := newVisitor(t)
	_, other, _ := newVisitor(t)
	print := func(sdp string) string {
		_, rest, _ := strings.Cut(sdp, "a=fingerprint:sha-256 ")
		return rest[:95]
	}
	swapped := strings.ReplaceAll(offer, print(offer), print(other))
	if swapped == offer {
		t.Fatal("nothing was swapped")
	}
	if _, code := v.knock(link.URL, offer, func(m map[string]any) { m["sdp"] = swapped }); code != "share.invalid" {
		t.Errorf("a swapped fingerprint: %q", code)
	}
	if all := h.shares(); all[0].Open != 0 || all[0].UsedAt != 0 {
		t.Errorf("it counts as a visit: %+v", all)
	}
}
