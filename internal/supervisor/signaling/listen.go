// SPDX-License-Identifier: Apache-2.0

package signaling

import (
	"fmt"
	"net"

	"spawn/internal/supervisor/loopback"
)

// ErrNotLoopback means that the address could be reached from other machines. There is no login for
// them, so nothing was bound.
var ErrNotLoopback = loopback.ErrElsewhere

// Listen binds a TCP address of this machine's loopback; port 0 picks one. "localhost" is 127.0.0.1: what
// the name resolves to is not asked.
func Listen(address string) (net.Listener, error) {
	at, err := loopback.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", address, err)
	}
	ln, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", address, err)
	}
	return ln, nil
}

// bounded is a listener that closes what comes in beyond connectionsMax, so that slow strangers use up
// their own connections and not our descriptors.
type bounded struct {
	net.Listener
	slots chan struct{}
}

func bound(ln net.Listener) *bounded {
	return &bounded{ln, make(chan struct{}, connectionsMax)}
}

func (b *bounded) Accept() (net.Conn, error) {
	for {
		conn, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case b.slots <- struct{}{}:
			return &slotConn{Conn: conn, release: b.slots}, nil
		default:
			_ = conn.Close()
		}
	}
}
