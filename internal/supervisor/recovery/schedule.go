// SPDX-License-Identifier: Apache-2.0

package recovery

import "time"

// FinalDeadline is how long the last checkpoint of a shutdown may take. It comes on top of the time that processes are
// given to end, and delays none of that.
const FinalDeadline = 2000 * time.Millisecond

const (
	// endingsWindow is how close together endings count as one event. systemd ends the units of
	// a host within seconds of each other.
	endingsWindow = 10 * time.Second
	// endingsQuiet is how long after a terminal ended of itself nothing is written unasked. What ends a
	// host's terminals ends them one after the other, and what is saved in between is no more than what is left over.
	endingsQuiet = 2 * time.Second
	// holdMax is how long a daemon that still has terminals holds back. By then a host that was going
	// down is down.
	holdMax = 5 * time.Minute
	// endingsMax bounds what is remembered of endings; more of them than that within the window are
	// a collapse whatever runs.
	endingsMax = 4096
)

// Schedule decides when a checkpoint is captured. It is a value on a clock that the caller brings, for one
// goroutine: the caller captures when Due or Request say so, writes elsewhere, and reports with Done.
//
//	           Activate               Due, Request
//	dormant ─────────────► idle ◄──────────────────► writing (one at a time)
//	                        │ ▲          Done
//	         Ended, most of │ │ Activate, Request, or 5 min with something left running
//	   what ran within 10 s ▼ │
//	                       holding (no checkpoint of its own accord, no last one either)
//
// Dormant: a daemon that started empty would only crowd out what the person is about to look for. Holding: when a
// host goes down, terminals end before the daemon hears of it, and what it would save then is what is
// left of the state, not the state.
type Schedule struct {
	policy   Policy
	active   bool
	writing  bool
	owed     bool      // something was due while one was being written
	next     time.Time // of the next periodic one; meant only while active
	heldFrom time.Time // zero when not holding
	putOff   time.Time // since when something due waits for quiet; zero when nothing does
	running  int       // as of the last ending
	endings  []time.Time
}

// NewSchedule begins dormant, unless the daemon has adopted workers: then it is no fresh one.
func NewSchedule(p Policy, now time.Time, adopted bool) *Schedule {
	s := &Schedule{policy: p}
	if adopted {
		s.Activate(now)
	}
	return s
}

// SetPolicy takes a policy that the store has taken. The next checkpoint is due an interval from now.
func (s *Schedule) SetPolicy(p Policy, now time.Time) {
	s.policy = p
	s.next = now.Add(p.Interval)
}

// Activate says that somebody did something on purpose: a mutation or a restore succeeded. That also ends a hold:
// whoever removes everything wants it saved like that.
func (s *Schedule) Activate(now time.Time) {
	if !s.active {
		s.active, s.next = true, now.Add(s.policy.Interval)
	}
	s.release()
}

func (s *Schedule) release() { s.heldFrom, s.putOff, s.endings = time.Time{}, time.Time{}, nil }

// EndAsked says that somebody asked for the daemon's end on purpose. How things stand is what they want, so that ends a
// hold; a daemon that did nothing is dormant still.
func (s *Schedule) EndAsked() { s.release() }

// Ended says that a process ended which nobody had asked to end, and how many are left running.
func (s *Schedule) Ended(now time.Time, running int) {
	for len(s.endings) > 0 && now.Sub(s.endings[0]) > endingsWindow {
		s.endings = s.endings[1:]
	}
	if len(s.endings) < endingsMax {
		s.endings = append(s.endings, now)
	}
	s.running = running
	before := running + len(s.endings)
	if 2*running < before || len(s.endings) == endingsMax {
		s.heldFrom = now
	}
}

// quietAt is when no terminal will have ended of itself for a while, if none does until then. That is waited for, but not
// for ever.
func (s *Schedule) quietAt(now time.Time) time.Time {
	if len(s.endings) == 0 || !s.putOff.IsZero() && now.Sub(s.putOff) >= holdMax {
		return now
	}
	return s.endings[len(s.endings)-1].Add(endingsQuiet)
}

func (s *Schedule) holding(now time.Time) bool {
	if !s.heldFrom.IsZero() && s.running > 0 && now.Sub(s.heldFrom) >= holdMax {
		s.release()
	}
	return !s.heldFrom.IsZero()
}

// Due tells whether to capture now. If so, the write is under way until Done. While one is, it only notes
// that another is owed: however many ticks pass, that is one.
func (s *Schedule) Due(now time.Time) bool {
	if !s.policy.Enabled || !s.active || now.Before(s.next) {
		return false
	}
	if s.writing {
		s.owed = true
		return false
	}
	if quiet := s.quietAt(now); now.Before(quiet) {
		if s.next = quiet; s.putOff.IsZero() {
			s.putOff = now
		}
		return false
	}
	s.next, s.putOff = now.Add(s.policy.Interval), time.Time{}
	if s.holding(now) {
		return false
	}
	s.writing, s.owed = true, false
	return true
}

// Wake is when to ask Due again; false when nothing can become due by time alone.
func (s *Schedule) Wake() (time.Time, bool) {
	return s.next, s.policy.Enabled && s.active && !s.writing
}

// Request asks for a checkpoint now, on purpose. ErrDisabled or ErrBusy; without an error the write is under
// way until Done.
func (s *Schedule) Request(now time.Time) error {
	switch {
	case !s.policy.Enabled:
		return &Failure{Code: CodeDisabled, reason: "checkpoint: recovery is disabled"}
	case s.writing:
		return &Failure{Code: CodeBusy, reason: "checkpoint: another one is being written"}
	}
	s.Activate(now)
	s.writing = true
	return nil
}

// Done says that the write has ended, well or not. One that was owed meanwhile is due at once; a failed one is
// not tried again before its time.
func (s *Schedule) Done(now time.Time) {
	s.writing = false
	if s.owed {
		s.owed, s.next = false, now
	}
}

// Final tells whether the last checkpoint of a shutdown is to be captured: one that is marked open when workers are
// left running, or clean when all were ended and reaped. A write that is under way is waited for first, and its
// Done reported. Not for a daemon that did nothing, and not while holding: the last good one stands. So it does
// when workers are left running and terminals have just begun to end of themselves.
func (s *Schedule) Final(now time.Time, shutdown string) bool {
	if !s.policy.Enabled || !s.active || s.writing || s.holding(now) {
		return false
	}
	if shutdown == ShutdownOpen && now.Before(s.quietAt(now)) {
		return false
	}
	s.writing = true
	return true
}
