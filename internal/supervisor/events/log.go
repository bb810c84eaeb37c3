// SPDX-License-Identifier: Apache-2.0

// Package events tells what happened to sessions, windows and panes, in order, to whoever may know.
//
// A mutation commits all of its events at once, under one cursor, so nobody ever sees half of it. A reader
// holds a place in the log and asks for what follows; nothing is kept for it and nobody waits for it. When
// the log has moved on too far, the reader gets the whole state instead, exact at a cursor, and goes on
// from there.
//
// Locks: whatever guards the state that events tell of, then the log's own. The first is held around a
// mutation and its Commit, and by Options.State around what it does; the second is the log's alone. May
// is asked under neither.
package events

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"
)

var (
	// ErrChange means that what was to be committed is not of the catalogue. Nothing was committed. It is
	// a mistake of the caller.
	ErrChange = errors.New("not an event of the catalogue")
	// ErrClosed means that this source has ended; the reader has had everything.
	ErrClosed = errors.New("the events have ended")
)

// A Change is what a mutation did, before it has a place in the log. Nothing of it may be changed after it
// was handed over.
type Change struct {
	Type     Type
	Resource string   // "pane:p0"
	Above    []string // what held it at the commit, or did until then; the nearest first, server:root last
	Data     map[string]any
}

// An Event is a change as it is told. Data is shared by all readers and never written to.
type Event struct {
	Type     Type           `json:"type"`
	Resource string         `json:"resource"`
	At       int64          `json:"at"` // Unix milliseconds
	Data     map[string]any `json:"data"`

	above []string
}

// An Entity is one resource in a snapshot.
type Entity struct {
	Resource string         `json:"resource"`
	Data     map[string]any `json:"data"`

	Above   []string       `json:"-"` // what holds it, the nearest first
	Content map[string]any `json:"-"` // what only goes to who may read it; joined to Data then
}

// Options are what a Log takes from outside.
type Options struct {
	Source string // of this start of spawnd, from NewSource
	// State calls use, once, with everything there is, while nothing of it can change. The entities and
	// their maps are the log's from then on.
	State func(use func([]Entity))
	Now   func() time.Time // nil: time.Now
}

