// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"spawn/internal/sessiond/vfs"
)

// A beginning is a start on a store of two generations, of which the first has just expired and the second has text, and on a
// temporary file with text, which a crash left.
type beginning struct {
	policy        Policy
	after, passes string // sets of generations, as a story has them
	states        int
}

var beginnings = map[string]beginning{
	"text":    {policy: on(9), after: "2", states: 10},
	"no text": {policy: withoutTexts(9), after: "", passes: "1", states: 13},
}

// brink is what a beginning finds.
func brink(t *testing.T) (*vfs.Crash, *world) {
	t.Helper()
	files, w := prepare(t)
	w.files = files
	plantFile(t, w.start(t, on(9)), tempBegin+"00000003-89ab-4cde-8fab-0123456789ab", []byte("second"))
	w.now = noon.Plus(defaultAge)
	return files.Clone(), w
}

func (b beginning) allows(set string) bool {
	return set == "12" || set == b.after || b.passes != "" && set == b.passes
}

// F10 for a start: the next one finds whole generations, and none that the first is known to have removed.
func TestPowerLossDuringAStart(t *testing.T) {
	for name, b := range beginnings {
		t.Run(name, func(t *testing.T) {
			files, w := brink(t)
			w.files = files
			w.start(t, b.policy)
			states := 0
			files.States(func(state vfs.CrashState) bool {
				states++
				at := fmt.Sprintf("after %d steps, the last %q, kept %s", state.Done, state.Last, state.What)
				raw := everything(t, state.FS)
				set, done := setOf(survey(t, w, on(9), state.FS, at)), state.Done == files.Len()
				if !b.allows(set) || done && set != b.after {
					t.Errorf("%s: holds %q", at, set)
				}
				if done && (strings.Contains(raw, tempBegin) || b.policy.Text == TextModeOff && strings.Contains(raw, "second")) {
					t.Errorf("%s: left %s", at, raw)
				}
				return !t.Failed()
			})
			if states != b.states {
				t.Errorf("%d states, and there were %d", states, b.states)
			}
		})
	}
}

// Every call of opening and of a start fails in every way, once or from then on. spawnd starts, unless the folder cannot be
// opened, or text is to be gone and may be left. What was not removed is told, and the next checkpoint is written.
func TestEveryFailingCallAtAStart(t *testing.T) {
	for name, b := range beginnings {
		t.Run(name, func(t *testing.T) {
			opening, purging := callsOfAStart(t)
			if b.policy.Text != TextModeOff {
				purging = opening
			}
			refused := 0
			for _, fault := range ways(0) {
				for _, fault.On = range []bool{false, true} {
					fault.At = 1
					for b.failOnce(t, fault, purging, &refused) && !t.Failed() {
						fault.At++
					}
				}
			}
			if refused < opening {
				t.Errorf("only %d starts failed", refused)
			}
		})
	}
}

// callsOfAStart are the calls until the store is open, and until no text is left in it.
func callsOfAStart(t *testing.T) (opening, purging int) {
	t.Helper()
	files, w := brink(t)
	faulty := &vfs.Faulty{FS: files}
	w.files = faulty
	s, err := w.open()
	opening = faulty.Calls()
	must(t, err, s.purgeText(withoutTexts(9)))
	return opening, faulty.Calls()
}

func (b beginning) failOnce(t *testing.T, fault vfs.Fault, may int, refused *int) bool {
	t.Helper()
	files, w := brink(t)
	faulty := &vfs.Faulty{FS: files, Fault: fault}
	w.files = faulty
	s, err := w.open()
	if err == nil {
		err = s.Start(b.policy, true)
	}
	struck := faulty.Struck()
	faulty.Fault = vfs.Fault{}
	at := fmt.Sprintf("fault %+v: %v", fault, err)
	if err != nil {
		*refused++
		if !errors.Is(err, ErrIO) || fault.At > may {
			t.Errorf("%s: spawnd does not start", at)
		}
		return struck
	}
	files.Final(func(state vfs.CrashState) bool {
		if raw := everything(t, state.FS); b.policy.Text == TextModeOff && strings.Contains(raw, "second") {
			t.Errorf("%s: text is left", at)
		}
		if set := setOf(survey(t, w, on(9), state.FS, at)); !b.allows(set) {
			t.Errorf("%s: holds %q", at, set)
		}
		return !t.Failed()
	})
	quiet := *w
	quiet.files = files.Clone()
	if set := setOf(survey(t, &quiet, on(9), quiet.files, at)); set != b.after && s.Stats().LastPruneError != CodeIO {
		t.Errorf("%s: holds %q, and nothing is told of it: %+v", at, set, s.Stats())
	}
	if done, err := s.Publish(context.Background(), body(w.now, 1, "")); err != nil || done.Prune != nil {
		t.Errorf("%s: the next publication: %+v, %v", at, done, err)
	}
	return struck
}

