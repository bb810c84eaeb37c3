// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrFrom means that what a reader asked for is malformed. It says nothing about what there is.
var ErrFrom = errors.New("bad subscription")

// May says whether the reader has the right on the resource now. For a resource that is gone, above is
// what held it last.
type May func(right, resource string, above []string) bool

// From is the place where a reader was. Without a source, or a cursor, it was nowhere.
type From struct {
	Source string
	Cursor string
}

// A Filter leaves out what does not interest the reader. The zero value leaves out nothing.
type Filter struct {
	Types     []string // "pane.title", or "pane.*"; of events alone
	Resources []string // with all below them; of events and snapshots
}

// A Reason says why a reader gets a snapshot.
type Reason string

const (
	Initial       Reason = "initial"        // it was nowhere
	SourceChanged Reason = "source_changed" // its cursor is of another start of spawnd
	Gap           Reason = "gap"            // what followed cannot be told: forgotten, or of another view
)

// A Batch is a snapshot, or the events of one commit that the reader may know of.
type Batch struct {
	Source   string    `json:"source"`
	Cursor   string    `json:"cursor"` // the place behind the batch
	Snapshot *Snapshot `json:"snapshot,omitzero"`
	Events   []Event   `json:"events,omitzero"`
}

// A Snapshot is everything that the reader may see. It replaces all that the reader knew.
type Snapshot struct {
	Reason   Reason   `json:"reason"`
	Entities []Entity `json:"entities"`
}

// A Subscription is one reader's place in the log. It costs nothing while nobody asks, and needs no end.
// One goroutine at a time may use it.
type Subscription struct {
	log    *Log
	filter Filter
	may    May
	at     uint64
	reason Reason // of the snapshot that comes next; empty when events do
	whole  bool   // the last snapshot kept nothing from the reader; what a cursor's did nobody knows
}

// Subscribe finds the reader's place. The first batch is a snapshot unless the log can go on from there.
func (l *Log) Subscribe(from From, filter Filter, may May) (*Subscription, error) {
	if err := filter.check(); err != nil {
		return nil, err
	}
	s := &Subscription{log: l, filter: filter, may: may}
	switch {
	case from.Source == "" || from.Cursor == "":
		s.reason = Initial
	case from.Source != l.o.Source:
		s.reason = SourceChanged
	default:
		var err error
		if s.at, err = parseCursor(from.Cursor); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFrom, err)
		}
	}
	return s, nil
}

func (f Filter) check() error {
	if len(f.Types) > filterMax || len(f.Resources) > filterMax {
		return fmt.Errorf("%w: a filter names at most %d types and %d resources", ErrFrom, filterMax, filterMax)
	}
	for _, pattern := range f.Types {
		if !slices.ContainsFunc(catalogue, func(e Entry) bool { return matches(pattern, e.Type) }) {
			return fmt.Errorf("%w: no event is of the type %.40q", ErrFrom, pattern)
		}
	}
	for _, r := range f.Resources {
		if kindOf(r) == "" {
			return fmt.Errorf("%w: %.40q is no resource", ErrFrom, r)
		}
	}
	return nil
}

func matches(pattern string, t Type) bool {
	if family, ok := strings.CutSuffix(pattern, "*"); ok && strings.HasSuffix(family, ".") {
		return strings.HasPrefix(string(t), family)
	}
	return pattern == string(t)
}

func (f Filter) wantsType(t Type) bool {
	return len(f.Types) == 0 || slices.ContainsFunc(f.Types, func(p string) bool { return matches(p, t) })
}

func (f Filter) wantsResource(r string, above []string) bool {
	return len(f.Resources) == 0 || slices.ContainsFunc(f.Resources, func(want string) bool { return want == r || slices.Contains(above, want) })
}

