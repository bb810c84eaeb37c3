// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/control"
	"spawn/internal/supervisor/fanout"
)

const (
	helloVerb = "hello"
	pingVerb  = "ping"
)

type verb struct {
	VerbSpec
	run func(context.Context, *session, *request) (any, error)
}

// verbOf makes a row of the table from the function that does the request.
func verbOf[P, R any](name, help string, do func(context.Context, *session, *request, P) (R, error)) verb {
	run := func(ctx context.Context, s *session, r *request) (any, error) {
		p, err := decode[P](r.Params)
		if err != nil {
			return nil, err
		}
		return do(ctx, s, r, p)
	}
	return verb{VerbSpec{name, reflect.TypeFor[P](), reflect.TypeFor[R](), help}, run}
}

// own is the table of requests that are a page's own. Whatever else can be asked is a verb of the control
// socket; no name is in both tables.
func own() []verb {
	return []verb{
		verbOf(helloVerb, "begins; events follow", hello),
		verbOf(pingVerb, "is anybody there?", ping),
		verbOf("view.attach", "become a viewer; a snapshot follows", viewAttach),
		verbOf("view.detach", "stop being a viewer", viewDetach),
		verbOf("view.snapshot", "ask for a snapshot", viewSnapshot),
		verbOf("view.resize", "give the terminal a size; for the controller", viewResize),
		verbOf("view.request", "ask the controller for control", steer(Viewer.RequestControl)),
		verbOf("view.take", "take control at once", steer(Viewer.Take)),
		verbOf("view.release", "give control up, or withdraw a request", steer(Viewer.ReleaseControl)),
		verbOf("view.grant", "give control to who asks", answerControl(Viewer.Grant)),
		verbOf("view.deny", "keep control", answerControl(Viewer.Deny)),
		verbOf("view.theme", "tell the page's colours; the controller's are the terminal's", theme),
	}
}

var ownByName = sync.OnceValue(func() map[string]verb {
	byName := map[string]verb{}
	for _, v := range own() {
		byName[v.Name] = v
	}
	return byName
})

func hello(_ context.Context, s *session, r *request, p HelloParams) (HelloResult, error) {
	if p.Proto != Proto {
		return HelloResult{}, refused("unsupported.proto", "this page is of another version: reload it")
	}
	if s.greeted.Swap(true) {
		return HelloResult{}, refused("conflict.hello", "hello was said")
	}
	r.then(func() { s.work.Go(func() { s.stop(s.tellPanes(s.ctx)) }) })
	return HelloResult{s.o.Server, s.o.ViewerName, s.o.Caller.Principal(), s.o.Visit}, nil
}

func ping(context.Context, *session, *request, Empty) (Empty, error) { return Empty{}, nil }

func viewAttach(ctx context.Context, s *session, r *request, p ViewAttachParams) (ViewAttachResult, error) {
	if err := errors.Join(checkPane(p.Pane), checkSize(p.Cols, p.Rows)); err != nil {
		return ViewAttachResult{}, err
	}
	l, err := s.awaitLine(ctx, p.Pane)
	if err != nil {
		return ViewAttachResult{}, err
	}
	s.detach(l)
	viewer, err := s.attach(l, r, p)
	if err != nil {
		return ViewAttachResult{}, err
	}
	return ViewAttachResult{decimal(uint64(viewer.ID()))}, nil
}

