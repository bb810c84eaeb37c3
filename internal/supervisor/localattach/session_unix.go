// SPDX-License-Identifier: Apache-2.0

//go:build unix

package localattach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/wire"
)

// session is one Run. Three goroutines: the caller's waits for whatever happens first, screenLoop brings
// the pane to the terminal, keyLoop the keys to the pane. Only screenLoop writes to the terminal.
type session struct {
	o      Options
	term   *terminal
	ctx    context.Context // ends when the session is left
	cancel context.CancelFunc

	results chan result // what ended a loop; room for both
	loops   sync.WaitGroup

	footDue *time.Timer // the foot is to be cleared
	moving  sync.Mutex  // one connection at a time is made; taken before mu

	mu struct {
		sync.Mutex
		remote Remote // nil while the connection is being sought
		at     stand  // the pane that remote is to
		foot   string // a line at the foot of the screen; "" for none
		ended  bool
	}
}

type result struct {
	outcome Outcome
	err     error
	panic   any // of a loop, with its stack: raised again once the terminal is restored
}

// Run attaches until the pane or the user ends it. The terminal's mode and what programs have set in it are
// undone before it returns.
func Run(ctx context.Context, o Options) (Outcome, error) {
	t, err := openTerminal(o.In, o.Out)
	if err != nil {
		return Outcome{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &session{o: o, term: t, ctx: ctx, cancel: cancel, results: make(chan result, 2), footDue: time.NewTimer(footTime)}
	defer s.footDue.Stop()
	err = s.settle()
	if err == nil {
		err = s.connect()
	}
	if err != nil { // with the terminal as it is: a refusal is read in peace
		t.close()
		return Outcome{}, err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGWINCH, unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP, unix.SIGCONT)
	defer signal.Stop(signals)
	s.turned()
	if err := t.raw(); err != nil {
		s.hangUp()
		t.close()
		return Outcome{}, err
	}
	r := s.runAndLeave(signals)
	if r.panic != nil {
		panic(r.panic)
	}
	_, r.outcome.Pane = s.here()
	return r.outcome, r.err
}

// runAndLeave restores the terminal whichever way run ends.
func (s *session) runAndLeave(signals <-chan os.Signal) result {
	defer s.leave()
	return s.run(signals)
}

// run starts the loops and waits for the first that ends, a signal, or ctx.
func (s *session) run(signals <-chan os.Signal) result {
	s.start(s.screenLoop)
	s.start(s.keyLoop)
	for {
		select {
		case r := <-s.results:
			return r
		case <-s.ctx.Done():
			return result{err: s.ctx.Err()}
		case <-s.footDue.C:
			s.clearFoot()
		case sig := <-signals:
			if end := s.signal(sig); end {
				return result{outcome: Outcome{How: Interrupted, Signal: sig}}
			}
		}
	}
}

func (s *session) start(loop func() (Outcome, error)) {
	s.loops.Add(1)
	go func() {
		defer s.loops.Done()
		var r result
		defer func() {
			if cause := recover(); cause != nil {
				r.panic = fmt.Sprintf("%v\n\n%s", cause, debug.Stack())
			}
			s.results <- r
		}()
		r.outcome, r.err = loop()
	}()
}

// signal reports whether sig ends the attachment.
func (s *session) signal(sig os.Signal) bool {
	switch sig {
	case unix.SIGWINCH:
		s.resize()
	case unix.SIGTSTP: // not from a key, which is the pane's: somebody stops us, and the terminal is theirs meanwhile
		_ = s.term.restore()
		_ = unix.Kill(unix.Getpid(), unix.SIGSTOP)
	case unix.SIGCONT:
		_ = s.term.raw() // fails when the terminal is gone, which reading it tells
		s.resize()
		_ = s.with(func(r Remote) error { return r.RequestReplay(0) }) // a broken connection is dialled again, and repaints
	default:
		return true
	}
	return false
}

func (s *session) resize() {
	cols, rows := s.term.size()
	_ = s.with(func(r Remote) error { return r.Resize(cols, rows) }) // a broken connection is screenLoop's
}

// with does something with the connection, if there is one.
func (s *session) with(do func(Remote) error) error {
	s.mu.Lock()
	r := s.mu.remote
	s.mu.Unlock()
	if r == nil {
		return nil
	}
	return do(r)
}

// connect dials and keeps the connection, unless the session has ended meanwhile.
func (s *session) connect() error {
	cols, rows := s.term.size()
	_, pane := s.here()
	r, err := s.o.Dial(s.ctx, pane, cols, rows)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.ended {
		return errors.Join(context.Canceled, r.Close())
	}
	s.mu.remote = r
	return nil
}

// hangUp ends the connection and lets no other begin.
func (s *session) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.ended = true
	if s.mu.remote != nil {
		_ = s.mu.remote.Close()
	}
}

// leave joins the loops and restores the terminal. A terminal that takes no output, because its user has
// stopped it, holds that up no longer than leaveTimeout; then its loop ends when it can.
func (s *session) leave() {
	s.cancel()
	s.hangUp()
	s.term.wake()
	left := make(chan struct{})
	go func() {
		defer close(left)
		s.loops.Wait()
		_, _ = io.WriteString(s.term.out, leave) // a terminal that is gone needs no leaving
		s.term.close()
	}()
	late := time.NewTimer(leaveTimeout)
	defer late.Stop()
	select {
	case <-left:
	case <-late.C:
	}
	_ = s.term.restore()
}

// keyLoop brings keys to the pane.
func (s *session) keyLoop() (Outcome, error) {
	keys := newScanner(s.o.Keys, s.o.Places != nil)
	buf := make([]byte, inputBytes)
	defer clear(buf)
	for {
		n, err := s.term.read(buf)
		if errors.Is(err, io.EOF) {
			return Outcome{How: HungUp}, nil
		}
		if err != nil {
			return Outcome{}, err
		}
		s.clearFoot()
		if s.typed(keys, buf[:n]) {
			return Outcome{How: Detached}, nil
		}
	}
}

// typed brings what was typed where it belongs, and reports whether the user detaches.
func (s *session) typed(keys *scanner, p []byte) bool {
	for len(p) > 0 {
		send, c, rest := keys.scan(p)
		if len(send) > 0 {
			_ = s.with(func(r Remote) error { return r.Input(send) }) // a broken connection is screenLoop's
		}
		switch p = rest; c {
		case 0:
		case detach:
			return true
		default:
			s.obey(c)
		}
	}
	return false
}

// screenLoop brings the pane to the terminal, over as many connections as it takes.
func (s *session) screenLoop() (Outcome, error) {
	_, rows := s.term.size()
	p := &painter{rows: int(rows), foot: s.foot}
	if _, err := io.WriteString(s.term.out, enter); err != nil {
		return Outcome{How: HungUp}, nil
	}
	remote, shown := s.here()
	for {
		o, err := s.show(remote, p)
		if err == nil {
			o, err = s.follow(remote, o)
		}
		if o.How != 0 || err != nil {
			return o, err
		}
		var pane string
		if remote, pane = s.here(); pane != shown {
			shown = pane
			if _, err := s.term.out.Write(p.other()); err != nil {
				return Outcome{How: HungUp}, nil
			}
		}
	}
}

// follow finds the connection to go on with after one that has ended in o: the user has gone to another pane,
// or the pane has ended and there is a next one, or it is sought again.
func (s *session) follow(was Remote, o Outcome) (Outcome, error) {
	switch over := o.How == Exited || o.How == Lost; {
	case o.How != 0 && !over:
		return o, nil
	case s.left(was) || over && s.goOn(was):
		return Outcome{}, nil
	case over:
		return o, nil
	}
	return s.regain(was)
}

// show writes what comes until the connection breaks, which is no outcome yet, or the pane ends. The screen
// comes first; once it is there the history is asked for, unless an earlier connection has brought it.
func (s *session) show(remote Remote, p *painter) (Outcome, error) {
	for asked := p.told; ; {
		kind, payload, err := remote.Recv()
		if err != nil {
			return Outcome{}, nil
		}
		o, text, err := p.frame(kind, payload)
		if err != nil {
			return Outcome{}, err
		}
		if len(text) > 0 {
			if _, err := s.term.out.Write(text); err != nil {
				return Outcome{How: HungUp}, nil
			}
		}
		if o.How != 0 {
			return o, nil
		}
		if kind == wire.KindReplay && !asked {
			asked = true
			_ = remote.RequestReplay(historyMax) // a broken connection is seen by Recv
		}
	}
}

// reconnect connects to the pane again, unless the user has gone to another one meanwhile.
func (s *session) reconnect() error {
	s.moving.Lock()
	defer s.moving.Unlock()
	if r, _ := s.here(); r != nil {
		return nil
	}
	return s.connect()
}

// regain seeks the connection again.
func (s *session) regain(broken Remote) (Outcome, error) {
	s.mu.Lock()
	ended := s.mu.ended
	if s.mu.remote == broken {
		s.mu.remote = nil
	}
	s.mu.Unlock()
	_ = broken.Close()
	if ended {
		return Outcome{}, context.Canceled
	}
	ctx, cancel := context.WithTimeout(s.ctx, returnTimeout)
	defer cancel()
	pause := time.NewTicker(returnPause)
	defer pause.Stop()
	for first := true; ; first = false {
		err := s.reconnect()
		if err == nil {
			return Outcome{}, nil
		}
		if s.o.Retry == nil || !s.o.Retry(err) {
			return Outcome{}, err
		}
		if first {
			_, _ = io.WriteString(s.term.out, waiting(s.o.Keys)) // a notice; a terminal that is gone is found by who reads it
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return Outcome{How: Unreachable}, s.ctx.Err()
		}
	}
}
