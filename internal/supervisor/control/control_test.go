// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	standings  = []standing{absent, reader, watcher, asker, controlling}
	conditions = []condition{empty, free, held, asked, overdue}
	ops        = []Op{OpJoin, OpLeave, OpRequest, OpGrant, OpDeny, OpTake, OpRelease, OpType, OpSize, OpExpire}
)

// reachable says which facts can hold together.
func reachable(op Op, who standing, when condition) bool {
	if when == overdue && op != OpExpire {
		return false
	}
	if op == OpExpire {
		return who == absent // nobody acts
	}
	switch who {
	case watcher:
		return when != empty
	case asker:
		return when == asked
	case controlling:
		return when == held || when == asked
	}
	return true
}

func TestEveryCombinationHasOneRule(t *testing.T) {
	for _, op := range ops {
		for _, who := range standings {
			for _, when := range conditions {
				if !reachable(op, who, when) {
					continue
				}
				var rows []string
				for _, r := range rules {
					if r.op == op && r.who&who != 0 && r.when&when != 0 {
						rows = append(rows, string(r.letter))
					}
				}
				if len(rows) != 1 {
					t.Errorf("op %d, standing %05b, condition %05b: rules %v, want one", op, who, when, rows)
				}
			}
		}
	}
}

func TestRefusalsSayWhy(t *testing.T) {
	for _, r := range rules {
		if (r.step == refuse) != (r.err != nil) {
			t.Errorf("rule %c of op %d: step %d with error %v", r.letter, r.op, r.step, r.err)
		}
	}
	if _, _, err := (State{}).Apply(Act{Op: 99, Viewer: 1}); !errors.Is(err, ErrUnknownAct) {
		t.Errorf("unknown op: %v", err)
	}
}

// A story is a line of acts on one pane; want is what the last of them gave.
type told struct {
	acts       []Act
	err        error
	controller ViewerID
	asker      ViewerID
	events     []EventKind
}

var t0 = time.Unix(1_000_000, 0)

func join(id ViewerID) Act              { return Act{Op: OpJoin, Viewer: id} }
func watch(id ViewerID) Act             { return Act{Op: OpJoin, Viewer: id, ReadOnly: true} }
func act(op Op, id ViewerID) Act        { return Act{Op: op, Viewer: id, Now: t0} }
func answer(op Op, id, to ViewerID) Act { return Act{Op: op, Viewer: id, Target: to} }
func clock(after time.Duration) Act     { return Act{Op: OpExpire, Now: t0.Add(after)} }

