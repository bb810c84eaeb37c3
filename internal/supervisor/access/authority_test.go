// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// forest is a Tree that tests move by hand: each resource names what is right above it.
type forest struct {
	mu    sync.Mutex
	above map[Resource]Resource
	asked func() // after an answer, before whoever asked goes on; nil: nothing
}

func (f *forest) Above(r Resource) ([]Resource, bool) {
	if f.asked != nil {
		defer f.asked()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var line []Resource
	for at := r; at != Root; {
		up, ok := f.above[at]
		if !ok {
			return nil, false
		}
		line = append(line, up)
		at = up
	}
	return line, true
}

func (f *forest) put(r, up Resource) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.above[r] = up
}

func (f *forest) remove(r Resource) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.above, r)
}

// paired is a set of devices.
type paired map[string]bool

func (p paired) Paired(id string) bool { return p[id] }
func (p paired) Unpair(id string) error {
	if !p[id] {
		return ErrUnknownDevice
	}
	delete(p, id)
	return nil
}

// court is an Authority over s0{w0{p0,p1}} and s1{w1{p2}}, with the device d_1.
type court struct {
	*Authority
	t     *testing.T
	tree  *forest
	clock *clock
	owner Token
	told  []Change
}

func newCourt(t *testing.T, unknown UnknownPolicy) *court {
	t.Helper()
	c := &court{t: t, clock: newClock(), tree: &forest{above: map[Resource]Resource{
		"session:s0": Root, "window:w0": "session:s0", "pane:p0": "window:w0", "pane:p1": "window:w0",
		"session:s1": Root, "window:w1": "session:s1", "pane:p2": "window:w1",
	}}}
	var err error
	c.Authority, c.owner, err = NewAuthority(AuthorityOptions{
		Tree: c.tree, Devices: paired{"d_1": true}, Unknown: func() UnknownPolicy { return unknown }, Now: c.clock.Now,
		Changed: func(cs []Change) {
			c.told = append(c.told, cs...)
			for _, change := range cs { // what it may call
				if change.Ended != (Principal{}) && change.Ended.Kind != KindPane && c.Alive(change.Ended) {
					t.Errorf("%v has ended and is alive", change.Ended)
				}
			}
			if _, err := c.Audit(Owner); err != nil {
				t.Error(err)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *court) issue(by, to Principal, life time.Duration, scopes ...Scope) (Grant, Token) {
	c.t.Helper()
	g, token, err := c.Issue(by, GrantOrder{To: to, Scopes: scopes, Life: life})
	if err != nil {
		c.t.Fatal(err)
	}
	return g, token
}

func (c *court) share(on Resource, r Right) (Grant, Token) {
	c.t.Helper()
	g, token, err := c.Share(Owner, ShareOrder{On: on, Right: r, Life: time.Hour})
	if err != nil {
		c.t.Fatal(err)
	}
	return g, token
}

func (c *court) wants(p Principal, r Right, on Resource, want bool) {
	c.t.Helper()
	if err := c.Check(p, r, on); (err == nil) != want {
		c.t.Errorf("%v %v %v: %v", p, r, on, err)
	}
}

var (
	device = Principal{KindDevice, "d_1"}
	pane0  = Principal{KindPane, "p0"}
)

// The whole of who may do what, as a text that people read.
func TestMatrix(t *testing.T) {
	c := newCourt(t, UnknownReads)
	nothing := newCourt(t, UnknownNothing)
	readLink, _ := c.share("pane:p0", Read)
	writeLink, _ := c.share("pane:p0", Write)
	sessionLink, _ := c.share("session:s0", Read)
	writer, _ := c.issue(Owner, Principal{}, 0, Scope{RightsOf(Write), "pane:p0"})
	spawner, _ := c.issue(Owner, Principal{}, 0, Scope{RightsOf(Read, Spawn), "session:s0"})
	admin, _ := c.issue(Owner, Principal{}, 0, Scope{RightsOf(Admin), "window:w0"})
	rows := []struct {
		name string
		a    *court
		who  Principal
	}{
		{"owner", c, Owner},
		{"device", c, device},
		{"device, unpaired", c, Principal{KindDevice, "d_2"}},
		{"pane p0", c, pane0},
		{"pane p9, closed", c, Principal{KindPane, "p9"}},
		{"share: read p0", c, readLink.To},
		{"share: write p0", c, writeLink.To},
		{"share: read s0", c, sessionLink.To},
		{"agent: write p0", c, writer.To},
		{"agent: read,spawn s0", c, spawner.To},
		{"agent: admin w0", c, admin.To},
		{"unknown, policy read", c, Unknown},
		{"unknown, policy none", nothing, Unknown},
	}
	on := []Resource{Root, "session:s0", "window:w0", "pane:p0", "pane:p1", "session:s1", "pane:p2", "pane:p9"}
	var b strings.Builder
	fmt.Fprintf(&b, "r read  w write  s spawn  a admin   - denied   ? not found: may see that it is not there\n\n%-22s", "")
	for _, r := range on {
		fmt.Fprintf(&b, " %-11s", r)
	}
	header := strings.TrimRight(b.String(), " ")
	b.Reset()
	b.WriteString(header + "\n")
	for _, row := range rows {
		line := fmt.Sprintf("%-22s", row.name)
		for _, r := range on {
			line += fmt.Sprintf(" %-11s", cell(row.a, row.who, r))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	golden := filepath.Join("testdata", "matrix.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != b.String() {
		t.Errorf("the matrix is not that of %s (%v); go test -update writes it:\n%s", golden, err, b.String())
	}
}

func cell(a *court, p Principal, on Resource) string {
	text := ""
	for _, known := range rightNames {
		var missing *MissingError
		switch err := a.Check(p, known.right, on); {
		case err == nil:
			text += known.name[:1]
		case errors.As(err, &missing):
			text += "?"
		default:
			text += "-"
		}
	}
	return text
}

// Whoever may not see that something is there learns nothing from the refusal.
func TestDeniedIsTheSameWhetherItExistsOrNot(t *testing.T) {
	c := newCourt(t, UnknownNothing)
	link, _ := c.share("pane:p0", Read)
	for _, p := range []Principal{link.To, Unknown, {KindDevice, "d_2"}, {KindAgent, "g_0"}} {
		for _, r := range []Right{Read, Write, Spawn, Admin} {
			var there, absent *DeniedError
			if !errors.As(c.Check(p, r, "pane:p2"), &there) || !errors.As(c.Check(p, r, "pane:p9"), &absent) {
				t.Fatalf("%v %v: not denied", p, r)
			}
			absent.Resource = there.Resource
			if *there != *absent || there.Code() != "denied."+r.String() {
				t.Errorf("%v tells %v from %v", p, there, absent)
			}
		}
	}
	var missing *MissingError
	if err := c.Check(Owner, Read, "pane:p9"); !errors.As(err, &missing) || missing.Code() != "not_found.pane" {
		t.Errorf("the owner is told %v", err)
	}
}

func TestTokens(t *testing.T) {
	c := newCourt(t, UnknownReads)
	g, token := c.issue(Owner, Principal{}, time.Minute, Scope{RightsOf(Read), Root})
	if p, err := c.Authenticate(token.String()); err != nil || p != g.To {
		t.Errorf("%v, %v", p, err)
	}
	if p, err := c.Authenticate(c.owner.String()); err != nil || p != Owner {
		t.Errorf("%v, %v", p, err)
	}
	_, later, err := NewAuthority(c.o)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", OwnerWord, later.String(), token.String()[1:], token.String() + "A", token.String()[:42] + "!"} {
		if p, err := c.Authenticate(bad); err != ErrToken || p != (Principal{}) {
			t.Errorf("%q stands for %v (%v)", bad, p, err)
		}
	}
	c.clock.Advance(time.Minute)
	if _, err := c.Authenticate(token.String()); err != ErrToken {
		t.Errorf("an expired token: %v", err)
	}
}

func TestNobodyPassesOnWhatTheyLack(t *testing.T) {
	c := newCourt(t, UnknownReads)
	link, _ := c.share("session:s0", Write)
	cases := []struct {
		by   Principal
		want Right // that the refusal names
		give Scope
	}{
		{pane0, Write, Scope{RightsOf(Write), "pane:p1"}},
		{pane0, Spawn, Scope{RightsOf(Write, Spawn), "pane:p0"}},
		{pane0, Admin, Scope{RightsOf(Admin), "pane:p0"}},
		{link.To, Admin, Scope{RightsOf(Read), "pane:p0"}},
		{Unknown, Admin, Scope{RightsOf(Read), "pane:p0"}},
		{Principal{KindDevice, "d_2"}, Read, Scope{RightsOf(Read), "pane:p0"}},
		{Principal{KindPane, "p9"}, Read, Scope{RightsOf(Read), "pane:p0"}},
	}
	for _, k := range cases {
		var denied *DeniedError
		if _, _, err := c.Issue(k.by, GrantOrder{Scopes: []Scope{k.give}}); !errors.As(err, &denied) || denied.Right != k.want {
			t.Errorf("%v gave %v on %v: %v", k.by, k.give.Rights, k.give.On, err)
		}
	}
	for _, by := range []Principal{pane0, link.To, Unknown} {
		var denied *DeniedError
		if _, _, err := c.Share(by, ShareOrder{On: "pane:p0", Right: Read, Life: time.Hour}); !errors.As(err, &denied) {
			t.Errorf("%v made a link: %v", by, err)
		}
	}
	if len(c.Grants(Owner)) != 1 {
		t.Error("a refusal left a grant")
	}
}

func TestOrdersThatNobodyCanHave(t *testing.T) {
	c := newCourt(t, UnknownNothing)
	ok := []Scope{{RightsOf(Read), Root}}
	for name, o := range map[string]GrantOrder{
		"no scope": {}, "too many": {Scopes: slices.Repeat(ok, scopesMax+1)}, "no right": {Scopes: []Scope{{0, Root}}},
		"unknown right": {Scopes: []Scope{{Rights(16), Root}}}, "no resource": {Scopes: []Scope{{RightsOf(Read), "pane:s0"}}},
		"past": {Scopes: ok, Life: -1}, "to the owner": {To: Owner, Scopes: ok}, "to a link": {To: Principal{KindShare, "l_0"}, Scopes: ok},
	} {
		if _, _, err := c.Issue(Owner, o); !errors.Is(err, ErrOrder) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := c.Issue(Owner, GrantOrder{Scopes: ok, Label: strings.Repeat("x", nameSentBytesMax+1)}); !errors.Is(err, ErrProtocol) {
		t.Errorf("a long label: %v", err)
	}
	for name, o := range map[string]ShareOrder{
		"window": {On: "window:w0", Right: Read, Life: 1}, "server": {On: Root, Right: Read, Life: 1}, "spawn": {On: "pane:p0", Right: Spawn, Life: 1},
		"both": {On: "pane:p0", Right: Read | Write, Life: 1}, "for ever": {On: "pane:p0", Right: Read}, "too long": {On: "pane:p0", Right: Read, Life: ShareLifeMax + 1},
	} {
		if _, _, err := c.Share(Owner, o); !errors.Is(err, ErrOrder) {
			t.Errorf("link %s: %v", name, err)
		}
	}
	if _, _, err := c.Share(Owner, ShareOrder{On: "pane:p0", Right: Read, Life: ShareLifeMax}); err != nil {
		t.Error(err)
	}
}

// A label reaches lists, logs and pages.
func TestLabelsAreClean(t *testing.T) {
	c := newCourt(t, UnknownNothing)
	g, _, err := c.Issue(Owner, GrantOrder{Scopes: []Scope{{RightsOf(Read), Root}}, Label: " a\x1b[31m\n\u202eb\u200b  c "})
	if err != nil || g.Label != "a[31m b c" {
		t.Errorf("%q (%v)", g.Label, err)
	}
}

func TestRightsFollowAPaneThatMoves(t *testing.T) {
	c := newCourt(t, UnknownNothing)
	agent, _ := c.issue(Owner, Principal{}, 0, Scope{RightsOf(Write), "session:s0"})
	c.wants(agent.To, Write, "pane:p1", true)
	c.tree.put("pane:p1", "window:w1")
	c.wants(agent.To, Write, "pane:p1", false)
	c.tree.put("pane:p2", "window:w0")
	c.wants(agent.To, Write, "pane:p2", true)
	// What it was told of while it could see it is judged by where it lay last.
	c.tree.remove("pane:p2")
	if !c.May(agent.To, Write, "pane:p2", []Resource{"window:w0", "session:s0", Root}) || c.May(agent.To, Write, "pane:p2", []Resource{"window:w1", "session:s1", Root}) {
		t.Error("a resource that is gone is not judged by where it lay")
	}
}

func TestAGrantGivesNoMoreThanItsIssuerHasNow(t *testing.T) {
	c := newCourt(t, UnknownNothing)
	extra, _ := c.issue(Owner, pane0, 0, Scope{RightsOf(Spawn), "session:s0"})
	agent, _ := c.issue(pane0, Principal{}, 0, Scope{RightsOf(Spawn), "session:s0"}, Scope{RightsOf(Write), "pane:p0"})
	c.wants(agent.To, Spawn, "window:w0", true)
	if err := c.Revoke(Owner, extra.ID); err != nil {
		t.Fatal(err)
	}
	c.wants(agent.To, Spawn, "window:w0", false)
	c.wants(agent.To, Write, "pane:p0", true)
}

// Two who give each other what neither has by nature have nothing.
func TestRightsThatRestOnEachOtherAreNone(t *testing.T) {
	c := newCourt(t, UnknownNothing)
	pane1 := Principal{KindPane, "p1"}
	first, _ := c.issue(Owner, pane0, 0, Scope{RightsOf(Spawn), Root})
	c.issue(pane0, pane1, 0, Scope{RightsOf(Spawn), Root})
	c.issue(pane1, pane0, 0, Scope{RightsOf(Spawn), Root})
	c.wants(pane1, Spawn, "pane:p2", true)
	if err := c.Revoke(Owner, first.ID); err != nil {
		t.Fatal(err)
	}
	c.wants(pane0, Spawn, "pane:p2", false)
	c.wants(pane1, Spawn, "pane:p2", false)
}

func (c *court) whatEnded() []string {
	var ended []string
	for _, change := range c.told {
		if change.Ended != (Principal{}) {
			ended = append(ended, string(change.What)+" "+string(change.Ended.Kind))
		}
	}
	c.told = nil
	return ended
}

func TestRevokingEndsAllThatCameOfIt(t *testing.T) {
	c := newCourt(t, UnknownNothing)
	all := Scope{RightsOf(Admin), Root}
	first, firstToken := c.issue(device, Principal{}, 0, all)
	second, secondToken := c.issue(first.To, Principal{}, 0, all)
	third, _ := c.issue(second.To, pane0, 0, Scope{RightsOf(Spawn), Root})
	link, _, err := c.Share(second.To, ShareOrder{On: "pane:p1", Right: Read, Life: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	other, _ := c.issue(Owner, Principal{}, 0, all)
	c.told = nil
	if err := c.Revoke(device, first.ID); err != nil {
		t.Fatal(err)
	}
	for _, token := range []Token{firstToken, secondToken} {
		if _, err := c.Authenticate(token.String()); err != ErrToken {
			t.Errorf("a token outlived its grant: %v", err)
		}
	}
	c.wants(pane0, Spawn, "pane:p2", false)
	c.wants(link.To, Read, "pane:p1", false)
	c.wants(other.To, Admin, Root, true)
	if got := c.whatEnded(); !slices.Equal(got, []string{"revoked agent", "issuer_gone agent", "issuer_gone share"}) {
		t.Errorf("told of %v", got)
	}
	if list := c.Grants(Owner); len(list) != 1 || list[0].ID != other.ID {
		t.Errorf("%d grants are left, with %s among them", len(list), third.ID)
	}
	if c.Alive(first.To) || c.Alive(link.To) || !c.Alive(other.To) {
		t.Error("Alive is wrong")
	}
}

func TestUnpairingEndsWhatTheDeviceIssued(t *testing.T) {
	c := newCourt(t, UnknownNothing)
	_, token := c.issue(device, Principal{}, 0, Scope{RightsOf(Read), Root})
	var denied *DeniedError
	if err := c.Unpair(pane0, "d_1"); !errors.As(err, &denied) {
		t.Errorf("a pane unpaired a browser: %v", err)
	}
	if err := c.Unpair(Owner, "d_9"); err != ErrUnknownDevice {
		t.Errorf("%v", err)
	}
	c.told = nil
	if err := c.Unpair(Owner, "d_1"); err != nil {
		t.Fatal(err)
	}
	if got := c.whatEnded(); !slices.Equal(got, []string{"unpaired device", "issuer_gone agent"}) {
		t.Errorf("told of %v", got)
	}
	c.wants(device, Read, Root, false)
	if _, err := c.Authenticate(token.String()); err != ErrToken {
		t.Error(err)
	}
	if _, _, err := c.Issue(device, GrantOrder{Scopes: []Scope{{RightsOf(Read), Root}}}); err == nil {
		t.Error("an unpaired browser issued")
	}
}

func TestWhatIsClosedEndsItsGrants(t *testing.T) {
	c := newCourt(t, UnknownNothing)
	link, _ := c.share("pane:p0", Read)
	both, _ := c.issue(Owner, Principal{}, 0, Scope{RightsOf(Read), "pane:p0"}, Scope{RightsOf(Read), "pane:p2"})
	c.issue(pane0, Principal{}, 0, Scope{RightsOf(Read), Root})
	c.issue(Owner, pane0, 0, Scope{RightsOf(Spawn), Root})
	c.told = nil
	c.tree.remove("pane:p0")
	c.Gone("pane:p0")
	if got := c.whatEnded(); !slices.Contains(got, "resource_gone share") || !slices.Contains(got, "resource_gone pane") || !slices.Contains(got, "issuer_gone agent") {
		t.Errorf("told of %v", got)
	}
	list := c.Grants(Owner)
	if len(list) != 1 || list[0].ID != both.ID || len(list[0].Scopes) != 1 || c.Alive(link.To) {
		t.Errorf("left: %+v", list)
	}
}

// Whatever is looked at when the pane closes: nothing is issued by it, to it or on it afterwards.
func TestAPaneClosesAtEachStepOfAnIssue(t *testing.T) {
	orders := map[Principal]GrantOrder{
		pane0:  {Scopes: []Scope{{RightsOf(Read), Root}, {RightsOf(Write), "pane:p0"}}},
		Owner:  {To: pane0, Scopes: []Scope{{RightsOf(Spawn), Root}}},
		device: {Scopes: []Scope{{RightsOf(Write), "pane:p0"}}},
	}
	for by, o := range orders {
		for step := 1; ; step++ {
			c := newCourt(t, UnknownNothing)
			left := step
			c.tree.asked = func() {
				if left--; left == 0 {
					c.tree.remove("pane:p0")
					c.Gone("pane:p0")
				}
			}
			_, _, err := c.Issue(by, o)
			if left > 0 { // it was through before
				if err != nil || step == 1 {
					t.Fatalf("%v: %v after %d steps", by, err, step)
				}
				break
			}
			if n := len(c.Grants(Owner)); err == nil || n != 0 {
				t.Errorf("%v issued while the pane closed at step %d: %d grants (%v)", by, step, n, err)
			}
		}
	}
}

// The same with real goroutines.
func TestIssuingWhileThePaneCloses(t *testing.T) {
	for range 10 {
		c := newCourt(t, UnknownNothing)
		other, _ := c.issue(Owner, Principal{}, 0, Scope{RightsOf(Read), Root})
		var working sync.WaitGroup
		for _, o := range []GrantOrder{
			{Scopes: []Scope{{RightsOf(Read), Root}}}, {Scopes: []Scope{{RightsOf(Write), "pane:p0"}}},
		} {
			working.Go(func() {
				for range 20 {
					_, _, _ = c.Issue(pane0, o)
				}
			})
		}
		working.Go(func() { _, _, _ = c.Issue(Owner, GrantOrder{To: pane0, Scopes: []Scope{{RightsOf(Spawn), Root}}}) })
		working.Go(func() { c.tree.remove("pane:p0"); c.Gone("pane:p0") })
		working.Wait()
		if left := c.Grants(Owner); len(left) != 1 || left[0].ID != other.ID {
			t.Fatalf("%d grants outlived the pane", len(left)-1)
		}
	}
}

func TestExpiryByEitherClock(t *testing.T) {
	at := time.Now()
	g := Grant{Expires: at.Add(time.Minute)}
	if !g.aliveAt(at.Add(time.Minute-1)) || g.aliveAt(at.Add(time.Minute)) {
		t.Error("not alive just until its time")
	}
	// The host slept: the wall clock alone went on.
	if g.aliveAt(at.Round(0).Add(2 * time.Minute)) {
		t.Error("alive past its time by the wall clock")
	}
}

func TestRunTellsOfWhatExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan Change, 4)
		tree := &forest{above: map[Resource]Resource{}}
		a, _, err := NewAuthority(AuthorityOptions{Tree: tree, Devices: paired{}, Changed: func(cs []Change) {
			for _, c := range cs {
				told <- c
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { a.Run(ctx) })
		if _, _, err := a.Issue(Owner, GrantOrder{Scopes: []Scope{{RightsOf(Read), Root}}, Life: 90 * time.Second}); err != nil {
			t.Fatal(err)
		}
		<-told
		start := time.Now()
		c := <-told
		if late := time.Since(start) - 90*time.Second; c.What != Expired || late != 0 {
			t.Errorf("told of %s, %v late", c.What, late)
		}
		cancel()
		running.Wait()
	})
}

func TestWhoKnowsOfAndMayEndWhichGrant(t *testing.T) {
	c := newCourt(t, UnknownReads)
	mine, _ := c.issue(pane0, Principal{}, 0, Scope{RightsOf(Read), Root})
	child, _ := c.issue(mine.To, Principal{}, 0, Scope{RightsOf(Read), Root})
	c.issue(Owner, Principal{}, 0, Scope{RightsOf(Read), Root})
	for p, want := range map[Principal]int{Owner: 3, device: 3, pane0: 2, mine.To: 2, child.To: 1, Unknown: 0, {KindPane, "p1"}: 0} {
		if got := len(c.Grants(p)); got != want {
			t.Errorf("%v knows of %d grants, want %d", p, got, want)
		}
	}
	for _, p := range []Principal{child.To, Unknown, {KindPane, "p1"}} {
		if a, b := c.Revoke(p, mine.ID), c.Revoke(p, "g_none"); a != ErrNoGrant || b != ErrNoGrant {
			t.Errorf("%v: %v and %v", p, a, b)
		}
	}
	if _, _, err := c.Issue(Principal{KindPane, "p1"}, GrantOrder{To: mine.To, Scopes: []Scope{{RightsOf(Read), Root}}}); err != ErrNoGrant {
		t.Errorf("another pane gave to an agent that it cannot know: %v", err)
	}
	if err := c.Revoke(pane0, child.ID); err != nil {
		t.Error(err)
	}
	if _, err := c.Audit(pane0); err == nil {
		t.Error("a pane reads the audit")
	}
	if audit, err := c.Audit(Owner); err != nil || len(audit) != 4 || audit[3].What != Revoked || audit[3].Actor != pane0 {
		t.Errorf("audit: %+v (%v)", audit, err)
	}
}

// A program that issues without end does not keep the owner from it, and what is remembered stays bounded.
func TestBounds(t *testing.T) {
	c := newCourt(t, UnknownNothing)
	read := []Scope{{RightsOf(Read), Root}}
	last := pane0
	for i := range grantsMax - grantsKept {
		by := pane0
		if i%2 == 1 {
			by = last
		}
		g, _ := c.issue(by, Principal{}, 0, read...)
		last = g.To
	}
	if _, _, err := c.Issue(pane0, GrantOrder{Scopes: read}); !errors.Is(err, ErrBusy) {
		t.Errorf("beyond its bound: %v", err)
	}
	for range grantsKept {
		c.issue(device, Principal{}, 0, read...)
	}
	if _, _, err := c.Issue(Owner, GrantOrder{Scopes: read}); !errors.Is(err, ErrBusy) {
		t.Errorf("beyond all bounds: %v", err)
	}
	c.Gone("pane:p0")
	if n := len(c.Grants(Owner)); n != grantsKept {
		t.Errorf("%d grants are left, want %d", n, grantsKept)
	}
	if audit, _ := c.Audit(Owner); len(audit) != auditMax {
		t.Errorf("%d changes are remembered", len(audit))
	}
	if len(c.mu.tokens) != 1+grantsKept || len(c.mu.to) != grantsKept {
		t.Errorf("%d tokens and %d principals are kept", len(c.mu.tokens), len(c.mu.to))
	}
}

func TestResourceTexts(t *testing.T) {
	for _, ok := range []string{"server:root", "session:s0", "window:w12", "pane:p9223372036854775807"} {
		if r, err := ParseResource(ok); err != nil || string(r) != ok {
			t.Errorf("%s: %v", ok, err)
		}
	}
	for _, bad := range []string{"", "server", "server:", "server:root ", "pane:p00", "pane:p-1", "pane:s0", "pane:p", "pane:p9223372036854775808", "p0", "Pane:p0", "pane:p0:x", "pane:p+1"} {
		if r, err := ParseResource(bad); !errors.Is(err, ErrResource) {
			t.Errorf("%q is %q (%v)", bad, r, err)
		}
	}
	c := newCourt(t, UnknownNothing)
	for _, p := range []Principal{Owner, Unknown} { // what a caller made up is shown, but never raw
		err := c.Check(p, Read, Resource("pane:\x1b[2J\n\u202e"+strings.Repeat("x", 1000)))
		if err == nil || strings.ContainsAny(err.Error(), "\x1b\n\u202e") || len(err.Error()) > 120 {
			t.Errorf("%v is told %v", p, err)
		}
	}
	for _, name := range []string{"read", "write", "spawn", "admin"} {
		if r, err := ParseRight(name); err != nil || r.String() != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseRight("own"); err == nil || RightsOf(Read, Admin).String() != "read,admin" {
		t.Error("rights are misread")
	}
}
