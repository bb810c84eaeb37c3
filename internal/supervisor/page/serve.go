// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/control"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/verbs"
)

const (
	ctlLabel  = "spawn.ctl"
	paneLabel = "spawn.pty." // a pane's id follows
)

// Channel is one reliable, ordered channel of messages that a page has opened.
type Channel interface {
	Label() string
	Read() ([]byte, error)                     // the next message, valid until the next Read
	Write(ctx context.Context, p []byte) error // blocks while too much waits for the page
	Sent() uint64                              // bytes that Write has taken
	Close()                                    // releases Read and Write
}

// Panes is what a page may watch. Errors that are a *CtlError reach the page as they are.
type Panes interface {
	// Attach adds a viewer to a pane. The sink is closed when that fails, too.
	Attach(pane string, sink fanout.Sink, o fanout.AttachOptions) (Viewer, error)
	// Sees reports whether the page may know of the pane now.
	Sees(pane string) bool
}

// Viewer is one attached viewer; see fanout.Viewer.
type Viewer interface {
	ID() control.ViewerID
	Input(p []byte) error
	Resize(cols, rows uint16) error
	SetTheme(t wire.Theme) error
	Snapshot(full bool) error
	RequestControl() error
	Take() error
	ReleaseControl() error
	Grant(to control.ViewerID) error
	Deny(to control.ViewerID) error
	Detach()
}

var _ Viewer = (*fanout.Viewer)(nil)

// Options say what a page is served.
type Options struct {
	// Accept returns the next channel that the page has opened, and an error when its connection ends.
	Accept     func(context.Context) (Channel, error)
	Panes      Panes
	Verbs      verbs.Dispatcher // does what is no request of the page's own
	Caller     verbs.Caller     // who the page is to the verbs
	Board      *Board
	Server     Server
	ViewerName string // under which others see this page
	Visit      *Visit // by which a visitor is there; nil for a paired browser
	Log        *slog.Logger
}

// session is one page's connection while it is served.
type session struct {
	o    Options
	out  *outbox
	ctx  context.Context // of the session
	stop context.CancelCauseFunc
	work sync.WaitGroup

	greeted atomic.Bool   // hello was answered
	verbs   chan struct{} // holds one for each verb under way

	mu struct {
		sync.Mutex
		ctl     Channel
		panes   map[string]*line
		changed chan struct{} // closed by the next change of panes
	}
}

// line is a pane's channel, and the viewer that is attached over it, if any.
type line struct {
	channel Channel
	served  bool   // a viewer was attached over it before
	viewer  Viewer // nil when not attached
	sink    *sink  // of the viewer
}

// errPageLeft means that the page has closed its control channel.
var errPageLeft = errors.New("the page has closed its control channel")

// Serve serves one page until its control channel or its connection ends, or ctx does. When it returns,
// every viewer of the page is detached, its channels are closed, and no goroutine is left.
func Serve(ctx context.Context, o Options) error {
	s := &session{o: o, out: newOutbox(), verbs: make(chan struct{}, verbsMax)}
	s.ctx, s.stop = context.WithCancelCause(ctx)
	s.mu.panes = map[string]*line{}
	s.mu.changed = make(chan struct{})
	for {
		channel, err := o.Accept(s.ctx)
		if err != nil {
			s.stop(err)
			break
		}
		s.open(channel)
	}
	s.end()
	s.work.Wait()
	if err := context.Cause(s.ctx); !errors.Is(err, errPageLeft) {
		return err
	}
	return nil
}

// open starts to serve a channel.
func (s *session) open(channel Channel) {
	if pane, ok := strings.CutPrefix(channel.Label(), paneLabel); ok {
		s.adopt(pane, channel)
		s.work.Go(func() { s.readInput(pane, channel) })
		return
	}
	s.mu.Lock()
	second := s.mu.ctl != nil
	if !second && channel.Label() == ctlLabel {
		s.mu.ctl = channel
	}
	s.mu.Unlock()
	if second || channel.Label() != ctlLabel {
		channel.Close()
		return
	}
	requests := make(chan request, requestsMax)
	s.work.Go(func() { s.stop(s.out.write(s.ctx, channel)) })
	s.work.Go(func() { s.stop(s.readRequests(channel, requests)) })
	s.work.Go(func() { s.answerRequests(requests) })
}

