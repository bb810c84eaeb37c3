// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"net"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/access/kin"
	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/fleet"
	"spawn/internal/supervisor/topology"
	"spawn/internal/supervisor/verbs"
)

// openRights opens the door and makes the Authority of this spawnd. The owner's token is in its file when
// it returns.
func (s *Supervisor) openRights(folders config.Folders) (err error) {
	s.door, err = access.Open(folders.State, access.Options{Log: s.o.Log, Paired: s.paired})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, s.door)
	authority, token, err := access.NewAuthority(access.AuthorityOptions{
		Tree: s.panes, Devices: s.door, Unknown: s.inForce.unknown, Changed: s.rightsChanged,
	})
	if err != nil {
		return err
	}
	s.authority, s.admitted.authority = authority, authority
	return access.KeepOwnerToken(folders.Runtime, token)
}

// Above implements access.Tree.
func (ps *panes) Above(r access.Resource) ([]access.Resource, bool) {
	ps.mu.Lock()
	tree := ps.mu.tree
	ps.mu.Unlock()
	line, ok := tree.Ancestors(r.ID())
	if !ok || r == access.Root {
		return nil, ok && r == access.Root
	}
	above := make([]access.Resource, 0, len(line)-1)
	for i := len(line) - 2; i > 0; i-- {
		on, err := access.ResourceOf(line[i])
		if err != nil {
			return nil, false
		}
		above = append(above, on)
	}
	return append(above, topology.Root), true
}

// caller is who asks on the control socket, or by a page.
type caller struct {
	who  access.Principal
	peer *net.UnixConn // nil of a page
}

// Principal implements verbs.Caller.
func (c caller) Principal() string { return c.who.String() }

// Guest implements verbs.Guest.
func (c caller) Guest() bool { return c.who.Kind == access.KindShare }

// principalOf is who asks for a verb; nobody, who may do nothing, when that is not known.
func principalOf(ctx context.Context) access.Principal {
	c, _ := verbs.CallerOf(ctx).(caller)
	return c.who
}

// insideOf is the pane that who asks is in, whoever that is by a token; "" when the kernel shows none.
func (s *Supervisor) insideOf(ctx context.Context) string {
	c, _ := verbs.CallerOf(ctx).(caller)
	if c.who.Kind == access.KindPane {
		return c.who.ID
	}
	if c.peer == nil {
		return ""
	}
	return kin.Recognise(c.peer, s.kinOptions()).Pane
}

// identity finds out who asks: by the token, or else by where the kernel says that the peer is.
type identity struct{ *Supervisor }

// Identify implements verbs.Identity.
func (i identity) Identify(peer *net.UnixConn, token string) (verbs.Caller, error) {
	if token != "" {
		p, err := i.authority.Authenticate(token)
		return caller{p, peer}, err
	}
	switch place := kin.Recognise(peer, i.kinOptions()); place.Verdict {
	case kin.Inside:
		return caller{access.Principal{Kind: access.KindPane, ID: place.Pane}, peer}, nil
	case kin.Outside:
		return caller{access.Owner, peer}, nil
	default:
		return caller{access.Unknown, peer}, nil
	}
}

// kinOptions is what is known of the processes of terminals now. A worker that was left alone at start may be
// one that adopts nobody.
func (s *Supervisor) kinOptions() kin.Options {
	_, none := s.scoper.(fleet.NoScope)
	o := kin.Options{Scoped: !none, Adopting: !s.panes.strays && len(s.refusedWorkers()) == 0}
	for _, p := range s.panes.driven() {
		at, adopts, live := p.kin()
		if !live {
			continue
		}
		o.Panes = append(o.Panes, at)
		o.Adopting = o.Adopting && adopts
	}
	return o
}

// driven lists the panes whose worker was ever connected.
func (ps *panes) driven() []*pane {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	all := make([]*pane, 0, len(ps.mu.byID))
	for _, p := range ps.mu.byID {
		all = append(all, p)
	}
	return all
}

// kin is what is known of the pane's processes; live is false when there are none. A worker whose connection
// broke may live.
func (p *pane) kin() (at kin.Pane, adopts, live bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.handle == nil && p.mu.facts.State != StateRunning {
		return kin.Pane{}, false, false
	}
	return kin.Pane{ID: p.id, Worker: p.mu.facts.PID, Child: p.mu.shell, Scope: fleet.ScopeName(p.worker)}, p.mu.adopts, true
}

// judge is the Authority in the words of verbs.
type judge struct{ authority *access.Authority }

var rightOf = map[verbs.Right]access.Right{
	verbs.RightRead: access.Read, verbs.RightWrite: access.Write, verbs.RightSpawn: access.Spawn, verbs.RightAdmin: access.Admin,
}

// Check implements verbs.Authority. A resource that is not there is told of here, to who may know, and not
// where the verb is done: by then it could be there, and somebody else's.
func (j judge) Check(c verbs.Caller, right verbs.Right, on verbs.Resource) error {
	asks, _ := c.(caller)
	err := j.authority.Check(asks.who, rightOf[right], access.Resource(on))
	if missing := (*access.MissingError)(nil); errors.As(err, &missing) {
		return verbs.Errorf(verbs.Code(missing.Code()), "%s", missing)
	}
	return err
}

// adoptsOrphans reports whether the worker is among the parents of all that came of its terminal.
func adoptsOrphans(h *fleet.Handle) bool {
	hello := h.Hello()
	return hello.Can(wire.CapSubreaper)
}
