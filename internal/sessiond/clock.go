// SPDX-License-Identifier: Apache-2.0

package sessiond

import "time"

// Clock is where the worker's timers come from, so that tests need not wait for two minutes.
type Clock interface {
	Now() time.Time
	// NewTimer returns a timer that fires once, d from now.
	NewTimer(d time.Duration) Timer
}

// Timer is one pending timer.
type Timer interface {
	C() <-chan time.Time
	// Stop disarms it; a value that already lies in C stays there.
	Stop()
}

// systemClock is the machine's own.
type systemClock struct{}

func (systemClock) Now() time.Time                 { return time.Now() }
func (systemClock) NewTimer(d time.Duration) Timer { return systemTimer{time.NewTimer(d)} }

type systemTimer struct{ t *time.Timer }

func (s systemTimer) C() <-chan time.Time { return s.t.C }
func (s systemTimer) Stop()               { s.t.Stop() }

// alarm is a place for at most one timer, owned by the loop. The zero value is silent.
type alarm struct{ timer Timer }

// arm replaces whatever was armed; d of 0 only disarms.
func (a *alarm) arm(c Clock, d time.Duration) {
	a.disarm()
	if d > 0 {
		a.timer = c.NewTimer(d)
	}
}

func (a *alarm) disarm() {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.timer = nil
}

func (a *alarm) armed() bool { return a.timer != nil }

// fires is nil, which never is ready, while nothing is armed.
func (a *alarm) fires() <-chan time.Time {
	if a.timer == nil {
		return nil
	}
	return a.timer.C()
}
