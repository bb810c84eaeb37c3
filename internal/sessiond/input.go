// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"errors"
	"sync"

	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/pty"
	"spawn/internal/sessiond/secret"
)

// errEarlyInput means that INPUT came although no START had.
var errEarlyInput = errors.New("input before start")

// inbox is what waits to be written to the PTY: frames of typed input, and the emulator's answers to the program.
//
//	connection's reader ──put──► frames  ─┐
//	loop (emulator)   ──answer──► replies ─┴─take──► PTY writer ──► terminal
//	connection's reader ──put, where nothing waits──────────────►
//
// put may wait, and then it is the supervisor who is held back. answer never does, because it is called by the loop.
// Replies go first, but only between two frames: an escape sequence is never cut in two by one.
type inbox struct {
	ready chan struct{} // 1 slot: something to write, or closed
	room  chan struct{} // 1 slot: something was written, dropped, or closed
	mu    struct {
		sync.Mutex
		stage inboxStage
		// straight writes what the terminal takes without waiting, and returns how much that was: a key needs no other
		// goroutine. Nil where there is no such way.
		straight   func(p []byte) (n int)
		writing    bool   // the PTY writer has a piece
		generation uint64 // of the connection whose frames wait here
		frames     [][]byte
		written    int // bytes of frames[0] already taken
		bytes      int // of all frames, what is not taken yet
		replies    []byte
	}
}

type inboxStage uint8

const (
	inboxEarly  inboxStage = iota // no program yet: INPUT is a mistake of the peer
	inboxOpen                     // the program reads, or will
	inboxClosed                   // no program any more: INPUT is dropped
)

func newInbox() *inbox {
	return &inbox{ready: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// put queues a copy of one INPUT payload of connection generation. It waits while there is no room, until gone is closed.
// Input of an older connection, and input for a program that has ended, is dropped.
//
// hop in 5/6: from the supervisor's frame to the queue before the terminal.
func (in *inbox) put(generation uint64, p []byte, gone <-chan struct{}) error {
	for {
		queued, err := in.tryPut(generation, p)
		if queued || err != nil {
			return err
		}
		select {
		case <-in.room:
		case <-gone:
			return nil
		}
	}
}

// tryPut reports false when p has to wait.
func (in *inbox) tryPut(generation uint64, p []byte) (bool, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.mu.stage == inboxEarly:
		return false, errEarlyInput
	case in.mu.stage == inboxClosed || generation != in.mu.generation || len(p) == 0:
		return true, nil
	case in.mu.bytes+len(p) > inputBytesMax || len(in.mu.frames) >= inputFramesMax:
		return false, nil
	}
	failpoint.Pass(failpoint.InputQueued)
	written := in.straightLocked(p)
	if written == len(p) {
		return true, nil
	}
	in.mu.frames = append(in.mu.frames, append(make([]byte, 0, len(p)), p...))
	in.mu.written += written // the only frame's, or zero
	in.mu.bytes += len(p) - written
	notify(in.ready)
	return true, nil
}

// straightLocked writes a beginning of p to the terminal if nothing is before it, and returns how much.
func (in *inbox) straightLocked(p []byte) int {
	if in.mu.straight == nil || in.mu.writing || len(in.mu.frames) > 0 || len(in.mu.replies) > 0 || len(p) > inputPieceBytes {
		return 0
	}
	failpoint.Pass(failpoint.BeforeInput)
	n := in.mu.straight(p)
	failpoint.Pass(failpoint.AfterInput)
	return n
}

// answer queues a reply to a query of the program, whole or, when the program does not read its replies, not at all.
func (in *inbox) answer(p []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.mu.stage != inboxOpen || len(in.mu.replies)+len(p) > repliesBytesMax {
		return
	}
	in.mu.replies = append(withRoom(in.mu.replies, len(p)), p...)
	notify(in.ready)
}

// adopt makes generation the only one whose input counts, and drops what its predecessor had queued.
func (in *inbox) adopt(generation uint64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.mu.generation = generation
	in.dropLocked()
}

// open lets input through: the program runs. straight may be nil.
func (in *inbox) open(straight func(p []byte) (n int)) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.mu.stage, in.mu.straight = inboxOpen, straight
}

// close drops what waits and whatever comes later: the program has ended, or never began.
func (in *inbox) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.mu.stage = inboxClosed
	in.dropLocked()
	secret.Wipe(in.mu.replies)
	in.mu.replies = nil
	notify(in.ready)
}

func (in *inbox) dropLocked() {
	for _, f := range in.mu.frames {
		secret.Wipe(f)
	}
	in.mu.frames, in.mu.written, in.mu.bytes = nil, 0, 0
	notify(in.room)
}

// take waits for something to write and copies it into piece. It returns 0 when the inbox is closed.
func (in *inbox) take(piece []byte) int {
	for {
		n, closed := in.tryTake(piece)
		if n > 0 || closed {
			return n
		}
		<-in.ready
	}
}

func (in *inbox) tryTake(piece []byte) (n int, closed bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	defer func() { in.mu.writing = n > 0 }()
	if in.mu.written == 0 && len(in.mu.replies) > 0 {
		n = copy(piece, in.mu.replies)
		in.mu.replies = shift(in.mu.replies, n)
		return n, false
	}
	for len(in.mu.frames) > 0 && n < len(piece) {
		n += in.takeFrameLocked(piece[n:])
	}
	if n > 0 {
		notify(in.room)
	}
	return n, in.mu.stage == inboxClosed
}

// takeFrameLocked copies as much of the first frame as fits.
func (in *inbox) takeFrameLocked(piece []byte) int {
	first := in.mu.frames[0]
	n := copy(piece, first[in.mu.written:])
	in.mu.written += n
	in.mu.bytes -= n
	if in.mu.written == len(first) {
		secret.Wipe(first)
		in.mu.frames[0] = nil
		in.mu.frames = in.mu.frames[1:]
		in.mu.written = 0
	}
	return n
}

// shift removes the first n bytes in place and wipes what becomes free.
func shift(p []byte, n int) []byte {
	rest := copy(p, p[n:])
	secret.Wipe(p[rest:])
	return p[:rest]
}

// writeLoop is the only writer of the PTY that waits. It ends when the inbox is closed; while the program does not read, it waits in
// Write, from which closing the terminal wakes it.
func (w *worker) writeLoop(term *pty.Terminal) {
	piece := make([]byte, inputPieceBytes)
	for {
		n := w.inbox.take(piece)
		if n == 0 {
			return
		}
		// A failed write loses its piece: nobody has the terminal open to read it. The inbox is closed when that is final.
		failpoint.Pass(failpoint.BeforeInput)
		term.Write(piece[:n])
		failpoint.Pass(failpoint.AfterInput)
		secret.Wipe(piece[:n])
	}
}
