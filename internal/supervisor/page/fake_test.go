// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"spawn/internal/sessiond/wire"
	"spawn/internal/strictjson"
	"spawn/internal/supervisor/control"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/verbs"
)

// testTime bounds what a test waits for; nothing takes it when all is right.
const testTime = 20 * time.Second

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTime)
	t.Cleanup(cancel)
	return ctx
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

// channel is one in memory. Nothing is buffered: a Write ends when the test has taken the message.
type channel struct {
	label    string
	in, out  chan []byte
	sent     atomic.Uint64
	closed   chan struct{}
	once     sync.Once
	farEnd   chan struct{} // closed when the page has closed it
	farClose sync.Once
	hold     chan struct{} // not nil: Write waits for it, whatever else ends, and succeeds
}

func (c *channel) Label() string { return c.label }
func (c *channel) Sent() uint64  { return c.sent.Load() }
func (c *channel) Close()        { c.once.Do(func() { close(c.closed) }) }
func (c *channel) leave()        { c.farClose.Do(func() { close(c.farEnd) }) }

func (c *channel) Read() ([]byte, error) {
	select {
	case p := <-c.in:
		return p, nil
	case <-c.farEnd:
		return nil, io.EOF
	case <-c.closed:
		return nil, errors.New("closed")
	}
}

