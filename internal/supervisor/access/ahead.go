// SPDX-License-Identifier: Apache-2.0

package access

import (
	"fmt"
	"slices"
)

// An Ahead is a grant to a pane that is about to be made. Before that pane is in the Tree it gives nothing, for
// there is nobody whom it is given to; from that very moment on it gives what any grant does. Nobody is told of
// it, nor is it listed, until whoever makes the pane calls one of Settle and Withdraw, once.
type Ahead struct {
	authority *Authority
	grant     string // id
	// The rest is guarded by the Authority's mu.
	kept    []Change // what became of it, its issue first, while nobody is told
	settled bool
}

// IssueAhead is Issue to a pane whose id was given out and which is not there. What the issuer lacks is a
// *DeniedError before anything is started.
func (a *Authority) IssueAhead(by Principal, o GrantOrder) (*Ahead, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.To.Kind != KindPane {
		return nil, fmt.Errorf("%w: only a pane is given something before it is there", ErrOrder)
	}
	if !by.mayDelegate() {
		return nil, &DeniedError{Admin, o.Scopes[0].On, by.String()}
	}
	h := &Ahead{authority: a}
	order := Grant{To: o.To, Scopes: slices.Clone(o.Scopes), Label: cleanText(o.Label), ahead: h}
	g, _, err := a.give(by, order, o.Life, func() error { return a.mayGive(by, o.Scopes) })
	if err != nil {
		return nil, err
	}
	h.grant = g.ID
	return h, nil
}

// Issued is the change that whoever makes the pane tells, together with the pane's coming.
func (h *Ahead) Issued() Change {
	h.authority.mu.Lock()
	defer h.authority.mu.Unlock()
	return h.kept[0]
}

// Settle says that the pane is there and Issued was told. What has become of the grant meanwhile is told now.
func (h *Ahead) Settle() {
	_ = h.authority.act(func() error {
		h.settled = true
		h.authority.recordLocked(h.kept[0])
		for _, c := range h.kept[1:] {
			h.authority.noteLocked(c)
		}
		return nil
	})
}

// Withdraw takes the grant back: the pane does not come. Nobody is told, as nobody was of its issue.
func (h *Ahead) Withdraw() {
	_ = h.authority.act(func() error {
		if g := h.authority.mu.grants[h.grant]; g != nil {
			h.authority.endLocked(g, ResourceGone, Principal{})
		}
		return nil
	})
}

// hidden reports whether nobody is to hear of the grant yet.
func (g *Grant) hidden() bool { return g.ahead != nil && !g.ahead.settled }
