// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/page"
	"spawn/internal/supervisor/topology"
	"spawn/internal/supervisor/verbs"
)

var update = flag.Bool("update", false, "write testdata/rights.golden anew, to be read before it is kept")

// paired is a door with one browser.
type paired map[string]bool

func (p paired) Paired(id string) bool { return p[id] }
func (p paired) Unpair(string) error   { return access.ErrUnknownDevice }

// court is an Authority over a tree with p0 in w0 of s0 and p1 in w1 of s1, and one principal of each kind.
type court struct {
	*access.Authority
	principals []named
}

type named struct {
	name string
	access.Principal
}

func newCourt(t *testing.T, unknown access.UnknownPolicy) court {
	t.Helper()
	ps := &panes{inForce: config.Default}
	tree, s1, err := topology.Tree{}.NewSession("one")
	if err == nil {
		tree, _, err = tree.NewPane(s1.ID, start("1"))
	}
	if err == nil {
		tree, s1, err = tree.NewSession("two")
	}
	if err == nil {
		tree, _, err = tree.NewPane(s1.ID, start("2"))
	}
	if err != nil {
		t.Fatal(err)
	}
	ps.mu.tree = tree
	authority, _, err := access.NewAuthority(access.AuthorityOptions{
		Tree: ps, Devices: paired{"d_1": true}, Unknown: func() access.UnknownPolicy { return unknown },
	})
	if err != nil {
		t.Fatal(err)
	}
	c := court{Authority: authority}
	c.principals = []named{{"owner", access.Owner}, {"device", access.Principal{Kind: access.KindDevice, ID: "d_1"}}}
	for _, right := range []access.Right{access.Read, access.Write} {
		g, _, err := authority.Share(access.Owner, access.ShareOrder{On: "pane:p0", Right: right, Life: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		c.principals = append(c.principals, named{"share " + right.String(), g.To})
	}
	c.principals = append(c.principals, named{"pane", access.Principal{Kind: access.KindPane, ID: "p0"}})
	for _, right := range []access.Right{access.Read, access.Write, access.Spawn, access.Admin} {
		g, _, err := authority.Issue(access.Owner, access.GrantOrder{Scopes: []access.Scope{{Rights: access.RightsOf(right), On: "session:s0"}}})
		if err != nil {
			t.Fatal(err)
		}
		c.principals = append(c.principals, named{"agent " + right.String(), g.To})
	}
	c.principals = append(c.principals, named{"unknown", access.Unknown})
	return c
}

// The resources of the matrix: what belongs to the principal, what does not, and what is not there.
var (
	placeNames = []string{"own", "other", "missing"}
	digits     = []string{"0", "1", "9"}
)

// verdict is "allowed", or the code of the refusal.
func verdict(err error) string {
	told := (*verbs.Error)(nil)
	switch {
	case err == nil:
		return "allowed"
	case errors.As(err, &told):
		return string(told.Code)
	}
	if code, ok := codeOf(err); ok {
		return string(code)
	}
	if errors.Is(err, fanout.ErrGuest) {
		return "denied.visitor" // as a page is told
	}
	return err.Error()
}

// byItself asks the Authority as the verbs do that leave the decision to it. A verb of that kind has to be here.
var byItself = map[string]func(c court, by access.Principal, n string) error{
	verbs.GrantIssue: func(c court, by access.Principal, n string) error {
		_, _, err := c.Issue(by, access.GrantOrder{Scopes: []access.Scope{{Rights: access.RightsOf(access.Read), On: access.Resource("pane:p" + n)}}})
		return err
	},
	verbs.ShareRevoke: func(c court, by access.Principal, n string) error {
		id := "l_0000000000000000"
		if n != "9" {
			g, _, err := c.Share(access.Owner, access.ShareOrder{On: paneResource("p" + n), Right: access.Read, Life: time.Hour})
			if err != nil {
				return err
			}
			defer func() { _ = c.RevokeLink(access.Owner, g.ID) }()
			id = g.ID
		}
		return sharingError(c.RevokeLink(by, id))
	},
	verbs.GrantRevoke: func(c court, by access.Principal, n string) error {
		id := "g_0000000000000000"
		if n != "9" {
			issuer := by
			if n == "1" {
				issuer = access.Owner
			}
			g, _, err := c.Issue(issuer, access.GrantOrder{Scopes: []access.Scope{{Rights: access.RightsOf(access.Read), On: "pane:p0"}}})
			if err != nil {
				return errors.New("issues none")
			}
			id = g.ID
		}
		return sharingError(c.Revoke(by, id))
	},
}

// shares reports whether the principal is shown a link on what is its own, on what is not, or one that is over; by
// whom it was made is no matter.
func (c court) shares(t *testing.T, p access.Principal, n string) bool {
	t.Helper()
	on := n
	if n == "9" {
		on = "0"
	}
	g, _, err := c.Share(access.Owner, access.ShareOrder{On: paneResource("p" + on), Right: access.Read, Life: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	end := func() error { return c.RevokeLink(access.Owner, g.ID) }
	if n == "9" {
		err = end()
	} else {
		defer func() { _ = end() }()
	}
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(c.Links(p), func(have access.Link) bool { return have.ID == g.ID })
}

// row is what the verb answers to one principal, for each place. A verb without a place has one answer.
func (c court) row(t *testing.T, v verbs.Verb, p access.Principal) string {
	t.Helper()
	var cells []string
	for _, n := range digits {
		switch ask, own := byItself[v.Name]; {
		case v.Own && !own:
			t.Fatalf("%s decides by itself: say in byItself how", v.Name)
		case v.Own:
			cells = append(cells, verdict(ask(c, p, n)))
		case v.Name == verbs.GrantList:
			cells = append(cells, shown(c.lists(p, n)))
		case v.Name == verbs.ShareList:
			cells = append(cells, shown(c.shares(t, p, n)))
		case v.Each:
			cells = append(cells, shown(c.Check(p, access.Read, paneResource("p"+n)) == nil))
		default:
			cells = append(cells, verdict(v.Allow(judge{c.Authority}, caller{who: p}, paramsFor(t, v, n))))
		}
	}
	if v.On == verbs.ServerRoot && !v.Each && !v.Own {
		return cells[0]
	}
	return strings.Join(cells, " | ")
}

func shown(is bool) string {
	if is {
		return "shown"
	}
	return "left out"
}

// lists reports whether the principal is shown a grant of its own, of somebody else, or one that is over.
func (c court) lists(p access.Principal, n string) bool {
	by := access.Owner
	if n == "0" {
		by = p
	}
	g, _, err := c.Issue(by, access.GrantOrder{Scopes: []access.Scope{{Rights: access.RightsOf(access.Read), On: "pane:p0"}}})
	if err != nil {
		return false
	}
	if n == "9" && c.Revoke(by, g.ID) != nil {
		return true // to be seen
	}
	return slices.ContainsFunc(c.Grants(p), func(have access.Grant) bool { return have.ID == g.ID })
}

// paramsFor is the verb's example with the resource that it is about exchanged.
func paramsFor(t *testing.T, v verbs.Verb, n string) verbs.Raw {
	t.Helper()
	raw, err := strictjson.Marshal(v.Example)
	if err != nil {
		t.Fatal(err)
	}
	if v.On == verbs.ServerRoot {
		return raw
	}
	_, id, _ := strings.Cut(string(v.On), ":")
	text := strings.ReplaceAll(string(raw), `"`+id+`"`, `"`+id[:1]+n+`"`)
	return verbs.Raw(strings.ReplaceAll(text, `"`+string(v.On)+`"`, `"`+strings.TrimSuffix(string(v.On), id)+id[:1]+n+`"`))
}

// Every verb of the socket and every request of a page has one answer for each kind of principal, on what is its
// own, on what is not, and on what is not there. The golden file is read before it is changed.
func TestWhoMayDoWhat(t *testing.T) {
	c, closed := newCourt(t, access.UnknownReads), newCourt(t, access.UnknownNothing)
	var out strings.Builder
	line := func(verb, who, cells string) { fmt.Fprintf(&out, "%-20s %-12s %s\n", verb, who, cells) }
	fmt.Fprintf(&out, "# %s: of s0 with p0, of s1 with p1, not there\n", strings.Join(placeNames, ", "))
	for _, v := range verbs.Table() {
		for _, p := range c.principals {
			line(v.Name, p.name, c.row(t, v, p.Principal))
		}
		line(v.Name, "unknown none", closed.row(t, v, access.Unknown))
	}
	out.WriteString("# requests of a page\n")
	for _, v := range page.Verbs() {
		ask, known := pageRequests[v.Name]
		if !known {
			t.Errorf("the page's request %s has no row in pageRequests", v.Name)
			continue
		}
		for _, p := range c.principals {
			if p.Kind == access.KindDevice || p.Kind == access.KindShare {
				line(v.Name, p.name, pageRow(c, p.Principal, ask))
			}
		}
	}
	const golden = "testdata/rights.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want, got := strings.Split(string(have), "\n"), strings.Split(out.String(), "\n")
	for _, l := range got {
		if !slices.Contains(want, l) {
			t.Errorf("not in %s: %s", golden, l)
		}
	}
	if len(want) != len(got) {
		t.Errorf("%s has %d lines, and there are %d answers", golden, len(want), len(got))
	}
}

// pageRequests says what each request of a page's own is checked for, as pagePanes checks it: a right on the pane.
// Those of an attached viewer need what attaching needs; without the right to write it watches only. What a guest's
// viewer refuses to do is refused to every visitor. The verbs that a page asks for are those of the table.
var pageRequests = map[string]pageRequest{
	"hello": {}, "ping": {},
	"view.attach": {right: access.Read}, "view.detach": {right: access.Read}, "view.snapshot": {right: access.Read},
	"view.resize": {access.Write, fanout.ErrGuest}, "view.theme": {access.Write, fanout.ErrGuest},
	"view.request": {right: access.Write}, "view.take": {right: access.Write}, "view.release": {right: access.Write},
	"view.grant": {right: access.Write}, "view.deny": {right: access.Write},
}

type pageRequest struct {
	right access.Right
	guest error // of a guest's viewer; nil: it does as any other
}

func pageRow(c court, p access.Principal, ask pageRequest) string {
	if ask.right == 0 {
		return "allowed"
	}
	var cells []string
	for _, n := range digits {
		err := c.Check(p, ask.right, paneResource("p"+n))
		if err == nil && p.Kind == access.KindShare {
			err = ask.guest
		}
		cells = append(cells, verdict(err))
	}
	return strings.Join(cells, " | ")
}

// What a page asks is refused by the same rules, before anything is done: there is no fleet here to do it with.
func TestAPageMayDoWhatItsPrincipalMay(t *testing.T) {
	c := newCourt(t, access.UnknownNothing)
	ps := &pages{host: &Supervisor{authority: c.Authority}, panes: &panes{}}
	by := map[string]access.Principal{}
	for _, p := range c.principals {
		by[p.name] = p.Principal
	}
	do := verbs.NewDispatcher(verbs.Options{Authority: judge{c.Authority}, Log: slog.New(slog.DiscardHandler)})
	params := map[string]string{
		verbs.PaneNew: `{}`, verbs.PairNew: `{}`, verbs.PaneClose: `{"pane":"%s"}`, verbs.PaneRename: `{"pane":"%s","name":"x"}`,
	}
	for name, refused := range map[string][]string{
		"share read":  {"pane.new ", "pair.new ", "pane.close p0", "pane.rename p0", "pane.close p1", "pane.rename p1"},
		"share write": {"pane.new ", "pair.new ", "pane.close p0", "pane.close p1", "pane.rename p1"},
	} {
		p := pagePanes{ps, by[name]}
		for _, act := range refused {
			verb, id, _ := strings.Cut(act, " ")
			src := strings.ReplaceAll(params[verb], "%s", id)
			if _, err := do.Do(t.Context(), caller{who: by[name]}, verb, verbs.Raw(src)); err == nil || !strings.HasPrefix(string(err.Code), "denied.") {
				t.Errorf("%s may %s: %v", name, act, err)
			}
		}
		told := (*page.CtlError)(nil)
		if _, err := p.Attach("p1", closedSink{}, attachAny); !errors.As(err, &told) || !strings.HasPrefix(told.Code, "denied.") {
			t.Errorf("%s may attach to p1: %v", name, err)
		}
		if !p.Sees("p0") || p.Sees("p1") || p.Sees("p9") {
			t.Errorf("%s sees p0 %v, p1 %v, p9 %v", name, p.Sees("p0"), p.Sees("p1"), p.Sees("p9"))
		}
	}
}

var attachAny = fanout.AttachOptions{Cols: 80, Rows: 24}

// closedSink takes nothing.
type closedSink struct{}

func (closedSink) Output([]byte) error            { return nil }
func (closedSink) Snapshot(fanout.Snapshot) error { return nil }
func (closedSink) Event(fanout.Event) error       { return nil }
func (closedSink) Close()                         {}
