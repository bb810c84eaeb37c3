// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"
)

const (
	lastState = 6 // two values beyond the last state, and zero
	lastEvent = 7
)

func TestEveryCombinationIsDecided(t *testing.T) {
	want := map[State]map[Event]State{
		Waiting: {Started: Running, StartFailed: Exited, Dismissed: Ended, Expired: Ended},
		Running: {ChildExited: Exited},
		Exited:  {Dismissed: Ended, Expired: Ended},
	}
	for s := State(0); s <= lastState; s++ {
		for e := Event(0); e <= lastEvent; e++ {
			next, ok := Next(s, e)
			expected, legal := want[s][e]
			if !legal {
				expected = s
			}
			if next != expected || ok != legal {
				t.Errorf("%v + %v: got %v, %t, want %v, %t", s, e, next, ok, expected, legal)
			}
		}
	}
}

func TestStateOnlyMovesForwardAndAlwaysReachesTheEnd(t *testing.T) {
	for at, next := range moves {
		if next <= at.state {
			t.Errorf("%v + %v goes back to %v", at.state, at.event, next)
		}
	}
	for _, s := range []State{Waiting, Exited} {
		if next, ok := Next(s, Expired); !ok || next != Ended || s.Timeout() == 0 {
			t.Errorf("%v has no end of its own", s)
		}
	}
	for _, s := range []State{Running, Ended} {
		if _, ok := Next(s, Expired); ok || s.Timeout() != 0 {
			t.Errorf("a timer can end %v", s)
		}
	}
}

func TestTimersAreThoseOfTheProtocol(t *testing.T) {
	if Waiting.Timeout() != 120*time.Second || Exited.Timeout() != 60*time.Second {
		t.Errorf("got %v and %v", Waiting.Timeout(), Exited.Timeout())
	}
}

func TestEveryValueHasItsOwnName(t *testing.T) {
	seen := map[string]bool{}
	for s := Waiting; s <= Ended; s++ {
		seen[s.String()] = true
	}
	for e := Started; e <= Expired; e++ {
		seen[e.String()] = true
	}
	if len(seen) != 9 {
		t.Errorf("names are %v", seen)
	}
	for name := range seen {
		if strings.ContainsAny(name, "()") {
			t.Errorf("%q is no name", name)
		}
	}
}
