// SPDX-License-Identifier: Apache-2.0

package signaling

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/pion/datachannel"
	"github.com/pion/ice/v4"
	"github.com/pion/webrtc/v4"

	"spawn/internal/sessiond/wire"
	"spawn/internal/strictjson"
	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/page"
	"spawn/internal/supervisor/rtc"
	"spawn/internal/supervisor/verbs"
)

// stack is everything between a browser and a worker: signalling, peers, pages and hubs are the real ones,
// the worker is in memory.
type stack struct {
	*desk
	rtc   *rtc.Endpoint
	board *page.Board
	work  sync.WaitGroup
	ctx   context.Context

	changed chan struct{} // a hub's facts have

	mu    sync.Mutex
	hubs  map[string]*fanout.Hub
	terms map[string]*terminal
}

func openStack(t *testing.T) *stack {
	t.Helper()
	s := &stack{board: page.NewBoard(), changed: make(chan struct{}, 1), hubs: map[string]*fanout.Hub{}, terms: map[string]*terminal{}}
	door, err := access.Open(t.TempDir(), access.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	if s.rtc, err = rtc.Listen(netip.MustParseAddrPort("127.0.0.1:0"), log); err != nil {
		t.Fatal(err)
	}
	server, err := New(ln, Options{Door: door, Peers: s, App: fstest.MapFS{"index.html": {}}, HostName: "box", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.ctx = ctx
	s.work.Go(func() {
		if err := server.Serve(ctx); err != nil {
			t.Error(err)
		}
	})
	s.desk = &desk{server: server, door: door}
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := s.rtc.Close(); err != nil {
			t.Error(err)
		}
		s.work.Wait()
		door.Close()
	})
	t.Cleanup(s.stop)
	return s
}

// Answer joins the rooms as the supervisor does.
func (s *stack) Answer(ctx context.Context, device access.Device, offer string) (Peer, string, error) {
	peer, answer, err := s.rtc.Answer(ctx, offer)
	if err != nil {
		return nil, "", err
	}
	s.work.Go(func() {
		defer peer.Close()
		_ = page.Serve(s.ctx, page.Options{
			Accept: func(ctx context.Context) (page.Channel, error) {
				c, err := peer.Accept(ctx)
				if err != nil {
					return nil, err
				}
				return c, nil
			},
			Panes: s, Verbs: verbs.NewDispatcher(verbs.Options{Server: deeds{stack: s}, Log: slog.New(slog.DiscardHandler)}), Caller: verbs.Owner{}, Board: s.board, Server: page.Server{Version: "test", HostName: "box", Source: "s1"},
			ViewerName: device.Name, Log: slog.New(slog.DiscardHandler),
		})
	})
	return peer, answer, nil
}

// addPane puts up a pane with a worker in memory.
func (s *stack) addPane(id string) *terminal {
	term := newTerminal()
	hub := fanout.New(term, wire.Hello{Cols: 80, Rows: 24, History: true, Capabilities: wire.Capabilities()}, fanout.Options{Changed: s.changed})
	s.mu.Lock()
	s.hubs[id], s.terms[id] = hub, term
	s.mu.Unlock()
	s.board.Put(page.PaneInfo{ID: id, State: page.PaneRunning, Cols: 80, Rows: 24, Window: "w0"})
	s.work.Go(func() { hub.Run(s.ctx) })
	return term
}

// deeds are what the stack's verbs act on.
type deeds struct {
	verbs.Server
	*stack
}

func (d deeds) NewPane(context.Context, verbs.PaneNewParams) (verbs.Pane, error) {
	d.addPane("p7")
	return verbs.Pane{ID: "p7", State: verbs.PaneRunning}, nil
}

func (d deeds) KillPane(_ context.Context, pane string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.terms[pane].Close()
	d.board.Remove(pane)
	return nil
}

func (d deeds) PairURL(context.Context) (string, error) {
	code, err := d.door.NewCode()
	return d.server.PairURL(code), err
}

func (s *stack) Attach(pane string, sink fanout.Sink, o fanout.AttachOptions) (page.Viewer, error) {
	s.mu.Lock()
	hub := s.hubs[pane]
	s.mu.Unlock()
	if hub == nil {
		sink.Close()
		return nil, &page.CtlError{Code: "not_found.pane", Message: "no such pane"}
	}
	v, err := hub.Attach(sink, o)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// terminal is a worker in memory. Its output at position i is a function of i, so that what a page gets
// can be told right from wrong byte by byte; its screen is the position at which it was taken.
type terminal struct {
	mu     sync.Mutex
	some   sync.Cond
	frames []frame
	total  uint64
	closed bool
	typed  chan []byte
}

type frame struct {
	kind    wire.Kind
	payload []byte
}

func newTerminal() *terminal {
	t := &terminal{typed: make(chan []byte, 1000)}
	t.some.L = &t.mu
	return t
}

func at(position uint64) byte { return byte(position*2654435761>>13) | 1 }

func (t *terminal) push(k wire.Kind, payload []byte) {
	t.frames = append(t.frames, frame{k, payload})
	t.some.Signal()
}

// produce writes n bytes of output.
func (t *terminal) produce(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n > 0 {
		p := make([]byte, min(n, 4000))
		for i := range p {
			p[i] = at(t.total)
			t.total++
		}
		t.push(wire.KindOutput, p)
		n -= len(p)
	}
}

func (t *terminal) position() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

func (t *terminal) Recv() (wire.Kind, []byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.frames) == 0 && !t.closed {
		t.some.Wait()
	}
	if t.closed {
		return 0, nil, io.EOF
	}
	f := t.frames[0]
	t.frames = t.frames[1:]
	return f.kind, f.payload, nil
}

func (t *terminal) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.some.Broadcast()
}

