// SPDX-License-Identifier: Apache-2.0

package signaling

import (
	"encoding/base64"
	"strconv"
	"testing"

	"github.com/pion/datachannel"
	"github.com/pion/ice/v4"
	"github.com/pion/webrtc/v4"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/page"
)

// tab is a connected page: a browser's line, its peer connection, and what comes on spawn.ctl.
type tab struct {
	*line
	pc     *webrtc.PeerConnection
	ctl    datachannel.ReadWriteCloser
	nextID int

	answers chan event // with id
	events  chan event
	ended   chan struct{} // no more comes
}

// event is every message on spawn.ctl in one.
type event struct {
	ID    uint64         `json:"id"`
	OK    value          `json:"ok"`
	Error *page.CtlError `json:"error"`

	Event          string               `json:"event"`
	Pane           value                `json:"pane"`
	Seq            int                  `json:"seq"`
	Last           bool                 `json:"last"`
	Data           string               `json:"data"`
	Cols           uint16               `json:"cols"`
	Rows           uint16               `json:"rows"`
	Full           bool                 `json:"full"`
	Unavailable    bool                 `json:"unavailable"`
	Watermark      string               `json:"watermark"`
	DCOffset       uint64               `json:"dc_offset"`
	Epoch          string               `json:"epoch"`
	Offset         uint64               `json:"offset"`
	You            bool                 `json:"you"`
	Controller     string               `json:"controller"`
	ControllerName string               `json:"controller_name"`
	Request        *page.ControlRequest `json:"request"`
	ExitCode       *int                 `json:"exit_code"`
	Signal         string               `json:"signal"`
	Reason         string               `json:"reason"`
}

// value is JSON as it came.
type value string

func (v *value) UnmarshalJSON(raw []byte) error {
	*v = value(raw)
	return nil
}

// connect dials, pairs if need be, and brings the peer connection about with candidates that trickle,
// before the offer when early.
func (b *browser) connect(s *stack, early bool) *tab {
	b.t.Helper()
	l := b.dial(s.server)
	if b.device == "" {
		code, err := s.door.NewCode()
		if err != nil {
			b.t.Fatal(err)
		}
		l.pair(code)
	}
	tb := &tab{line: l, pc: newConnection(b.t), answers: make(chan event, 100), events: make(chan event, 10000), ended: make(chan struct{})}
	b.t.Cleanup(tb.leave)
	ctl := tb.open("spawn.ctl")
	offer, err := tb.pc.CreateOffer(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	var gathered []webrtc.ICECandidateInit
	all := webrtc.GatheringCompletePromise(tb.pc)
	tb.pc.OnICECandidate(func(c *webrtc.ICECandidate) {
		if c != nil {
			gathered = append(gathered, c.ToJSON())
		}
	})
	if err := tb.pc.SetLocalDescription(offer); err != nil {
		b.t.Fatal(err)
	}
	<-all
	trickle := func() {
		for _, c := range gathered {
			l.send(candidateMessage(c.Candidate))
		}
	}
	if early {
		trickle()
	}
	answer := l.exchange(offer.SDP)
	if !early {
		trickle()
	}
	if err := tb.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer}); err != nil {
		b.t.Fatal(err)
	}
	tb.ctl = await(b.t, ctl, "spawn.ctl")
	go tb.listen()
	return tb
}

func newConnection(t *testing.T) *webrtc.PeerConnection {
	t.Helper()
	var se webrtc.SettingEngine
	se.SetIncludeLoopbackCandidate(true)
	se.SetInterfaceFilter(func(name string) bool { return name == "lo" })
	se.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	se.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	se.DetachDataChannels()
	pc, err := webrtc.NewAPI(webrtc.WithSettingEngine(se)).NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		t.Fatal(err)
	}
	return pc
}

func (tb *tab) leave() {
	tb.pc.GracefulClose()
	if tb.ctl != nil {
		<-tb.ended
	}
}

func (tb *tab) open(label string) <-chan datachannel.ReadWriteCloser {
	tb.t.Helper()
	dc, err := tb.pc.CreateDataChannel(label, nil)
	if err != nil {
		tb.t.Fatal(err)
	}
	opened := make(chan datachannel.ReadWriteCloser, 1)
	dc.OnOpen(func() {
		if raw, err := dc.Detach(); err == nil {
			opened <- raw
		}
	})
	return opened
}

// listen sorts what comes on spawn.ctl, and checks what holds of all of it.
func (tb *tab) listen() {
	defer close(tb.ended)
	buf := make([]byte, 64<<10)
	for {
		n, text, err := tb.ctl.ReadDataChannel(buf)
		if err != nil {
			return
		}
		var e event
		if err := strictjson.Unmarshal(buf[:n], &e); err != nil || !text || n > 16<<10 {
			tb.t.Errorf("spawn.ctl: %d bytes, text %v, %v: %.200s", n, text, err, buf[:n])
		}
		if e.Event == "" {
			tb.answers <- e
		} else {
			tb.events <- e
		}
	}
}

