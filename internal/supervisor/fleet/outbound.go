// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"net"
	"sync"
	"time"

	"spawn/internal/sessiond/failpoint"
)

// outbound is the one way to a worker: frames leave in the order in which they were queued. Nobody who
// queues ever waits; one goroutine writes.
//
//	buffer ─ encode ─ queue ─► frames (commandsMax) ─► writeLoop ─► socket
//	   ▲                                                   │
//	   └──────────────── spares, wiped ◄───────────────────┘
type outbound struct {
	conn   *net.UnixConn
	frames chan []byte // closed by close
	spares chan []byte // emptied and wiped buffers, each of at most spareMax bytes
	done   chan struct{}

	mu     sync.Mutex // also held while a frame is put into frames, so that none follows its closing
	closed bool
	failed error // why the writer gave up; nil while it works
}

func newOutbound(conn *net.UnixConn) *outbound {
	o := &outbound{conn: conn, frames: make(chan []byte, commandsMax), spares: make(chan []byte, commandsMax), done: make(chan struct{})}
	go o.writeLoop()
	return o
}

// buffer returns an empty buffer to make a frame in. It must come back by queue or recycle.
func (o *outbound) buffer() []byte {
	select {
	case b := <-o.spares:
		return b
	default:
		return nil
	}
}

// recycle wipes a buffer, which may hold what was typed, and keeps it unless it is large.
func (o *outbound) recycle(b []byte) {
	clear(b)
	if cap(b) == 0 || cap(b) > spareMax {
		return
	}
	select {
	case o.spares <- b[:0]:
	default:
	}
}

// queue takes the frame over, or fails with ErrBusy or ErrGone.
func (o *outbound) queue(frame []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.failed
	if o.closed {
		err = ErrGone
	}
	if err == nil {
		select {
		case o.frames <- frame:
			return nil
		default:
			err = ErrBusy
		}
	}
	o.recycle(frame)
	return err
}

// writeLoop writes until close, or until the worker is gone; then it only empties the queue. It leaves the
// connection open, because the worker's last words may still wait to be read.
func (o *outbound) writeLoop() {
	defer close(o.done)
	var failed error
	for frame := range o.frames {
		if failed == nil {
			failed = o.write(frame)
		}
		o.recycle(frame)
	}
}

func (o *outbound) write(frame []byte) error {
	// hop in 3/6: from the queue to the worker's socket.
	failpoint.Tear(failpoint.CommandTorn, frame, func(half []byte) { o.conn.Write(half) })
	_, err := o.conn.Write(frame)
	failpoint.Pass(failpoint.CommandWritten)
	if err == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = fmt.Errorf("%w: %w", ErrGone, err)
	return o.failed
}

// close lets no more frames in, gives those that are in flushMax to leave, and joins the writer.
func (o *outbound) close() {
	o.mu.Lock()
	o.closed = true
	close(o.frames)
	o.mu.Unlock()
	o.conn.SetWriteDeadline(time.Now().Add(flushMax))
	<-o.done
}