// A checkpoint that cannot be read keeps nobody from anything but knowing what is in it: spawnd starts, saves, lists and forgets.
// It is told of, and what has to know fails.
func TestAnUnreadableCheckpointIsInNobodysWay(t *testing.T) {
	disk := &garbling{FS: vfs.NewCrash()}
	w := newWorld(disk, "")
	s := w.start(t, on(9))
	bad := w.publish(t, s, 1, "text").ID
	w.publish(t, s, 1, "")
	disk.broken = func(name string) bool { return name == bad+finalEnd }
	s = w.start(t, on(9))
	if stats := s.Stats(); stats.LastPruneError != CodeIO || stats.Unsafe != 1 || stats.Valid != 1 {
		t.Errorf("stats %+v", stats)
	}
	if got := shown(t, s); got != "2:valid 0:unsafe" {
		t.Errorf("listed %s", got)
	}
	if _, err := s.Read(bad); !errors.Is(err, ErrIO) || !errors.Is(err, syscall.EIO) {
		t.Errorf("read: %v", err)
	}
	done, err := s.Publish(context.Background(), body(w.now, 1, ""))
	if err != nil || !errors.Is(done.Prune, ErrIO) || done.Generation <= 2 {
		t.Errorf("published %+v, %v", done, err)
	}
	if err := s.SetPolicy(on(1)); !errors.Is(err, ErrIO) || s.mu.policy != on(9) {
		t.Errorf("fewer: %v, in force is %+v", err, s.mu.policy)
	}
	next, err := w.open()
	must(t, err)
	if err := next.Start(withoutTexts(9), true); !errors.Is(err, ErrIO) {
		t.Errorf("started without text, and there may be some: %v", err)
	}
	must(t, s.Forget(bad))
	if left := everything(t, disk); strings.Contains(left, bad) {
		t.Errorf("it is there still: %s", left)
	}
	must(t, next.Start(withoutTexts(9), true))
	w.publish(t, s, 1, "")
}

// What a daemon inherits is what it finds when it can look for the first time.
func TestAnInheritanceIsTakenWhenItCanBeSeen(t *testing.T) {
	files := vfs.NewCrash()
	w := newWorld(files, "")
	good := w.publish(t, w.start(t, on(2)), 34, "")
	faulty := &vfs.Faulty{FS: files}
	w.files = faulty
	s, err := w.open()
	must(t, err)
	faulty.Fault = vfs.Fault{At: faulty.Calls() + 1, Mode: vfs.FailCall, Err: syscall.EIO, On: true}
	must(t, s.Start(on(2), false))
	faulty.Fault = vfs.Fault{}
	w.now = w.now.Plus(12 * 3600)
	for range 3 {
		w.publish(t, s, 1, "")
	}
	if got := shown(t, s); got != "1:valid 4:valid" {
		t.Errorf("kept %s", got)
	}
	if _, err := s.Read(good.ID); err != nil {
		t.Error(err)
	}
}

// C is a success even when what it pushes out cannot be removed. That is told, and done as soon as it can be.
func TestAPruneThatFailsIsTold(t *testing.T) {
	failed := 0
	for at, struck := 1, true; struck; at++ {
		files, w := prepare(t)
		faulty := &vfs.Faulty{FS: files}
		w.files = faulty
		s := w.start(t, on(2))
		faulty.Fault = vfs.Fault{At: faulty.Calls() + at, Mode: vfs.FailCall, Err: syscall.EIO, On: true}
		done, err := s.Publish(context.Background(), body(w.now, 3, ""))
		struck = faulty.Struck()
		faulty.Fault = vfs.Fault{}
		if err != nil || done.Prune == nil {
			continue
		}
		failed++
		stats := s.Stats()
		if !errors.Is(done.Prune, ErrIO) || stats.LastPruneError != CodeIO || stats.LastError != "" || stats.LastSuccess == 0 || done.Generation != 3 {
			t.Errorf("fault at %d: %+v, stats %+v", at, done, stats)
		}
		if got := shown(t, s); got != "2:valid 3:valid" {
			t.Errorf("fault at %d: then there is %s", at, got)
		}
		if stats := s.Stats(); stats.LastPruneError != "" || stats.Valid != 2 {
			t.Errorf("fault at %d: still told: %+v", at, stats)
		}
	}
	if failed < 3 { // to look, to remove, to sync
		t.Errorf("%d calls failed behind the publication", failed)
	}
}
