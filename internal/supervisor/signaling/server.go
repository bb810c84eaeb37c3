// SPDX-License-Identifier: Apache-2.0

// Package signaling serves the page and brings its connection about: HTTP for the embedded files, one
// WebSocket for pairing and the signed exchange of session descriptions.
package signaling

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"spawn/internal/supervisor/access"
)

const socketPath = "/api/signal"

// Options are the rooms that a Server joins.
type Options struct {
	Door     *access.Door
	Links    access.Links
	Peers    Peers
	App      fs.FS    // index.html and assets
	HostName string   // shown by the page
	Origins  []string // further ones under which a proxy serves us, such as https://name
	Log      *slog.Logger
}

// Server is the HTTP server of one listener.
type Server struct {
	ln       net.Listener
	door     *access.Door
	links    access.Links
	peers    Peers
	app      app
	gate     *gate
	hostName string
	log      *slog.Logger
	sockets  sockets

	ctx    context.Context // of every socket; ends with Serve
	cancel context.CancelFunc

	mu struct {
		sync.Mutex
		ending bool
		active sync.WaitGroup // requests; none is added once ending
	}
}

// New makes the server of a listener, which must be bound to loopback. The listener is the server's from
// then on, also when New fails.
func New(ln net.Listener, o Options) (*Server, error) {
	s, err := build(ln, o)
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return s, nil
}

func build(ln net.Listener, o Options) (*Server, error) {
	at, ok := ln.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() {
		return nil, fmt.Errorf("serve on %s: %w", ln.Addr(), ErrNotLoopback)
	}
	bound := at.AddrPort()
	g, err := newGate(bound, o.Origins)
	if err != nil {
		return nil, err
	}
	a, err := loadApp(o.App)
	if err != nil {
		return nil, err
	}
	s := &Server{ln: ln, door: o.Door, links: o.Links, peers: o.Peers, app: a, gate: g, hostName: o.HostName, log: o.Log}
	s.sockets.bySource = map[string]int{}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// URL is the address to open.
func (s *Server) URL() string { return "http://" + s.ln.Addr().String() + "/" }

// PairURL is the address to open once, in a browser that is to be paired. The code is in the fragment,
// which a browser sends to nobody.
func (s *Server) PairURL(c access.Code) string { return s.URL() + "#pair=" + c.String() }

// ShareURL is the address of a share link. Its fragment has the link's token and the host's key, so that who
// follows it knows this host without having met it.
func (s *Server) ShareURL(t access.Token) string {
	return s.URL() + "#share=" + t.String() + "." + s.door.HostKey()
}

// Serve serves until ctx ends, and returns when every request and socket has ended. Peers live on.
func (s *Server) Serve(ctx context.Context) error {
	defer s.cancel()
	server := &http.Server{
		Handler:                      http.HandlerFunc(s.ServeHTTP),
		ReadHeaderTimeout:            headerTime,
		ReadTimeout:                  requestTime,
		WriteTimeout:                 responseTime,
		IdleTimeout:                  idleTime,
		MaxHeaderBytes:               headerBytesMax,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // it prints strangers' bytes
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(bound(s.ln)) }()
	var err error
	select {
	case <-ctx.Done():
		_ = server.Close()
		<-failed
	case err = <-failed:
		_ = server.Close()
	}
	s.cancel()
	s.mu.Lock()
	s.mu.ending = true
	s.mu.Unlock()
	s.mu.active.Wait()
	return err
}

// begin reports whether a request may be served, and counts it.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.ending {
		return false
	}
	s.mu.active.Add(1)
	return true
}

// ServeHTTP is the only way in: the gate first, then the page or its socket.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		refuse(w)
		return
	}
	defer s.mu.active.Done()
	if !s.gate.passes(r) {
		refuse(w)
		return
	}
	switch file, found := s.app[r.URL.Path]; {
	case found:
		file.serve(w, r)
	case r.URL.Path == socketPath && s.gate.speaks(r):
		s.signal(w, r)
	default:
		refuse(w)
	}
}
