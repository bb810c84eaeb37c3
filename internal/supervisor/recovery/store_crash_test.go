// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"spawn/internal/sessiond/vfs"
)

// soon is behind everything that the stories publish, and before anything expires.
var soon = noon.Plus(60)

// A story is one thing that is done to a store which holds two generations, the second with text.
type story struct {
	name   string
	policy Policy
	run    func(w *world, s *Store) error
}

var stories = []story{
	{"publish", on(9), publishOne},
	{"publish and prune", on(9), func(w *world, s *Store) error {
		s.mu.policy = on(1) // without the cleaning up that goes with it
		return publishOne(w, s)
	}},
	{"publish twice", on(2), func(w *world, s *Store) error { return errors.Join(publishOne(w, s), publishOne(w, s)) }},
	{"forget", on(9), func(w *world, s *Store) error { return s.Forget(w.first) }},
	{"text off", on(9), func(_ *world, s *Store) error {
		p := on(9)
		p.Text = TextModeOff
		return s.SetPolicy(p)
	}},
	{"fewer", on(9), func(_ *world, s *Store) error { return s.SetPolicy(on(1)) }},
	{"expire", on(9), func(w *world, s *Store) error {
		w.now = noon.Plus(defaultAge + 2)
		_, err := s.List()
		return err
	}},
}

func publishOne(w *world, s *Store) error {
	done, err := s.Publish(context.Background(), body(w.now, 3, "third"))
	return errors.Join(err, done.Prune)
}

// prepare is a file system with a store of two generations, all of it durable, and its surroundings.
func prepare(t testing.TB) (*vfs.Crash, *world) {
	t.Helper()
	files := vfs.NewCrash()
	w := newWorld(files, "")
	s := w.start(t, on(9))
	w.first = w.publish(t, s, 1, "").ID
	w.publish(t, s, 2, "second")
	return files.Clone(), w
}

// held is what a store holds, generation by generation, with everything in it. It fails the test for anything that
// is not valid.
func held(t testing.TB, s *Store) map[int64]string {
	t.Helper()
	entries, err := s.List()
	must(t, err)
	out := map[int64]string{}
	for _, e := range entries {
		if e.Status != StatusValid {
			t.Errorf("generation %d is %s", e.Generation, e.Status)
			continue
		}
		c, err := s.Read(e.ID)
		must(t, err)
		out[e.Generation] = fmt.Sprint(len(c.Panes), c.Panes[0].Text)
	}
	return out
}

// outcome runs a story without a fault: what is there before and behind it.
func outcome(t testing.TB, st story) (before, after map[int64]string) {
	t.Helper()
	files, w := prepare(t)
	w.files = files
	s := w.start(t, st.policy)
	before = held(t, s)
	must(t, st.run(w, s))
	return before, held(t, s)
}

// F10: whatever a power loss leaves, after each step of each story and with each set of unsynced changes, a store opens
// and holds whole generations, of which every one is from before or behind the story; behind a success, it
// is what the success said.
func TestPowerLossLeavesWholeGenerations(t *testing.T) {
	for _, st := range stories {
		t.Run(st.name, func(t *testing.T) {
			before, after := outcome(t, st)
			files, w := prepare(t)
			w.files = files
			s, err := w.open()
			must(t, err)
			must(t, s.Start(st.policy, true))
			began := files.Len()
			must(t, st.run(w, s))
			states := 0
			files.States(func(state vfs.CrashState) bool {
				states++
				judge(t, w, st, state, before, after, state.Done >= began, state.Done == files.Len())
				return !t.Failed()
			})
			if states < 4 {
				t.Errorf("only %d states", states)
			}
			t.Logf("%d states", states)
		})
	}
}

