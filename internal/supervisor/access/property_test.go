// SPDX-License-Identifier: Apache-2.0

package access

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// model says what rights should be, in the plainest way: everything is worked out anew at each question.
type model struct {
	*court
	grants  []Grant
	revoked map[string]bool
	gone    map[Resource]bool
}

func (m *model) expired(g Grant) bool { return !g.Expires.IsZero() && !m.clock.Now().Before(g.Expires) }

// dead grows the set of ended principals and grants until it grows no more.
func (m *model) dead() (principals map[Principal]bool, grants map[string]bool) {
	principals, grants = map[Principal]bool{}, map[string]bool{}
	for r := range m.gone {
		if r.Kind() == "pane" {
			principals[Principal{KindPane, r.ID()}] = true
		}
	}
	if !m.o.Devices.Paired("d_1") {
		principals[device] = true
	}
	for grew := true; grew; {
		grew = false
		for _, g := range m.grants {
			lost := !slices.ContainsFunc(g.Scopes, func(s Scope) bool { return !m.gone[s.On] })
			if !grants[g.ID] && (m.revoked[g.ID] || m.expired(g) || lost || principals[g.By] || principals[g.To]) {
				grants[g.ID], grew = true, true
				if g.To.ID == g.ID {
					principals[g.To] = true
				}
			}
		}
	}
	return principals, grants
}

// holds works out everybody who has the right on the resource, starting from those who have it by nature.
func (m *model) holds(p Principal, r Right, on Resource) bool {
	above, there := m.tree.Above(on)
	if on == Root {
		there = true
	}
	dead, ended := m.dead()
	if !there || dead[p] {
		return false
	}
	line := append(slices.Clone(above), on)
	have := map[Principal]bool{Owner: true, device: !dead[device]}
	for _, id := range []string{"p0", "p1", "p2", "p3"} {
		q := Principal{KindPane, id}
		have[q] = !dead[q] && (r == Read || r == Write && slices.Contains(line, Resource("pane:"+id)))
	}
	for range len(m.grants) + 1 {
		for _, g := range m.grants {
			for _, s := range g.Scopes {
				gives := s.Rights&Rights(r) != 0 || s.Rights&Rights(Admin) != 0
				if !ended[g.ID] && have[g.By] && gives && slices.Contains(line, s.On) {
					have[g.To] = true
				}
			}
		}
	}
	return have[p]
}

var everything = []Resource{Root, "session:s0", "session:s1", "window:w0", "window:w1", "pane:p0", "pane:p1", "pane:p2", "pane:p3"}

func (m *model) everybody() []Principal {
	all := []Principal{Owner, device, Unknown}
	for _, id := range []string{"p0", "p1", "p2", "p3"} {
		all = append(all, Principal{KindPane, id})
	}
	for _, g := range m.grants {
		all = append(all, g.To)
	}
	return all
}

// step does one thing to both, and compares what Issue decides.
func (m *model) step(t *rapid.T) {
	who := rapid.SampledFrom(m.everybody()).Draw(t, "who")
	on := rapid.SampledFrom(everything).Draw(t, "on")
	switch rapid.SampledFrom([]string{"issue", "issue", "issue", "share", "revoke", "move", "close", "wait", "unpair"}).Draw(t, "step") {
	case "issue":
		o := GrantOrder{
			Scopes: []Scope{{Rights(rapid.IntRange(1, 15).Draw(t, "rights")), on}},
			Life:   time.Duration(rapid.IntRange(0, 3).Draw(t, "life")) * time.Minute,
		}
		if rapid.Bool().Draw(t, "to a pane") {
			o.To = Principal{KindPane, rapid.SampledFrom([]string{"p0", "p1", "p2"}).Draw(t, "pane")}
		}
		m.issue(t, who, o)
	case "share":
		if on.Kind() == "pane" || on.Kind() == "session" {
			right := rapid.SampledFrom([]Right{Read, Write}).Draw(t, "right")
			g, _, err := m.Share(who, ShareOrder{On: on, Right: right, Life: time.Minute})
			if want := m.holds(who, Admin, on) && who.mayDelegate(); (err == nil) != want {
				t.Fatalf("%v shared %v: %v, want %v", who, on, err, want)
			}
			if err == nil {
				m.grants = append(m.grants, g)
			}
		}
	case "revoke":
		if len(m.grants) > 0 {
			g := rapid.SampledFrom(m.grants).Draw(t, "grant")
			_, ended := m.dead()
			if err := m.Revoke(Owner, g.ID); (err == nil) != !ended[g.ID] {
				t.Fatalf("revoke %s: %v", g.ID, err)
			}
			m.revoked[g.ID] = true
		}
	case "move":
		if r := rapid.SampledFrom([]Resource{"pane:p0", "pane:p1", "pane:p2"}).Draw(t, "moved"); !m.gone[r] {
			m.tree.put(r, rapid.SampledFrom([]Resource{"window:w0", "window:w1"}).Draw(t, "into"))
		}
	case "close":
		if on.Kind() == "pane" && !m.gone[on] {
			m.gone[on] = true
			m.tree.remove(on)
			m.Gone(on)
		}
	case "wait":
		m.clock.Advance(30 * time.Second)
	case "unpair":
		_ = m.Unpair(Owner, "d_1")
	}
}

func (m *model) issue(t *rapid.T, who Principal, o GrantOrder) {
	want := who.mayDelegate()
	for _, r := range o.Scopes[0].Rights.List() {
		want = want && m.holds(who, r, o.Scopes[0].On)
	}
	if o.To.Kind == KindPane {
		want = want && m.holds(who, Read, Resource("pane:"+o.To.ID))
	}
	g, token, err := m.Issue(who, o)
	if (err == nil) != want {
		t.Fatalf("%v issued %v to %v: %v, want %v", who, o.Scopes, o.To, err, want)
	}
	if err != nil {
		return
	}
	m.grants = append(m.grants, g)
	if (token == Token{}) != (o.To.Kind == KindPane) {
		t.Fatalf("%v got a token, or a new agent none", o.To)
	}
}

// Whatever is granted, moved, closed, revoked and expires, everybody has what the model says: no more, no less.
func TestRightsAreThoseOfTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{court: newCourt(t, UnknownNothing), revoked: map[string]bool{}, gone: map[Resource]bool{"pane:p3": true}}
		for i := range rapid.IntRange(1, 25).Draw(rt, "steps") {
			m.step(rt)
			for _, p := range m.everybody() {
				for _, r := range []Right{Read, Write, Spawn, Admin} {
					for _, on := range everything {
						if got, want := m.Check(p, r, on) == nil, m.holds(p, r, on); got != want {
							rt.Fatalf("after step %d: %v %v %v is %v, want %v", i, p, r, on, got, want)
						}
					}
				}
			}
		}
		_, ended := m.dead()
		var left []string
		for _, g := range m.grants {
			if !ended[g.ID] {
				left = append(left, g.ID)
			}
		}
		if got := len(m.Grants(Owner)); got != len(left) {
			rt.Fatalf("%d grants are listed, want %s", got, fmt.Sprint(left))
		}
	})
}
