// SPDX-License-Identifier: Apache-2.0

package control

// Op is what a viewer does, or for Expire what the clock does.
type Op uint8

const (
	OpJoin    Op = 1  // attaches
	OpLeave   Op = 2  // detaches, or its connection is gone
	OpRequest Op = 3  // asks for control
	OpGrant   Op = 4  // the controller answers yes to Act.Target
	OpDeny    Op = 5  // the controller answers no to Act.Target
	OpTake    Op = 6  // takes control without asking; the caller has checked that it may
	OpRelease Op = 7  // gives control up, or withdraws its own request
	OpType    Op = 8  // sends input
	OpSize    Op = 9  // sends a geometry, or colours
	OpExpire  Op = 10 // time has passed; Act.Viewer is zero
)

// standing is what the acting viewer is to the pane.
type standing uint8

const (
	absent      standing = 1 << iota // not joined
	reader                           // joined to watch only
	watcher                          // joined, could control
	asker                            // its request is open
	controlling                      // controls
)

// condition is what the pane is in, apart from the acting viewer.
type condition uint8

const (
	empty   condition = 1 << iota // free, and nobody is joined who could control
	free                          // free, and somebody is joined who could control
	held                          // controlled, no request open
	asked                         // controlled, a request is open
	overdue                       // the same, and its time is up; told from asked for OpExpire alone
)

const (
	anyone    = absent | reader | watcher | asker | controlling
	member    = reader | watcher | asker | controlling
	anything  = empty | free | held | asked | overdue
	taken     = held | asked
	available = empty | free
)

// step is what is done to the state.
type step uint8

const (
	refuse   step = iota // nothing changes, rule.err says why
	keep                 // allowed, and nothing changes
	add                  // the viewer joins
	addFirst             // the viewer joins and controls
	remove               // the viewer leaves
	removeOn             // the viewer leaves and the pane is free
	removeTo             // the viewer leaves and the asker controls
	withdraw             // the viewer leaves and its request is closed
	assume               // the viewer controls; an open request is closed
	open                 // the viewer's request is opened
	drop                 // the open request is closed
	handOver             // the asker controls
	vacate               // the pane is free
)

// rule is one row: when op is done by one of who while the pane is in one of when, do step.
type rule struct {
	letter byte
	op     Op
	who    standing
	when   condition
	step   step
	err    error // of refuse
}

// rules decide every act. Each possible combination has exactly one row; the test enumerates them.
//
// A  The first viewer that could control does so at once: whoever is alone has a working terminal.
// B  Later ones watch, and so do those attached to watch only, even on an empty pane.
// C  An id joins once.
// D  A watcher's leaving changes nothing for the others.
// E  An asker's leaving withdraws its request, so that a grant that is on its way finds nobody.
// F  A controller's leaving, or its release, frees the pane: whoever asks or types next has it.
// G  Unless somebody has asked already: then that is the next.
// H  A request on a free pane needs nobody's answer.
// I  A request on a held pane asks the controller; one request is open at a time, the first.
// J  Asking again, or for what one has, changes nothing; a request's time is not started anew.
// K  Only the controller answers, and only the request that is open (Apply compares the target).
// L  Taking is immediate and answers an open request too: it was put to the controller before.
// M  An asker may withdraw.
// N  Input on a free pane takes it: nobody should have to look for a button to type.
// O  A size never takes a pane: a second screen that turns or wakes must not resize the first.
// P  Whoever was attached to watch only is refused, whatever the pane is in.
// Q  Nobody acts who is not there: commands of a viewer that left are stale.
// R  An unanswered request is granted when its time is up, not before.
var rules = []rule{
	{'A', OpJoin, absent, empty, addFirst, nil},
	{'B', OpJoin, absent, free | taken, add, nil},
	{'C', OpJoin, member, anything, refuse, ErrJoined},

	{'D', OpLeave, reader | watcher, anything, remove, nil},
	{'E', OpLeave, asker, asked, withdraw, nil},
	{'F', OpLeave, controlling, held, removeOn, nil},
	{'G', OpLeave, controlling, asked, removeTo, nil},

	{'H', OpRequest, watcher, free, assume, nil},
	{'I', OpRequest, watcher, held, open, nil},
	{'I', OpRequest, watcher, asked, refuse, ErrRequested},
	{'J', OpRequest, asker | controlling, taken, keep, nil},

	{'K', OpGrant, controlling, asked, handOver, nil},
	{'K', OpDeny, controlling, asked, drop, nil},
	{'K', OpGrant, controlling, held, refuse, ErrNoRequest},
	{'K', OpDeny, controlling, held, refuse, ErrNoRequest},
	{'K', OpGrant, watcher | asker, free | taken, refuse, ErrNotController},
	{'K', OpDeny, watcher | asker, free | taken, refuse, ErrNotController},

	{'L', OpTake, watcher | asker, free | taken, assume, nil},
	{'J', OpTake, controlling, taken, keep, nil},

	{'F', OpRelease, controlling, held, vacate, nil},
	{'G', OpRelease, controlling, asked, handOver, nil},
	{'M', OpRelease, asker, asked, drop, nil},
	{'M', OpRelease, watcher, free | taken, refuse, ErrNotController},

	{'N', OpType, watcher, free, assume, nil},
	{'N', OpType, watcher | asker, taken, refuse, ErrNotController},
	{'N', OpType, controlling, taken, keep, nil},

	{'O', OpSize, watcher | asker, free | taken, refuse, ErrNotController},
	{'O', OpSize, controlling, taken, keep, nil},

	{'P', OpRequest, reader, anything, refuse, ErrReadOnly},
	{'P', OpGrant, reader, anything, refuse, ErrReadOnly},
	{'P', OpDeny, reader, anything, refuse, ErrReadOnly},
	{'P', OpTake, reader, anything, refuse, ErrReadOnly},
	{'P', OpRelease, reader, anything, refuse, ErrReadOnly},
	{'P', OpType, reader, anything, refuse, ErrReadOnly},
	{'P', OpSize, reader, anything, refuse, ErrReadOnly},

	{'Q', OpLeave, absent, anything, refuse, ErrNotJoined},
	{'Q', OpRequest, absent, anything, refuse, ErrNotJoined},
	{'Q', OpGrant, absent, anything, refuse, ErrNotJoined},
	{'Q', OpDeny, absent, anything, refuse, ErrNotJoined},
	{'Q', OpTake, absent, anything, refuse, ErrNotJoined},
	{'Q', OpRelease, absent, anything, refuse, ErrNotJoined},
	{'Q', OpType, absent, anything, refuse, ErrNotJoined},
	{'Q', OpSize, absent, anything, refuse, ErrNotJoined},

	{'R', OpExpire, anyone, overdue, handOver, nil},
	{'R', OpExpire, anyone, available | taken, keep, nil},
}

// decide finds the row. A combination without one can only be an unknown op.
func decide(op Op, who standing, when condition) rule {
	for _, r := range rules {
		if r.op == op && r.who&who != 0 && r.when&when != 0 {
			return r
		}
	}
	return rule{step: refuse, err: ErrUnknownAct}
}