func TestStories(t *testing.T) {
	two := []Act{join(1), join(2)}
	open := append(slices.Clone(two), act(OpRequest, 2))
	orphan := append(slices.Clone(two), act(OpLeave, 1))
	for name, s := range map[string]told{
		"the first controls":                      {[]Act{join(1)}, nil, 1, 0, []EventKind{EventControl}},
		"the second watches":                      {two, nil, 1, 0, nil},
		"who watches only never is the first":     {[]Act{watch(1)}, nil, 0, 0, nil},
		"the first who could control":             {[]Act{watch(1), join(2)}, nil, 2, 0, []EventKind{EventControl}},
		"a free pane stays free for a later one":  {append(slices.Clone(orphan), join(3)), nil, 0, 0, nil},
		"a free pane goes to who types":           {append(slices.Clone(orphan), act(OpType, 2)), nil, 2, 0, []EventKind{EventControl}},
		"a free pane goes to who asks":            {append(slices.Clone(orphan), act(OpRequest, 2)), nil, 2, 0, []EventKind{EventControl}},
		"a free pane does not go to who resizes":  {append(slices.Clone(orphan), act(OpSize, 2)), ErrNotController, 0, 0, nil},
		"asking asks":                             {open, nil, 1, 2, []EventKind{EventRequested}},
		"granted":                                 {append(slices.Clone(open), answer(OpGrant, 1, 2)), nil, 2, 0, []EventKind{EventAnswered, EventControl}},
		"denied":                                  {append(slices.Clone(open), answer(OpDeny, 1, 2)), nil, 1, 0, []EventKind{EventAnswered}},
		"a grant to another than asked":           {append(slices.Clone(open), answer(OpGrant, 1, 3)), ErrNoRequest, 1, 2, nil},
		"a grant by another":                      {append(slices.Clone(open), answer(OpGrant, 2, 2)), ErrNotController, 1, 2, nil},
		"a grant after the asker left":            {append(slices.Clone(open), act(OpLeave, 2), answer(OpGrant, 1, 2)), ErrNoRequest, 1, 0, nil},
		"not yet expired":                         {append(slices.Clone(open), clock(RequestTimeout-1)), nil, 1, 2, nil},
		"expired is granted":                      {append(slices.Clone(open), clock(RequestTimeout)), nil, 2, 0, []EventKind{EventAnswered, EventControl}},
		"asking again does not start the time":    {append(slices.Clone(open), Act{Op: OpRequest, Viewer: 2, Now: t0.Add(5 * time.Second)}, clock(RequestTimeout)), nil, 2, 0, []EventKind{EventAnswered, EventControl}},
		"one request at a time":                   {append(slices.Clone(open), join(3), act(OpRequest, 3)), ErrRequested, 1, 2, nil},
		"taking overtakes a request":              {append(slices.Clone(open), join(3), act(OpTake, 3)), nil, 3, 0, []EventKind{EventAnswered, EventControl}},
		"the asker is next when control is left":  {append(slices.Clone(open), act(OpLeave, 1)), nil, 2, 0, []EventKind{EventAnswered, EventControl}},
		"the asker is next when it is released":   {append(slices.Clone(open), act(OpRelease, 1)), nil, 2, 0, []EventKind{EventAnswered, EventControl}},
		"an asker may withdraw":                   {append(slices.Clone(open), act(OpRelease, 2)), nil, 1, 0, []EventKind{EventAnswered}},
		"released is free":                        {append(slices.Clone(two), act(OpRelease, 1)), nil, 0, 0, []EventKind{EventControl}},
		"who left does not type":                  {append(slices.Clone(orphan), act(OpType, 1)), ErrNotJoined, 0, 0, nil},
		"nobody joins twice":                      {append(slices.Clone(two), join(2)), ErrJoined, 1, 0, nil},
		"zero is nobody":                          {[]Act{join(0)}, ErrNotJoined, 0, 0, nil},
		"who watches only may not take":           {[]Act{join(1), watch(2), act(OpTake, 2)}, ErrReadOnly, 1, 0, nil},
		"who watches only may not type when free": {[]Act{watch(2), act(OpType, 2)}, ErrReadOnly, 0, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var state State
			var events []Event
			var err error
			for _, a := range s.acts {
				state, events, err = state.Apply(a)
			}
			var kinds []EventKind
			for _, e := range events {
				kinds = append(kinds, e.Kind)
			}
			waits, _ := state.Request()
			if !errors.Is(err, s.err) || state.Controller() != s.controller || waits != s.asker || !slices.Equal(kinds, s.events) {
				t.Errorf("error %v, controller %d, asker %d, events %v; want %v, %d, %d, %v",
					err, state.Controller(), waits, kinds, s.err, s.controller, s.asker, s.events)
			}
		})
	}
}

func TestStatesAreValues(t *testing.T) {
	var s State
	for id := range ViewerID(5) {
		s, _, _ = s.Apply(join(id + 1))
	}
	left, _, _ := s.Apply(join(7))
	right, _, _ := s.Apply(join(8))
	if got := left.Viewers(); got[5] != 7 || right.Viewers()[5] != 8 || len(s.Viewers()) != 5 {
		t.Errorf("one state became %v and %v", got, right.Viewers())
	}
}

