// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"io"
	"sync"
	"time"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/recovery"
)

// archive is what stands behind a pane that was restored: text, and nothing that runs. It takes the place of a
// worker at the pane's hub, so that whoever can view, capture or search a terminal can do so here.
type archive struct {
	source *archiveSource

	mu struct {
		sync.Mutex
		facts recovery.Archive // without its text
	}
}

// newArchive mounts a planned archive. The pane gets its id, and its run, when it is in the tree.
func newArchive(a recovery.Archive, viewersMax func() int) (*pane, error) {
	shown, err := a.Show()
	if err != nil {
		return nil, err
	}
	a.Text = recovery.Rows{}
	p := newPane("", "", nil, nil)
	p.viewersMax, p.archive = viewersMax, &archive{}
	p.archive.mu.facts = a
	p.archive.source = newArchiveSource(shown, wire.Exit{ExitCode: a.ExitCode, Signal: a.Signal})
	hello := wire.Hello{
		Cols: uint16(shown.Cols), Rows: uint16(shown.Rows), History: true, Capabilities: []string{wire.CapHistory, wire.CapCapture},
	}
	p.mu.facts = Facts{State: StateLost, Cols: hello.Cols, Rows: hello.Rows}
	p.mu.hub = fanout.New(p.archive.source, hello, fanout.Options{ViewersMax: viewersMax, Removed: p.asked.Load})
	return p, nil
}

// exhibit shows the archive until ctx ends or the pane is taken away.
func (p *pane) exhibit(ctx context.Context) {
	defer close(p.done)
	p.mu.Lock()
	hub := p.mu.hub
	p.mu.Unlock()
	_, _ = hub.Run(ctx) // nothing but its end can come of it
	p.disconnect(hub)
}

// times are those of the text, zero when there is none.
func (a *archive) times() (savedAt, expiresAt recovery.Millis) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mu.facts.SavedAt, a.mu.facts.ExpiresAt
}

// rows is the text as cells show it. False says that it cannot be saved.
func (a *archive) rows(p recovery.Policy) (recovery.Rows, bool) {
	screen, _ := a.source.shown.Screen(false)
	rows, _, _ := a.source.shown.History(p.TextMaxRows, p.TextMaxBytes, false)
	history, err := recovery.ListOf(rows)
	return recovery.Rows{Screen: screen, History: history}, err == nil
}

// expire drops the text if it may not be kept any more, and reports whether it did.
func (a *archive) expire(now recovery.Millis, p recovery.Policy) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.mu.facts.ExpireText(now, p) {
		return false
	}
	a.source.blank()
	return true
}

// nextExpiry is when the text will be too old.
func (a *archive) nextExpiry(p recovery.Policy) (time.Time, bool) {
	savedAt, expiresAt := a.times()
	if expiresAt == 0 {
		return time.Time{}, false
	}
	return min(expiresAt, savedAt.Plus(p.TextMaxAge)).Time(), true
}

// archives are the panes that were restored.
func (ps *panes) archives() []*pane {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	var out []*pane
	for _, p := range ps.mu.byID {
		if p.archive != nil {
			out = append(out, p)
		}
	}
	return out
}

// shownFrom is the checkpoint that the archives came of; "" when there is none. They all came at once, into an empty tree.
func (ps *panes) shownFrom() string {
	for _, p := range ps.current().Panes {
		if p.Archive != nil {
			return p.Archive.Checkpoint
		}
	}
	return ""
}

func (ps *panes) isArchive(id string) bool {
	at, ok := ps.current().Pane(id)
	return ok && at.Archive != nil
}

func (ps *panes) nextExpiry(p recovery.Policy) (at time.Time, ok bool) {
	for _, pane := range ps.archives() {
		if next, has := pane.archive.nextExpiry(p); has && (!ok || next.Before(at)) {
			at, ok = next, true
		}
	}
	return at, ok
}

// expireTexts drops what may not be shown any more, also from the screens of who looks at it.
func (ps *panes) expireTexts(now time.Time, p recovery.Policy) {
	for _, pane := range ps.archives() {
		if pane.archive.expire(recovery.MillisOf(now), p) {
			ps.expired(pane.id)
		}
	}
}

// expired notes in the tree that a text is gone.
func (ps *panes) expired(id string) {
	ps.mu.Lock()
	before := ps.mu.tree
	tree, err := before.ExpireText(id)
	if err == nil {
		ps.putLocked(before, tree)
	}
	ps.mu.Unlock()
	ps.soil()
	ps.tell(id)
}

// clearShown empties a screen that shows what has expired, and what was scrolled off it.
const clearShown = "\x1b[0m\x1b[H\x1b[2J\x1b[3J"

// archiveSource is the worker of a pane that has none: it answers what a hub asks of one, and takes no input and
// no size. Its first word is EXIT.
type archiveSource struct {
	shown *recovery.Shown
	exit  wire.Exit
	more  chan struct{} // 1 slot: asked has grown
	gone  chan struct{} // closed by Close
	once  sync.Once

	mu struct {
		sync.Mutex
		asked    []func() (wire.Kind, []byte, error) // answers that are due, bounded by what a hub has under way
		position uint64                              // bytes of output so far
		epoch    uint64                              // of the history
	}
}