// judge checks one state that a power loss left.
func judge(t *testing.T, w *world, st story, state vfs.CrashState, before, after map[int64]string, begun, done bool) {
	t.Helper()
	at := fmt.Sprintf("after %d steps, the last %q, kept %s", state.Done, state.Last, state.What)
	raw := everything(t, state.FS)
	again := *w
	again.files, again.now = state.FS, soon
	p := st.policy
	p.MaxCheckpoints = 9 // see what is there, not what would be left of it
	s := again.start(t, p)
	got := held(t, s)
	for generation, content := range got {
		if content != before[generation] && content != after[generation] {
			t.Errorf("%s: generation %d holds %s", at, generation, content)
		}
	}
	if !begun && !maps.Equal(got, before) {
		t.Errorf("%s: lost generations before anything was done", at)
	}
	if done && !maps.Equal(got, after) {
		t.Errorf("%s: holds %v behind a success, want %v", at, got, after)
	}
	if newest := slices.Max(append(slices.Collect(maps.Keys(got)), 0)); len(after) > 0 && newest == 0 {
		t.Errorf("%s: nothing is left", at)
	}
	if done && st.name == "text off" && strings.Contains(raw, "second") {
		t.Errorf("%s: text is left behind a success", at)
	}
	if strings.Contains(everything(t, state.FS), tempBegin) {
		t.Errorf("%s: a temporary file is left after a start", at)
	}
	next, err := s.Publish(context.Background(), body(again.now, 1, ""))
	if err != nil || got[next.Generation] != "" {
		t.Errorf("%s: next publication: %+v, %v", at, next, err)
	}
}

// The same from nothing: the folders' own names have to be durable too.
func TestPowerLossDuringTheFirstPublication(t *testing.T) {
	files := vfs.NewCrash()
	w := newWorld(files, "")
	s := w.start(t, on(3))
	must(t, publishOne(w, s))
	files.States(func(state vfs.CrashState) bool {
		again := *w
		again.files = state.FS
		got := held(t, again.start(t, on(3)))
		if len(got) > 1 || state.Done == files.Len() && len(got) != 1 {
			t.Errorf("after %d steps, the last %q, kept %s: holds %v", state.Done, state.Last, state.What, got)
		}
		return !t.Failed()
	})
}

var errnos = []error{
	syscall.ENOSPC, syscall.EIO, syscall.EDQUOT, syscall.EACCES, syscall.EROFS, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM,
	syscall.EINTR, syscall.EFBIG, syscall.ESTALE,
}

// F6, F7, F8: every call of every story fails in every way, once or from then on. A success is a success even if
// power is lost right then; a failure that is not of unknown outcome has changed nothing; what is there is
// whole; and when the fault is over, the next checkpoint succeeds without a restart.
func TestEveryFailingCall(t *testing.T) {
	for _, st := range stories {
		t.Run(st.name, func(t *testing.T) {
			before, after := outcome(t, st)
			runs, errnos := 0, errnos
			if !strings.HasPrefix(st.name, "publish") || st.name == "publish twice" {
				errnos = errnos[:4] // nothing asks which it is; the rest is for the path that is taken every 30 seconds
			}
			for mode, errnos := range map[vfs.Mode][]error{
				vfs.FailCall: errnos, vfs.FailDone: errnos[:2], vfs.ShortWrite: errnos[:1], vfs.LyingWrite: {nil},
			} {
				for _, errno := range errnos {
					for _, on := range []bool{false, true} {
						for at, struck := 1, true; struck && !t.Failed(); at++ {
							struck = failOnce(t, st, vfs.Fault{At: at, Mode: mode, Err: errno, On: on, Keep: -1}, before, after)
							runs++
						}
					}
				}
			}
			t.Logf("%d runs", runs)
		})
	}
}

// failOnce runs a story with one fault and tells whether it struck.
func failOnce(t *testing.T, st story, fault vfs.Fault, before, after map[int64]string) bool {
	t.Helper()
	files, w := prepare(t)
	faulty := &vfs.Faulty{FS: files}
	w.files = faulty
	s := w.start(t, st.policy)
	fault.At += faulty.Calls()
	faulty.Fault = fault
	err := st.run(w, s)
	struck := faulty.Struck()
	faulty.Fault = vfs.Fault{}
	at := fmt.Sprintf("fault %+v: %v", fault, err)
	if _, ours := errors.AsType[*Failure](err); err != nil && !ours {
		t.Errorf("%s: not a failure of this package", at)
	}
	quiet := *w
	quiet.files, quiet.now = files.Clone(), soon
	left := everything(t, quiet.files)
	calm := st.policy
	calm.MaxCheckpoints = 9
	got := held(t, quiet.start(t, calm))
	for generation, content := range got {
		if content != before[generation] && content != after[generation] {
			t.Errorf("%s: generation %d holds %s", at, generation, content)
		}
	}
	if strings.Count(left, tempBegin) > 1 {
		t.Errorf("%s: temporary files are left: %s", at, left)
	}
	if err == nil && st.name != "expire" { // a listing succeeds even if it cannot clean up
		everyLoss(t, w, files, calm, after, at)
	}
	publishes := strings.HasPrefix(st.name, "publish")
	if publishes && st.name != "publish twice" && err != nil && !errors.Is(err, ErrUnknown) && s.Stats().LastError != "" && !maps.Equal(got, before) {
		t.Errorf("%s: changed to %v", at, got)
	}
	if next, err := s.Publish(context.Background(), body(w.now, 1, "")); err != nil || got[next.Generation] != "" {
		t.Errorf("%s: the next publication: %+v, %v", at, next, err)
	}
	return struck
}

