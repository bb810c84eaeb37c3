// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"spawn/internal/sessiond/failpoint"
	"spawn/internal/supervisor/descriptors"
)

// Options are what Serve needs.
type Options struct {
	Server Server
	// CheckPeer is asked before the first byte of a connection is read; with an error that connection
	// is closed without a word. It must be there.
	CheckPeer func(*net.UnixConn) error
	// Identity and Authority say who asks and what they may. Nil is Owner.
	Identity  Identity
	Authority Authority
	Log       *slog.Logger
}

// server is one Serve.
type server struct {
	o           Options
	lineTimeout time.Duration   // the bound of that name
	ctx         context.Context // ends with Serve
	running     sync.WaitGroup  // connections

	mu struct {
		sync.Mutex
		conns map[*conn]time.Time // since when it has been silent; zero while it is at work
	}
}

// Serve answers on ln until ctx ends, then closes ln and every connection and returns when all their
// goroutines have ended. A connection that dawdles costs its own goroutine and nothing else: no lock is
// held while anybody is waited for.
func Serve(ctx context.Context, ln net.Listener, o Options) error {
	return newServer(o).serve(ctx, ln)
}

func newServer(o Options) *server {
	if o.Identity == nil {
		o.Identity = Owner{}
	}
	if o.Authority == nil {
		o.Authority = Owner{}
	}
	s := &server{o: o, lineTimeout: lineTimeout}
	s.mu.conns = map[*conn]time.Time{}
	return s
}

func (s *server) serve(ctx context.Context, ln net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.ctx = ctx
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	err := s.acceptLoop(ln)
	cancel()
	_ = ln.Close()
	s.closeAll()
	s.running.Wait()
	return err
}

// acceptLoop returns nil when ctx has ended. While no connection can be accepted it tries again at a pace that costs nothing, and
// says so once.
func (s *server) acceptLoop(ln net.Listener) error {
	failing := false
	for {
		c, err := ln.Accept()
		switch {
		case s.ctx.Err() != nil:
			if err == nil {
				_ = c.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept on the control socket: %w", err)
		case err != nil: // most likely no descriptors are left: connections that end will free some
			if !failing {
				s.o.Log.Warn("connections to the control socket cannot be accepted", "error", err)
			}
			failing = true
			s.pause()
		default:
			failing = false
			s.welcome(c.(*net.UnixConn))
		}
	}
}

func (s *server) pause() {
	t := time.NewTimer(acceptRetry)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
	}
}

// welcome starts the connection, unless its peer is somebody else or there is no room.
func (s *server) welcome(u *net.UnixConn) {
	failpoint.Pass(failpoint.CallAccepted)
	if err := s.o.CheckPeer(u); err != nil {
		s.o.Log.Warn("a connection to the control socket was refused", "error", err)
		_ = u.Close()
		return
	}
	c := newConn(s, u)
	if !s.admit(c, descriptors.Among(u, askersKept)) {
		c.answer(0, nil, Errorf(CodeBusy, "too many connections to spawnd are at work"))
		_ = u.Close()
		return
	}
	go func() {
		defer s.running.Done()
		defer s.dismiss(c)
		c.serve()
	}()
}

// admit counts the connection in. When there are too many, the one that has been silent longest goes. So it does for one that has
// taken a descriptor which is kept: such a one may ask, but not stay, and when all of them may soon be taken it may not ask either.
func (s *server) admit(c *conn, last bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	full := len(s.mu.conns) >= connectionsMax
	if s.ctx.Err() != nil || (full || c.kept) && !s.evictLocked() && (full || last) {
		return false
	}
	s.mu.conns[c] = time.Now()
	s.running.Add(1)
	return true
}

func (s *server) evictLocked() bool {
	var longest *conn
	var since time.Time
	for c, silent := range s.mu.conns {
		if !silent.IsZero() && (longest == nil || silent.Before(since)) {
			longest, since = c, silent
		}
	}
	if longest == nil {
		return false
	}
	delete(s.mu.conns, longest)
	_ = longest.u.Close() // its goroutine finds out
	return true
}

func (s *server) dismiss(c *conn) {
	_ = c.u.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.conns, c)
}

// mark notes whether the connection is at work, or waits for a request. A connection that has been closed
// for another stays forgotten.
func (s *server) mark(c *conn, atWork bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.mu.conns[c]; !ok {
		return
	}
	s.mu.conns[c] = time.Time{}
	if !atWork {
		s.mu.conns[c] = time.Now()
	}
}

func (s *server) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.mu.conns {
		_ = c.u.Close()
	}
}
