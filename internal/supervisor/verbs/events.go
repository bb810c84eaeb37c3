// SPDX-License-Identifier: Apache-2.0

package verbs

import "context"

// Happenings is what events.subscribe acts on.
type Happenings interface {
	// Follow finds the reader's place. The next batch is what next returns, as it goes out; it waits until
	// there is one, and leaves out what the caller may not know.
	Follow(ctx context.Context, p EventsSubscribeParams) (r EventsSubscribeResult, next func(context.Context) (Raw, error), err error)
}

// EventsSubscribe is the name of the verb.
const EventsSubscribe = "events.subscribe"

type (
	EventsSubscribeParams struct {
		Source    string   `json:"source,omitzero" max:"128" help:"source as an earlier batch named it; comes with cursor"`
		Cursor    string   `json:"cursor,omitzero" max:"128" help:"place behind the last batch that the reader has"`
		Types     []string `json:"types,omitzero" min:"1" max:"64" help:"events of these types alone, such as pane.exited or pane.*"`
		Resources []string `json:"resources,omitzero" min:"1" max:"64" help:"events of these resources and of what is below them alone, such as session:s0"`
	}

	EventsSubscribeResult struct {
		Source string `json:"source" help:"what cursors are good for; new with each start of spawnd"`
	}
)

func (EventsSubscribeParams) on() Resource { return ServerRoot }

func (p EventsSubscribeParams) check() *Error {
	if (p.Source == "") != (p.Cursor == "") {
		return Errorf(CodeInvalidParams, "source and cursor come together").With("param", "cursor")
	}
	return nil
}

var eventVerbs = []Verb{
	row[EventsSubscribeParams, EventsSubscribeResult]{
		Name: EventsSubscribe, Summary: "follow what happens: a line of JSON for each batch, a snapshot first unless cursor leads on", Right: RightRead,
		Each: true, Lines: true,
		Errors: []Code{CodeSubscription}, Example: EventsSubscribeParams{Types: []string{"pane.*"}},
		Do: follow,
	}.verb(),
}

func follow(ctx context.Context, a *ask, p EventsSubscribeParams) (EventsSubscribeResult, error) {
	if err := a.conn.mayStay(); err != nil {
		return EventsSubscribeResult{}, err
	}
	r, next, err := a.Server.(Happenings).Follow(ctx, p)
	if err == nil {
		a.conn.next = next
	}
	return r, err
}
