// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
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
	// passes are the sets of generations through which it goes, besides the one before and the one behind it: what a power loss
	// may leave. strays are those that there may be as well once a call has failed.
	passes, strays string
	strict         bool   // it is done or not: when it fails and its outcome is known, nothing has changed
	sets           Policy // what it is to put in force; zero for nothing
	pieces         int    // in which a write reaches the disk; 0 for one
	states         int    // that a power loss can leave, all told
}

var stories = []story{
	{name: "publish", policy: on(9), run: publishAlone, strict: true, states: 68},
	{name: "publish in pieces", policy: on(9), run: publishAlone, strict: true, pieces: 700, states: 194},
	{name: "publish and prune", policy: on(9), passes: "123 13 23", states: 75, run: func(w *world, s *Store) error {
		s.mu.policy = on(1) // without the cleaning up that goes with it
		return publishOne(w, s)
	}},
	{name: "publish twice", policy: on(2), passes: "123 23 234", strays: "124 24 1234 134", states: 137, run: func(w *world, s *Store) error {
		return errors.Join(publishOne(w, s), publishOne(w, s))
	}},
	{name: "publish twice and forget", policy: on(9), passes: "123 1234", strays: "2 23 24 124", states: 134, run: func(w *world, s *Store) error {
		return errors.Join(publishOne(w, s), publishOne(w, s), s.Forget(w.first))
	}},
	{name: "forget", policy: on(9), strict: true, states: 8, run: func(w *world, s *Store) error { return s.Forget(w.first) }},
	{name: "text off", policy: on(9), sets: withoutTexts(9), states: 9, run: func(_ *world, s *Store) error { return s.SetPolicy(withoutTexts(9)) }},
	{name: "fewer", policy: on(9), sets: on(1), states: 8, run: func(_ *world, s *Store) error { return s.SetPolicy(on(1)) }},
	{name: "expire", policy: on(9), passes: "1 2", states: 12, run: func(w *world, s *Store) error {
		w.now = noon.Plus(defaultAge + 2)
		_, err := s.List()
		if code := s.Stats().LastPruneError; err == nil && code != "" { // a listing succeeds even if it cannot clean up
			err = &Failure{Code: code}
		}
		return err
	}},
}

// withoutTexts is on with text switched off.
func withoutTexts(count int) Policy {
	p := on(count)
	p.Text = TextModeOff
	return p
}

func publishAlone(w *world, s *Store) error {
	_, err := s.Publish(context.Background(), body(w.now, 3, "third"))
	return err
}

func publishOne(w *world, s *Store) error {
	done, err := s.Publish(context.Background(), body(w.now, 3, "third"))
	return errors.Join(err, done.Prune)
}

// over is the disk as the story has it.
func (st story) over(files vfs.FS) vfs.FS {
	if st.pieces == 0 {
		return files
	}
	return &garbling{FS: files, pieces: st.pieces}
}

// twoGenerations is what prepare hands out copies of.
var twoGenerations struct {
	sync.Once
	files *vfs.Crash
	world world
}

// prepare is a file system with a store of two generations, all of it durable, and its surroundings.
func prepare(t testing.TB) (*vfs.Crash, *world) {
	t.Helper()
	at := &twoGenerations
	at.Do(func() {
		at.files = vfs.NewCrash()
		w := newWorld(at.files, "")
		s := w.start(t, on(9))
		w.first = w.publish(t, s, 1, "").ID
		w.publish(t, s, 2, "second")
		at.world = *w
	})
	w := at.world
	w.rand = rand.NewChaCha8([32]byte{2}) // ids that are not taken
	return at.files.Clone(), &w
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

// setOf names the generations of what is held: "12".
func setOf(held map[int64]string) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(slices.Sorted(maps.Keys(held))), " ", ""), "[]")
}

// A tale is a story of which the end is known.
type tale struct {
	story
	before, after map[int64]string
	bytes         int // of the longest file
}

// tell runs a story without a fault.
func (st story) tell(t testing.TB) tale {
	t.Helper()
	files, w := prepare(t)
	w.files = st.over(files)
	s := w.start(t, st.policy)
	told := tale{story: st, before: held(t, s)}
	must(t, st.run(w, s))
	told.after = held(t, s)
	entries, err := s.List()
	must(t, err)
	for _, e := range entries {
		told.bytes = max(told.bytes, int(e.Bytes))
	}
	return told
}