// end detaches every viewer and closes every channel, which releases whoever still uses them.
func (s *session) end() {
	s.mu.Lock()
	open := s.mu.panes
	s.mu.panes = map[string]*line{}
	ctl := s.mu.ctl
	s.mu.Unlock()
	for _, l := range open {
		l.end()
	}
	if ctl != nil {
		ctl.Close()
	}
}

// adopt makes the channel the pane's. One that was there has ended, or the page has given it up.
func (s *session) adopt(pane string, channel Channel) {
	s.mu.Lock()
	old := s.mu.panes[pane]
	s.mu.panes[pane] = &line{channel: channel}
	close(s.mu.changed)
	s.mu.changed = make(chan struct{})
	s.mu.Unlock()
	if old != nil {
		old.end()
	}
}

// end ends a line that is not in the table any more, so that nobody changes it.
func (l *line) end() {
	l.channel.Close()
	if l.viewer != nil {
		l.viewer.Detach()
	}
}

// readInput types what comes on a pane's channel, until that ends.
func (s *session) readInput(pane string, channel Channel) {
	for {
		p, err := channel.Read()
		if err != nil {
			s.lose(pane, channel)
			return
		}
		if viewer := s.viewer(pane, channel); viewer != nil {
			// A page that may not type has been told so by a control event; what it typed meanwhile is lost.
			_ = viewer.Input(p)
		}
	}
}

func (s *session) viewer(pane string, channel Channel) Viewer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.mu.panes[pane]; l != nil && l.channel == channel {
		return l.viewer
	}
	return nil
}

// lose ends a pane's channel that the page, or its connection, has ended.
func (s *session) lose(pane string, channel Channel) {
	s.mu.Lock()
	l := s.mu.panes[pane]
	mine := l != nil && l.channel == channel
	if mine {
		delete(s.mu.panes, pane)
	}
	s.mu.Unlock()
	if mine {
		l.end()
	}
	channel.Close()
}

// awaitLine returns the channel over which a page wants to attach. Requests and channels come on streams
// of their own, so a request may overtake the channel that the page has opened for it: when there is
// none, or only one that has served before, a newer one is waited for; the latter not for long, since a
// page may also use it again.
func (s *session) awaitLine(ctx context.Context, pane string) (*line, error) {
	ctx, cancel := context.WithTimeout(ctx, channelTime)
	defer cancel()
	again := time.NewTimer(reuseTime)
	defer again.Stop()
	reuse := false
	for {
		s.mu.Lock()
		l, later := s.mu.panes[pane], s.mu.changed
		usable := l != nil && (reuse || !l.served)
		if usable {
			l.served = true
		}
		s.mu.Unlock()
		if usable {
			return l, nil
		}
		select {
		case <-later:
		case <-again.C:
			reuse = true
		case <-ctx.Done():
			return nil, refused("conflict.no_channel", fmt.Sprintf("open the channel %s%s first", paneLabel, pane))
		}
	}
}

// attached returns the viewer of a pane to which the page is attached.
func (s *session) attached(pane string) (*line, error) {
	if err := checkPane(pane); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.mu.panes[pane]
	if l == nil || l.viewer == nil {
		return nil, refused("not_found.viewer", "not attached to this pane")
	}
	return &line{l.channel, l.served, l.viewer, l.sink}, nil
}

// forget is told by a sink that its viewer has ended, whoever ended it.
func (s *session) forget(k *sink) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.mu.panes[k.pane]; l != nil && l.sink == k {
		l.viewer, l.sink = nil, nil
	}
}
