// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/wire"
)

// Handle drives one worker. One goroutine calls Recv; everything else may be called from any.
type Handle struct {
	fleet    *Fleet
	id       endpoint.SessionID
	instance endpoint.InstanceID
	hello    wire.Hello
	conn     *net.UnixConn
	in       *wire.Reader // of the goroutine that calls Recv
	out      *outbound
	spec     *Spec // nil of an adopted one

	exited chan struct{} // closed by Recv when EXIT came
	lost   chan struct{} // closed by Recv when the connection ended, unless we closed it
	closed sync.Once

	size struct {
		sync.Mutex        // also held while a RESIZE is queued, so that the last one queued is the one remembered
		cols, rows uint16 // what the worker has, or will have when it has read its queue
	}
}

// drive makes a handle of a greeted connection, which belongs to it from here on, and holds it.
func (f *Fleet) drive(id endpoint.SessionID, c *contact) *Handle {
	h := &Handle{fleet: f, id: id, instance: c.instance, hello: c.hello, conn: c.conn, in: c.in,
		exited: make(chan struct{}), lost: make(chan struct{})}
	h.size.cols, h.size.rows = c.hello.Cols, c.hello.Rows
	h.out = newOutbound(c.conn)
	f.hold(h)
	return h
}

// Argv0 is the first word of the command that Launch started; "" of an adopted worker, of whose command nothing is known.
func (h *Handle) Argv0() string {
	if h.spec == nil {
		return ""
	}
	return h.spec.Argv[0]
}

// ID names the terminal.
func (h *Handle) ID() endpoint.SessionID { return h.id }

// Hello is what the worker said when it was reached. After a Launch its size is the launch's, its state
// is running, and its PID is 0, for the program was not there yet.
func (h *Handle) Hello() wire.Hello {
	hello := h.hello
	hello.Capabilities = slices.Clone(hello.Capabilities)
	return hello
}

// Launched is what the worker was launched with. It reports false for one that was adopted: nobody kept that.
func (h *Handle) Launched() (Spec, bool) {
	if h.spec == nil {
		return Spec{}, false
	}
	return *h.spec, true
}

// WorkerPID is the worker's process id, for people to look at; 0 when the system does not say. Nothing
// may be decided by it.
func (h *Handle) WorkerPID() int { return peerPID(h.conn) }

// Recv waits for the worker's next frame. The payload is valid until the next Recv, which wipes it. An
// error is ErrGone and final: the connection is over, and Alive says whether the worker is.
func (h *Handle) Recv() (wire.Kind, []byte, error) {
	// hop out 4/6: from the worker's socket to whoever fans out.
	k, payload, err := h.in.Next()
	if err != nil {
		if !errors.Is(err, net.ErrClosed) {
			mark(h.lost)
		}
		return 0, nil, fmt.Errorf("receive from terminal %s: %w: %w", h.id, ErrGone, err)
	}
	if k == wire.KindExit {
		mark(h.exited)
	}
	return k, payload, nil
}

// mark closes a channel that only one goroutine closes, once.
func mark(c chan struct{}) {
	if !marked(c) {
		close(c)
	}
}

