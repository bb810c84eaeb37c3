// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"errors"
	"net"
	"sync"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/lifecycle"
	"spawn/internal/sessiond/pty"
	"spawn/internal/sessiond/wire"
)

// A takeover, in this order:
//
//	1 acceptLoop  the candidate's peer is of our user, else it is closed
//	2 loop        HELLO is written to the candidate
//	3 loop        the old connection is closed: its writer fails, its reader fails or is let go
//	4 loop        both have returned
//	5 loop        what the old reader had queued is dropped; the new reader and writer start
//
// There is nothing to read from a candidate, and HELLO always fits the empty buffer of a new socket, so no candidate can make
// anybody wait. HELLO is made in the same turn of the loop as the rest: it is exact for the first frame after it.
//
// No frame has a deadline, in either direction. A supervisor that is stopped, as a whole or in half a frame, goes on one
// day, and must find what it had; and it keeps nobody out meanwhile, for whoever connects takes its place at step 3. Nor
// does it cost more than its queue: the program waits for it. So there is one connection with its reader, its writer and
// its queue however many peers have come, and what is left of the others is a closed descriptor of theirs.

// frameHint is room enough for most small frames.
const frameHint = 256

// capScreenReplay says that REPLAY_REQ with 0 bytes is answered with the screen alone.
const capScreenReplay = "screen_replay"

// errGone means that a frame could not be made for the connection; it ends.
var errGone = errors.New("connection is over")

// candidate is an accepted connection of our own user.
type candidate = *net.UnixConn

// connection is the one live supervisor. The loop owns it; its reader and writer only know their own end.
type connection struct {
	raw        *net.UnixConn
	generation uint64
	out        *outbox
	subscribed bool          // to HISTORY
	gone       chan struct{} // closed to let the reader go, wherever it waits
	acks       chan struct{} // 1 slot: the reader's command was obeyed
	written    chan struct{} // closed when the writer has returned
	capturing  *capturing    // the loop's; nil while none is being made
	delayed    *command      // the loop's: a further CAPTURE_REQ, for which the reader waits; nil when there is none
	tasks      sync.WaitGroup
}

func newConnection(raw *net.UnixConn, generation uint64) *connection {
	return &connection{
		raw: raw, generation: generation, out: newOutbox(straightTo(raw)),
		gone: make(chan struct{}), acks: make(chan struct{}, 1), written: make(chan struct{}),
	}
}

// send ends the connection if a frame broke a rule of the wire: leaving it out would show the peer a sequence with a hole.
func (c *connection) send(err error) {
	if err != nil {
		c.raw.Close() // the reader fails and hangs up
	}
}

// acceptLoop passes connections of our own user to the loop, one at a time; more wait in the kernel's backlog.
func (w *worker) acceptLoop() {
	for {
		raw, err := w.held.ends.Supervisor.AcceptUnix()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			w.awaitAcceptRetry()
		case endpoint.CheckPeer(raw) != nil:
			raw.Close()
		default:
			failpoint.Pass(failpoint.Accepted)
			w.offer(raw)
		}
	}
}

func (w *worker) awaitAcceptRetry() {
	pause := time.NewTimer(acceptRetry)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-w.quit:
	}
}

func (w *worker) offer(c candidate) {
	select {
	case w.candidates <- c:
	case <-w.quit:
		c.Close()
	}
}

// takeOver makes a candidate the live connection.
func (w *worker) takeOver(raw candidate) {
	if err := w.greet(raw); err != nil {
		raw.Close()
		return
	}
	w.detach()
	w.generation++
	w.inbox.adopt(w.generation)
	c := newConnection(raw, w.generation)
	w.conn = c
	failpoint.Pass(failpoint.TookOver)
	c.tasks.Go(c.writeLoop)
	c.tasks.Go(func() { w.receiveLoop(c) })
	w.tellStanding()
	w.refreshForeground()
	w.tellForeground()
	w.quickenForeground()
	if w.state == lifecycle.Exited {
		w.tellExit()
	}
}

