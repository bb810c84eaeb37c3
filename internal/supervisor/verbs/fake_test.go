// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/control"
	"spawn/internal/supervisor/fanout"
)

// noCheckpoints is the interface under another name than that of its method.
type noCheckpoints = Checkpoints

// fakeServer is a spawnd with one pane, p1.
type fakeServer struct {
	noCheckpoints // nil: nobody asks
	Settings      // nothing of them is asked for here
	fakeTexts

	mu      sync.Mutex
	started []PaneNewParams
	named   string
	fails   error // what every act gives, when set
	killed  bool
	viewers chan *fakeViewer // attached, in order
	end     func()           // what begins the end

	Arrangement // nil, unless a test has one
	Steering    // likewise
}

func newFakeServer() *fakeServer {
	return &fakeServer{fakeTexts: newFakeTexts(), viewers: make(chan *fakeViewer, 8)}
}

var onePane = Pane{ID: "p1", SessionID: "6e1f8f0e-7b1c-4b5e-9d55-0d7d6c2a8f10", PID: 42, State: PaneRunning, Title: "vim", Cols: 80, Rows: 24, Viewers: 1, Session: "s0", Window: "w0", Layer: "tile", Tags: []Tag{{"role", "agent"}}}

func noPane(id string) error {
	if id == "p1" || id == "p3" {
		return nil
	}
	return Errorf(CodeNoPane, "there is no pane %s", id)
}

func (s *fakeServer) Panes(context.Context) ([]Pane, error) { return []Pane{onePane}, nil }