// Whoever was attached to watch is refused every act there is, in every condition of the pane (T11).
func TestWatchingOnlyNeverActs(t *testing.T) {
	for _, op := range ops {
		if op == OpJoin || op == OpLeave || op == OpExpire {
			continue
		}
		for _, when := range []condition{empty, free, held, asked} {
			if r := decide(op, reader, when); r.step != refuse || !errors.Is(r.err, ErrReadOnly) {
				t.Errorf("op %d in condition %05b: step %d, %v", op, when, r.step, r.err)
			}
		}
	}
}

func TestAnyRowOfActsKeepsTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s State
		readOnly := map[ViewerID]bool{} // the test's own record of who is joined
		now := t0
		for range rapid.IntRange(1, 80).Draw(t, "acts") {
			now = now.Add(time.Duration(rapid.IntRange(0, 6).Draw(t, "seconds")) * time.Second)
			a := Act{
				Op:       rapid.SampledFrom(ops).Draw(t, "op"),
				Viewer:   ViewerID(rapid.IntRange(1, 4).Draw(t, "viewer")),
				Target:   ViewerID(rapid.IntRange(1, 4).Draw(t, "target")),
				ReadOnly: rapid.Bool().Draw(t, "readonly"),
				Now:      now,
			}
			if a.Op == OpExpire {
				a.Viewer = 0
			}
			before := fmt.Sprintf("%+v", s)
			next, events, err := s.Apply(a)
			if fmt.Sprintf("%+v", s) != before {
				t.Fatalf("%+v changed the state it was given", a)
			}
			checkStep(t, s, next, a, events, err)
			if err == nil && a.Op == OpJoin {
				readOnly[a.Viewer] = a.ReadOnly
			}
			if err == nil && a.Op == OpLeave {
				delete(readOnly, a.Viewer)
			}
			checkState(t, next, readOnly)
			s = next
		}
	})
}

func checkStep(t *rapid.T, s, next State, a Act, events []Event, err error) {
	if err != nil && (!reflect.DeepEqual(s, next) || events != nil) {
		t.Fatalf("refused %+v changed the pane", a)
	}
	if moved := s.controller != next.controller; moved != (next.generation > s.generation) || next.generation < s.generation {
		t.Fatalf("%+v: controller %d→%d, generation %d→%d", a, s.controller, next.controller, s.generation, next.generation)
	}
	if s.controller != next.controller && s.Holds(s.controller, s.generation) && next.Holds(s.controller, s.generation) {
		t.Fatalf("%+v: input of generation %d still counts", a, s.generation)
	}
	if a.Op == OpType && (err == nil) != (next.controller == a.Viewer) {
		t.Fatalf("viewer %d typed, error %v, controller %d", a.Viewer, err, next.controller)
	}
	if (a.Op == OpGrant || a.Op == OpDeny) && err == nil && (a.Target != s.asker || a.Viewer != s.controller) {
		t.Fatalf("a stale answer %+v had an effect", a)
	}
	controls := slices.ContainsFunc(events, func(e Event) bool { return e.Kind == EventControl && e.Viewer == next.controller })
	if controls != (s.controller != next.controller) {
		t.Fatalf("%+v: events %v do not tell the change %d→%d", a, events, s.controller, next.controller)
	}
}

func checkState(t *rapid.T, s State, readOnly map[ViewerID]bool) {
	if len(s.Viewers()) != len(readOnly) {
		t.Fatalf("joined %v, want %v", s.Viewers(), readOnly)
	}
	for _, id := range []ViewerID{s.controller, s.asker} {
		if only, joined := readOnly[id]; id != 0 && (!joined || only) {
			t.Fatalf("viewer %d controls or asks: joined %t, read-only %t", id, joined, only)
		}
	}
	if s.asker != 0 && (s.controller == 0 || s.asker == s.controller) {
		t.Fatalf("asker %d, controller %d", s.asker, s.controller)
	}
	if (s.asker != 0) == s.deadline.IsZero() {
		t.Fatalf("asker %d with deadline %v", s.asker, s.deadline)
	}
}
