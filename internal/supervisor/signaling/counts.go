// SPDX-License-Identifier: Apache-2.0

package signaling

import (
	"net"
	"sync"
)

// slotConn gives its slot back when it is closed, once.
type slotConn struct {
	net.Conn
	once    sync.Once
	release <-chan struct{}
}

// Close closes the connection.
func (c *slotConn) Close() error {
	c.once.Do(func() { <-c.release })
	return c.Conn.Close()
}

// sockets counts the open signalling sockets.
type sockets struct {
	mu         sync.Mutex
	open       int
	handshakes int
	bySource   map[string]int
}

// take claims a socket for a source address, or reports that there is none to be had.
func (s *sockets) take(source string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == socketsMax || s.handshakes == handshakesMax || s.bySource[source] == socketsPerSourceMax {
		return false
	}
	s.open++
	s.handshakes++
	s.bySource[source]++
	return true
}

// known says that a socket's handshake is over.
func (s *sockets) known() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handshakes--
}

// put gives a socket back.
func (s *sockets) put(source string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.bySource[source]--; s.bySource[source] == 0 {
		delete(s.bySource, source)
	}
}