// everyLoss demands that a success stands whatever power loss follows.
func everyLoss(t *testing.T, w *world, files *vfs.Crash, p Policy, after map[int64]string, at string) {
	t.Helper()
	files.States(func(state vfs.CrashState) bool {
		if state.Done < files.Len() {
			return true
		}
		again := *w
		again.files, again.now = state.FS, soon
		if got := held(t, again.start(t, p)); !maps.Equal(got, after) {
			t.Errorf("%s: success, and a power loss leaves %v, want %v", at, got, after)
		}
		return true
	})
}

// noTwins demands that no power loss behind the log's present end leaves two files of one generation; held says so.
func noTwins(t *testing.T, w *world, files *vfs.Crash) {
	t.Helper()
	files.States(func(state vfs.CrashState) bool {
		again := *w
		again.files = state.FS
		held(t, again.start(t, on(9)))
		return !t.Failed()
	})
}

// A removal that the disk did not confirm may be undone by a power loss, so its generation is not given out again
// before that is settled.
func TestAGenerationThatMayComeBackIsNotGivenOut(t *testing.T) {
	for at := 1; ; at++ {
		files, w := prepare(t)
		faulty := &vfs.Faulty{FS: files}
		w.files = faulty
		s := w.start(t, on(9))
		newest, err := s.List()
		must(t, err)
		faulty.Fault = vfs.Fault{At: faulty.Calls() + at, Mode: vfs.FailCall, Err: syscall.EIO}
		err = s.Forget(newest[1].ID)
		if !faulty.Struck() {
			t.Fatal("no removal was left unconfirmed")
		}
		if !errors.Is(err, ErrUnknown) {
			continue
		}
		if next := w.publish(t, s, 1, ""); next.Generation != 3 {
			t.Errorf("published %+v", next)
		}
		noTwins(t, w, files)
		return
	}
}

// The same when the process died before it could sync: the next one does it before anything else.
func TestAStartSettlesWhatTheLastProcessLeft(t *testing.T) {
	files, w := prepare(t)
	w.files = files
	s := w.start(t, on(9))
	entries, err := s.List()
	must(t, err, s.dir.Remove("test.remove", entries[1].ID+finalEnd))
	next := w.publish(t, w.start(t, on(9)), 1, "")
	if next.Generation != 2 {
		t.Errorf("published %+v", next)
	}
	noTwins(t, w, files)
}

// A temporary file can hold text too. Unless it is gone, text is not off.
func TestTextOffCoversTemporaryFiles(t *testing.T) {
	refusals := 0
	for at, struck := 2, true; struck; at++ {
		files, w := prepare(t)
		faulty := &vfs.Faulty{FS: files}
		w.files = faulty
		s := w.start(t, on(9))
		plantFile(t, s, tempBegin+"00000003-89ab-4cde-8fab-0123456789ab", []byte("second"))
		faulty.Fault = vfs.Fault{At: faulty.Calls() + at/2, Mode: vfs.FailCall, Err: syscall.EIO, On: at%2 == 1}
		p := on(9)
		p.Text = TextModeOff
		err := s.SetPolicy(p)
		struck = faulty.Struck()
		files.States(func(state vfs.CrashState) bool {
			if state.Done == files.Len() && err == nil && strings.Contains(everything(t, state.FS), "second") {
				t.Errorf("fault at %d: success, and a power loss leaves text", at)
			}
			return true
		})
		if err != nil {
			refusals++
		}
	}
	if refusals < 20 {
		t.Errorf("only %d faults were told of", refusals)
	}
}
