// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/control"
	"spawn/internal/supervisor/fanout"
)

// stream is a connection that has become a viewer. Frames to the peer are those of a worker: REPLAY
// first, unless the answer says that the viewer resumed, then OUTPUT, HISTORY, HISTORY_WIPE, FOREGROUND, EXIT and NOTICE; frames from it are INPUT, RESIZE
// and REPLAY_REQ. Any other ends the connection.
//
// A viewer that was too slow, or whose history has a gap, is healed here: the peer just sees another
// REPLAY, and with history an empty HISTORY behind it as the new anchor.
type stream struct {
	c       *conn
	history bool
	viewer  Viewer // set before ready is closed

	ready chan struct{} // closed when the answer is out: frames may follow
	gone  chan struct{} // closed by Close
	once  sync.Once

	healing bool      // a snapshot that mends a gap has been asked for; the sink's goroutine alone
	deaf    bool      // the peer takes nothing any more; likewise
	header  [32]byte  // scratch of the sink's goroutine
	parts   [2][]byte // likewise
	short   []byte    // of Prompt; wiped after each
}

// attach makes the connection a viewer. Nothing is sent before the answer.
func attach(ctx context.Context, a *ask, p PaneStreamParams) (PaneStreamResult, error) {
	if err := a.conn.mayStay(); err != nil {
		return PaneStreamResult{}, err
	}
	s := &stream{c: a.conn, history: p.History, ready: make(chan struct{}), gone: make(chan struct{})}
	v, err := a.AttachPane(ctx, p.Pane, s, fanout.AttachOptions{
		Cols: p.Cols, Rows: p.Rows, History: p.History, Screen: !p.History, ReadOnly: p.ReadOnly, Name: p.Name,
		Resume: fanout.Mark(p.Resume),
	})
	if err != nil {
		return PaneStreamResult{}, err
	}
	if p.Take {
		if err := v.Take(); err != nil {
			v.Detach()
			return PaneStreamResult{}, err
		}
	}
	s.viewer, a.conn.stream = v, s
	return PaneStreamResult{Viewer: viewerName(v.ID()), Stream: v.Stream(), Resumed: v.Resumed()}, nil
}

// serve reads the peer's frames until it goes or the viewer ends.
func (s *stream) serve() {
	defer s.viewer.Detach()
	if s.c.u.SetDeadline(time.Time{}) != nil { // a terminal may be still for ever, in both directions
		return
	}
	close(s.ready)
	select {
	case <-s.gone: // Close came before ready and left the connection to us
		return
	default:
	}
	frames := wire.NewReader(s.c.r, wire.ToWorker)
	defer frames.Wipe()
	for {
		kind, payload, err := frames.Next()
		if err != nil || s.apply(kind, payload) != nil {
			return
		}
		select {
		case <-s.gone: // what is still unread of the peer concerns nobody
			return
		default:
		}
	}
}

var errFrame = errors.New("frame that a viewer does not send")

// apply does what a frame asks. What control refuses has no effect and is no error: the peer has been told
// who controls.
func (s *stream) apply(kind wire.Kind, payload []byte) error {
	err := errFrame
	switch kind {
	case wire.KindInput:
		err = s.viewer.Input(payload)
	case wire.KindResize:
		var cols, rows uint16
		if cols, rows, err = wire.DecodeResize(payload); err == nil {
			err = s.viewer.Resize(cols, rows)
		}
	case wire.KindReplayReq:
		var limit uint32
		if limit, err = wire.DecodeReplayReq(payload); err == nil {
			err = s.viewer.Snapshot(limit > 0)
		}
	}
	if errors.Is(err, control.ErrNotController) || errors.Is(err, control.ErrReadOnly) || errors.Is(err, fanout.ErrGuest) {
		return nil
	}
	return err
}

// Output is part of fanout.Sink.
func (s *stream) Output(p []byte) error {
	return s.send(wire.KindOutput, nil, p)
}

// Prompt is part of fanout.PromptSink. A frame goes whole or not at all: where the peer has read all that came
// before, there is room for it. Should the kernel ever take half, nothing could follow, and the stream ends.
func (s *stream) Prompt(p []byte) bool {
	select {
	case <-s.ready:
	default:
		return false
	}
	frame, err := wire.AppendOutput(s.short[:0], p)
	if err != nil || s.deaf {
		return false
	}
	s.short = frame
	defer clear(s.short)
	n := writeIfDrained(s.c.u, frame)
	if s.deaf = n > 0 && n < len(frame); s.deaf {
		_ = s.c.u.Close()
	}
	return n > 0
}