func marked(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Input passes on what was typed, at most InputMax bytes, which are copied.
func (h *Handle) Input(p []byte) error {
	if len(p) > InputMax {
		return fmt.Errorf("type %d bytes into terminal %s, at most %d: %w", len(p), h.id, InputMax, ErrTooLong)
	}
	frame, err := wire.AppendInput(h.out.buffer(), p)
	return h.send(frame, err)
}

// Resize sets the terminal's size. The size it has already is not sent.
func (h *Handle) Resize(cols, rows uint16) error {
	h.size.Lock()
	defer h.size.Unlock()
	if cols == h.size.cols && rows == h.size.rows {
		return nil
	}
	frame, err := wire.AppendResize(h.out.buffer(), cols, rows)
	if err := h.send(frame, err); err != nil {
		return err
	}
	h.size.cols, h.size.rows = cols, rows
	return nil
}

// RequestReplay asks for a REPLAY with at most maxBytes of history; 0 asks for the screen alone.
func (h *Handle) RequestReplay(maxBytes uint32) error {
	frame, err := wire.AppendReplayReq(h.out.buffer(), maxBytes)
	return h.send(frame, err)
}

// RequestCapture asks for a CAPTURE.
func (h *Handle) RequestCapture(req wire.CaptureReq) error {
	if !h.hello.Can(wire.CapCapture) {
		return fmt.Errorf("capture terminal %s: %w", h.id, ErrCapability)
	}
	frame, err := wire.AppendCaptureReq(h.out.buffer(), req)
	return h.send(frame, err)
}

// SubscribeHistory turns HISTORY frames on or off.
func (h *Handle) SubscribeHistory(on bool) error {
	if !h.hello.Can(wire.CapHistory) {
		return fmt.Errorf("subscribe to history of terminal %s: %w", h.id, ErrCapability)
	}
	frame, err := wire.AppendHistorySub(h.out.buffer(), on)
	return h.send(frame, err)
}

// SetTheme tells the worker the colours that it answers queries with.
func (h *Handle) SetTheme(t wire.Theme) error {
	if !h.hello.Can(wire.CapTheme) {
		return fmt.Errorf("set theme of terminal %s: %w", h.id, ErrCapability)
	}
	frame, err := wire.AppendTheme(h.out.buffer(), t)
	return h.send(frame, err)
}

// send queues a frame that was made in a buffer of the queue's, or passes on why it could not be made.
func (h *Handle) send(frame []byte, err error) error {
	if err == nil {
		err = h.out.queue(frame)
	} else {
		h.out.recycle(frame)
	}
	if err != nil {
		return fmt.Errorf("send to terminal %s: %w", h.id, err)
	}
	return nil
}

// Signal asks the worker to signal the terminal's process group. It does not pass through the queue.
func (h *Handle) Signal(ctx context.Context, s endpoint.Signal) (endpoint.Ack, error) {
	return h.fleet.folder.Signal(ctx, h.id, h.instance, s)
}

// Alive reports whether the worker lives, by its reservation. After the connection's loss it waits a
// moment for a dying worker to be dead.
func (h *Handle) Alive() (bool, error) {
	locked, err := h.fleet.folder.Locked(h.id)
	if err != nil || !locked || !marked(h.lost) {
		return locked, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), dyingMax)
	defer cancel()
	return !h.awaitFree(ctx, nil), nil
}

// awaitFree waits until nobody holds the reservation or the news come, or reports false when the context
// ends before.
func (h *Handle) awaitFree(ctx context.Context, news <-chan struct{}) bool {
	lost := h.lost
	look := time.NewTicker(lockPoll)
	defer look.Stop()
	for {
		if locked, err := h.fleet.folder.Locked(h.id); err == nil && !locked {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-news:
			return true
		case <-lost:
			lost = nil // it says so once
			look.Reset(lossPoll)
		case <-look.C:
		}
	}
}

// Close detaches: the worker and its terminal go on. Commands that were accepted are still written, for
// flushMax at most, and the queue's goroutine is joined. What a dead worker left is removed. Recv fails
// from here on. A second call does nothing.
func (h *Handle) Close() {
	h.closed.Do(func() {
		h.out.close()
		h.conn.Close()
		if marked(h.exited) || marked(h.lost) {
			// The reservation decides: a worker that lives, or ends by itself, holds it. So does one that is dying,
			// for a moment that Alive waits for; nobody else would come back for what it leaves.
			alive, err := h.Alive()
			if err == nil && !alive {
				err = h.fleet.folder.Sweep(h.id)
			}
			if err != nil && !errors.Is(err, endpoint.ErrReserved) {
				h.fleet.log.Warn("cannot remove what a worker left", "session", h.id, "error", err)
			}
			failpoint.Pass(failpoint.HandleSwept)
		}
		h.fleet.release(h.id, h)
	})
}