// NewSource names one start of a spawnd: "spawn/" and a random UUID.
func NewSource(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("name the source of events: %w", err)
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80 // version 4, RFC 9562
	return fmt.Sprintf("spawn/%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}

// A Log holds the last commits. It is safe for concurrent use.
type Log struct {
	o    Options
	kick chan struct{} // something became due earlier than Run knows

	eventsMax, bytesMax int // logEventsMax and logBytesMax, but in tests

	mu struct {
		sync.Mutex
		commits []commit      // the last ones, oldest first
		head    uint64        // cursor of the last commit; 0 before the first
		events  int           // in commits
		bytes   int           // of commits
		more    chan struct{} // closed at the next commit, and at the end
		ended   bool
		slots   map[slotKey]*slot
	}
}

// A commit is what one mutation did.
type commit struct {
	events []Event
	bytes  int
}

// NewLog makes an empty log.
func NewLog(o Options) *Log {
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Log{o: o, kick: make(chan struct{}, 1), eventsMax: logEventsMax, bytesMax: logBytesMax}
	l.mu.more = make(chan struct{})
	l.mu.slots = map[slotKey]*slot{}
	return l
}

// Source is what cursors are good for.
func (l *Log) Source() string { return l.o.Source }

// Commit appends the events of one mutation, all or none, and never waits. Those that are paced go through
// Note. The caller holds the lock of the state that they tell of.
func (l *Log) Commit(changes ...Change) error {
	if len(changes) == 0 || len(changes) > commitEventsMax {
		return fmt.Errorf("%w: a commit has %d events, not 1 to %d", ErrChange, len(changes), commitEventsMax)
	}
	for _, c := range changes {
		if entry, err := c.check(); err != nil {
			return err
		} else if entry.Slot != "" {
			return fmt.Errorf("%w: %s is paced, so it has to be noted", ErrChange, c.Type)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.commitLocked(changes)
}

func (c Change) check() (*Entry, error) {
	entry, known := entries[c.Type]
	if !known {
		return nil, fmt.Errorf("%w: the type %q", ErrChange, c.Type)
	}
	if kind := kindOf(c.Resource); kind != entry.Kind && (entry.Kind != "any" || kind != "pane" && kind != "session") {
		return nil, fmt.Errorf("%w: %s of %q", ErrChange, c.Type, c.Resource)
	}
	if n := len(c.Above); n > aboveMax || (n > 0) != (c.Resource != root) || n > 0 && c.Above[n-1] != root {
		return nil, fmt.Errorf("%w: %s does not say what was above %s", ErrChange, c.Type, c.Resource)
	}
	if err := entry.fits(c.Data); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrChange, err)
	}
	return entry, nil
}

func (l *Log) commitLocked(changes []Change) error {
	if l.mu.ended {
		return ErrClosed
	}
	at := l.o.Now().UnixMilli()
	done := commit{events: make([]Event, 0, len(changes))}
	for _, c := range changes {
		e := Event{Type: c.Type, Resource: c.Resource, At: at, Data: maps.Clone(c.Data), above: slices.Clone(c.Above)}
		if e.Data == nil {
			e.Data = map[string]any{}
		}
		done.events = append(done.events, e)
		done.bytes += e.cost()
		if c.Type == PaneRemoved {
			l.dropSlotsLocked(c.Resource)
		}
	}
	l.mu.head++
	l.mu.commits = append(l.mu.commits, done)
	l.mu.events += len(done.events)
	l.mu.bytes += done.bytes
	for l.mu.events > l.eventsMax || l.mu.bytes > l.bytesMax {
		l.mu.events -= len(l.mu.commits[0].events)
		l.mu.bytes -= l.mu.commits[0].bytes
		l.mu.commits[0] = commit{}
		l.mu.commits = l.mu.commits[1:]
	}
	l.wakeLocked()
	return nil
}

func (e Event) cost() int {
	n := eventCost
	for _, value := range e.Data {
		switch v := value.(type) {
		case string:
			n += len(v)
		case Raw:
			n += len(v)
		case []string:
			for _, s := range v {
				n += len(s) + 16 // its header
			}
		}
	}
	return n
}

func (l *Log) wakeLocked() {
	close(l.mu.more)
	l.mu.more = make(chan struct{})
}

// Close ends the log: readers get what there is, and then ErrClosed.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.mu.ended {
		l.mu.ended = true
		close(l.mu.more)
	}
}

// after returns the commit that follows the cursor; otherwise ok is false, and gap says that the log does
// not reach back to it, or never came so far.
func (l *Log) after(cursor uint64) (next commit, ok, gap bool, more <-chan struct{}, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	behind := l.mu.head - cursor // of a cursor from the future: more than there ever were
	switch {
	case behind > uint64(len(l.mu.commits)):
		return commit{}, false, true, nil, false
	case behind == 0:
		return commit{}, false, false, l.mu.more, l.mu.ended
	}
	return l.mu.commits[len(l.mu.commits)-int(behind)], true, false, nil, false
}

// state takes everything there is, and the cursor at which it is so.
func (l *Log) state() (all []Entity, cursor uint64) {
	l.o.State(func(entities []Entity) {
		all = entities
		l.mu.Lock()
		cursor = l.mu.head
		l.mu.Unlock()
	})
	return all, cursor
}

// wait returns nil when more has come.
func wait(ctx context.Context, more <-chan struct{}) error {
	select {
	case <-more:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func formatCursor(n uint64) string { return strconv.FormatUint(n, 10) }

// parseCursor is the inverse of formatCursor, and accepts nothing else.
func parseCursor(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || formatCursor(n) != text {
		return 0, errors.New("a cursor is a decimal number below 2^64")
	}
	return n, nil
}