// allows tells whether a set of generations may be there when the story was broken off, or failed.
func (st tale) allows(set string, failed bool) bool {
	sets := append(strings.Fields(st.passes), setOf(st.before), setOf(st.after))
	if failed {
		sets = append(sets, strings.Fields(st.strays)...)
	}
	return slices.Contains(sets, set)
}

// survey opens what a power loss left, with room for all of it, and returns what it holds. That is whole, no temporary file is
// beside it, and the next checkpoint gets a generation of its own.
func survey(t *testing.T, w *world, p Policy, files vfs.FS, at string) map[int64]string {
	t.Helper()
	again := *w
	again.files, again.now = files, soon
	s, err := again.open()
	p.MaxCheckpoints = 9 // see what is there, not what would be left of it
	must(t, err, s.Start(p, true))
	got := held(t, s)
	if strings.Contains(everything(t, files), tempBegin) {
		t.Errorf("%s: a temporary file is left after a start", at)
	}
	next, err := s.Publish(context.Background(), body(again.now, 1, ""))
	if err != nil || got[next.Generation] != "" {
		t.Errorf("%s: next publication: %+v, %v", at, next, err)
	}
	return got
}

// check demands that each generation is what the story made it.
func (st tale) check(t *testing.T, got map[int64]string, at string) {
	t.Helper()
	for generation, content := range got {
		if content != st.before[generation] && content != st.after[generation] {
			t.Errorf("%s: generation %d holds %s", at, generation, content)
		}
	}
}

// F10: whatever a power loss leaves, after each step of each story and with each set of unsynced changes, a store opens
// and holds whole generations: those from before the story, those behind it, or a set through which it goes. Before it begins
// and behind a success there is no choice. Every state is visited, which their number shows.
func TestPowerLossLeavesWholeGenerations(t *testing.T) {
	for _, st := range stories {
		t.Run(st.name, func(t *testing.T) {
			told := st.tell(t)
			files, w := prepare(t)
			w.files = st.over(files)
			s, err := w.open()
			must(t, err)
			must(t, s.Start(st.policy, true))
			began := files.Len()
			must(t, st.run(w, s))
			states := 0
			files.States(func(state vfs.CrashState) bool {
				states++
				at := fmt.Sprintf("after %d steps, the last %q, kept %s", state.Done, state.Last, state.What)
				raw := everything(t, state.FS)
				got := survey(t, w, st.policy, state.FS, at)
				told.check(t, got, at)
				switch set, done := setOf(got), state.Done == files.Len(); {
				case state.Sampled:
					t.Errorf("%s: not every state is visited", at)
				case state.Done <= began && !maps.Equal(got, told.before):
					t.Errorf("%s: holds %s before anything was done", at, set)
				case done && !maps.Equal(got, told.after):
					t.Errorf("%s: holds %s behind a success", at, set)
				case done && st.sets.Text == TextModeOff && strings.Contains(raw, "second"):
					t.Errorf("%s: text is left behind a success", at)
				case !told.allows(set, false):
					t.Errorf("%s: holds %s", at, set)
				}
				return !t.Failed()
			})
			if states != st.states {
				t.Errorf("%d states, and there were %d", states, st.states)
			}
		})
	}
}

// A longer file, of which each sector may be lost by itself: more than ten thousand states.
func TestPowerLossTearsALongerFile(t *testing.T) {
	files, w := prepare(t)
	w.files = files
	s := w.start(t, on(9))
	_, err := s.Publish(context.Background(), body(w.now, 1, strings.Repeat("x", 3000)))
	must(t, err)
	states := 0
	files.States(func(state vfs.CrashState) bool {
		states++
		again := *w
		again.files = state.FS
		s, err := again.open()
		must(t, err, s.Start(on(9), true))
		got, done := shown(t, s), state.Done == files.Len()
		if state.Sampled || got != "1:valid 2:valid 3:valid" && (done || got != "1:valid 2:valid") {
			t.Errorf("after %d steps, the last %q, kept %s: listed %s, sampled %t", state.Done, state.Last, state.What, got, state.Sampled)
		}
		return !t.Failed()
	})
	if states < 10_000 {
		t.Errorf("only %d states", states)
	}
	t.Logf("%d states", states)
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

// ways are all in which a call goes wrong: not done, done and failed, and of a write of so many bytes some, with every number
// that is told of them.
func ways(bytes int) (all []vfs.Fault) {
	for _, errno := range errnos {
		all = append(all, vfs.Fault{Mode: vfs.FailCall, Err: errno}, vfs.Fault{Mode: vfs.FailDone, Err: errno})
	}
	for _, keep := range []int{0, 1, bytes / 2, -1} {
		for _, errno := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, nil} {
			all = append(all, vfs.Fault{Mode: vfs.ShortWrite, Err: errno, Keep: keep})
		}
		all = append(all, vfs.Fault{Mode: vfs.LyingWrite, Keep: keep})
	}
	return all
}