// greet writes HELLO to a connection that nobody else writes to.
func (w *worker) greet(raw candidate) error {
	frame, err := wire.AppendHello(nil, w.hello())
	if err != nil {
		return err
	}
	if err := raw.SetWriteDeadline(time.Now().Add(helloWriteMax)); err != nil {
		return err
	}
	failpoint.Pass(failpoint.BeforeHello)
	failpoint.Tear(failpoint.HelloTorn, frame, func(half []byte) { raw.Write(half) })
	if _, err := raw.Write(frame); err != nil {
		return err
	}
	failpoint.Pass(failpoint.HelloWritten)
	return raw.SetWriteDeadline(time.Time{})
}

// hello describes the worker as it is at this moment.
func (w *worker) hello() wire.Hello {
	cols, rows := w.screen.Size()
	h := wire.Hello{
		Version: wire.ProtoVersion, SessionID: w.session.String(), InstanceID: w.instance.String(),
		State: w.state.String(), Cols: uint16(cols), Rows: uint16(rows),
		Epoch: w.history.epoch, Offset: w.history.offset, History: !w.history.lost, StartedAt: w.startedAt.UnixMilli(),
		Capabilities: w.capabilities(),
	}
	if w.state == lifecycle.Running {
		h.PID = w.term.Load().Pid() // in any other state the number is nobody's, or a stranger's
	}
	return h
}

// capabilities is what HELLO lists. The conditional ones tell, by way of spawnd, what no worker has another place to tell.
func (w *worker) capabilities() []string {
	names := []string{wire.CapHistory, wire.CapCapture, wire.CapTheme, wire.CapNotice, wire.CapWraps, capScreenReplay}
	if w.held.keyLocked {
		names = append(names, wire.CapLockedKey)
	}
	if pty.AdoptsOrphans() {
		names = append(names, wire.CapSubreaper)
	}
	return names
}

// hangUp ends the connection whose reader has ended, unless another has taken its place.
func (w *worker) hangUp(generation uint64) {
	if generation == w.generation {
		w.detach()
	}
}

// detach closes the live connection, if there is one, and waits for its reader and writer, which cannot wait for anything
// else any more. Frames that have not reached the kernel are dropped: the peer is gone, or was replaced.
func (w *worker) detach() {
	c := w.conn
	if c == nil {
		return
	}
	w.conn = nil
	c.raw.Close()
	c.out.shut(true)
	close(c.gone)
	c.tasks.Wait()
	if c.capturing != nil {
		c.capturing.close()
	}
}

// farewell lets the last frames out, briefly, before the connection closes.
func (w *worker) farewell() {
	if c := w.conn; c != nil && c.raw.SetWriteDeadline(time.Now().Add(farewellMax)) == nil {
		c.out.shut(false)
		<-c.written
	}
	w.detach()
}

// straightTo returns a way into the socket that doesn't wait. An error is left for the writer to meet.
func straightTo(raw *net.UnixConn) func(p []byte) int {
	return func(p []byte) int {
		failpoint.Pass(failpoint.FrameBefore)
		failpoint.Tear(failpoint.FrameTorn, p, func(half []byte) { raw.Write(half) })
		n := endpoint.TryWrite(raw, p)
		failpoint.Pass(failpoint.FrameWritten)
		return n
	}
}

// writeLoop is the connection's only waiting writer.
//
// hop out 3/6: whatever frames have gathered go to the socket in one call.
func (c *connection) writeLoop() {
	defer close(c.written)
	for {
		batch := c.out.take()
		if batch == nil {
			return
		}
		failpoint.Pass(failpoint.FrameBefore)
		failpoint.Tear(failpoint.FrameTorn, batch, func(half []byte) { c.raw.Write(half) })
		_, err := c.raw.Write(batch)
		failpoint.Pass(failpoint.FrameWritten)
		c.out.done(batch)
		if err != nil {
			c.out.shut(true)
			c.raw.Close() // the reader fails and hangs up
			return
		}
		if len(batch) >= floodBytes {
			c.out.gather()
		}
	}
}
