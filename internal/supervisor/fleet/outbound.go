// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"net"
	"sync"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
)

// outbound is the one way to a worker: frames leave in the order in which they were queued. Nobody who
// queues ever waits. While nothing is queued a frame goes straight to the socket, which spares a key a
// hand-over; what the socket does not take at once, and whatever comes behind it, one goroutine writes,
// which is there as long as it has something to write.
//
//	buffer ─ encode ─ queue ─┬────────── at once ────────────────────► socket
//	   ▲                     └─► frames (commandsMax) ─► writeLoop ──────▲
//	   └──────────────── spares, wiped ◄───────────────────┘
type outbound struct {
	conn   *net.UnixConn
	frames chan []byte
	spares chan []byte    // emptied and wiped buffers, each of at most spareMax bytes
	writer sync.WaitGroup // the goroutine, while there is one

	mu     sync.Mutex
	closed bool  // nothing is queued any more
	queued int   // frames that the writer has not written yet: while there are any, no other frame may pass
	failed error // why the writer gave up; nil while it works
}

func newOutbound(conn *net.UnixConn) *outbound {
	return &outbound{conn: conn, frames: make(chan []byte, commandsMax), spares: make(chan []byte, commandsMax)}
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
//
// hop in 3/6: to the worker's socket, or to the queue before it.
func (o *outbound) queue(frame []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.failed
	if o.closed {
		err = ErrGone
	}
	if err == nil && o.queued == 0 {
		if frame = o.writeAtOnce(frame); len(frame) == 0 {
			o.recycle(frame)
			return nil
		}
	}
	if err == nil {
		select {
		case o.frames <- frame:
			if o.queued++; o.queued == 1 {
				o.writer.Go(o.writeLoop)
			}
			return nil
		default:
			err = ErrBusy
		}
	}
	o.recycle(frame)
	return err
}

// writeAtOnce writes what the socket takes now, and returns the rest, in the same buffer. An error is left
// for the writer to meet.
func (o *outbound) writeAtOnce(frame []byte) (rest []byte) {
	failpoint.Tear(failpoint.CommandTorn, frame, func(half []byte) { o.conn.Write(half) })
	n := endpoint.TryWrite(o.conn, frame)
	failpoint.Pass(failpoint.CommandWritten)
	left := copy(frame, frame[n:])
	clear(frame[left:])
	return frame[:left]
}

// writeLoop writes until nothing is queued. When the worker is gone it only empties the queue. It leaves the
// connection open, because the worker's last words may still wait to be read.
func (o *outbound) writeLoop() {
	var failed error
	for more := true; more; {
		frame := <-o.frames
		if failed == nil {
			_, failed = o.conn.Write(frame)
		}
		o.recycle(frame)
		more = o.wrote(failed)
	}
}

// wrote notes that the writer is done with a frame, and reports whether there are more.
func (o *outbound) wrote(err error) (more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.failed = fmt.Errorf("%w: %w", ErrGone, err)
	}
	o.queued--
	return o.queued > 0
}

// close lets no more frames in, gives those that are in flushMax to leave, and joins the writer.
func (o *outbound) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.conn.SetWriteDeadline(time.Now().Add(flushMax))
	o.writer.Wait()
}
