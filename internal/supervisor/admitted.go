// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/events"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/topology"
)

// admissions are what stays open because somebody had a right when it was opened: viewers, and the connections
// of pages. What has no right any more is ended.
type admissions struct {
	authority *access.Authority
	mu        struct {
		sync.Mutex
		open map[*admission]struct{}
	}
}

// An admission is one of them.
type admission struct {
	who   access.Principal
	right access.Right    // needed on on
	on    access.Resource // "": nothing is needed but that who lives
	page  bool            // it is the connection of a page
	in    string          // pane that the viewer is shown in; "" for none, or when nobody knows
	end   func()          // may be called more than once, and while it ends anyway; must not wait for anybody
}

func (a *admission) holds(authority *access.Authority) bool {
	if a.on == "" {
		return authority.Alive(a.who)
	}
	return authority.Check(a.who, a.right, a.on) == nil
}

// admit keeps the admission until leave is called. It is looked at once it is kept, so what ends meanwhile is
// either refused here, with false, or ended by review.
func (as *admissions) admit(a *admission) (leave func(), ok bool) {
	as.mu.Lock()
	if as.mu.open == nil {
		as.mu.open = map[*admission]struct{}{}
	}
	as.mu.open[a] = struct{}{}
	as.mu.Unlock()
	leave = func() {
		as.mu.Lock()
		defer as.mu.Unlock()
		delete(as.mu.open, a)
	}
	if !a.holds(as.authority) {
		leave()
		return func() {}, false
	}
	return leave, true
}

// review ends what has no right any more. It holds no lock while it asks or ends.
func (as *admissions) review() {
	as.mu.Lock()
	all := make([]*admission, 0, len(as.mu.open))
	for a := range as.mu.open {
		all = append(all, a)
	}
	as.mu.Unlock()
	for _, a := range all {
		if !a.holds(as.authority) {
			a.end()
		}
	}
}

// shows reports whether a pane is the other, or shows it, be it through panes between.
func (as *admissions) shows(pane, other string) bool {
	as.mu.Lock()
	defer as.mu.Unlock()
	reached := []string{pane}
	for i := 0; i < len(reached) && reached[i] != other; i++ {
		for a := range as.mu.open {
			if a.in == reached[i] && !slices.Contains(reached, a.on.ID()) {
				reached = append(reached, a.on.ID())
			}
		}
	}
	return slices.Contains(reached, other)
}

// online reports whether the principal has a page open.
func (as *admissions) online(who access.Principal) bool {
	as.mu.Lock()
	defer as.mu.Unlock()
	for a := range as.mu.open {
		if a.who == who && a.page {
			return true
		}
	}
	return false
}

// admittedSink tells the admission of the viewer's end.
type admittedSink struct {
	fanout.Sink
	leave func()
}

// Close implements fanout.Sink.
func (k admittedSink) Close() {
	k.leave()
	k.Sink.Close()
}

// errWithin means that a terminal would be shown within itself: what it shows is output, which it would show.
var errWithin = errors.New("it cannot be shown within itself")

// attach adds a viewer by the right of a principal, who watches only without the right to write. Who came by a link
// is a guest. The viewer ends with that right. in is the pane in which it shows what it sees, "" for none.
func (s *Supervisor) attach(who access.Principal, in, id string, sink fanout.Sink, o fanout.AttachOptions) (*fanout.Viewer, error) {
	on := paneResource(id)
	o.ReadOnly = o.ReadOnly || s.authority.Check(who, access.Write, on) != nil
	o.Guest = who.Kind == access.KindShare
	a := &admission{who: who, right: access.Write, on: on, in: in}
	if o.ReadOnly {
		a.right = access.Read
	}
	var viewer *fanout.Viewer
	made := make(chan struct{})
	a.end = func() {
		<-made // Attach does not wait for anybody
		if _, there := s.panes.arrangement().Pane(id); viewer != nil && there {
			viewer.Detach() // a pane that is gone has ended its viewers itself, and tells them why
		}
	}
	defer close(made)
	leave, ok := s.admitted.admit(a)
	if !ok {
		sink.Close()
		return nil, &access.DeniedError{Right: a.right, Resource: on, Principal: who.String()}
	}
	if in != "" && s.admitted.shows(id, in) {
		leave()
		sink.Close()
		return nil, fmt.Errorf("%s is the terminal that you are in, or shows it: %w", id, errWithin)
	}
	v, err := s.panes.Attach(id, admittedSink{sink, leave}, o)
	if err != nil {
		return nil, err
	}
	viewer = v
	return v, nil
}