func (t *terminal) Input(p []byte) error {
	t.typed <- append([]byte(nil), p...)
	return nil
}
func (t *terminal) Resize(uint16, uint16) error { return nil }
func (t *terminal) SetTheme(wire.Theme) error   { return nil }

// screenOf is what a replay of a position holds: long enough for many pieces when it is full.
func screenOf(position uint64, full bool) string {
	text := fmt.Sprintf("screen at %d;", position)
	if full {
		return strings.Repeat("history ", 10000) + text
	}
	return text
}

func (t *terminal) RequestReplay(max uint32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	payload := binary.LittleEndian.AppendUint64(nil, t.total)
	t.push(wire.KindReplay, append(payload, screenOf(t.total, max > 0)...))
	return nil
}

func (t *terminal) RequestCapture(wire.CaptureReq) error { return nil }

func (t *terminal) SubscribeHistory(on bool) error {
	if !on {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.history(1, 0, nil)
	return nil
}

func (t *terminal) history(epoch, offset uint64, text []byte) {
	payload := binary.LittleEndian.AppendUint64(nil, epoch)
	payload = binary.LittleEndian.AppendUint64(payload, offset)
	t.push(wire.KindHistory, append(payload, text...))
}

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
	if want := `{"server":{"version":"test","host_name":"box","source":"s1"},"viewer_name":"Go"}`; string(e.OK) != want {
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

func TestAPageSeesATerminalExactly(t *testing.T) {
	for _, early := range []bool{false, true} {
		t.Run(fmt.Sprintf("candidates early %v", early), func(t *testing.T) {
			s := openStack(t)
			term := s.addPane("p0")
			tb := newBrowser(t).connect(s, early)
			tb.hello()
			raw := await(t, tb.open("spawn.pty.p0"), "the pane's channel")
			term.produce(100_000)
			p := tb.attach("p0", raw)

			for i := range 8 { // snapshots in the midst of output
				var work sync.WaitGroup
				work.Go(func() {
					for range 100 {
						term.produce(1_000)
					}
				})
				p.follow(p.shown + 20_000)
				p.must("view.snapshot", map[string]any{"pane": "p0", "full": i%2 == 0})
				p.seed(i%2 == 0)
				work.Wait()
			}
			p.follow(term.position())

			for _, key := range []string{"l", "s", "\r"} {
				if _, err := raw.Write([]byte(key)); err != nil {
					t.Fatal(err)
				}
				if got := await(t, term.typed, "a key"); string(got) != key {
					t.Errorf("typed %q, want %q", got, key)
				}
			}
			p.must("view.detach", map[string]any{"pane": "p0"})
			term.produce(30_000)
			p.attach()
			term.produce(30_000)
			p.follow(term.position())
			p.attach() // without a detach, in the midst of output
			term.produce(30_000)
			p.follow(term.position())
		})
	}
}

func TestASlowPageIsDroppedAloneAndComesBack(t *testing.T) {
	s := openStack(t)
	term := s.addPane("p0")
	slow, quick := newBrowser(t).connect(s, false), newBrowser(t).connect(s, false)
	slow.hello()
	quick.hello()
	slowRaw, quickRaw := await(t, slow.open("spawn.pty.p0"), "channel"), await(t, quick.open("spawn.pty.p0"), "channel")
	first, other := slow.attach("p0", slowRaw), quick.attach("p0", quickRaw)
	for range 100 { // 4 MB: more than a queue and every buffer on the way hold
		term.produce(40_000)
		other.follow(term.position())
	}
	// The slow one reads on: some exact beginning, then it is told, and attaches again.
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		buf := make([]byte, 16<<10)
		for {
			n, _, err := slowRaw.ReadDataChannel(buf)
			if err != nil {
				return
			}
			first.received += uint64(n)
			for _, b := range buf[:n] {
				if b != at(first.shown) {
					t.Errorf("byte at %d is %x, want %x", first.shown, b, at(first.shown))
					return
				}
				first.shown++
			}
		}
	}()
	if e := slow.until("dropped"); e.Reason != fanout.ReasonLagging {
		t.Errorf("dropped for %q", e.Reason)
	}
	slow.pc.GracefulClose()
	<-drained
	if first.shown < 64<<10 || first.shown == term.position() {
		t.Errorf("the slow page saw %d of %d bytes", first.shown, term.position())
	}

	back := slow.browser.connect(s, false)
	back.hello()
	p := back.attach("p0", await(t, back.open("spawn.pty.p0"), "channel"))
	term.produce(50_000)
	p.follow(term.position())
	other.follow(term.position())
}

func TestAPageOutlivesItsSocket(t *testing.T) {
	s := openStack(t)
	term := s.addPane("p0")
	tb := newBrowser(t).connect(s, false)
	tb.hello()
	p := tb.attach("p0", await(t, tb.open("spawn.pty.p0"), "channel"))
	tb.ws.CloseNow()
	for range 50 {
		tb.must("ping", map[string]any{})
		term.produce(10_000)
		p.follow(term.position())
	}
	tb.pc.GracefulClose() // and its end is seen without the socket: the viewer is gone
	for s.hubs["p0"].Facts().Viewers != 0 {
		await(t, s.changed, "the end of the closed page's viewer")
	}
}

func TestEndingTheStackEndsEveryPage(t *testing.T) {
	s := openStack(t)
	term := s.addPane("p0")
	var tabs []*tab
	for range 3 {
		tb := newBrowser(t).connect(s, false)
		tb.hello()
		tb.attach("p0", await(t, tb.open("spawn.pty.p0"), "channel"))
		tabs = append(tabs, tb)
	}
	term.produce(10_000_000) // which nobody reads
	s.stop()
	for _, tb := range tabs {
		tb.hearEnd()
		await(t, tb.ended, "the end of spawn.ctl")
	}
}

func TestVerbsOverTheWire(t *testing.T) {
	s := openStack(t)
	term := s.addPane("p0")
	one, two := newBrowser(t).connect(s, false), newBrowser(t).connect(s, false)
	for _, tb := range []*tab{one, two} {
		if e := tb.ask("pane.new", map[string]any{"cols": 80, "rows": 24}); e.Error == nil || e.Error.Code != "conflict.hello" {
			t.Errorf("before hello: %+v", e)
		}
		tb.hello()
	}
	one.attach("p0", await(t, one.open("spawn.pty.p0"), "channel"))
	second := two.attach("p0", await(t, two.open("spawn.pty.p0"), "channel"))
	if e := two.ask("view.resize", map[string]any{"pane": "p0", "cols": 90, "rows": 30}); e.Error == nil || e.Error.Code != "denied.not_controller" {
		t.Errorf("resize by a watcher: %+v", e)
	}
	if _, err := second.raw.Write([]byte("rm -rf /\r")); err != nil {
		t.Fatal(err)
	}
	two.must("view.request", map[string]any{"pane": "p0"})
	request := one.until("control")
	for request.Request == nil {
		request = one.until("control")
	}
	if request.Request.Name != "Go" || !request.You {
		t.Errorf("the controller hears %+v", request)
	}
	one.must("view.grant", map[string]any{"pane": "p0", "viewer": request.Request.Viewer})
	for !two.until("control").You {
	}
	if _, err := second.raw.Write([]byte("mine")); err != nil {
		t.Fatal(err)
	}
	if got := await(t, term.typed, "a key"); string(got) != "mine" {
		t.Errorf("typed %q: a watcher's keys must not arrive", got)
	}
	if e := one.must("pane.new", map[string]any{"cols": 80, "rows": 24}); !strings.Contains(string(e.OK), `"id":"p7"`) {
		t.Errorf("pane.new: %s", e.OK)
	}
	for !strings.Contains(string(two.until("pane").Pane), `"p7"`) {
	}
	two.must("pane.close", map[string]any{"pane": "p7"})
	if e := one.until("pane_removed"); e.Pane != `"p7"` {
		t.Errorf("removed %s", e.Pane)
	}
	e := one.must("pair.new", map[string]any{})
	_, code, _ := strings.Cut(strings.TrimSuffix(string(e.OK), `"}`), "#pair=")
	raw, err := base64.RawURLEncoding.DecodeString(code)
	if err != nil || len(raw) != 16 {
		t.Fatalf("pair.new: %s", e.OK)
	}
	newBrowser(t).dial(s.server).pair(access.Code(raw))
}
