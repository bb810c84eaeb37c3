// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"spawn/internal/sessiond/wire"
	"spawn/internal/strictjson"
	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/events"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/topology"
)

// lawful is a story whose rights are told too.
func lawful(t *testing.T) (*story, *Supervisor) {
	t.Helper()
	s := newStory(t)
	v := &Supervisor{panes: s.ps}
	authority, _, err := access.NewAuthority(access.AuthorityOptions{Tree: s.ps, Devices: paired{"d_1": true}, Changed: v.rightsChanged})
	if err != nil {
		t.Fatal(err)
	}
	v.authority, v.admitted.authority = authority, authority
	s.does(func(t topology.Tree) (topology.Tree, error) {
		t, _, err := t.NewPane("", start("1"))
		return t, err
	})
	return s, v
}

// nothing changes the tree.
func nothing(t topology.Tree) (topology.Tree, error) { return t, nil }

// settled does what settleRights does when it is woken.
func settled(v *Supervisor) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.settleRights(ctx)
	}()
	v.panes.told.kick <- struct{}{} // taken: what came before is being looked at
	v.panes.told.kick <- struct{}{} // taken again: it has been
	cancel()
	<-done
}

func TestGrantsAndLinksAreTold(t *testing.T) {
	s, v := lawful(t)
	g, _, err := v.authority.Issue(access.Owner, access.GrantOrder{
		Scopes: []access.Scope{{Rights: access.RightsOf(access.Read, access.Write), On: "pane:p0"}}, Label: "builder",
	})
	if err != nil {
		t.Fatal(err)
	}
	link, _, err := v.authority.Share(access.Owner, access.ShareOrder{On: "pane:p0", Right: access.Read, Life: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.authority.Revoke(access.Owner, g.ID); err != nil {
		t.Fatal(err)
	}
	told := strings.Join(s.does(nothing), "\n")
	for _, want := range []string{
		`grant.issued server:root {"by":"owner","grant":"` + g.ID + `","label":"builder","scopes":["read on pane:p0","write on pane:p0"],"to":"agent:` + g.ID + `"}`,
		`share.created pane:p0 {"by":"owner","expires_at":`, `"right":"read","share":"` + link.ID + `"}`,
		`grant.revoked server:root {"grant":"` + g.ID + `","reason":"revoked"}`,
	} {
		if !strings.Contains(told, want) {
			t.Errorf("told was\n%s\nand not %s", told, want)
		}
	}
	s.does(func(t topology.Tree) (topology.Tree, error) { return t.Close("p0") })
	settled(v)
	if told := strings.Join(s.does(nothing), "\n"); !strings.Contains(told, link.ID) || !strings.Contains(told, "resource_gone") {
		t.Errorf("the pane is gone, and of the link is told %q", told)
	}
	if v.authority.Alive(link.To) {
		t.Error("the link outlives what it leads to")
	}
}

// What somebody opened ends when the right that opened it does, whichever way that ends.
func TestWhatIsOpenEndsWithItsRight(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, s *story, v *Supervisor, g access.Grant){
		"revoked": func(t *testing.T, s *story, v *Supervisor, g access.Grant) {
			if err := v.authority.Revoke(access.Owner, g.ID); err != nil {
				t.Fatal(err)
			}
		},
		"closed": func(t *testing.T, s *story, v *Supervisor, g access.Grant) {
			s.does(func(t topology.Tree) (topology.Tree, error) { return t.Close("p0") })
		},
		"moved out of what it is about": func(t *testing.T, s *story, v *Supervisor, g access.Grant) {
			s.does(func(t topology.Tree) (topology.Tree, error) {
				t, other, err := t.NewSession("elsewhere")
				if err != nil {
					return t, err
				}
				return t.MoveWindow("w0", other.ID, 0)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, v := lawful(t)
			g, _, err := v.authority.Issue(access.Owner, access.GrantOrder{Scopes: []access.Scope{{Rights: access.RightsOf(access.Read), On: "session:s0"}}})
			if err != nil {
				t.Fatal(err)
			}
			ended := 0
			leave, ok := v.admitted.admit(&admission{who: g.To, right: access.Read, on: "pane:p0", end: func() { ended++ }})
			if !ok {
				t.Fatal("it is not let in")
			}
			settled(v)
			if ended != 0 {
				t.Fatal("it was ended, and nothing has happened")
			}
			end(t, s, v, g)
			settled(v)
			if ended == 0 {
				t.Error("it goes on without a right")
			}
			leave()
			if len(v.admitted.mu.open) != 0 {
				t.Error("it is remembered although it has left")
			}
		})
	}
}

// A pane in a pane in a pane is looked through, and what is shown nowhere leads nowhere.
func TestATerminalIsNotShownWithinItself(t *testing.T) {
	var as admissions
	as.mu.open = map[*admission]struct{}{}
	for _, a := range []admission{{in: "p0", on: "pane:p1"}, {in: "p1", on: "pane:p2"}, {in: "p1", on: "pane:p3"}, {in: "p3", on: "pane:p1"}, {on: "pane:p9"}} {
		as.mu.open[&a] = struct{}{}
	}
	for _, c := range []struct {
		pane, other string
		want        bool
	}{
		{"p5", "p5", true}, {"p0", "p1", true}, {"p0", "p2", true}, {"p3", "p2", true}, {"p2", "p0", false}, {"p1", "p0", false}, {"p0", "p9", false},
	} {
		if got := as.shows(c.pane, c.other); got != c.want {
			t.Errorf("%s shows %s: %t", c.pane, c.other, got)
		}
	}
}

func TestWhoHasNoRightIsNotLetIn(t *testing.T) {
	_, v := lawful(t)
	for _, a := range []*admission{
		{who: access.Principal{Kind: access.KindDevice, ID: "d_2"}},
		{who: access.Principal{Kind: access.KindShare, ID: "l_0"}},
		{who: access.Principal{Kind: access.KindPane, ID: "p0"}, right: access.Write, on: "pane:p1"},
	} {
		a.end = func() { t.Errorf("%v was let in first", a.who) }
		if _, ok := v.admitted.admit(a); ok {
			t.Errorf("%v is let in", a.who)
		}
	}
	if _, err := v.attach(access.Unknown, "", "p0", closedSink{}, attachAny); !errors.As(err, new(*access.DeniedError)) {
		t.Errorf("attach: %v", err)
	}
}

// What hubs report is told with clean texts, and is in the snapshot of who comes later.
func TestWhatHubsReportIsTold(t *testing.T) {
	s, v := lawful(t)
	for _, r := range []fanout.Report{
		fanout.Joined{Viewer: 3, Name: "tab\x1b[31m\u202e", ReadOnly: true}, fanout.Steered{Generation: 2, Controller: 3, Name: "tab"},
		fanout.Active{}, fanout.Noticed{Notice: wire.Notice{Kind: wire.NoticeCwd, Text: "/tmp/\x07x"}},
		fanout.Noticed{Notice: wire.Notice{Kind: wire.NoticeCwd, Text: "/tmp/\x07x"}}, // it is known
		fanout.Noticed{Notice: wire.Notice{Kind: wire.NoticeMark, Text: "A"}}, fanout.Noticed{Notice: wire.Notice{Kind: wire.NoticeMark, Text: "C"}},
		fanout.Noticed{Notice: wire.Notice{Kind: wire.NoticeMark, Text: "D;130;x=y"}}, fanout.Noticed{Notice: wire.Notice{Kind: wire.NoticeMark, Text: "D;x"}},
		fanout.Noticed{Notice: wire.Notice{Kind: wire.NoticeTitle, Text: "the tree tells"}},
	} {
		v.panes.reported("p0", r)
	}
	v.panes.reported("p9", fanout.Active{}) // closed meanwhile
	told := s.does(nothing)
	want := strings.Split(`viewer.attached pane:p0 {"name":"tab[31m","read_only":true,"viewer":"3"}

control.changed pane:p0 {"generation":2,"name":"tab","viewer":"3"}

pane.activity pane:p0 {}

pane.cwd pane:p0 {"cwd":"/tmp/x"}

command.started pane:p0 {}

command.finished pane:p0 {"exit_code":130}

command.finished pane:p0 {}`, "\n")
	if !slices.Equal(told, want) {
		t.Errorf("told is\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	var snapshot string
	v.panes.state(func(all []events.Entity) {
		for _, e := range all {
			data, err := strictjson.Marshal(e.Data)
			content, err2 := strictjson.Marshal(e.Content)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			snapshot += e.Resource + " " + string(data) + " " + string(content) + "\n"
		}
	})
	const state = `session:s0 {"index":0} {"name":"main"}
window:w0 {"active":"p0","index":0,"nodes":[{"kind":"pane","pane":"p0"}],"revision":1,"session":"s0"} {"name":""}
pane:p0 {"controller":"3","exited":false,"generation":2,"viewers":["3"],"window":"w0"} {"cwd":"/tmp/x","name":"","title":""}
`
	if snapshot != state {
		t.Errorf("the state is\n%s\nwant\n%s", snapshot, state)
	}
	v.panes.reported("p0", fanout.Left{Viewer: 3})
	if told := s.does(nothing); !slices.Equal(told, []string{`viewer.detached pane:p0 {"viewer":"3"}`}) {
		t.Errorf("told is %q", told)
	}
}

// The last thing that is told is that spawnd ends, and a reader that has it is not waited for.
func TestTheEndIsToldLast(t *testing.T) {
	s, v := lawful(t)
	reading, leave := context.WithCancel(context.Background())
	v.panes.reads(reading)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		v.panes.stop()
	}()
	var last []events.Event
	for {
		batch, err := s.follow.Next(context.Background())
		if errors.Is(err, events.ErrClosed) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		last = batch.Events
	}
	if len(last) != 1 || last[0].Type != events.ServerStopping {
		t.Errorf("the last is %+v", last)
	}
	leave()
	<-stopped
	v.panes.happened(events.Change{Type: events.ServerStopping, Resource: topology.Root}) // nobody is told, and it is no mistake
	if s.logged.Len() > 0 {
		t.Error(s.logged.String())
	}
}
