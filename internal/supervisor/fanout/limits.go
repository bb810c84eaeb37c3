// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"time"

	"spawn/internal/sessiond/wire"
)

const (
	// viewersMax bounds the viewers of one pane; a further Attach fails with ErrFull.
	viewersMax = 64
	// What waits for one viewer, snapshots apart, is bounded: output, history and itemCharge for each
	// entry. What does not fit drops that viewer. The bound follows the viewer's pace between
	// queueBytesMin, which one that takes nothing may hold, and queueBytesMax; until a pace has been
	// measured it is queueBytesNew.
	queueBytesMin = 256 << 10
	queueBytesNew = 1 << 20
	queueBytesMax = 4 << 20
	// paceWindow is the time of work over which a pace is measured, and how far a viewer may lag by it:
	// beyond, a snapshot is the shorter way to the present.
	paceWindow = time.Second
	// ringBytesMax bounds what is kept of a pane's output, and of its history, for viewers that come back.
	// Where more has been missed, a snapshot is hardly longer.
	ringBytesMax = 256 << 10
	// resumeTimeout is how long that is kept once nobody is attached. A network that changed, or a page
	// that was reloaded, is back sooner.
	resumeTimeout = time.Minute
	// itemCharge is what an entry of a queue counts beside its bytes, so that many small entries are
	// bounded like few large ones. It is more than an entry takes.
	itemCharge = 128
	// chunkBytes is the size of a shared block of output and the most that one Sink.Output gets: about what a
	// worker sends at once in a flood, so that a local viewer gets it with one system call.
	chunkBytes = 64 << 10
	// promptMax is the most that a PromptSink is offered at once: an echo, a line, the prompt of a shell. More
	// than that is worth another goroutine.
	promptMax = 2 << 10
	// replayBytesMax is the history asked for with a full replay. The worker's whole log is smaller.
	replayBytesMax = 8 << 20
	// snapshotBytesMax bounds a full snapshot, history and screen. One that is longer is treated as if the
	// history could not be had. It bounds spawnd's memory by itself, whatever the worker's limits are.
	snapshotBytesMax = 12 << 20
	// nameBytesMax bounds the name that a viewer shows to the others; the rest is cut off.
	nameBytesMax = 128
	// capturesMax bounds the captures of one pane that wait; a further one fails with ErrCaptures.
	capturesMax = 8
	// captureTimeout is how long a capture may wait for its turn and its answer. A worker makes one of its
	// whole log in a fraction of a second, but it may be stopped.
	captureTimeout = 10 * time.Second
	// followersMax bounds the followers of one pane; a further one fails with ErrFollowers.
	followersMax = 32
	// followBytesMax bounds the output that waits for one follower. Who reads it looks at it at once, in
	// memory; beyond, the older bytes are a gap.
	followBytesMax = 1 << 20
	// foregroundEvery is how often the name of the foreground command goes outward at most.
	foregroundEvery = time.Second
	// typersMax bounds the calls of Type that wait for a full command queue of the source.
	typersMax = 8
	// busyRetry is how long a full command queue of the source is left alone.
	busyRetry = 2 * time.Millisecond
	// drainTimeout is how long viewers may take for what is queued when the source has ended.
	drainTimeout = 2 * time.Second
)

// Relations. Each line fails to compile when its difference is negative.
const (
	_ = uint(queueBytesNew - queueBytesMin)
	_ = uint(queueBytesMax - queueBytesNew)
	// A new queue takes all that both rings keep, and the event before it. A ring has at most one piece
	// for each chunk, and the two at its ends.
	_ = uint(queueBytesNew - 2*ringBytesMax - 2*(ringBytesMax/chunkBytes+2)*itemCharge - itemCharge)
	_ = uint(ringBytesMax - chunkBytes)       // a ring holds what is written at once
	_ = uint(followBytesMax - wire.OutputMax) // what comes at once is heard whole
	_ = uint(snapshotBytesMax - replayBytesMax)
	_ = uint(wire.MaxFrameLen - snapshotBytesMax)
)