// Snapshot is part of fanout.Sink.
func (s *stream) Snapshot(sn fanout.Snapshot) error {
	s.healing = false
	if sn.Unavailable {
		if err := s.notice(wire.Notice{Kind: wire.NoticeHistoryLost}); err != nil {
			return err
		}
	}
	mark := binary.LittleEndian.AppendUint64(nil, sn.Watermark)
	if err := s.send(wire.KindReplay, mark, sn.Stream); err != nil || !sn.Full || !s.history {
		return err
	}
	return s.frame(wire.AppendHistory(nil, wire.History{Epoch: sn.Epoch, Offset: sn.Offset}))
}

// Event is part of fanout.Sink. Bells are in the output.
func (s *stream) Event(e fanout.Event) error {
	switch e := e.(type) {
	case fanout.HistoryDelta:
		anchor := binary.LittleEndian.AppendUint64(nil, e.Epoch)
		return s.send(wire.KindHistory, binary.LittleEndian.AppendUint64(anchor, e.Offset), e.Text)
	case fanout.HistoryWipe:
		return s.frame(wire.AppendHistoryWipe(nil, e.Epoch))
	case fanout.Dropped:
		return s.heal()
	case fanout.HistoryGap:
		if s.healing {
			return nil
		}
		return s.heal()
	case fanout.Size:
		return s.notice(wire.Notice{Kind: wire.NoticeSize, Cols: e.Cols, Rows: e.Rows})
	case fanout.Control:
		return s.notice(wire.Notice{Kind: wire.NoticeControl, Mine: e.You, Text: controllerName(e)})
	case fanout.Title:
		return s.notice(wire.Notice{Kind: wire.NoticeTitle, Text: e.Text})
	case fanout.Cwd:
		return s.notice(wire.Notice{Kind: wire.NoticeCwd, Text: e.Text})
	case fanout.Foreground:
		return s.frame(wire.AppendForeground(nil, e.Name))
	case fanout.Exit:
		return s.frame(wire.AppendExit(nil, e.Exit))
	case fanout.Lost:
		return s.notice(wire.Notice{Kind: wire.NoticeDetached, Text: DetachedLost})
	case fanout.Removed:
		return s.notice(wire.Notice{Kind: wire.NoticeDetached, Text: DetachedRemoved})
	}
	return nil
}

// controllerName is empty for a free pane alone.
func controllerName(e fanout.Control) string {
	if e.ControllerName == "" && e.Controller != 0 {
		return "viewer " + viewerName(e.Controller)
	}
	return e.ControllerName
}

// Texts of the NOTICE that a stream ends with.
const (
	// DetachedLost says that the worker is gone without a word.
	DetachedLost = "lost"
	// DetachedRemoved says that the pane is gone: it was closed, or another one has taken its place. Its id is
	// never used again.
	DetachedRemoved = "pane_removed"
)

// heal asks for a snapshot in place of what is missing.
func (s *stream) heal() error {
	if err := s.wait(); err != nil {
		return err
	}
	s.healing = true
	return s.viewer.Snapshot(s.history)
}

func (s *stream) notice(n wire.Notice) error { return s.frame(wire.AppendNotice(nil, n)) }

// frame writes a whole frame that has been encoded, unless it could not be.
func (s *stream) frame(whole []byte, err error) error {
	if err != nil {
		return err
	}
	return s.write(whole, nil)
}

// send writes a frame whose payload is head and body, which is not copied.
func (s *stream) send(kind wire.Kind, head, body []byte) error {
	h, err := wire.AppendHeader(s.header[:0], kind, len(head)+len(body))
	if err != nil {
		return err
	}
	return s.write(append(h, head...), body)
}

// write may block as long as the peer does not read. That is this viewer's own matter. A peer that has
// closed may have typed something before, so serve reads that to its end, and here nothing fails.
func (s *stream) write(head, body []byte) error {
	if err := s.wait(); err != nil || s.deaf {
		return err
	}
	s.parts = [2][]byte{head, body}
	buffers := net.Buffers(s.parts[:])
	_, err := buffers.WriteTo(s.c.u)
	s.parts = [2][]byte{}
	s.deaf = err != nil
	return nil
}

// wait returns when the answer has been sent, or the viewer has ended before it was.
func (s *stream) wait() error {
	select {
	case <-s.ready:
		return nil
	case <-s.gone:
		return net.ErrClosed
	}
}

// Close is part of fanout.Sink. A connection whose answer is not out yet is closed by its own goroutine.
func (s *stream) Close() {
	s.once.Do(func() {
		close(s.gone)
		select {
		case <-s.ready:
			_ = s.c.u.Close()
		default:
		}
	})
}
