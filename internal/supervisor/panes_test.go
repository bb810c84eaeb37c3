// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"testing"

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
	ps := &panes{}
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