func (s *fakeServer) NewPane(_ context.Context, p PaneNewParams) (Pane, error) {
	if p.Name == "broken" {
		return Pane{}, errors.New("a secret path")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = append(s.started, p)
	return onePane, nil
}

func (s *fakeServer) KillPane(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails != nil {
		return s.fails
	}
	s.killed = id == "p1"
	return noPane(id)
}

func (s *fakeServer) RestartPane(_ context.Context, p PaneRestartParams) (PaneResult, error) {
	return PaneResult{onePane}, noPane(p.Pane)
}

func (s *fakeServer) RenamePane(_ context.Context, id, name string) (Pane, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.named = name
	return onePane, noPane(id)
}

func (s *fakeServer) Viewers(_ context.Context, id string) (fanout.Stats, error) {
	return fanout.Stats{Drops: 1, Viewers: []fanout.ViewerStats{{ID: 5, Name: "tty", Control: true, Bytes: 9, Bound: 7}}}, noPane(id)
}

func (s *fakeServer) Follow(context.Context, EventsSubscribeParams) (EventsSubscribeResult, func(context.Context) (Raw, error), error) {
	return EventsSubscribeResult{}, nil, Errorf(CodeSubscription, "nothing happens here")
}

func (s *fakeServer) IssueGrant(context.Context, GrantIssueParams) (GrantIssueResult, error) {
	return GrantIssueResult{}, Errorf(CodeFull, "no room")
}

func (s *fakeServer) Grants(context.Context, Empty) (GrantListResult, error) {
	return GrantListResult{}, nil
}

func (s *fakeServer) RevokeGrant(context.Context, GrantRevokeParams) (Empty, error) {
	return Empty{}, Errorf(CodeNoGrant, "there is no such grant")
}

func (s *fakeServer) CreateShare(context.Context, ShareCreateParams) (ShareCreateResult, error) {
	return ShareCreateResult{}, Errorf(CodeFull, "no room")
}

func (s *fakeServer) Shares(context.Context, Empty) (ShareListResult, error) {
	return ShareListResult{}, nil
}

func (s *fakeServer) RevokeShare(context.Context, ShareRevokeParams) (Empty, error) {
	return Empty{}, Errorf(CodeNoGrant, "there is no such link")
}

func (s *fakeServer) Devices(context.Context, Empty) (DeviceListResult, error) {
	return DeviceListResult{}, nil
}

func (s *fakeServer) RevokeDevice(context.Context, DeviceRevokeParams) (Empty, error) {
	return Empty{}, Errorf(CodeNoDevice, "there is no such browser")
}

func (s *fakeServer) PairURL(context.Context) (string, error) {
	return "http://127.0.0.1:1/#pair=x", nil
}

func (s *fakeServer) Info(context.Context) (ServerInfoResult, error) {
	return ServerInfoResult{Version: "v", PID: 7}, nil
}

func (s *fakeServer) Shutdown(context.Context, ServerShutdownParams) (func(), error) {
	return s.end, nil
}

func (s *fakeServer) AttachPane(_ context.Context, id string, sink fanout.Sink, o fanout.AttachOptions) (Viewer, error) {
	if err := noPane(id); err != nil {
		sink.Close()
		return nil, err
	}
	v := &fakeViewer{sink: sink, o: o, did: make(chan string, 16), detached: make(chan struct{})}
	s.viewers <- v
	if id == "p3" { // its terminal ends at this very moment
		sink.Close()
	}
	return v, nil
}

// fakeViewer notes what its peer did.
type fakeViewer struct {
	sink     fanout.Sink
	o        fanout.AttachOptions
	did      chan string
	refuse   error // of input
	once     sync.Once
	detached chan struct{}
}

func (v *fakeViewer) ID() control.ViewerID { return 5 }

func (v *fakeViewer) Stream() string { return "S" }

func (v *fakeViewer) Resumed() bool { return v.o.Resume.Stream == "S" }

func (v *fakeViewer) Input(p []byte) error {
	if v.refuse != nil {
		return v.refuse
	}
	v.did <- "input " + string(p)
	return nil
}

func (v *fakeViewer) Resize(cols, rows uint16) error {
	v.did <- "resize"
	return control.ErrNotController
}

func (v *fakeViewer) Snapshot(full bool) error {
	v.did <- map[bool]string{true: "snapshot full", false: "snapshot screen"}[full]
	return nil
}

func (v *fakeViewer) Take() error {
	v.did <- "take"
	return nil
}

func (v *fakeViewer) Detach() {
	v.once.Do(func() { close(v.detached); v.sink.Close() })
}

// running is a Serve in a test.
type running struct {
	*testing.T
	path   string
	server *fakeServer
	s      *server
	log    *lockedBuffer
	stop   context.CancelFunc
	ended  chan error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func run(t *testing.T, tune func(*server)) *running {
	t.Helper()
	r := &running{T: t, path: filepath.Join(t.TempDir(), "s"), server: newFakeServer(), log: &lockedBuffer{}, ended: make(chan error, 1)}
	ln, err := Listen(r.path)
	if err != nil {
		t.Fatal(err)
	}
	r.s = newServer(Options{
		Server: r.server, CheckPeer: func(*net.UnixConn) error { return nil },
		Log: slog.New(slog.NewTextHandler(r.log, nil)),
	})
	if tune != nil {
		tune(r.s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	go func() { r.ended <- r.s.serve(ctx, ln) }()
	t.Cleanup(r.finish)
	return r
}

func (r *running) finish() {
	if r.stop == nil {
		return
	}
	r.stop()
	r.stop = nil
	if err := <-r.ended; err != nil {
		r.Errorf("serve: %v", err)
	}
	if strings.Contains(r.log.String(), undeclared) {
		r.Errorf("the table is not true:\n%s", r.log)
	}
}

// peer is a raw connection.
type peer struct {
	*running
	u *net.UnixConn
	r *bufio.Reader
}

func (r *running) dial() *peer {
	r.Helper()
	c, err := net.Dial("unix", r.path)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = c.Close() })
	return &peer{r, c.(*net.UnixConn), bufio.NewReader(c)}
}

func (p *peer) say(text string) {
	p.Helper()
	if _, err := p.u.Write([]byte(text)); err != nil {
		p.Fatal(err)
	}
}

func (p *peer) hear() string {
	p.Helper()
	line, err := ReadLine(p.r, AnswerBytesMax)
	if err != nil {
		p.Fatalf("no answer: %v", err)
	}
	return string(line)
}

func (p *peer) ask(line string) string {
	p.Helper()
	p.say(line + "\n")
	return p.hear()
}

// frames reads n frames after the answer to a stream.
func (p *peer) frames(n int) (kinds []wire.Kind, payloads []string) {
	p.Helper()
	r := wire.NewReader(p.r, wire.FromWorker)
	for range n {
		k, payload, err := r.Next()
		if err != nil {
			p.Fatalf("frame %d of %d: %v", len(kinds), n, err)
		}
		kinds, payloads = append(kinds, k), append(payloads, string(payload))
	}
	return kinds, payloads
}

func (p *peer) send(whole []byte, err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
	p.say(string(whole))
}
