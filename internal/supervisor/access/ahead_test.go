// SPDX-License-Identifier: Apache-2.0

package access

import (
	"errors"
	"slices"
	"testing"
)

// pane9 is about to be made.
var pane9 = Principal{KindPane, "p9"}

func (c *court) ahead(by Principal, scopes ...Scope) *Ahead {
	c.t.Helper()
	h, err := c.IssueAhead(by, GrantOrder{To: pane9, Scopes: scopes})
	if err != nil {
		c.t.Fatal(err)
	}
	return h
}

func (c *court) whatWasTold() (what []What) {
	for _, change := range c.told {
		what = append(what, change.What)
	}
	return what
}

func TestAGrantAheadCountsFromTheMomentThePaneIsThere(t *testing.T) {
	c := newCourt(t, UnknownNothing)
	h := c.ahead(Owner, Scope{RightsOf(Spawn), "session:s0"})
	c.wants(pane9, Spawn, "session:s0", false)
	c.wants(pane9, Read, "session:s0", false)
	if len(c.told) != 0 || len(c.Grants(Owner)) != 0 {
		t.Errorf("told of %v, listed %v", c.told, c.Grants(Owner))
	}
	if issued := h.Issued(); issued.What != Issued || issued.Grant.To != pane9 || issued.Grant.By != Owner || issued.Actor != Owner {
		t.Errorf("%+v", issued)
	}
	c.tree.put("pane:p9", "window:w0")
	c.wants(pane9, Spawn, "session:s0", true)
	c.wants(pane9, Spawn, "session:s1", false)
	h.Settle()
	audit, err := c.Audit(Owner)
	if err != nil || len(c.told) != 0 || len(audit) != 1 || len(c.Grants(Owner)) != 1 {
		t.Errorf("told of %v, recorded %v (%v), listed %v", c.told, audit, err, c.Grants(Owner))
	}
	c.tree.remove("pane:p9")
	c.Gone("pane:p9")
	c.wants(pane9, Spawn, "session:s0", false)
	if got := c.whatWasTold(); !slices.Contains(got, IssuerGone) || len(c.Grants(Owner)) != 0 {
		t.Errorf("told of %v, left %v", got, c.Grants(Owner))
	}
}

func TestAGrantAheadIsTakenBackWithoutAWord(t *testing.T) {
	c := newCourt(t, UnknownNothing)
	c.ahead(Owner, Scope{RightsOf(Spawn), Root}).Withdraw()
	c.tree.put("pane:p9", "window:w0")
	c.wants(pane9, Spawn, Root, false)
	if audit, err := c.Audit(Owner); err != nil || len(audit) != 0 || len(c.told) != 0 || len(c.mu.grants) != 0 {
		t.Errorf("told of %v, recorded %v (%v), left %v", c.told, audit, err, c.mu.grants)
	}
}

// Its end may come before anybody heard of its issue. It is told behind it.
func TestAGrantAheadThatEndsIsToldOfInOrder(t *testing.T) {
	c := newCourt(t, UnknownNothing)
	agent, _ := c.issue(Owner, Principal{}, 0, Scope{RightsOf(Spawn), Root})
	h := c.ahead(agent.To, Scope{RightsOf(Spawn), Root})
	c.told = nil
	if err := c.Revoke(Owner, agent.ID); err != nil {
		t.Fatal(err)
	}
	if got := c.whatWasTold(); !slices.Equal(got, []What{Revoked}) {
		t.Errorf("told of %v before it was settled", got)
	}
	c.tree.put("pane:p9", "window:w0")
	c.wants(pane9, Spawn, Root, false)
	if h.Issued().What != Issued {
		t.Errorf("%+v", h.Issued())
	}
	h.Settle()
	if got := c.whatWasTold(); !slices.Equal(got, []What{Revoked, IssuerGone}) {
		t.Errorf("told of %v", got)
	}
}

func TestNobodyGivesAheadWhatTheyLack(t *testing.T) {
	c := newCourt(t, UnknownReads)
	link, _ := c.share("pane:p0", Write)
	for name, test := range map[string]struct {
		by    Principal
		to    Principal
		scope Scope
		want  func(error) bool
	}{
		"pane that may not spawn": {pane0, pane9, Scope{RightsOf(Spawn), "pane:p0"}, isDenied},
		"pane to another":         {pane0, pane9, Scope{RightsOf(Write), "pane:p1"}, isDenied},
		"link":                    {link.To, pane9, Scope{RightsOf(Write), "pane:p0"}, isDenied},
		"unknown":                 {Unknown, pane9, Scope{RightsOf(Read), Root}, isDenied},
		"what is not there":       {Owner, pane9, Scope{RightsOf(Read), "session:s9"}, func(err error) bool { return errors.As(err, new(*MissingError)) }},
		"no right":                {Owner, pane9, Scope{0, Root}, func(err error) bool { return errors.Is(err, ErrOrder) }},
		"an agent":                {Owner, Principal{}, Scope{RightsOf(Read), Root}, func(err error) bool { return errors.Is(err, ErrOrder) }},
	} {
		if _, err := c.IssueAhead(test.by, GrantOrder{To: test.to, Scopes: []Scope{test.scope}}); !test.want(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(c.mu.grants) != 1 {
		t.Errorf("left %v", c.mu.grants)
	}
}

func isDenied(err error) bool { return errors.As(err, new(*DeniedError)) }
