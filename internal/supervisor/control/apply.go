// SPDX-License-Identifier: Apache-2.0

package control

import (
	"slices"
	"time"
)

// Act is one thing that happens to a pane's control.
type Act struct {
	Op       Op
	Viewer   ViewerID  // who acts; zero for OpExpire
	ReadOnly bool      // OpJoin: may only ever watch
	Target   ViewerID  // OpGrant, OpDeny: whose request is answered
	Now      time.Time // when; used by OpRequest and OpExpire
}

// EventKind says what changed.
type EventKind uint8

const (
	EventControl   EventKind = 1 // Event.Viewer controls now; zero when the pane is free
	EventRequested EventKind = 2 // Event.Viewer has asked the controller
	EventAnswered  EventKind = 3 // Event.Viewer's request is closed: granted, denied, withdrawn or overtaken
)

// Event is one change that the pane's viewers are told.
type Event struct {
	Kind       EventKind
	Viewer     ViewerID
	Generation Generation // after the change
}

// Apply returns the state after a, and what changed. With an error nothing changed.
func (s State) Apply(a Act) (State, []Event, error) {
	if a.Viewer == 0 && a.Op != OpExpire {
		return s, nil, ErrNotJoined
	}
	r := decide(a.Op, s.standing(a.Viewer), s.condition(a))
	if r.step == refuse {
		return s, nil, r.err
	}
	if (a.Op == OpGrant || a.Op == OpDeny) && a.Target != s.asker {
		return s, nil, ErrNoRequest
	}
	next, events := s.take(r.step, a)
	return next, events, nil
}

func (s State) standing(id ViewerID) standing {
	v, joined := s.find(id)
	switch {
	case !joined:
		return absent
	case v.readOnly:
		return reader
	case id == s.controller:
		return controlling
	case id == s.asker:
		return asker
	}
	return watcher
}

func (s State) condition(a Act) condition {
	switch {
	case s.asker != 0 && a.Op == OpExpire && !a.Now.Before(s.deadline):
		return overdue
	case s.asker != 0:
		return asked
	case s.controller != 0:
		return held
	case a.Op == OpJoin && a.ReadOnly:
		return free // a reader never is the first: for it every pane is somebody else's
	case slices.ContainsFunc(s.viewers, func(v viewer) bool { return !v.readOnly }):
		return free
	}
	return empty
}

func (s State) take(do step, a Act) (State, []Event) {
	switch do {
	case add:
		return s.with(a), nil
	case addFirst:
		return s.with(a).give(a.Viewer)
	case remove:
		return s.without(a.Viewer), nil
	case removeOn:
		return s.without(a.Viewer).give(0)
	case removeTo:
		return s.without(a.Viewer).give(s.asker)
	case withdraw:
		return s.without(a.Viewer).close()
	case assume:
		return s.give(a.Viewer)
	case open:
		s.asker, s.deadline = a.Viewer, a.Now.Add(RequestTimeout)
		return s, []Event{{EventRequested, a.Viewer, s.generation}}
	case drop:
		return s.close()
	case handOver:
		return s.give(s.asker)
	case vacate:
		return s.give(0)
	}
	return s, nil // keep
}

func (s State) with(a Act) State {
	s.viewers = append(slices.Clone(s.viewers), viewer{a.Viewer, a.ReadOnly})
	return s
}

func (s State) without(id ViewerID) State {
	s.viewers = slices.DeleteFunc(slices.Clone(s.viewers), func(v viewer) bool { return v.id == id })
	return s
}

// give makes id the controller and closes an open request.
func (s State) give(id ViewerID) (State, []Event) {
	s, events := s.close()
	s.controller = id
	s.generation++
	return s, append(events, Event{EventControl, id, s.generation})
}

// close ends the open request, if there is one.
func (s State) close() (State, []Event) {
	id := s.asker
	if id == 0 {
		return s, nil
	}
	s.asker, s.deadline = 0, time.Time{}
	return s, []Event{{EventAnswered, id, s.generation}}
}
