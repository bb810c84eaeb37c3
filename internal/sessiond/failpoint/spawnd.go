// SPDX-License-Identifier: Apache-2.0

package failpoint

// The points of spawnd: its start, a launch, what it does for its callers, a terminal's end, its own end.
const (
	ReserveOpened   Point = "reserve.opened"   // a lock file is open, made perhaps, and not locked
	ReserveLocked   Point = "reserve.locked"   // it is, whatever its name stands for by now
	ReserveCompared Point = "reserve.compared" // and the name still stands for it: the session is ours

	HostLocked     Point = "open.locked"           // the first of the two locks is held
	WorkersLocked  Point = "open.workers_locked"   // both are
	TreeLoaded     Point = "open.tree_loaded"      // and nothing was looked at
	RepliesSwept   Point = "open.replies_swept"    // reply folders that nobody owns are gone
	AdoptGreeted   Point = "adopt.greeted"         // a worker has left its old connection for ours
	AdoptDismissed Point = "adopt.dismissed"       // a worker that was never started was told to end
	AdoptSwept     Point = "adopt.swept"           // what an ended one left is gone
	WorkersAdopted Point = "open.adopted"          // all of them, and nobody drives them
	PanesDriven    Point = "open.driven"           // each has its pane, the file has the old ones
	PanesKept      Point = "open.saved"            // nobody can ask yet
	StaleControl   Point = "control.stale_removed" // the last spawnd's socket is gone
	ControlBound   Point = "control.bound"         // callers queue, nobody accepts
	PageBound      Point = "page.bound"
	Serving        Point = "open.serving" // the address was told

	CallAccepted Point = "call.accepted"
	CallRead     Point = "call.read"        // a whole request, and nothing was done
	CallDone     Point = "call.done"        // and its caller does not know
	AnswerTorn   Point = "call.answer_torn" // half of the answer is written
	CallAnswered Point = "call.answered"

	PanePlaced      Point = "new.placed"         // in the tree in memory
	LaunchReserved  Point = "launch.reserved"    // the lock is ours, there is no worker
	LaunchForked    Point = "launch.forked"      // the lock is ours and the worker's
	LaunchHanded    Point = "launch.handed_over" // the lock is the worker's alone
	LaunchReady     Point = "launch.ready"       // it listens
	LaunchScoped    Point = "launch.scoped"
	LaunchGreeted   Point = "launch.greeted" // we are its supervisor, it has no program
	StartTorn       Point = "launch.start_torn"
	LaunchStarted   Point = "launch.started" // its program starts, and no file knows it
	LaunchAbandoned Point = "abandon.before" // a launch has failed, its worker may live
	LaunchKilled    Point = "abandon.killed"
	LaunchSwept     Point = "abandon.swept"
	PaneLaunched    Point = "new.launched" // nobody reads its output
	PaneDriven      Point = "new.driven"   // it runs, and is not on disk
	PaneKept        Point = "new.saved"    // it is, and the caller does not know

	TreeTorn    Point = "tree.torn"    // half of the new file is written
	TreeWritten Point = "tree.written" // the new file is whole, under a name of its own
	TreeRenamed Point = "tree.renamed" // and not yet safe from a crash of the host
	TreeSaved   Point = "tree.saved"

	ViewerAttached Point = "fanout.attached" // no byte was given to it
	FrameReceived  Point = "fanout.received" // bytes have left the worker's socket and are nowhere else
	FrameApplied   Point = "fanout.applied"  // they are in the viewers' queues
	FrameGiven     Point = "fanout.given"    // one viewer has them
	InputAllowed   Point = "fanout.input"    // a key may be typed, and was not sent
	CommandTorn    Point = "command.torn"    // half of a command is written
	CommandWritten Point = "command.written"
	ViewerDetached Point = "fanout.detached"

	ReplyMade       Point = "signal.folder_made" // the folder for the answer, and nothing in it
	ReplyBound      Point = "signal.bound"       // the socket for the answer, nothing was asked
	SignalAsked     Point = "signal.asked"       // and no answer was read
	Pressed         Point = "terminate.pressed"  // the program was signalled
	Dismissed       Point = "terminate.dismissed"
	HandleSwept     Point = "detach.swept"     // what the worker left is gone
	PaneEnded       Point = "close.ended"      // the pane is in the tree, its worker is gone
	RestartEnded    Point = "restart.ended"    // the old program is gone, the pane says so
	RestartKept     Point = "restart.saved"    // the pane is another worker's, which does not exist
	RestartLaunched Point = "restart.launched" // it does, and nobody reads its output
	PaneForgot      Point = "close.forgot"     // out of the tree in memory
	PaneClosed      Point = "close.saved"
	WorkerLost      Point = "pane.lost"  // known to be, in memory
	FactsSaving     Point = "facts.save" // before what was noted is written

	WaysClosed Point = "stop.ways_closed" // nobody is served any more
	Detached   Point = "stop.detached"    // no worker is connected
	LastSaved  Point = "stop.saved"
)

var spawndPoints = [...]Point{
	ReserveOpened, ReserveLocked, ReserveCompared,
	HostLocked, WorkersLocked, TreeLoaded, RepliesSwept, AdoptGreeted, AdoptDismissed, AdoptSwept, WorkersAdopted, PanesDriven, PanesKept,
	StaleControl, ControlBound, PageBound, Serving, CallAccepted, CallRead, CallDone, AnswerTorn, CallAnswered, PanePlaced, LaunchReserved,
	LaunchForked, LaunchHanded, LaunchReady, LaunchScoped, LaunchGreeted, StartTorn, LaunchStarted, LaunchAbandoned, LaunchKilled, LaunchSwept,
	PaneLaunched, PaneDriven, PaneKept, TreeTorn, TreeWritten, TreeRenamed, TreeSaved, ViewerAttached, FrameReceived, FrameApplied, FrameGiven,
	InputAllowed, CommandTorn, CommandWritten, ViewerDetached, ReplyMade, ReplyBound, SignalAsked, Pressed, Dismissed, HandleSwept, PaneEnded,
	RestartEnded, RestartKept, RestartLaunched, PaneForgot, PaneClosed, WorkerLost, FactsSaving, WaysClosed, Detached, LastSaved,
}

// SpawndPoints returns every point of spawnd.
func SpawndPoints() []Point { return append([]Point(nil), spawndPoints[:]...) }
