// SPDX-License-Identifier: Apache-2.0

// Package dial asks a running spawnd over its control socket.
package dial

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/verbs"
)

const (
	// callTimeout bounds connecting, and how long spawnd may show no life while an answer is waited for: one that is
	// stopped keeps nobody longer. The answer itself may take this and what the verb may take. ctx may end all of it
	// earlier.
	callTimeout = 5 * time.Second
	// backlogRetry is how long to wait when so many connect at once that the kernel takes no more.
	backlogRetry = 20 * time.Millisecond
)

// Socket is where a spawnd listens.
type Socket struct {
	Path string
	// CheckPeer is asked before the first byte is sent. Nil trusts whoever could bind the path.
	CheckPeer func(*net.UnixConn) error
	// Token says who asks, when the kernel's word is not to decide; "" without one.
	Token string
}

// Call asks for one verb and reads its result into result, a pointer. A refusal by spawnd is a
// *verbs.Error; so is CodeNoDaemon when none answers, and CodeOutcome when ctx is canceled first.
func (s Socket) Call(ctx context.Context, verb string, params, result any) error {
	u, err := s.connect(ctx, verb)
	if err != nil {
		return err
	}
	defer u.Close()
	defer context.AfterFunc(ctx, func() { _ = u.Close() })()
	return s.ask(ctx, u, bufio.NewReader(u), verb, params, result)
}

// Follow asks for a verb of lines, reads its result, and hands over each line until each returns an error or ctx ends.
// Lines have no end of their own: when spawnd stops them, or is gone, that is an error of code unavailable.daemon.
func (s Socket) Follow(ctx context.Context, verb string, params, result any, each func(line []byte) error) error {
	u, err := s.connect(ctx, verb)
	if err != nil {
		return err
	}
	defer u.Close()
	defer context.AfterFunc(ctx, func() { _ = u.Close() })()
	r := bufio.NewReader(u)
	if err := s.ask(ctx, u, r, verb, params, result); err != nil {
		return err
	}
	if err := u.SetDeadline(time.Time{}); err != nil {
		return lost(ctx, verb, err)
	}
	for {
		line, err := verbs.ReadLine(r, verbs.AnswerBytesMax)
		if errors.Is(err, io.EOF) && ctx.Err() == nil {
			return verbs.Errorf(verbs.CodeNoDaemon, "spawnd has ended what %s tells: it stopped, or took the right to it away", verb)
		}
		if err != nil {
			return lost(ctx, verb, err)
		}
		if err := each(line); err != nil {
			return err
		}
	}
}

// Stream attaches to a pane. The caller closes the stream.
func (s Socket) Stream(ctx context.Context, p verbs.PaneStreamParams) (*Stream, verbs.PaneStreamResult, error) {
	var result verbs.PaneStreamResult
	u, err := s.connect(ctx, verbs.PaneStream)
	if err != nil {
		return nil, result, err
	}
	stop := context.AfterFunc(ctx, func() { _ = u.Close() })
	r := bufio.NewReader(u)
	err = s.ask(ctx, u, r, verbs.PaneStream, p, &result)
	if !stop() && err == nil {
		err = lost(ctx, verbs.PaneStream, net.ErrClosed)
	}
	if err == nil {
		err = u.SetDeadline(time.Time{})
	}
	if err != nil {
		_ = u.Close()
		return nil, result, err
	}
	return &Stream{u: u, frames: wire.NewReader(r, wire.FromWorker)}, result, nil
}

func (s Socket) connect(ctx context.Context, verb string) (*net.UnixConn, error) {
	if len(s.Path) > verbs.SocketPathMax {
		return nil, verbs.Errorf(verbs.CodeNoDaemon, "the path %s is too long for a socket", s.Path)
	}
	connecting, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	u, err := s.queue(connecting)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return nil, interrupt(verb)
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED):
		return nil, verbs.Errorf(verbs.CodeNoDaemon, "no spawnd answers at %s; start it with: spawnd serve", s.Path)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, s.silent()
	case err != nil:
		return nil, fmt.Errorf("connect to spawnd: %w", err)
	}
	if s.CheckPeer != nil {
		if err := s.CheckPeer(u); err != nil {
			_ = u.Close()
			return nil, fmt.Errorf("connect to spawnd at %s: %w", s.Path, err)
		}
	}
	return u, nil
}

