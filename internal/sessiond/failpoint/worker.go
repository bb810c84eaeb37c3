// SPDX-License-Identifier: Apache-2.0

package failpoint

// The points of a worker, in the order of its life, as far as it has one.
const (
	Began      Point = "process.began"    // nothing was done yet
	Hardened   Point = "process.hardened" // undumpable, signals ignored
	LockPassed Point = "lock.passed"      // the inherited descriptor is ours and closes on exec
	FolderOpen Point = "folder.open"      // the worker folder is open
	LockHeld   Point = "lock.held"        // the reservation was verified
	KeyMade    Point = "key.made"
	LogMade    Point = "log.made" // what a dead worker left of its log is gone

	StaleRemoved   Point = "socket.stale_removed" // before each of the two sockets is bound
	StreamBound    Point = "socket.stream_bound"  // one socket listens, the other does not exist
	LifecycleBound Point = "socket.both_bound"
	BeforeReady    Point = "ready.before" // both are served, nobody knows
	AfterReady     Point = "ready.after"

	Accepted     Point = "peer.accepted"
	BeforeHello  Point = "hello.before"
	HelloTorn    Point = "hello.torn" // half of it is written
	HelloWritten Point = "hello.written"
	TookOver     Point = "peer.took_over" // the old connection is gone, the new one's reader has not started

	StartRead   Point = "start.read" // START is valid and nothing was done about it
	PtyOpen     Point = "pty.open"
	BeforeFork  Point = "fork.before"
	AfterFork   Point = "fork.after" // the program lives and nobody has noted it
	Running     Point = "start.running"
	InputQueued Point = "input.queued"
	BeforeInput Point = "input.before_write"
	AfterInput  Point = "input.after_write"

	OutputRead   Point = "output.read"      // bytes have left the PTY and are nowhere else
	OutputShown  Point = "output.shown"     // screen and log have them, the supervisor does not
	SegmentMade  Point = "log.segment_made" // a new file without a record
	RecordSealed Point = "log.sealed"       // its number is spent
	RecordTorn   Point = "log.torn"         // half of it is written
	RecordStored Point = "log.stored"       // and nobody has counted it
	LineTold     Point = "history.told"     // logged, and queued for the supervisor
	WipeBefore   Point = "log.wipe_before"  // ED 3 was read
	WipeAfter    Point = "log.wipe_after"   // no file is left, the epoch is the old one
	FrameBefore  Point = "frame.before"     // frames wait for the socket
	FrameTorn    Point = "frame.torn"       // half of them is written
	FrameWritten Point = "frame.written"    // and their buffer is not wiped
	Resized      Point = "resize.screen"    // the screen has the size, the terminal not yet
	ReplayMade   Point = "replay.made"      // plaintext in memory, nothing queued
	CaptureMade  Point = "capture.made"     // likewise
	SignalRead   Point = "signal.read"      // a valid request
	SignalSent   Point = "signal.sent"      // the process group has it, the sender no answer
	SignalAcked  Point = "signal.acked"
	Reaped       Point = "exit.reaped"       // the number is free
	OutputEnded  Point = "exit.output_ended" // the last byte was taken
	ExitTold     Point = "exit.told"         // EXIT is queued
	Ordered      Point = "end.ordered"       // the worker was told to end, the program knows nothing
	EndStepped   Point = "end.stepped"       // the program was signalled

	LoopLeft      Point = "end.loop_left"
	Parted        Point = "end.parted" // the last frames are out, the connection is closed
	LogDestroyed  Point = "retire.log_destroyed"
	KeyDestroyed  Point = "retire.key_destroyed"
	SocketsClosed Point = "retire.sockets_closed" // and their names gone
	LockRemoved   Point = "retire.lock_removed"   // the name is gone, the lock is held
	Retired       Point = "retire.done"
)

var workerPoints = [...]Point{
	Began, Hardened, LockPassed, FolderOpen, LockHeld, KeyMade, LogMade, StaleRemoved, StreamBound, LifecycleBound, BeforeReady, AfterReady,
	Accepted, BeforeHello, HelloTorn, HelloWritten, TookOver, StartRead, PtyOpen, BeforeFork, AfterFork, Running, InputQueued, BeforeInput,
	AfterInput, OutputRead, OutputShown, SegmentMade, RecordSealed, RecordTorn, RecordStored, LineTold, WipeBefore, WipeAfter, FrameBefore,
	FrameTorn, FrameWritten, Resized, ReplayMade, CaptureMade, SignalRead, SignalSent, SignalAcked, Reaped, OutputEnded, ExitTold, Ordered, EndStepped,
	LoopLeft, Parted, LogDestroyed, KeyDestroyed, SocketsClosed, LockRemoved, Retired,
}

// WorkerPoints returns every point of a worker.
func WorkerPoints() []Point { return append([]Point(nil), workerPoints[:]...) }
