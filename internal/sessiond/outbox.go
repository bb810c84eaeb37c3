// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"sync"
	"time"

	"spawn/internal/sessiond/secret"
)

// outbox is the one queue from the loop to a connection's writer: whole frames in one buffer, so that whatever has gathered
// while the writer was in the kernel leaves with one system call. The loop pushes and looks at size; the writer takes.
//
//	loop ──push──► queued ──take──► batch ──Write──► done ──room──► loop
//	          └──► the socket, for a little while nothing waits
//
// So a key's echo needs no other goroutine, and a flood wakes the supervisor for much at a time.
type outbox struct {
	ready chan struct{} // 1 slot: enough is queued, or the box was shut
	room  chan struct{} // 1 slot: a batch left
	// straight writes what the socket takes without waiting, and returns how much that was; nil where there is no such way.
	straight func(p []byte) (n int)
	pause    *time.Timer // of gather; the writer's, nil before its first
	mu       struct {
		sync.Mutex
		queued   []byte
		spare    []byte // the other buffer, wiped; nil while the writer has it
		inFlight int    // bytes the writer has taken and not yet written
		enough   int    // bytes that must be queued before the writer is told
		answers  int    // bytes of queued that are answers: the peer has asked for them, and output may follow them
		answered int    // likewise of inFlight
		used     bool   // something was pushed since the last trim
		shut     bool   // pushes are dropped; take returns what is left, then nil
	}
}

func newOutbox(straight func(p []byte) (n int)) *outbox {
	return &outbox{straight: straight, ready: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// push encodes v as one frame at the end of the queue. hint is about its size in bytes. It never waits; the caller looks at
// size before it makes more. An error means that v breaks a rule of the wire, and nothing was queued.
func push[T any](o *outbox, hint int, v T, encode func(dst []byte, v T) ([]byte, error)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return pushLocked(o, hint, v, encode)
}

// pushAnswer is push for what the peer has asked for, which may be long: it makes no output wait.
func pushAnswer[T any](o *outbox, hint int, v T, encode func(dst []byte, v T) ([]byte, error)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := len(o.mu.queued)
	err := pushLocked(o, hint, v, encode)
	o.mu.answers += len(o.mu.queued) - before
	return err
}

func pushLocked[T any](o *outbox, hint int, v T, encode func(dst []byte, v T) ([]byte, error)) error {
	if o.mu.shut {
		return nil
	}
	alone := len(o.mu.queued) == 0 && o.mu.inFlight == 0
	o.reserveLocked(hint)
	queued, err := encode(o.mu.queued, v)
	o.mu.queued = queued
	o.mu.used = true
	if alone && len(queued) <= straightBytesMax && o.straight != nil {
		o.mu.queued = shift(queued, o.straight(queued))
	}
	if n := len(o.mu.queued); n > 0 && n >= o.mu.enough {
		notify(o.ready)
	}
	return err
}

// gather is the writer's, after a large batch: it lets the flood that this was a part of grow to one call's worth, but not
// for long. Without it every few KiB wake the supervisor, and that costs more than to handle them.
func (o *outbox) gather() {
	if o.await(gatherBytes) {
		if o.pause == nil {
			o.pause = time.NewTimer(gatherMax)
		} else {
			o.pause.Reset(gatherMax)
		}
		select {
		case <-o.ready:
		case <-o.pause.C:
		}
		o.pause.Stop()
	}
	o.await(1)
}

// await sets how much is enough, and reports whether there is less.
func (o *outbox) await(enough int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.enough = enough
	select { // what it said was of another amount
	case <-o.ready:
	default:
	}
	return len(o.mu.queued) < enough && !o.mu.shut
}

// reserveLocked makes room for n more bytes.
func (o *outbox) reserveLocked(n int) {
	if cap(o.mu.queued) == 0 {
		n = max(n, outboxBeginBytes)
	}
	o.mu.queued = withRoom(o.mu.queued, n)
}

// withRoom is p with room for n more bytes. It grows by itself, because append would leave the old bytes behind unwiped.
func withRoom(p []byte, n int) []byte {
	if cap(p)-len(p) >= n {
		return p
	}
	grown := make([]byte, len(p), max(2*cap(p), len(p)+n))
	copy(grown, p)
	secret.Wipe(p)
	return grown
}

// size is how many bytes have not reached the kernel: those of the stream, and all, with answers.
func (o *outbox) size() (stream, all int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all = len(o.mu.queued) + o.mu.inFlight
	return all - o.mu.answers - o.mu.answered, all
}

// take waits for frames and returns all of them. It returns nil when the box is shut and empty.
func (o *outbox) take() []byte {
	for {
		batch, shut := o.tryTake()
		if len(batch) > 0 {
			return batch
		}
		if shut {
			return nil
		}
		<-o.ready
	}
}

func (o *outbox) tryTake() (batch []byte, shut bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.mu.queued) > 0 {
		batch = o.mu.queued
		o.mu.queued, o.mu.spare = o.mu.spare, nil
		o.mu.inFlight, o.mu.answered, o.mu.answers = len(batch), o.mu.answers, 0
	}
	return batch, o.mu.shut
}

// done wipes a batch that was written, or never will be, and keeps its memory for the next.
func (o *outbox) done(batch []byte) {
	secret.Wipe(batch)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.inFlight, o.mu.answered = 0, 0
	o.mu.spare = batch[:0]
	notify(o.room)
}

// trim gives memory back that an idle connection does not need. It is called at a slow pace, and only acts when nothing was
// pushed since the last time: between two bursts of a flood the buffers stay.
func (o *outbox) trim() {
	o.mu.Lock()
	defer o.mu.Unlock()
	busy := o.mu.used || len(o.mu.queued) > 0 || o.mu.inFlight > 0
	o.mu.used = false
	if !busy && cap(o.mu.queued)+cap(o.mu.spare) > outboxKeepBytes {
		o.mu.queued, o.mu.spare = nil, nil
	}
}

// shut refuses further frames. With drop those that wait are wiped, else the writer still gets them.
func (o *outbox) shut(drop bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.shut = true
	if drop {
		secret.Wipe(o.mu.queued)
		o.mu.queued, o.mu.answers = nil, 0
	}
	notify(o.ready)
}

// notify fills a one-slot channel. A full one already says the same.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
