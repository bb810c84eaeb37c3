// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/events"
	"spawn/internal/supervisor/topology"
)

// story applies changes to a tree and tells what is said of each.
type story struct {
	t      *testing.T
	ps     *panes
	follow *events.Subscription
	logged bytes.Buffer
}

func newStory(t *testing.T) *story {
	s := &story{t: t}
	s.ps = &panes{inForce: config.Default}
	s.ps.told = newChronicle(s.ps, "spawn/test", slog.New(slog.NewTextHandler(&s.logged, nil)))
	t.Cleanup(func() { s.ps.told.Close() })
	var err error
	if s.follow, err = s.ps.told.log.Subscribe(events.From{}, events.Filter{}, func(string, string, []string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.follow.Next(context.Background()); err != nil { // the snapshot
		t.Fatal(err)
	}
	return s
}

// does replaces the tree and returns what was told, a line for each event, a blank one between commits.
func (s *story) does(change func(topology.Tree) (topology.Tree, error)) []string {
	s.t.Helper()
	before := s.ps.mu.tree
	after, err := change(before)
	if err != nil {
		s.t.Fatal(err)
	}
	s.ps.mu.Lock()
	s.ps.commitLocked(before, after, aside{})
	s.ps.mu.tree = after
	s.ps.mu.Unlock()
	if s.logged.Len() > 0 {
		s.t.Fatal(s.logged.String())
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	var told []string
	for {
		batch, err := s.follow.Next(done)
		if err != nil {
			return told
		}
		if len(told) > 0 {
			told = append(told, "")
		}
		for _, e := range batch.Events {
			data, err := strictjson.Marshal(e.Data)
			if err != nil {
				s.t.Fatal(err)
			}
			told = append(told, string(e.Type)+" "+e.Resource+" "+string(data))
		}
	}
}

func start(n string) topology.Start {
	return topology.Start{Worker: "00000000-0000-4000-8000-00000000000" + n}
}

// Who turns to a float changes two things, and both are told together.
func TestFocusIsToldInOneCommit(t *testing.T) {
	s := newStory(t)
	for _, make := range []func(topology.Tree) (topology.Tree, topology.Pane, error){
		func(t topology.Tree) (topology.Tree, topology.Pane, error) { return t.NewPane("", start("1")) },
		func(t topology.Tree) (topology.Tree, topology.Pane, error) {
			return t.NewFloat("w0", topology.Float{}, start("2"))
		},
		func(t topology.Tree) (topology.Tree, topology.Pane, error) {
			return t.NewFloat("w0", topology.Float{}, start("3"))
		},
	} {
		s.does(func(t topology.Tree) (topology.Tree, error) { next, _, err := make(t); return next, err })
	}
	told := s.does(func(t topology.Tree) (topology.Tree, error) { return t.Focus("p1") })
	want := []string{
		`pane.moved pane:p1 {"float":{"pane":"p1","z":3,"width":"60%","height":"60%","anchor":"center","x":0,"y":0,"min_cols":20,"min_rows":5,"border":"single"},"layer":"float","window":"w0"}`,
		`window.activated window:w0 {"pane":"p1"}`,
	}
	if !slices.Equal(told, want) {
		t.Errorf("told is\n%s", strings.Join(told, "\n"))
	}
}

// Each change of the tree is told as the catalogue wants it, in one commit; titles by themselves.
func TestChangesOfTheTreeAreTold(t *testing.T) {
	s := newStory(t)
	code := 3
	only := func(tree topology.Tree, _ topology.Pane, err error) (topology.Tree, error) { return tree, err }
	steps := []struct {
		name string
		do   func(topology.Tree) (topology.Tree, error)
		want string
	}{
		{"new", func(t topology.Tree) (topology.Tree, error) { return only(t.NewPane("", start("1"))) }, `
session.created session:s0 {"name":"main"}
window.created window:w0 {"name":"","nodes":[{"kind":"pane","pane":"p0"}],"session":"s0"}
pane.created pane:p0 {"name":"","window":"w0"}`},
		{"split", func(t topology.Tree) (topology.Tree, error) {
			return only(t.Split(topology.Spot{Beside: "p0", Axis: topology.AxisCols}, start("2")))
		}, `
pane.created pane:p1 {"name":"","window":"w0"}
window.layout_changed window:w0 {"nodes":[{"kind":"split","axis":"cols","first":1,"second":2},{"kind":"pane","pane":"p0"},{"kind":"pane","pane":"p1"}],"revision":2}
window.activated window:w0 {"pane":"p1"}`},
		{"float", func(t topology.Tree) (topology.Tree, error) {
			return only(t.NewFloat("w0", topology.Float{Geometry: topology.Geometry{Width: "60%"}}, topology.Start{Worker: start("3").Worker, Owner: "venom"}))
		}, `
pane.created pane:p2 {"float":{"pane":"p2","z":1,"width":"60%","height":"60%","anchor":"center","x":0,"y":0,"min_cols":20,"min_rows":5,"border":"single"},"layer":"float","name":"","tags":["owner=venom"],"window":"w0"}
window.activated window:w0 {"pane":"p2"}`},
		{"place", func(t topology.Tree) (topology.Tree, error) {
			return t.PlaceFloat("p2", topology.Float{Title: "log", Geometry: topology.Geometry{Height: "12", Anchor: topology.AnchorTop, Border: topology.BorderNone}})
		}, `
pane.moved pane:p2 {"float":{"pane":"p2","z":1,"width":"60%","height":"12","anchor":"top","x":0,"y":0,"min_cols":20,"min_rows":5,"border":"none","title":"log"},"layer":"float","window":"w0"}`},
		{"window", func(t topology.Tree) (topology.Tree, error) { return only(t.NewPane("", start("4"))) }, `
window.created window:w1 {"name":"","nodes":[{"kind":"pane","pane":"p3"}],"session":"s0"}
pane.created pane:p3 {"name":"","window":"w1"}`},
		{"rename", func(t topology.Tree) (topology.Tree, error) { return t.Rename("p0", "build") }, `
pane.renamed pane:p0 {"name":"build"}`},
		{"rename window", func(t topology.Tree) (topology.Tree, error) { return t.Rename("w0", "work") }, `
window.renamed window:w0 {"name":"work"}`},
		{"rename session", func(t topology.Tree) (topology.Tree, error) { return t.Rename("s0", "day") }, `
session.renamed session:s0 {"name":"day"}`},
		{"title", func(t topology.Tree) (topology.Tree, error) { return t.SetTitle("p0", "vi") }, `
pane.title pane:p0 {"title":"vi"}`},
		{"tag", func(t topology.Tree) (topology.Tree, error) { return t.SetTag("p0", "role", "agent") }, `
pane.tagged pane:p0 {"tags":["role=agent"]}`},
		{"zoom", func(t topology.Tree) (topology.Tree, error) { return t.Zoom("p0") }, `
window.layout_changed window:w0 {"nodes":[{"kind":"split","axis":"cols","first":1,"second":2},{"kind":"pane","pane":"p0"},{"kind":"pane","pane":"p1"}],"revision":3,"zoomed":"p0"}
window.activated window:w0 {"pane":"p0"}`},
		{"move window", func(t topology.Tree) (topology.Tree, error) { return t.MoveWindow("w1", "s0", 0) }, `
window.moved window:w1 {"index":0,"session":"s0"}`},
		{"end", func(t topology.Tree) (topology.Tree, error) { return t.Ended("p1", topology.End{ExitCode: &code}) }, `
pane.exited pane:p1 {"exit_code":3}`},
		{"lost", func(t topology.Tree) (topology.Tree, error) { return t.Lost("p3") }, `
pane.exited pane:p3 {}`},
		{"nothing", func(t topology.Tree) (topology.Tree, error) { return t.Rename("p0", "build") }, ""},
		{"close", func(t topology.Tree) (topology.Tree, error) { return t.Close("p3") }, `
pane.removed pane:p3 {}
window.closed window:w1 {}`},
	}
	for _, step := range steps {
		want := strings.Split(strings.TrimPrefix(step.want, "\n"), "\n")
		if step.want == "" {
			want = nil
		}
		if told := s.does(step.do); !slices.Equal(told, want) {
			t.Errorf("%s is told as\n%s\nwant\n%s", step.name, strings.Join(told, "\n"), strings.Join(want, "\n"))
		}
	}
	if want := []access.Resource{"pane:p3", "window:w1"}; !slices.Equal(s.ps.told.gone, want) {
		t.Errorf("gone are %v, want %v", s.ps.told.gone, want)
	}
}
