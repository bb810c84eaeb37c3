// SPDX-License-Identifier: Apache-2.0

// Package kin tells from what the kernel knows of a local process whether it belongs to a pane.
//
// A process can leave its session, its environment and its parent behind, so that it is in no pane is not
// concluded from having found none: it has to be shown. One thing it cannot leave is a worker that adopts
// orphans; where all do, whoever has no worker among its parents is outside. What cannot be shown either way
// is Unsure.
//
// The limit: a program that has another program of the user start something for it (systemd-run, at, cron,
// ssh to this host, a terminal multiplexer that runs outside), or that moves itself into another control
// group of the user's, is where that takes it; and so is whoever outlives its worker without the marks of a pane.
// Nothing that the kernel says tells it apart from the user.
package kin

// A Pane is a live terminal and its two processes.
type Pane struct {
	ID     string // "p0"
	Child  int    // pid of the shell, which leads the session of its terminal; retained by the worker; 0: not known
	Worker int    // pid of the worker, the shell's parent
	Scope  string // unit that holds the processes of the pane, "" without systemd
}

// Options are what Recognise goes by.
type Options struct {
	Panes  []Pane // that are live now
	Self   int    // pid of spawnd; 0: this process
	Scoped bool   // workers get control groups of their own
	// Adopting says that every worker there is, ours or not, adopts the orphans of its pane.
	Adopting bool
}

// Verdict says where a process is.
type Verdict uint8

const (
	Unsure  Verdict = 0 // nothing is shown
	Inside  Verdict = 1 // in Place.Pane
	Outside Verdict = 2 // in no pane
)

func (v Verdict) String() string { return [...]string{"unsure", "inside", "outside"}[v] }

// A Place is what was found, and by which row of the table.
type Place struct {
	Verdict Verdict
	Pane    string // only when Inside
	Row     byte   // letter of the row; for logs
}

// finding is one fact about a peer, or one about what could not be learned.
type finding uint16

const (
	stranger   finding = 1 << iota // it has ended, is another user's, or the kernel does not say who it is
	inSession                      // it is in the session of a pane's living shell
	inLine                         // a pane's worker or shell is among its parents
	inScope                        // it is in a pane's control group
	oldSession                     // it is in a session whose number was a pane's shell, which lives no more
	oldScope                       // it is in the control group of a worker that we do not hold
	fromUs                         // spawnd is among its parents, or a worker that is neither known nor above spawnd
	marked                         // its environment names a pane, and spawnd's does not; or it cannot be read
	ourSession                     // it is in the session of spawnd, or of one of spawnd's parents
	entered                        // its parents lead out of this process namespace
	loggedIn                       // one of its parents is root's, which we are not, and adopts no orphans
	apart                          // it is in a control group in which no pane's processes start
	traced                         // all of its parents were seen, and every worker adopts orphans
)

// rules are looked at in order; the first one whose fact was found decides.
//
// A  Who is nobody, or somebody else, is no concern of this table.
// B  A pane's processes are in its shell's session, unless they made one of their own.
// C  Those are still below the shell, or below the worker, unless a parent between has ended.
// D  And still in the pane's control group, where there is one, unless they were moved.
// E  The number of a shell that is gone says nothing.
// F  What a dead worker, or a refused one, has left is in no pane that we know, and not outside.
// G  So is whatever we started, such as a worker that is not known yet.
// H  Who inherited a pane's environment says itself that it is not outside. Environments can be made up,
// .  so it does not say in which pane either.
// I  Whoever starts in a session can leave it and never come back, nor enter an existing one. Workers
// .  make a session of their own, so nobody in ours came through one.
// J  The kernel shows no parent where the parent is in an outer namespace, such as for docker exec. An
// .  orphan's parent is always shown: it is one of ours.
// K  Orphans are adopted by process 1 or by a parent of a worker, and those are not counted. So root itself
// .  started this line: sshd, login, cron. It takes a password, or root, to put a pane behind it.
// L  A process is in the control group of its parent until somebody moves it.
// M  What is in a pane would have that pane's worker among its parents.
// N  Nothing is shown.
var rules = []struct {
	row     byte
	found   finding
	verdict Verdict
}{
	{'A', stranger, Unsure},
	{'B', inSession, Inside},
	{'C', inLine, Inside},
	{'D', inScope, Inside},
	{'E', oldSession, Unsure},
	{'F', oldScope, Unsure},
	{'G', fromUs, Unsure},
	{'H', marked, Unsure},
	{'I', ourSession, Outside},
	{'J', entered, Outside},
	{'K', loggedIn, Outside},
	{'L', apart, Outside},
	{'M', traced, Outside},
}

// evidence is all that was found about one peer.
type evidence struct {
	found finding
	pane  string // for the three that say Inside
}

func (e evidence) decide() Place {
	for _, r := range rules {
		if e.found&r.found == 0 {
			continue
		}
		p := Place{Verdict: r.verdict, Row: r.row}
		if p.Verdict == Inside {
			p.Pane = e.pane
		}
		return p
	}
	return Place{Row: 'N'}
}
