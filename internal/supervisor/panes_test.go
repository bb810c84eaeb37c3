// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/loginenv"
	"spawn/internal/supervisor/shellmarks"
	"spawn/internal/supervisor/topology"
)

// Rows are by place, not by age, and say where each pane is.
func TestRowsAreByPlace(t *testing.T) {
	starts := []topology.Start{
		{Worker: "00000000-0000-4000-8000-000000000001"}, {Worker: "00000000-0000-4000-8000-000000000002"},
		{Worker: "00000000-0000-4000-8000-000000000003", Owner: "venom"}, {Worker: "00000000-0000-4000-8000-000000000004"},
	}
	tree, _, err := topology.Tree{}.NewPane("", starts[0])
	step := func(next topology.Tree, _ topology.Pane, failed error) {
		t.Helper()
		if failed != nil {
			t.Fatal(failed)
		}
		tree = next
	}
	step(tree, topology.Pane{}, err)
	step(tree.NewPane("", starts[1]))
	step(tree.NewFloat("w0", topology.Float{}, starts[2]))
	step(tree.Split(topology.Spot{Beside: "p0", Axis: topology.AxisRows, Before: true}, starts[3]))
	if tree, err = tree.Lost("p1"); err != nil {
		t.Fatal(err)
	}
	ps := &panes{inForce: config.Default}
	ps.mu.tree = tree
	want := []struct {
		id, window string
		index      int
		layer      topology.Layer
		state      State
		tags       int
	}{
		{"p3", "w0", 0, topology.LayerTile, StateRunning, 0},
		{"p0", "w0", 0, topology.LayerTile, StateRunning, 0},
		{"p2", "w0", 0, topology.LayerFloat, StateRunning, 1},
		{"p1", "w1", 1, topology.LayerTile, StateLost, 0},
	}
	rows := ps.Rows()
	if len(rows) != len(want) {
		t.Fatalf("%d rows", len(rows))
	}
	for i, w := range want {
		r := rows[i]
		if r.ID != w.id || r.Session != "s0" || r.Window != w.window || r.Index != w.index || r.Layer != w.layer || r.State != w.state || len(r.Tags) != w.tags || r.Archive != nil {
			t.Errorf("row %d is %+v, want %+v", i, r, w)
		}
		one, err := ps.Row(w.id)
		if err != nil || one.Window != r.Window || one.Index != r.Index || one.Worker != r.Worker {
			t.Errorf("Row(%s) = %+v, %v", w.id, one, err)
		}
	}
}

// The settings decide at each start whether a shell marks its prompts, and only one that nobody named does.
func TestShellsMarkTheirPromptsAsTheSettingsSay(t *testing.T) {
	marks, err := shellmarks.Install(filepath.Join(t.TempDir(), "shell"))
	if err != nil {
		t.Fatal(err)
	}
	var now config.Config
	ps := &panes{marks: marks, inForce: func() config.Config { return now }, account: loginenv.Account{Home: "/", Shell: "/bin/bash"}}
	for _, c := range []struct {
		integration bool
		command     []string // of the settings
		named       []string
		marks       bool
	}{
		{true, nil, nil, true}, {false, nil, nil, false}, {true, []string{"/bin/bash"}, nil, true}, {true, []string{"/bin/sh"}, nil, false},
		{true, nil, []string{"/bin/bash"}, false}, {true, []string{"/bin/bash", "-c", "top"}, nil, false},
	} {
		now.Shell = config.Shell{Integration: c.integration, Command: c.command}
		s := ps.spec(NewPane{Argv: c.named}, "p0", "")
		dressed := slices.ContainsFunc(s.Env, func(entry string) bool {
			return strings.HasPrefix(entry, "ENV=") && strings.HasSuffix(entry, "bash.sh")
		})
		if dressed != c.marks || slices.Contains(s.Argv, "--posix") != c.marks {
			t.Errorf("%+v: starts %q with %q", c, s.Argv, s.Env)
		}
	}
}