// attach puts a new viewer on the line.
func (s *session) attach(l *line, r *request, p ViewAttachParams) (Viewer, error) {
	k := &sink{pane: p.Pane, channel: l.channel, out: s.out, ended: s.forget}
	k.ctx, k.cancel = context.WithCancel(s.ctx)
	k.gate.Lock()
	r.then(k.gate.Unlock)
	viewer, err := s.o.Panes.Attach(p.Pane, k, fanout.AttachOptions{
		Cols: p.Cols, Rows: p.Rows, History: p.History, Name: s.o.ViewerName,
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	current := s.mu.panes[p.Pane] == l && context.Cause(k.ctx) == nil
	if current {
		l.viewer, l.sink = viewer, k
	}
	s.mu.Unlock()
	if !current {
		viewer.Detach()
		return nil, refused("conflict.no_channel", "the pane's channel has closed")
	}
	return viewer, nil
}

// detach ends the line's viewer, if it has one, and waits until its last byte is counted.
func (s *session) detach(l *line) {
	s.mu.Lock()
	viewer, k := l.viewer, l.sink
	s.mu.Unlock()
	if viewer != nil {
		viewer.Detach()
		k.settle()
	}
}

func viewDetach(_ context.Context, s *session, _ *request, p PaneParams) (Empty, error) {
	l, err := s.attached(p.Pane)
	if err != nil {
		return Empty{}, err
	}
	s.detach(l)
	return Empty{}, nil
}

func viewSnapshot(_ context.Context, s *session, r *request, p ViewSnapshotParams) (Empty, error) {
	if p.Plain {
		return Empty{}, refused("plain_replay_unsupported", "a snapshot is a terminal stream: pane.capture has plain text")
	}
	l, err := s.attached(p.Pane)
	if err != nil {
		return Empty{}, err
	}
	l.sink.gate.Lock()
	r.then(l.sink.gate.Unlock)
	return Empty{}, l.viewer.Snapshot(p.Full)
}

func viewResize(_ context.Context, s *session, _ *request, p ViewResizeParams) (Empty, error) {
	l, err := s.attached(p.Pane)
	if err != nil {
		return Empty{}, err
	}
	if err := checkSize(p.Cols, p.Rows); err != nil {
		return Empty{}, err
	}
	return Empty{}, l.viewer.Resize(p.Cols, p.Rows)
}

func steer(act func(Viewer) error) func(context.Context, *session, *request, PaneParams) (Empty, error) {
	return func(_ context.Context, s *session, _ *request, p PaneParams) (Empty, error) {
		l, err := s.attached(p.Pane)
		if err != nil {
			return Empty{}, err
		}
		return Empty{}, act(l.viewer)
	}
}

func answerControl(act func(Viewer, control.ViewerID) error) func(context.Context, *session, *request, ControlAnswerParams) (Empty, error) {
	return func(_ context.Context, s *session, _ *request, p ControlAnswerParams) (Empty, error) {
		l, err := s.attached(p.Pane)
		if err != nil {
			return Empty{}, err
		}
		id, err := strconv.ParseUint(p.Viewer, 10, 64)
		if err != nil || decimal(id) != p.Viewer {
			return Empty{}, refused("invalid.viewer", "not a viewer's id")
		}
		return Empty{}, act(l.viewer, control.ViewerID(id))
	}
}

func theme(_ context.Context, s *session, _ *request, p ThemeParams) (Empty, error) {
	l, err := s.attached(p.Pane)
	if err != nil {
		return Empty{}, err
	}
	t := wire.Theme{Foreground: p.Foreground, Background: p.Background, Cursor: p.Cursor, Palette: p.Palette}
	// The frame's own rules decide: what it refuses would be lost on its way to the worker.
	if _, err := wire.AppendTheme(nil, t); err != nil {
		return Empty{}, refused("invalid.theme", "colours are #rrggbb, and a palette has 16 of them")
	}
	if err := l.viewer.SetTheme(t); err != nil && !errors.Is(err, control.ErrNotController) {
		return Empty{}, err
	}
	return Empty{}, nil
}

// tellPanes sends every pane that the page may see, then panes_ready, then what changes. A pane that it may not
// see any more is gone for it.
func (s *session) tellPanes(ctx context.Context) error {
	watcher := s.o.Board.Watch()
	seen := map[string]bool{}
	for first := true; ; first = false {
		changes, err := watcher.Next(ctx)
		if err != nil {
			return err
		}
		for _, c := range changes {
			if !s.concerns(&c, seen) {
				continue
			}
			if err := s.out.putUrgent(ctx, c.event()); err != nil {
				return err
			}
		}
		if first {
			if err := s.out.putUrgent(ctx, PanesReadyEvent{"panes_ready"}); err != nil {
				return err
			}
		}
	}
}

// concerns reports whether the page is told, and makes a pane that it saw and may not see any more one that is
// gone.
func (s *session) concerns(c *Change, seen map[string]bool) bool {
	id := c.Pane.ID
	switch shows := !c.Removed && !c.Arranged && s.o.Panes.Sees(id); {
	case c.Arranged:
		return !s.o.Visit.toOnePane()
	case c.Rang:
		return shows && seen[id]
	case shows:
		seen[id] = true
	case !seen[id]:
		return false
	default:
		delete(seen, id)
		*c = Change{Pane: PaneInfo{ID: id}, Removed: true}
	}
	return true
}

func (c Change) event() any {
	switch {
	case c.Arranged:
		return ArrangedEvent{"arranged"}
	case c.Rang:
		return BellEvent{"bell", c.Pane.ID}
	case c.Removed:
		return PaneRemovedEvent{"pane_removed", c.Pane.ID}
	}
	return PaneEvent{"pane", c.Pane}
}

func checkPane(id string) error {
	digits, ok := strings.CutPrefix(id, "p")
	n, err := strconv.ParseUint(digits, 10, 32)
	if !ok || err != nil || decimal(n) != digits || len(id) > paneIDBytesMax {
		return refused("invalid.pane", "not a pane's id")
	}
	return nil
}

func checkSize(cols, rows uint16) error {
	if cols < 1 || cols > wire.SizeMax || rows < 1 || rows > wire.SizeMax {
		return fanout.ErrSize
	}
	return nil
}
