// SPDX-License-Identifier: Apache-2.0

// Package control decides which one viewer of a pane may type and give it its size.
package control

import (
	"errors"
	"slices"
	"time"
)

// RequestTimeout is how long a controller may leave a request unanswered before it counts as granted:
// a sleeping laptop must not keep a phone out.
const RequestTimeout = 10 * time.Second

// ViewerID names one attached viewer of a pane; it is never used twice in a pane's life. Zero is nobody.
type ViewerID uint64

// Generation counts the changes of the controller. It only grows, so that what was sent under an earlier
// controller can be told from what is sent under this one.
type Generation uint64

var (
	// ErrNotController means that the act is the controller's alone. The viewer may request control.
	ErrNotController = errors.New("another viewer controls this pane")
	// ErrReadOnly means that the viewer was attached to watch and can never control.
	ErrReadOnly = errors.New("this viewer may only watch")
	// ErrNotJoined means that the viewer left, or never was there; nothing it asks for has an effect.
	ErrNotJoined = errors.New("no such viewer of this pane")
	// ErrJoined means that a viewer of that id is there already.
	ErrJoined = errors.New("viewer has joined already")
	// ErrRequested means that another viewer's request waits for its answer. It may be tried again then.
	ErrRequested = errors.New("another viewer has asked for control")
	// ErrNoRequest means that the request which is answered here is gone: withdrawn, answered or expired.
	ErrNoRequest = errors.New("no such request for control")
	// ErrUnknownAct means that the act is not in the table: an error of the caller's.
	ErrUnknownAct = errors.New("no such act")
)

// State is what is known of one pane's viewers. The zero value is a pane without any. It is a value:
// Apply returns a new one and never changes the old.
type State struct {
	viewers    []viewer // in order of joining; never changed in place
	controller ViewerID // zero when the pane is free
	generation Generation
	asker      ViewerID  // zero when nobody waits for the controller's answer
	deadline   time.Time // when the asker's request counts as granted; zero without one
}

type viewer struct {
	id       ViewerID
	readOnly bool
}

// Controller returns the viewer that controls, or zero for a free pane.
func (s State) Controller() ViewerID { return s.controller }

// Generation returns the count of changes of the controller so far.
func (s State) Generation() Generation { return s.generation }

// Request returns the viewer that has asked for control and the instant at which that counts as granted.
// The viewer is zero when no request is open.
func (s State) Request() (ViewerID, time.Time) { return s.asker, s.deadline }

// Holds reports whether what viewer id sent under generation g may still take effect.
func (s State) Holds(id ViewerID, g Generation) bool {
	return id != 0 && s.controller == id && s.generation == g
}

// Viewers returns the joined viewers in order of joining.
func (s State) Viewers() []ViewerID {
	ids := make([]ViewerID, len(s.viewers))
	for i, v := range s.viewers {
		ids[i] = v.id
	}
	return ids
}

func (s State) find(id ViewerID) (viewer, bool) {
	i := slices.IndexFunc(s.viewers, func(v viewer) bool { return v.id == id })
	if i < 0 || id == 0 {
		return viewer{}, false
	}
	return s.viewers[i], true
}
