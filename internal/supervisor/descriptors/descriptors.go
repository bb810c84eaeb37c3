// SPDX-License-Identifier: Apache-2.0

// Package descriptors keeps the last of this process's file descriptors from whoever connects to it.
//
// The kernel gives out the lowest number that is free. So a descriptor with one of the last numbers below the limit came
// when all before it were taken. While no viewer, no page and no new terminal keeps such a number, they are there for what a
// supervisor must be able to do at any time: reach a worker, write a file, answer a request.
package descriptors

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// Kept is how many of the last numbers are kept.
const Kept = 64

// Among reports whether a descriptor's number is one of the last n below the limit in force. Where there is no such limit, or it
// cannot be told, none is.
func Among(c syscall.Conn, n uint64) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	number, max := uint64(0), limit()
	if err := raw.Control(func(fd uintptr) { number = uint64(fd) }); err != nil || max == 0 {
		return false
	}
	return number+n >= max
}

// acceptRetry is how long to wait before the next accept while there is no descriptor for it.
const acceptRetry = 50 * time.Millisecond

// Guard returns a listener that closes at once whoever comes with a number that is kept. While there is no descriptor at all it waits:
// a server that took such an error for the end would never accept anybody again.
func Guard(ln net.Listener) net.Listener { return guarded{ln} }

type guarded struct{ net.Listener }

func (g guarded) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			<-time.After(acceptRetry) // who closes the listener meanwhile is told so a moment later
			continue
		}
		if err != nil {
			return nil, err
		}
		if s, ok := c.(syscall.Conn); !ok || !Among(s, Kept) {
			return c, nil
		}
		_ = c.Close()
	}
}