func (c *channel) Write(ctx context.Context, p []byte) error {
	if len(p) > messageMax {
		return errors.New("message is too long")
	}
	if c.hold != nil {
		<-c.hold
		c.sent.Add(uint64(len(p)))
		return nil
	}
	select {
	case c.out <- append([]byte(nil), p...):
		c.sent.Add(uint64(len(p)))
		return nil
	case <-c.closed:
		return errors.New("closed")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// viewer records what is done to it. The test drives its sink.
type viewer struct {
	id       control.ViewerID
	sink     fanout.Sink
	o        fanout.AttachOptions
	acts     chan string // what was called, in order
	typed    chan string
	err      error // of every act
	detached chan struct{}
	once     sync.Once
	snapshot func() // called within Snapshot; nil for nothing
}

func (v *viewer) ID() control.ViewerID { return v.id }
func (v *viewer) Input(p []byte) error {
	v.typed <- string(p)
	return nil
}
func (v *viewer) act(name string) error {
	v.acts <- name
	return v.err
}
func (v *viewer) Resize(uint16, uint16) error  { return v.act("resize") }
func (v *viewer) SetTheme(wire.Theme) error    { return v.act("theme") }
func (v *viewer) RequestControl() error        { return v.act("request") }
func (v *viewer) Take() error                  { return v.act("take") }
func (v *viewer) ReleaseControl() error        { return v.act("release") }
func (v *viewer) Grant(control.ViewerID) error { return v.act("grant") }
func (v *viewer) Deny(control.ViewerID) error  { return v.act("deny") }
func (v *viewer) Snapshot(full bool) error {
	if v.snapshot != nil {
		v.snapshot()
	}
	return v.act("snapshot")
}
func (v *viewer) Detach() {
	v.once.Do(func() { close(v.detached) })
	v.sink.Close()
}

// host is a page under test and everything below it, in memory.
type host struct {
	t        *testing.T
	board    *Board
	ctl      *channel
	opened   chan Channel
	viewers  chan *viewer // attached, in order
	lastID   atomic.Uint64
	closing  chan string // panes whose close was asked for; unbuffered: the test lets it go on
	listed   []verbs.Pane
	attachTo func(*viewer) error
	hidden   atomic.Value // id of a pane that the page may not see; nil for none
	served   chan error
	stop     context.CancelFunc
}

func serve(t *testing.T) *host {
	t.Helper()
	return serveVisit(t, nil)
}

// serveVisit is serve for a visitor.
func serveVisit(t *testing.T, visit *Visit) *host {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	h := &host{
		t: t, board: NewBoard(), opened: make(chan Channel, 8), viewers: make(chan *viewer, 8),
		closing: make(chan string), served: make(chan error, 1), stop: stop,
	}
	go func() {
		h.served <- Serve(ctx, Options{
			Accept: func(ctx context.Context) (Channel, error) {
				select {
				case c := <-h.opened:
					return c, nil
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			},
			Panes: h, Verbs: verbs.NewDispatcher(verbs.Options{Server: terminals{host: h}, Log: slog.New(slog.DiscardHandler)}), Caller: verbs.Owner{}, Board: h.board, Server: Server{"v1", "box", "s1"}, ViewerName: "Go", Visit: visit, Log: slog.New(slog.DiscardHandler),
		})
	}()
	t.Cleanup(func() {
		stop()
		h.ended()
	})
	h.ctl = h.open(ctlLabel)
	return h
}

// ended waits for Serve; it may be asked again.
func (h *host) ended() error {
	h.t.Helper()
	err := await(h.t, h.served, "the end of Serve")
	h.served <- err
	return err
}

func (h *host) open(label string) *channel {
	c := &channel{label: label, in: make(chan []byte), out: make(chan []byte), closed: make(chan struct{}), farEnd: make(chan struct{})}
	h.opened <- c
	return c
}

// terminals are what the host's verbs act on.
type terminals struct {
	verbs.Server
	*host
}

func (t terminals) Panes(context.Context) ([]verbs.Pane, error) { return t.listed, nil }

func (t terminals) KillPane(ctx context.Context, pane string) error {
	select {
	case t.closing <- pane:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t terminals) RenamePane(_ context.Context, pane, name string) (verbs.Pane, error) {
	if pane == "p9" {
		return verbs.Pane{}, verbs.Errorf(verbs.CodeInvalidName, "no such name").With("param", "name")
	}
	t.board.Put(PaneInfo{ID: pane, Name: name})
	return verbs.Pane{ID: pane, Name: name}, nil
}

func (t terminals) PairURL(context.Context) (string, error) {
	return "", errors.New("/secret/path is full")
}
func (h *host) Sees(pane string) bool { return pane != h.hidden.Load() }

func (h *host) Attach(_ string, sink fanout.Sink, o fanout.AttachOptions) (Viewer, error) {
	v := &viewer{
		id: control.ViewerID(h.lastID.Add(1)), sink: sink, o: o, acts: make(chan string, 100), typed: make(chan string), detached: make(chan struct{}),
	}
	if h.attachTo != nil {
		if err := h.attachTo(v); err != nil {
			sink.Close()
			return nil, err
		}
	}
	h.viewers <- v
	return v, nil
}

// said is every message on spawn.ctl in one.
type said struct {
	ID    uint64    `json:"id"`
	OK    unread    `json:"ok"`
	Error *CtlError `json:"error"`

	Event          string          `json:"event"`
	Pane           unread          `json:"pane"`
	Seq            int             `json:"seq"`
	Last           bool            `json:"last"`
	Data           string          `json:"data"`
	Cols           *uint16         `json:"cols"`
	Rows           uint16          `json:"rows"`
	Full           bool            `json:"full"`
	Unavailable    bool            `json:"unavailable"`
	Watermark      string          `json:"watermark"`
	DCOffset       uint64          `json:"dc_offset"`
	Epoch          string          `json:"epoch"`
	Offset         uint64          `json:"offset"`
	You            bool            `json:"you"`
	Controller     string          `json:"controller"`
	ControllerName string          `json:"controller_name"`
	Request        *ControlRequest `json:"request"`
	ExitCode       *int            `json:"exit_code"`
	Signal         string          `json:"signal"`
	Reason         string          `json:"reason"`
}

func (h *host) send(text string) {
	h.t.Helper()
	select {
	case h.ctl.in <- []byte(text):
	case <-testContext(h.t).Done():
		h.t.Fatalf("nobody reads %s", text)
	}
}

func (h *host) hear() said {
	h.t.Helper()
	text := await(h.t, h.ctl.out, "a message on spawn.ctl")
	var m said
	if err := strictjson.Unmarshal(text, &m); err != nil {
		h.t.Fatalf("heard %s: %v", text, err)
	}
	return m
}

// hearOK returns the result of request id, which must be the next message.
func (h *host) hearOK(id uint64) string {
	h.t.Helper()
	m := h.hear()
	if m.ID != id || m.OK == nil {
		h.t.Fatalf("heard %+v %v, want the result of %d", m, m.Error, id)
	}
	return string(m.OK)
}

func (h *host) hearError(id uint64, code string) {
	h.t.Helper()
	m := h.hear()
	if m.ID != id || m.Error == nil || m.Error.Code != code || m.Error.Message == "" {
		h.t.Errorf("heard %+v %v, want error %s of %d", m, m.Error, code, id)
	}
}

func (h *host) hello() {
	h.t.Helper()
	h.send(`{"id":1,"verb":"hello","params":{"proto":2}}`)
	if got, want := h.hearOK(1), `{"server":{"version":"v1","host_name":"box","source":"s1"},"viewer_name":"Go","principal":"owner","visit":null}`; got != want {
		h.t.Errorf("hello: %s", got)
	}
	for m := h.hear(); m.Event != "panes_ready"; m = h.hear() {
		if m.Event != "pane" {
			h.t.Fatalf("heard %+v before panes_ready", m)
		}
	}
}

// attach opens a pane's channel and attaches over it.
func (h *host) attach(pane string) (*channel, *viewer) {
	h.t.Helper()
	c := h.open(paneLabel + pane)
	h.send(`{"id":2,"verb":"view.attach","params":{"pane":"` + pane + `","cols":80,"rows":24,"history":true}}`)
	h.hearOK(2)
	return c, await(h.t, h.viewers, "a viewer")
}