var _ fanout.Source = (*archiveSource)(nil)

func newArchiveSource(shown *recovery.Shown, exit wire.Exit) *archiveSource {
	s := &archiveSource{shown: shown, exit: exit, more: make(chan struct{}, 1), gone: make(chan struct{})}
	var nonce [8]byte
	rand.Read(nonce[:]) // never fails: the runtime ends the process instead
	s.mu.epoch = binary.LittleEndian.Uint64(nonce[:])
	s.ask(func() (wire.Kind, []byte, error) {
		frame, err := wire.AppendExit(nil, s.exit)
		return payload(wire.KindExit, frame, err)
	})
	return s
}

// payload is that of a whole frame.
func payload(k wire.Kind, frame []byte, err error) (wire.Kind, []byte, error) {
	if err != nil {
		return 0, nil, err
	}
	return k, frame[wire.HeaderLen:], nil
}

func (s *archiveSource) ask(answers ...func() (wire.Kind, []byte, error)) {
	s.mu.Lock()
	s.mu.asked = append(s.mu.asked, answers...)
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Recv implements fanout.Source.
func (s *archiveSource) Recv() (wire.Kind, []byte, error) {
	for {
		s.mu.Lock()
		if len(s.mu.asked) > 0 {
			answer := s.mu.asked[0]
			s.mu.asked = s.mu.asked[1:]
			s.mu.Unlock()
			return answer()
		}
		s.mu.Unlock()
		select {
		case <-s.more:
		case <-s.gone:
			return 0, nil, io.EOF
		}
	}
}

// blank empties the terminal, and tells who looks at it.
func (s *archiveSource) blank() {
	s.shown.Blank()
	s.ask(func() (wire.Kind, []byte, error) {
		s.mu.Lock()
		s.mu.position += uint64(len(clearShown))
		s.mu.Unlock()
		return wire.KindOutput, []byte(clearShown), nil
	}, func() (wire.Kind, []byte, error) {
		s.mu.Lock()
		s.mu.epoch++
		epoch := s.mu.epoch
		s.mu.Unlock()
		frame, err := wire.AppendHistoryWipe(nil, epoch)
		return payload(wire.KindHistoryWipe, frame, err)
	})
}

// RequestReplay implements fanout.Source.
func (s *archiveSource) RequestReplay(most uint32) error {
	s.ask(func() (wire.Kind, []byte, error) {
		s.mu.Lock()
		position := s.mu.position
		s.mu.Unlock()
		frame, err := wire.AppendReplay(nil, position, s.shown.AppendReplay(nil, most > 0))
		return payload(wire.KindReplay, frame, err)
	})
	return nil
}

// SubscribeHistory implements fanout.Source. History does not grow: there is nothing but the anchor.
func (s *archiveSource) SubscribeHistory(on bool) error {
	if on {
		s.ask(func() (wire.Kind, []byte, error) {
			s.mu.Lock()
			epoch := s.mu.epoch
			s.mu.Unlock()
			frame, err := wire.AppendHistory(nil, wire.History{Epoch: epoch, Offset: uint64(s.shown.HistoryLen())})
			return payload(wire.KindHistory, frame, err)
		})
	}
	return nil
}

// RequestCapture implements fanout.Source.
func (s *archiveSource) RequestCapture(r wire.CaptureReq) error {
	s.ask(func() (wire.Kind, []byte, error) {
		s.mu.Lock()
		c := wire.Capture{Cols: uint16(s.shown.Cols), Rows: uint16(s.shown.Rows), Watermark: s.mu.position, Cursor: wire.CaptureCursor{Visible: true}}
		s.mu.Unlock()
		if r.HasScreen() {
			c.Screen, c.StyledScreen = s.shown.Screen(r.Styled)
		}
		if r.HasHistory() {
			c.History, c.StyledHistory, c.Clipped = s.shown.History(int(r.MaxRows), int(r.MaxBytes), r.Styled)
		}
		frame, err := wire.AppendCapture(nil, c)
		if err != nil { // it fits no frame
			c.Screen, c.StyledScreen, c.History, c.StyledHistory, c.Oversize = nil, nil, nil, nil, true
			frame, err = wire.AppendCapture(nil, c)
		}
		return payload(wire.KindCapture, frame, err)
	})
	return nil
}

// Input implements fanout.Source: nobody is there to read it. Viewers of an archive only watch.
func (s *archiveSource) Input([]byte) error { return nil }

// Resize implements fanout.Source: an archive has the size that it was saved with.
func (s *archiveSource) Resize(uint16, uint16) error { return nil }

// SetTheme implements fanout.Source: nobody asks for colours.
func (s *archiveSource) SetTheme(wire.Theme) error { return nil }

// Close implements fanout.Source.
func (s *archiveSource) Close() { s.once.Do(func() { close(s.gone) }) }
