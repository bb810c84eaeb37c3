// SPDX-License-Identifier: Apache-2.0

package access

import (
	"crypto/rand"
	"io"
	"slices"
	"sync"
	"time"
)

// Tree says where resources lie, now. It must answer from any goroutine.
type Tree interface {
	// Above returns what holds the resource, the nearest first and Root last; false when there is no
	// such resource. One answer is of one moment: a pane that moves is never seen in two places.
	Above(r Resource) (above []Resource, ok bool)
}

// Devices are the paired browsers. A Door is.
type Devices interface {
	Paired(id string) bool  // must not wait: it is asked at every check
	Unpair(id string) error // fails when there is no such device, or it could not be made durable
}

// UnknownPolicy is what Unknown may do.
type UnknownPolicy uint8

const (
	UnknownNothing UnknownPolicy = 0
	UnknownReads   UnknownPolicy = 1 // and sees everything, but changes nothing
)

// AuthorityOptions are what an Authority takes from outside.
type AuthorityOptions struct {
	Tree    Tree
	Devices Devices
	Unknown func() UnknownPolicy // asked at each check, and must not wait; nil: UnknownNothing
	Now     func() time.Time     // nil: time.Now
	Rand    io.Reader            // nil: crypto/rand
	// Changed is told what one act brought about, all of it at once and in order, before the act
	// returns. Of the Authority it may only call Check, May, Alive and Audit; and it may take no lock
	// under which any of the others is called, Gone above all. nil: nobody is told.
	Changed func([]Change)
}

// An Authority knows what everybody may do. It lives as long as one spawnd and is kept nowhere, so what
// one gave out means nothing to the next. It is safe for concurrent use.
//
// Nobody can pass on what they do not have: a grant gives, at each check, no more than its issuer has at
// that moment. So a right is founded on a chain of grants that ends at somebody who has it by nature: the
// owner, a device, or a process in its own pane.
//
// Locks: acting, then mu. Tree is asked under neither of them, Devices.Paired under both, and
// Devices.Unpair, which writes a file, under acting.
type Authority struct {
	o    AuthorityOptions
	kick chan struct{} // something expires earlier than Run knows

	acting sync.Mutex // one change at a time, until Changed has been told

	mu struct {
		sync.Mutex
		grants  map[string]*Grant
		to      map[Principal][]*Grant // the same by Grant.To, oldest first
		tokens  bearers
		links   map[string]*link // of grants of links, by id
		gone    uint64           // counts calls of Gone
		changes []Change         // of the act that runs
		audit   []Change         // the last auditMax, oldest first
	}
}

// NewAuthority also returns the owner's token, which is in no other place yet.
func NewAuthority(o AuthorityOptions) (*Authority, Token, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	a := &Authority{o: o, kick: make(chan struct{}, 1)}
	a.mu.grants, a.mu.to, a.mu.links = map[string]*Grant{}, map[Principal][]*Grant{}, map[string]*link{}
	token, err := newToken(o.Rand)
	if err != nil {
		return nil, Token{}, err
	}
	a.mu.tokens = bearers{Owner: token.hash()}
	return a, token, nil
}

// Authenticate returns whom the token stands for. ErrToken refuses the request: it never means Unknown.
func (a *Authority) Authenticate(token string) (Principal, error) {
	raw, err := decode(token, tokenBytes)
	if err != nil {
		return Principal{}, ErrToken
	}
	var p Principal
	err = a.act(func() error {
		found, ok := a.mu.tokens.find(Token(raw).hash())
		if !ok {
			return ErrToken
		}
		p = found
		return nil
	})
	return p, err
}

// Check returns nil when the principal may do that with the resource, and else *DeniedError. Only who may
// read Root is told *MissingError for a resource that is not there.
func (a *Authority) Check(p Principal, r Right, on Resource) error {
	above, there := a.above(on)
	placed := a.placed(p)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case !placed:
	case there && a.holdsLocked(p, r, append(above, on)):
		return nil
	case !there && a.holdsLocked(p, Read, []Resource{Root}):
		return &MissingError{on}
	}
	return &DeniedError{r, on, p.String()}
}

// May is Check for those who are told of something after the fact. For a resource that is gone, last is
// what was above it.
func (a *Authority) May(p Principal, r Right, on Resource, last []Resource) bool {
	above, there := a.above(on)
	if !there {
		above = slices.Clone(last)
	}
	if !a.placed(p) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.holdsLocked(p, r, append(above, on))
}

// Alive reports whether the principal can still be anybody. Who opens something for a principal that lasts
// asks after having put it where Changed finds it: then it is either refused here or closed there.
func (a *Authority) Alive(p Principal) bool {
	if !a.placed(p) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.livesLocked(p)
}

// placed reports whether the pane of a pane's principal is there. Others are nowhere in the tree.
func (a *Authority) placed(p Principal) bool {
	if p.Kind != KindPane {
		return true
	}
	_, there := a.o.Tree.Above(Resource("pane:" + p.ID))
	return there
}

// above is the Tree's answer, in memory that the caller may append to.
func (a *Authority) above(r Resource) ([]Resource, bool) {
	if r == Root {
		return nil, true
	}
	above, there := a.o.Tree.Above(r)
	return slices.Clone(above), there
}

// holdsLocked looks for a chain of living grants from p to somebody who has the right by nature. Each
// link has to give the right on something in line, whatever the other links do, so the first chain found
// is as good as any, and each principal is looked at once: the work is bounded by the grants there are.
func (a *Authority) holdsLocked(p Principal, r Right, line []Resource) bool {
	if a.byNature(p, r, line) {
		return true
	}
	if len(a.mu.to[p]) == 0 {
		return false
	}
	now := a.o.Now()
	seen := map[Principal]bool{p: true}
	for todo := []Principal{p}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, g := range a.mu.to[at] {
			if seen[g.By] || !g.aliveAt(now) || !covers(g.Scopes, r, line) {
				continue
			}
			if a.byNature(g.By, r, line) {
				return true
			}
			seen[g.By] = true
			todo = append(todo, g.By)
		}
	}
	return false
}

// byNature reports whether a principal of its kind has the right without anybody's grant. The golden
// matrix of the tests is this table, seen from outside.
func (a *Authority) byNature(p Principal, r Right, line []Resource) bool {
	switch p.Kind {
	case KindOwner:
		return true
	case KindDevice:
		return a.o.Devices.Paired(p.ID)
	case KindPane:
		return r == Read || r == Write && slices.Contains(line, Resource("pane:"+p.ID))
	case KindUnknown:
		return r == Read && a.o.Unknown != nil && a.o.Unknown() == UnknownReads
	}
	return false
}

// covers reports whether one of the scopes gives the right on one of the resources.
func covers(scopes []Scope, r Right, line []Resource) bool {
	return slices.ContainsFunc(scopes, func(s Scope) bool { return s.Rights.Has(r) && slices.Contains(line, s.On) })
}
