// SPDX-License-Identifier: Apache-2.0

package fleet

// What became of the look at a terminal's reservation.
type lockFact uint8

const (
	lockUnknown lockFact = iota // it could not be looked at
	lockFree                    // nobody holds it: whoever did is gone
	lockHeld                    // a worker lives, or starts, or is stopped
	lockFacts
)

// What became of the dial. Only the reservation says whether a worker lives; this says whether it can
// be reached.
type reachFact uint8

const (
	reachFailed    reachFact = iota // not in time, as when a stopped worker's backlog is full, or for another reason
	reachNobody                     // refused or no socket: between bind and listen, or on its way out
	reachForeign                    // another user answers there
	reachConnected                  // one of ours answers
	reachFacts
)

// What became of the greeting.
type helloFact uint8

const (
	helloNone    helloFact = iota // nothing came in time, or the connection ended
	helloGarbled                  // what came is no HELLO
	helloVersion                  // a HELLO of another protocol version
	helloSession                  // a HELLO of another session than the path's
	helloWaiting                  // ours, and never started
	helloLive                     // ours, running or just ended
	helloFacts
)

// facts is all that an adoption is decided on.
type facts struct {
	lock  lockFact
	reach reachFact
	hello helloFact
}

// decision is what to do with a terminal found in the folder.
type decision uint8

const (
	leave   decision = iota // touch nothing, and say why
	adopt                   // drive it
	sweep                   // remove what it left
	dismiss                 // tell it to end
)

// row is one line of the table. A nil column fits everything.
type row struct {
	letter byte
	lock   []lockFact
	reach  []reachFact
	hello  []helloFact
	do     decision
	code   Code
}

// rows is the table. Each combination of facts fits exactly one.
//
//	A  A worker of ours answers. It is ours to drive; an end that nobody was told follows as EXIT.
//	B  Nobody holds the reservation, so nobody may be using what lies there: remove it. Whatever a dial
//	   came to is no matter.
//	C  The reservation cannot be looked at: then nothing is known, and nothing may be removed.
//	D  Held, and nobody listens. A worker does not listen for a moment at both ends of its life.
//	E  Held by us, and somebody else answers on the socket: an attack, or a broken folder.
//	F  Held, and out of reach: stopped, most likely. It keeps its terminal and may go on any time.
//	G  Connected, and silent: stopped, or starved. Never a reason to kill it.
//	H  Connected, and what came is no greeting.
//	I  A worker of another version. It goes on; a spawnd of its version can drive it.
//	J  A worker of another session answers on this one's path. Its instance must not be trusted.
//	K  A worker that was never started: its spawnd died within the launch. It has no terminal to lose,
//	   and would wait for its time to be over.
var rows = []row{
	{'A', []lockFact{lockHeld}, []reachFact{reachConnected}, []helloFact{helloLive}, adopt, ""},
	{'B', []lockFact{lockFree}, nil, nil, sweep, CodeEnded},
	{'C', []lockFact{lockUnknown}, nil, nil, leave, CodeUnreadable},
	{'D', []lockFact{lockHeld}, []reachFact{reachNobody}, nil, leave, CodeNotListening},
	{'E', []lockFact{lockHeld}, []reachFact{reachForeign}, nil, leave, CodeForeign},
	{'F', []lockFact{lockHeld}, []reachFact{reachFailed}, nil, leave, CodeUnreachable},
	{'G', []lockFact{lockHeld}, []reachFact{reachConnected}, []helloFact{helloNone}, leave, CodeSilent},
	{'H', []lockFact{lockHeld}, []reachFact{reachConnected}, []helloFact{helloGarbled}, leave, CodeGarbled},
	{'I', []lockFact{lockHeld}, []reachFact{reachConnected}, []helloFact{helloVersion}, leave, CodeVersion},
	{'J', []lockFact{lockHeld}, []reachFact{reachConnected}, []helloFact{helloSession}, leave, CodeSession},
	{'K', []lockFact{lockHeld}, []reachFact{reachConnected}, []helloFact{helloWaiting}, dismiss, CodeUnstarted},
}

// decide returns the row that fits. It is total; the test over all combinations says so.
func decide(f facts) row {
	for _, r := range rows {
		if r.fits(f) {
			return r
		}
	}
	return row{do: leave, code: CodeUnreadable}
}

func (r row) fits(f facts) bool {
	return among(r.lock, f.lock) && among(r.reach, f.reach) && among(r.hello, f.hello)
}

func among[T comparable](column []T, v T) bool {
	if column == nil {
		return true
	}
	for _, c := range column {
		if c == v {
			return true
		}
	}
	return false
}