func (tb *tab) ask(verb string, params map[string]any) event {
	tb.t.Helper()
	tb.nextID++
	text, err := strictjson.Marshal(map[string]any{"id": tb.nextID, "verb": verb, "params": params})
	if err != nil {
		tb.t.Fatal(err)
	}
	if _, err := tb.ctl.WriteDataChannel(text, true); err != nil {
		tb.t.Fatal(err)
	}
	e := await(tb.t, tb.answers, "the answer to "+verb)
	if e.ID != uint64(tb.nextID) {
		tb.t.Fatalf("answer %d to request %d", e.ID, tb.nextID)
	}
	return e
}

func (tb *tab) must(verb string, params map[string]any) event {
	tb.t.Helper()
	e := tb.ask(verb, params)
	if e.Error != nil {
		tb.t.Fatalf("%s: %v", verb, e.Error)
	}
	return e
}

// until returns the next event of the name, passing over others.
func (tb *tab) until(name string) event {
	tb.t.Helper()
	for {
		if e := await(tb.t, tb.events, "event "+name); e.Event == name {
			return e
		}
	}
}

// snapshot collects the pieces of the next snapshot.
func (tb *tab) snapshot() (head event, stream string) {
	tb.t.Helper()
	for seq := 0; ; seq++ {
		e := tb.until("snapshot")
		if e.Seq != seq {
			tb.t.Fatalf("piece %d of a snapshot, want %d", e.Seq, seq)
		}
		data, err := base64.RawURLEncoding.DecodeString(e.Data)
		if err != nil {
			tb.t.Fatal(err)
		}
		if seq == 0 {
			head = e
		}
		if stream += string(data); e.Last {
			return head, stream
		}
	}
}

// pane is a page's side of one pane: the count of bytes on its channel and the position it has shown.
type pane struct {
	*tab
	id       string
	raw      datachannel.ReadWriteCloser
	received uint64 // on the channel
	shown    uint64 // position in the terminal's life
}

func (tb *tab) attach(id string, raw datachannel.ReadWriteCloser) *pane {
	tb.t.Helper()
	p := &pane{tab: tb, id: id, raw: raw}
	p.attach()
	return p
}

// attach becomes a viewer, or a new one over the same channel.
func (p *pane) attach() {
	p.t.Helper()
	p.must("view.attach", map[string]any{"pane": p.id, "cols": 80, "rows": 24, "history": true})
	p.seed(true)
}

// seed takes a snapshot, and drops from the channel what it covers.
func (p *pane) seed(full bool) {
	p.t.Helper()
	head, stream := p.snapshot()
	watermark, err := strconv.ParseUint(head.Watermark, 10, 64)
	if err != nil || head.Full != full || head.Cols != 80 || head.Rows != 24 {
		p.t.Fatalf("snapshot %+v", head)
	}
	if stream != screenOf(watermark, full) {
		p.t.Fatalf("the snapshot's stream is not the terminal's at %d: %.50s… (%d bytes)", watermark, stream, len(stream))
	}
	if head.DCOffset < p.received {
		p.t.Fatalf("dc_offset %d, but %d bytes were received", head.DCOffset, p.received)
	}
	p.read(head.DCOffset-p.received, nil)
	p.shown = watermark
}

// read reads n bytes of the channel and hands each to f. A cut never lies within a message.
func (p *pane) read(n uint64, f func(byte)) {
	p.t.Helper()
	buf := make([]byte, 16<<10)
	for n > 0 {
		m, text, err := p.raw.ReadDataChannel(buf)
		if err != nil || text || uint64(m) > n && f == nil {
			p.t.Fatalf("%s: %d bytes of %d, text %v, %v", p.id, m, n, text, err)
		}
		p.received += uint64(m)
		for _, b := range buf[:m] {
			if f != nil {
				f(b)
			}
		}
		n -= min(n, uint64(m))
	}
}

// follow reads live output up to a position and checks every byte of it.
func (p *pane) follow(to uint64) {
	p.t.Helper()
	for p.shown < to {
		p.read(1, func(b byte) {
			if b != at(p.shown) {
				p.t.Fatalf("byte at %d is %x, want %x", p.shown, b, at(p.shown))
			}
			p.shown++
		})
	}
}

func (tb *tab) hello() {
	tb.t.Helper()
	e := tb.must("hello", map[string]any{"proto": 2})
	if want := `{"server":{"version":"test","host_name":"box","source":"s1"},"viewer_name":"Go","principal":"owner","visit":null}`; string(e.OK) != want {
		tb.t.Errorf("hello: %s", e.OK)
	}
	for {
		if e := await(tb.t, tb.events, "panes_ready"); e.Event == "panes_ready" {
			return
		} else if e.Event != "pane" {
			tb.t.Fatalf("event %s before panes_ready", e.Event)
		}
	}
}
