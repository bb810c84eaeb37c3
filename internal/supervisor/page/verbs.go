// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

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

// verbs is the table of requests: what can be asked is what stands here.
func verbs() []verb {
	return []verb{
		verbOf(helloVerb, "begins; events follow", hello),
		verbOf(pingVerb, "is anybody there?", ping),
		verbOf("pane.new", "start a terminal", paneNew),
		verbOf("pane.close", "end a terminal and remove its pane", paneClose),
		verbOf("pane.rename", "name a pane; empty takes the name away", paneRename),
		verbOf("pane.attach", "become a viewer; a snapshot follows", paneAttach),
		verbOf("pane.detach", "stop being a viewer", paneDetach),
		verbOf("pane.snapshot", "ask for a snapshot", paneSnapshot),
		verbOf("pane.resize", "give the terminal a size; for the controller", paneResize),
		verbOf("control.request", "ask the controller for control", steer(Viewer.RequestControl)),
		verbOf("control.take", "take control at once", steer(Viewer.Take)),
		verbOf("control.release", "give control up, or withdraw a request", steer(Viewer.ReleaseControl)),
		verbOf("control.grant", "give control to who asks", answerControl(Viewer.Grant)),
		verbOf("control.deny", "keep control", answerControl(Viewer.Deny)),
		verbOf("theme", "tell the page's colours; the controller's are the terminal's", theme),
		verbOf("pair.new", "make a link that pairs another browser", pairNew),
	}
}

var verbsByName = sync.OnceValue(func() map[string]verb {
	byName := map[string]verb{}
	for _, v := range verbs() {
		byName[v.Name] = v
	}
	return byName
})

func hello(_ context.Context, s *session, r *request, p HelloParams) (HelloResult, error) {
	if p.Proto != Proto {
		return HelloResult{}, &CtlError{"unsupported.proto", "this page is of another version: reload it"}
	}
	if s.greeted {
		return HelloResult{}, &CtlError{"conflict.hello", "hello was said"}
	}
	s.greeted = true
	r.then(func() { s.work.Go(func() { s.stop(s.tellPanes(s.ctx)) }) })
	return HelloResult{Server: s.o.Server, ViewerName: s.o.ViewerName}, nil
}

func ping(context.Context, *session, *request, Empty) (Empty, error) { return Empty{}, nil }

func paneNew(ctx context.Context, s *session, _ *request, p PaneNewParams) (PaneNewResult, error) {
	if err := checkSize(p.Cols, p.Rows); err != nil {
		return PaneNewResult{}, err
	}
	pane, err := s.o.Panes.New(ctx, p.Cols, p.Rows)
	return PaneNewResult{pane}, err
}

func paneClose(ctx context.Context, s *session, _ *request, p PaneParams) (Empty, error) {
	if err := checkPane(p.Pane); err != nil {
		return Empty{}, err
	}
	return Empty{}, s.o.Panes.Close(ctx, p.Pane)
}

func paneRename(ctx context.Context, s *session, _ *request, p PaneRenameParams) (Empty, error) {
	if err := checkPane(p.Pane); err != nil {
		return Empty{}, err
	}
	if len(p.Name) > nameBytesMax || utf8.RuneCountInString(p.Name) > nameRunesMax {
		return Empty{}, &CtlError{"invalid.name", "a name has at most " + strconv.Itoa(nameRunesMax) + " characters"}
	}
	return Empty{}, s.o.Panes.Rename(ctx, p.Pane, Plain(p.Name, nameRunesMax))
}

func paneAttach(ctx context.Context, s *session, r *request, p PaneAttachParams) (PaneAttachResult, error) {
	if err := errors.Join(checkPane(p.Pane), checkSize(p.Cols, p.Rows)); err != nil {
		return PaneAttachResult{}, err
	}
	l, err := s.awaitLine(ctx, p.Pane)
	if err != nil {
		return PaneAttachResult{}, err
	}
	s.detach(l)
	viewer, err := s.attach(l, r, p)
	if err != nil {
		return PaneAttachResult{}, err
	}
	return PaneAttachResult{decimal(uint64(viewer.ID()))}, nil
}

// attach puts a new viewer on the line.
func (s *session) attach(l *line, r *request, p PaneAttachParams) (Viewer, error) {
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
		return nil, &CtlError{"conflict.no_channel", "the pane's channel has closed"}
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

func paneDetach(_ context.Context, s *session, _ *request, p PaneParams) (Empty, error) {
	l, err := s.attached(p.Pane)
	if err != nil {
		return Empty{}, err
	}
	s.detach(l)
	return Empty{}, nil
}

func paneSnapshot(_ context.Context, s *session, r *request, p PaneSnapshotParams) (Empty, error) {
	l, err := s.attached(p.Pane)
	if err != nil {
		return Empty{}, err
	}
	l.sink.gate.Lock()
	r.then(l.sink.gate.Unlock)
	return Empty{}, l.viewer.Snapshot(p.Full)
}

func paneResize(_ context.Context, s *session, _ *request, p PaneResizeParams) (Empty, error) {
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
			return Empty{}, &CtlError{"invalid.viewer", "not a viewer's id"}
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
		return Empty{}, &CtlError{"invalid.theme", "colours are #rrggbb, and a palette has 16 of them"}
	}
	if err := l.viewer.SetTheme(t); err != nil && !errors.Is(err, control.ErrNotController) {
		return Empty{}, err
	}
	return Empty{}, nil
}

func pairNew(_ context.Context, s *session, _ *request, _ Empty) (PairNewResult, error) {
	url, err := s.o.Panes.PairURL()
	return PairNewResult{url}, err
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
			id := c.Pane.ID
			var e any = PaneEvent{"pane", c.Pane}
			if shows := !c.Removed && s.o.Panes.Sees(id); !shows && !seen[id] {
				continue
			} else if seen[id] = shows; !shows {
				delete(seen, id)
				e = PaneRemovedEvent{"pane_removed", id}
			}
			if err := s.out.putUrgent(ctx, e); err != nil {
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

func checkPane(id string) error {
	digits, ok := strings.CutPrefix(id, "p")
	n, err := strconv.ParseUint(digits, 10, 32)
	if !ok || err != nil || decimal(n) != digits || len(id) > paneIDBytesMax {
		return &CtlError{"invalid.pane", "not a pane's id"}
	}
	return nil
}

func checkSize(cols, rows uint16) error {
	if cols < 1 || cols > wire.SizeMax || rows < 1 || rows > wire.SizeMax {
		return fanout.ErrSize
	}
	return nil
}
