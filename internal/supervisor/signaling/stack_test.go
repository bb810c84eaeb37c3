// SPDX-License-Identifier: Apache-2.0

package signaling

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"spawn/internal/sessiond/wire"
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
func (s *stack) Answer(ctx context.Context, who access.Entrant, offer string) (Peer, string, error) {
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
			ViewerName: who.Name, Log: slog.New(slog.DiscardHandler),
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

func (s *stack) Sees(string) bool { return true }

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