// settleRights tells the Authority what is gone, and ends what has no right any more, until ctx ends.
func (s *Supervisor) settleRights(ctx context.Context) {
	for {
		select {
		case <-s.panes.told.kick:
		case <-ctx.Done():
			return
		}
		s.panes.mu.Lock()
		gone := s.panes.told.gone
		s.panes.told.gone = nil
		s.panes.mu.Unlock()
		if len(gone) > 0 {
			s.authority.Gone(gone...)
		}
		s.admitted.review()
	}
}

// rightsChanged tells what became of grants, links and devices. The Authority calls it in the order of its
// changes, so nothing is asked of it here but what the tree says.
func (s *Supervisor) rightsChanged(changes []access.Change) {
	s.panes.mu.Lock()
	defer s.panes.mu.Unlock()
	var told []events.Change
	for _, c := range changes {
		if e, ok := rightsEvent(c, s.panes.mu.tree); ok {
			told = append(told, e)
		}
	}
	s.panes.told.commit(told, nil)
	s.panes.told.unsettle()
}

// rightsEvent is false for the end of a pane, which the tree tells of.
func rightsEvent(c access.Change, tree topology.Tree) (events.Change, bool) {
	g := c.Grant
	e := events.Change{Resource: topology.Root}
	switch {
	case g.ID == "" && c.Ended.Kind == access.KindDevice:
		e.Type, e.Data = events.DeviceRevoked, map[string]any{"device": c.Ended.ID}
	case g.ID == "":
		return e, false
	case g.To.Kind == access.KindShare && g.ID == g.To.ID:
		return shareEvent(c, tree), true
	case c.What == access.Issued:
		e.Type = events.GrantIssued
		e.Data = map[string]any{"grant": g.ID, "to": g.To.String(), "by": g.By.String(), "scopes": scopeTexts(g.Scopes), "label": g.Label}
		if !g.Expires.IsZero() {
			e.Data["expires_at"] = g.Expires.UnixMilli()
		}
	default:
		e.Type, e.Data = events.GrantRevoked, map[string]any{"grant": g.ID, "reason": string(c.What)}
	}
	return e, true
}

// shareEvent is told on what is shared; when that is gone, the link's scopes are gone as well, and it is told to
// who may know of everything.
func shareEvent(c access.Change, tree topology.Tree) events.Change {
	g := c.Grant
	if len(g.Scopes) == 0 {
		return events.Change{Type: events.GrantRevoked, Resource: topology.Root, Data: map[string]any{"grant": g.ID, "reason": string(c.What)}}
	}
	e := events.Change{Type: events.ShareRevoked, Resource: string(g.Scopes[0].On), Data: map[string]any{"share": g.ID, "reason": string(c.What)}}
	line, _ := tree.Ancestors(g.Scopes[0].On.ID())
	for i := len(line) - 2; i > 0; i-- {
		if on, err := access.ResourceOf(line[i]); err == nil {
			e.Above = append(e.Above, string(on))
		}
	}
	e.Above = append(e.Above, topology.Root)
	if c.What == access.Issued {
		e.Type = events.ShareCreated
		e.Data = map[string]any{
			"share": g.ID, "right": access.Link{Grant: g}.Right().String(), "by": g.By.String(), "label": g.Label, "expires_at": g.Expires.UnixMilli(),
		}
	}
	return e
}

// scopeTexts has one text for each right on each resource.
func scopeTexts(scopes []access.Scope) []string {
	var texts []string
	for _, s := range scopes {
		for _, r := range s.Rights.List() {
			texts = append(texts, r.String()+" on "+string(s.On))
		}
	}
	return texts
}

// paired tells that a browser was.
func (s *Supervisor) paired(d access.Device) {
	s.panes.happened(events.Change{Type: events.DevicePaired, Resource: topology.Root, Data: map[string]any{"device": d.ID, "name": d.Name}})
}