// Next returns the next batch, and waits for it until ctx ends. What is there already is returned even
// when ctx has ended.
func (s *Subscription) Next(ctx context.Context) (Batch, error) {
	for {
		if s.reason != "" {
			return s.seed(), nil
		}
		next, ok, gap, more, ended := s.log.after(s.at)
		switch {
		case gap:
			s.reason = Gap
		case ok && s.unsettles(next):
			s.reason = Gap
		case ok:
			s.at++
			if events := s.visible(next); len(events) > 0 {
				return Batch{Source: s.log.o.Source, Cursor: formatCursor(s.at), Events: events}, nil
			}
		case ended:
			return Batch{}, ErrClosed
		default:
			if err := wait(ctx, more); err != nil {
				return Batch{}, err
			}
		}
	}
}

// Cursor is the reader's place. It grows with what is kept from the reader too.
func (s *Subscription) Cursor() string { return formatCursor(s.at) }

// unsettles reports whether the commit changes which resources the reader sees. Events alone could not
// say so: they would have to tell of what is not seen any more, and leave out what was there before.
func (s *Subscription) unsettles(c commit) bool {
	return slices.ContainsFunc(c.events, func(e Event) bool {
		entry := entries[e.Type]
		if !entry.Reseeds {
			return false
		}
		if len(s.filter.Resources) > 0 && (entry.Kind == "pane" || entry.Kind == "window") {
			return true // into the filter, or out of it
		}
		return !s.whole || !s.may("read", root, nil)
	})
}

func (s *Subscription) visible(c commit) []Event {
	var told []Event
	for _, e := range c.events {
		if !s.filter.wantsType(e.Type) || !s.filter.wantsResource(e.Resource, e.above) {
			continue
		}
		entry := entries[e.Type]
		switch s.sight(entry.Right, e.Resource, e.above) {
		case full:
			told = append(told, e)
		case outline:
			if entry.Whole {
				continue
			}
			e.Data = entry.outline(e.Data)
			told = append(told, e)
		}
	}
	return told
}

// sight is how much of a resource somebody sees.
type sight uint8

const (
	hidden  sight = 0
	outline sight = 1 // that it is there, and what befalls it, without what anybody wrote or named
	full    sight = 2
)

// sight gives the outline to who may write to a resource or start something in it, but not read it: it
// knows of it, and has to keep in step.
func (s *Subscription) sight(right, resource string, above []string) sight {
	switch {
	case s.may(right, resource, above):
		return full
	case right == "read" && (s.may("write", resource, above) || s.may("spawn", resource, above)):
		return outline
	}
	return hidden
}

// outline is the data without content.
func (e *Entry) outline(data map[string]any) map[string]any {
	kept := maps.Clone(data)
	for _, f := range e.Fields {
		if f.Content {
			delete(kept, f.Name)
		}
	}
	return kept
}

// seed takes the state. Rights are looked at after the state was taken, so a change of them either was
// before, or is told of behind the snapshot and brings another one.
func (s *Subscription) seed() Batch {
	all, cursor := s.log.state()
	shown := make([]Entity, 0, len(all))
	s.whole = s.may("read", root, nil)
	for _, e := range all {
		if !s.filter.wantsResource(e.Resource, e.Above) {
			continue
		}
		switch s.sight("read", e.Resource, e.Above) {
		case full:
			joined := maps.Clone(e.Data)
			if joined == nil {
				joined = map[string]any{}
			}
			maps.Copy(joined, e.Content)
			e.Data = joined
			shown = append(shown, e)
		case outline:
			shown = append(shown, e)
			s.whole = false
		case hidden:
			s.whole = false
		}
	}
	snapshot := &Snapshot{Reason: s.reason, Entities: shown}
	s.at, s.reason = cursor, ""
	return Batch{Source: s.log.o.Source, Cursor: formatCursor(cursor), Snapshot: snapshot}
}

const root = "server:root"

// kindOf is what a resource is: "" when it is none. Whether it exists is another question.
func kindOf(resource string) string {
	if resource == root {
		return "server"
	}
	kind, id, _ := strings.Cut(resource, ":")
	switch kind {
	case "session", "window", "pane":
		if len(id) > 1 && id[0] == kind[0] && strings.Trim(id[1:], "0123456789") == "" {
			return kind
		}
	}
	return ""
}