// queue connects. A full backlog is no refusal: whoever accepts empties it.
func (s Socket) queue(ctx context.Context) (*net.UnixConn, error) {
	again := time.NewTicker(backlogRetry)
	defer again.Stop()
	for {
		c, err := new(net.Dialer).DialContext(ctx, "unix", s.Path)
		if err == nil {
			return c.(*net.UnixConn), nil
		}
		if !errors.Is(err, syscall.EAGAIN) {
			return nil, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// ask sends one request and reads its answer, for as long as spawnd lives.
func (s Socket) ask(ctx context.Context, u *net.UnixConn, r *bufio.Reader, verb string, params, result any) error {
	const id = 1
	line, err := verbs.EncodeRequest(id, verb, params, s.Token)
	if err != nil {
		return err
	}
	if err := u.SetDeadline(time.Now().Add(callTimeout + beyond(verb, params))); err != nil {
		return lost(ctx, verb, err)
	}
	end := s.watch(ctx, u)
	_, err = u.Write(line)
	var back []byte
	if err == nil {
		back, err = verbs.ReadLine(r, verbs.AnswerBytesMax)
	}
	if silent := end(); silent && err != nil {
		return s.silent()
	}
	if err != nil {
		return lost(ctx, verb, err)
	}
	return verbs.DecodeAnswer(back, id, result)
}

// beyond is how much longer than any other verb this one may run.
func beyond(verb string, params any) time.Duration {
	v, ok := verbs.Lookup(verb)
	if !ok {
		return 0
	}
	return v.Long(params)
}

// lost is the error of a connection that broke before the answer came.
func lost(ctx context.Context, verb string, err error) error {
	switch ctx.Err() {
	case context.DeadlineExceeded:
		return ctx.Err()
	case context.Canceled:
		return interrupt(verb)
	}
	if errors.Is(err, verbs.ErrLine) {
		return fmt.Errorf("read the answer to %s: %w", verb, err)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return verbs.Errorf(verbs.CodeTimeout, "spawnd lives, and did not answer %s in time; whether that was done is not known", verb)
	}
	return verbs.Errorf(verbs.CodeNoDaemon, "spawnd went away before it answered %s; whether that was done is not known", verb)
}

// interrupted is the error of a request that its caller gave up: CodeOutcome for programs, and context.Canceled.
type interrupted struct{ told *verbs.Error }

func (i interrupted) Error() string { return i.told.Error() }

func (i interrupted) Unwrap() []error { return []error{i.told, context.Canceled} }

func interrupt(verb string) error {
	what := "whether it was done is not known, and what it began goes on"
	if v, ok := verbs.Lookup(verb); ok && v.ReadsOnly() {
		what = "it has changed nothing"
	}
	return interrupted{verbs.Errorf(verbs.CodeOutcome, "%s was interrupted: %s", verb, what)}
}

// Stream is an attached viewer's connection. Recv is for one goroutine; the others may be called from any.
type Stream struct {
	u      *net.UnixConn
	frames *wire.Reader

	mu struct {
		sync.Mutex
		frame []byte // scratch
	}
}

// Recv returns the next frame of the pane. The payload is valid until the next call.
func (s *Stream) Recv() (wire.Kind, []byte, error) { return s.frames.Next() }

// Input types p, of any length.
func (s *Stream) Input(p []byte) error {
	for len(p) > 0 {
		n := min(len(p), wire.InputMax)
		if err := s.send(func(dst []byte) ([]byte, error) { return wire.AppendInput(dst, p[:n]) }); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// Resize tells the size of the viewer's own screen.
func (s *Stream) Resize(cols, rows uint16) error {
	return s.send(func(dst []byte) ([]byte, error) { return wire.AppendResize(dst, cols, rows) })
}

// RequestReplay asks for a snapshot: with history when max is not 0, else of the screen alone.
func (s *Stream) RequestReplay(max uint32) error {
	return s.send(func(dst []byte) ([]byte, error) { return wire.AppendReplayReq(dst, max) })
}

func (s *Stream) send(encode func(dst []byte) ([]byte, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	frame, err := encode(s.mu.frame[:0])
	if err != nil {
		return err
	}
	_, err = s.u.Write(frame)
	clear(frame) // typed text does not linger
	s.mu.frame = frame
	return err
}

// Close detaches. The pane goes on.
func (s *Stream) Close() error { return s.u.Close() }
