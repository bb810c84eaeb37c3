// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"testing"

	"spawn/internal/supervisor/topology"
)

// Pages are sent to look again for what is drawn elsewhere, and left alone for what each has for itself.
func TestPagesAreToldOfWhatIsDrawnElsewhere(t *testing.T) {
	tree, _, err := topology.Tree{}.NewPane("", start("1"))
	if err == nil {
		tree, _, err = tree.NewFloat("w0", topology.Float{}, start("2"))
	}
	if err == nil {
		tree, _, err = tree.NewFloat("w0", topology.Float{}, start("3"))
	}
	if err != nil {
		t.Fatal(err)
	}
	left := 2
	for _, c := range []struct {
		name string
		op   func(topology.Tree) (topology.Tree, error)
		want bool
	}{
		{"a float is placed elsewhere", func(t topology.Tree) (topology.Tree, error) {
			return t.PlaceFloat("p1", topology.Float{Geometry: topology.Geometry{X: &left}})
		}, true},
		{"a float has another title", func(t topology.Tree) (topology.Tree, error) {
			return t.PlaceFloat("p1", topology.Float{Title: "log"})
		}, true},
		{"a float comes to the front", func(t topology.Tree) (topology.Tree, error) { return t.Raise("p1") }, true},
		{"the one in front is raised", func(t topology.Tree) (topology.Tree, error) { return t.Raise("p2") }, false},
		{"a float is closed", func(t topology.Tree) (topology.Tree, error) { return t.Close("p2") }, true},
		{"a float becomes a tile", func(t topology.Tree) (topology.Tree, error) {
			return t.PlaceTile("p1", spotBeside("p0", "cols", false, 0))
		}, true},
		{"a tile has the keys", func(t topology.Tree) (topology.Tree, error) { return t.SetActive("p0") }, false},
		{"a program sets a title", func(t topology.Tree) (topology.Tree, error) { return t.SetTitle("p1", "vi") }, false},
	} {
		after, err := c.op(tree)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if got := rearranged(tree, after); got != c.want {
			t.Errorf("%s: pages look again: %t", c.name, got)
		}
	}
}