// F6, F7, F8: every call of every story fails in every way, once or from then on. A success is a success even if
// power is lost right then; a failure that is not of unknown outcome has changed nothing; what is there is
// whole, whatever a power loss takes of it; what was in force still is; and when the fault is over, the next checkpoint
// succeeds without a restart.
func TestEveryFailingCall(t *testing.T) {
	for _, st := range stories {
		t.Run(st.name, func(t *testing.T) {
			told, known, runs := st.tell(t), map[string]map[int64]string{}, 0
			for _, fault := range ways(told.bytes) {
				for _, fault.On = range []bool{false, true} {
					fault.At = 1
					for failOnce(t, told, fault, known) && !t.Failed() {
						fault.At++
					}
					runs += fault.At
				}
			}
			t.Logf("%d runs, %d states", runs, len(known))
		})
	}
}

// failOnce runs a story with one fault and tells whether it struck. known is what is held by the states that were seen before.
func failOnce(t *testing.T, st tale, fault vfs.Fault, known map[string]map[int64]string) bool {
	t.Helper()
	files, w := prepare(t)
	faulty := &vfs.Faulty{FS: files}
	w.files = st.over(faulty)
	s, err := w.open()
	must(t, err, s.Start(st.policy, true))
	fault.At += faulty.Calls()
	faulty.Fault = fault
	err = st.run(w, s)
	struck := faulty.Struck()
	faulty.Fault = vfs.Fault{}
	at := fmt.Sprintf("fault %+v: %v", fault, err)
	if _, ours := errors.AsType[*Failure](err); err != nil && !ours {
		t.Errorf("%s: not a failure of this package", at)
	}
	if strings.Count(everything(t, files), tempBegin) > 1 {
		t.Errorf("%s: temporary files are left: %s", at, everything(t, files))
	}
	if st.sets != (Policy{}) && s.mu.policy != inForce(st.story, err) {
		t.Errorf("%s: in force is %+v", at, s.mu.policy)
	}
	st.judge(t, w, files, err, at, known)
	live := held(t, s)
	if next, err := s.Publish(context.Background(), body(w.now, 1, "")); err != nil || live[next.Generation] != "" {
		t.Errorf("%s: the next publication: %+v, %v", at, next, err)
	}
	return struck
}

// inForce is the policy behind a story that ended with err.
func inForce(st story, err error) Policy {
	if err != nil {
		return st.policy
	}
	return st.sets
}

// judge looks at all that a power loss could leave right behind the story, which ended with err.
func (st tale) judge(t *testing.T, w *world, files *vfs.Crash, err error, at string, known map[string]map[int64]string) {
	t.Helper()
	files.Final(func(state vfs.CrashState) bool {
		raw := everything(t, state.FS)
		got, seen := known[raw]
		if !seen {
			got = survey(t, w, st.policy, state.FS, at)
			st.check(t, got, at)
			known[raw] = got
		}
		switch set := setOf(got); {
		case err == nil && !maps.Equal(got, st.after):
			t.Errorf("%s: success, and a power loss leaves %s", at, set)
		case err != nil && st.strict && !errors.Is(err, ErrUnknown) && !maps.Equal(got, st.before):
			t.Errorf("%s: failed, and a power loss leaves %s", at, set)
		case !st.allows(set, true):
			t.Errorf("%s: a power loss leaves %s", at, set)
		case err == nil && st.sets.Text == TextModeOff && strings.Contains(raw, "second"):
			t.Errorf("%s: success, and a power loss leaves text", at)
		}
		return !t.Failed()
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
