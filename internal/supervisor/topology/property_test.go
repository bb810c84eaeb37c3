// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// acting is a tree under a random run of operations, and what must hold of all that came before.
type acting struct {
	tree    Tree
	workers int
	given   map[string]bool // every id that was ever there
}

// Any run of operations keeps every rule, leaves earlier trees alone, gives no id twice, counts each change
// of a layout once, survives being written and read, fills every area, and is what Diff says it is.
func TestOperationsKeepTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := &acting{given: map[string]bool{}}
		acts := map[string]func(*rapid.T){"": func(t *rapid.T) { requireSound(t, a.tree) }}
		for name, act := range a.acts() {
			acts[name] = func(t *rapid.T) { a.take(t, name, act) }
		}
		t.Repeat(acts)
	})
}

func requireSound(t fatal, tree Tree) {
	t.Helper()
	if err := tree.check(); err != nil {
		t.Fatalf("%v", err)
	}
	src, err := Encode(tree)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if back, err := Decode(src); err != nil || !back.Equal(tree) {
		t.Fatalf("decoded %+v, %v\nwant %+v", back, err, tree)
	}
	listed := map[string]bool{}
	for _, p := range tree.List() {
		at, ok := tree.Locate(p.ID)
		if places := tree.Places(); places[p.Window] != at || tree.WindowsOf(at.Session)[at.Index].ID != p.Window {
			t.Fatalf("pane %s is at %+v, its window at %+v", p.ID, at, places[p.Window])
		}
		if above, known := tree.Ancestors(p.ID); !ok || !known || listed[p.ID] || !slices.Equal(above, []string{Root, at.Session, at.Window, p.ID}) {
			t.Fatalf("pane %s is at %+v below %v", p.ID, at, above)
		}
		listed[p.ID] = true
	}
	if len(listed) != len(tree.Panes) {
		t.Fatalf("%d of %d panes are listed", len(listed), len(tree.Panes))
	}
	for _, w := range tree.Windows {
		requireCovered(t, tree, w, w.MinSize())
		requireCovered(t, tree, w, Size{17, 9})
	}
}

// take makes one step, and looks at it from both sides.
func (a *acting) take(t *rapid.T, name string, act func(*rapid.T, Tree) (Tree, error)) {
	before := a.tree
	src, err := Encode(before)
	if err != nil {
		t.Fatal(err)
	}
	after, err := act(t, before)
	if again, _ := Encode(before); string(again) != string(src) {
		t.Fatalf("%s changed its receiver", name)
	}
	if err != nil {
		if !after.Equal(before) {
			t.Fatalf("%s failed (%v) and gave another tree", name, err)
		}
		return
	}
	a.requireFresh(t, before, after)
	for _, w := range after.Windows {
		was, known := before.Window(w.ID)
		if grew := w.Revision - was.Revision; known && grew > 1 || known && (grew == 1) == (slices.Equal(w.Nodes, was.Nodes) && w.Zoomed == was.Zoomed) {
			t.Fatalf("%s: the revision of %s went from %d to %d, of %s to %s", name, w.ID, was.Revision, w.Revision, shape(was), shape(w))
		}
	}
	requireDiff(t, before, after)
	a.tree = after
}

// requireFresh holds that what was not there a step before was never there.
func (a *acting) requireFresh(t *rapid.T, before, after Tree) {
	old := ids(before)
	for id := range ids(after) {
		if !old[id] && a.given[id] {
			t.Fatalf("id %s was given out before", id)
		}
		a.given[id] = true
	}
	if n, o := after.Next, before.Next; n.Session < o.Session || n.Window < o.Window || n.Pane < o.Pane || after.Z < before.Z {
		t.Fatalf("counters went from %+v, %d to %+v, %d", o, before.Z, n, after.Z)
	}
}

func ids(t Tree) map[string]bool {
	out := map[string]bool{}
	for _, s := range t.Sessions {
		out[s.ID] = true
	}
	for _, w := range t.Windows {
		out[w.ID] = true
	}
	for _, p := range t.Panes {
		out[p.ID] = true
	}
	return out
}

func (a *acting) start(t *rapid.T) Start {
	a.workers++
	return Start{
		Worker: worker(rapid.IntRange(max(a.workers-1, 0), a.workers).Draw(t, "worker")),
		Name:   rapid.SampledFrom([]string{"", "build", "\x00"}).Draw(t, "name"),
		Owner:  rapid.SampledFrom([]string{"", "venom"}).Draw(t, "owner"),
	}
}

// anyID is mostly one that is there, of one of the kinds, and sometimes one that is not.
func anyID(t *rapid.T, tree Tree, kinds string) string {
	all := []string{"p99", "x"}
	for id := range ids(tree) {
		if strings.Contains(kinds, id[:1]) {
			all = append(all, id)
		}
	}
	slices.Sort(all) // a map has no order that a seed could repeat
	return rapid.SampledFrom(all).Draw(t, "id")
}

func anySession(t *rapid.T, tree Tree) string {
	if rapid.Bool().Draw(t, "first") {
		return ""
	}
	return anyID(t, tree, "s")
}

func anyAxis(t *rapid.T) Axis { return rapid.SampledFrom([]Axis{AxisCols, AxisRows}).Draw(t, "axis") }

func anySpot(t *rapid.T, tree Tree) Spot {
	s := Spot{Axis: anyAxis(t), Before: rapid.Bool().Draw(t, "before"), Ratio: rapid.SampledFrom([]int{0, 1, 2500, 9999, 10000}).Draw(t, "ratio")}
	if rapid.IntRange(0, 2).Draw(t, "whole") == 0 {
		s.Window = anyID(t, tree, "w")
	} else {
		s.Beside = anyID(t, tree, "p")
	}
	return s
}

func anyFloat(t *rapid.T) Float {
	return Float{Preset: rapid.SampledFrom([]string{"", "a.b"}).Draw(t, "preset"), Geometry: Geometry{
		Width:  rapid.SampledFrom([]Extent{"", "5", "30%", "65535", "0"}).Draw(t, "width"),
		Anchor: rapid.SampledFrom(append(Anchors, "")).Draw(t, "anchor"),
		X:      rapid.Ptr(rapid.IntRange(-OffsetMax, OffsetMax), true).Draw(t, "x"),
		Border: rapid.SampledFrom(append(Borders, "")).Draw(t, "border"),
	}}
}

// acts are the operations with random arguments, of which many do not exist: errors are steps too.
func (a *acting) acts() map[string]func(*rapid.T, Tree) (Tree, error) {
	pane := func(n Tree, _ Pane, err error) (Tree, error) { return n, err }
	size := func(t *rapid.T) Size {
		return Size{rapid.IntRange(0, 40).Draw(t, "cols"), rapid.IntRange(0, 40).Draw(t, "rows")}
	}
	return map[string]func(*rapid.T, Tree) (Tree, error){
		"session": func(t *rapid.T, tree Tree) (Tree, error) {
			n, _, err := tree.NewSession(rapid.SampledFrom([]string{"a", ""}).Draw(t, "name"))
			return n, err
		},
		"window": func(t *rapid.T, tree Tree) (Tree, error) {
			n, _, err := tree.NewWindow(anySession(t, tree), "")
			return n, err
		},
		"pane": func(t *rapid.T, tree Tree) (Tree, error) {
			return pane(tree.NewPane(anySession(t, tree), a.start(t)))
		},
		"split":  func(t *rapid.T, tree Tree) (Tree, error) { return pane(tree.Split(anySpot(t, tree), a.start(t))) },
		"split2": func(t *rapid.T, tree Tree) (Tree, error) { return pane(tree.Split(anySpot(t, tree), a.start(t))) },
		"float": func(t *rapid.T, tree Tree) (Tree, error) {
			return pane(tree.NewFloat(anyID(t, tree, "w"), anyFloat(t), a.start(t)))
		},
		"adopt": func(t *rapid.T, tree Tree) (Tree, error) { return pane(tree.Adopt(a.start(t).Worker)) },
		"rename": func(t *rapid.T, tree Tree) (Tree, error) {
			return tree.Rename(anyID(t, tree, "swp"), rapid.String().Draw(t, "name"))
		},
		"title": func(t *rapid.T, tree Tree) (Tree, error) {
			return tree.SetTitle(anyID(t, tree, "p"), rapid.String().Draw(t, "title"))
		},
		"close": func(t *rapid.T, tree Tree) (Tree, error) {
			id := anyID(t, tree, rapid.SampledFrom([]string{"p", "p", "w", "s"}).Draw(t, "kind"))
			n, err := tree.Close(id)
			if ids(n)[id] {
				t.Fatalf("%s is still there", id)
			}
			return n, err
		},
		"lost":     func(t *rapid.T, tree Tree) (Tree, error) { return tree.Lost(anyID(t, tree, "p")) },
		"ended":    func(t *rapid.T, tree Tree) (Tree, error) { return tree.Ended(anyID(t, tree, "p"), End{Signal: "HUP"}) },
		"activate": func(t *rapid.T, tree Tree) (Tree, error) { return tree.SetActive(anyID(t, tree, "p")) },
		"zoom":     func(t *rapid.T, tree Tree) (Tree, error) { return tree.Zoom(anyID(t, tree, "p")) },
		"unzoom":   func(t *rapid.T, tree Tree) (Tree, error) { return tree.Unzoom(anyID(t, tree, "w")) },
		"focus":    func(t *rapid.T, tree Tree) (Tree, error) { return tree.Focus(anyID(t, tree, "p")) },
		"raise":    func(t *rapid.T, tree Tree) (Tree, error) { return tree.Raise(anyID(t, tree, "p")) },
		"swap":     func(t *rapid.T, tree Tree) (Tree, error) { return tree.Swap(anyID(t, tree, "p"), anyID(t, tree, "p")) },
		"move":     func(t *rapid.T, tree Tree) (Tree, error) { return tree.MovePane(anyID(t, tree, "p"), anySpot(t, tree)) },
		"place tile": func(t *rapid.T, tree Tree) (Tree, error) {
			return tree.PlaceTile(anyID(t, tree, "p"), anySpot(t, tree))
		},
		"place float": func(t *rapid.T, tree Tree) (Tree, error) { return tree.PlaceFloat(anyID(t, tree, "p"), anyFloat(t)) },
		"move window": func(t *rapid.T, tree Tree) (Tree, error) {
			return tree.MoveWindow(anyID(t, tree, "w"), anyID(t, tree, "s"), rapid.IntRange(-1, 3).Draw(t, "index"))
		},
		"move session": func(t *rapid.T, tree Tree) (Tree, error) {
			return tree.MoveSession(anyID(t, tree, "s"), rapid.IntRange(-1, 3).Draw(t, "index"))
		},
		"resize": func(t *rapid.T, tree Tree) (Tree, error) {
			return tree.Resize(anyID(t, tree, "p"), anyAxis(t), rapid.IntRange(-1, RatioMax+1).Draw(t, "share"))
		},
		"resize by": func(t *rapid.T, tree Tree) (Tree, error) {
			return tree.ResizeBy(anyID(t, tree, "p"), anyAxis(t), rapid.IntRange(-9, 9).Draw(t, "by"), size(t))
		},
		"tag": func(t *rapid.T, tree Tree) (Tree, error) {
			return tree.SetTag(anyID(t, tree, "p"), rapid.SampledFrom([]string{"a", "z", OwnerKey, "A"}).Draw(t, "key"), rapid.String().Draw(t, "value"))
		},
		"untag": func(t *rapid.T, tree Tree) (Tree, error) {
			return tree.RemoveTag(anyID(t, tree, "p"), rapid.SampledFrom([]string{"a", "z", OwnerKey}).Draw(t, "key"))
		},
		"expire": func(t *rapid.T, tree Tree) (Tree, error) { return tree.ExpireText(anyID(t, tree, "p")) },
		"restart": func(t *rapid.T, tree Tree) (Tree, error) {
			return tree.Restart(anyID(t, tree, "p"), a.start(t).Worker, "/bin/\x1b[sh")
		},
		"relaunch": func(t *rapid.T, tree Tree) (Tree, error) {
			return pane(tree.ReplaceArchive(anyID(t, tree, "p"), a.start(t)))
		},
		"begin relaunch": func(t *rapid.T, tree Tree) (Tree, error) {
			s := a.start(t)
			n, id, err := tree.ReservePane()
			if s.ID = id; err == nil {
				n, err = n.BeginRelaunch(anyID(t, tree, "p"), s)
			}
			if err != nil {
				return tree, err
			}
			return n, nil
		},
		"call off": func(t *rapid.T, tree Tree) (Tree, error) { return tree.CallOff(a.start(t).Worker), nil },
		"restore":  a.restore, "reconcile": a.reconcile,
	}
}

// restore begins anew with what there is, as a daemon would that had saved it.
func (a *acting) restore(t *rapid.T, tree Tree) (Tree, error) {
	empty := tree
	for _, s := range tree.Sessions {
		empty, _ = empty.Close(s.ID)
	}
	n, _, err := empty.Restore(saved(tree), "venom")
	if err != nil {
		t.Fatalf("a tree of ours is not restored: %v", err)
	}
	return n, nil
}

func (a *acting) reconcile(t *rapid.T, tree Tree) (Tree, error) {
	pick := func(label string) (out []string) {
		for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(0, a.workers+2), 0, 4, rapid.ID).Draw(t, label) {
			out = append(out, worker(n))
		}
		return out
	}
	adopted := pick("adopted")
	n, out := tree.Reconcile(adopted, pick("refused"))
	for _, w := range adopted {
		if p, ok := n.PaneOf(w); !ok || p.End != nil || len(out) > 0 {
			t.Fatalf("adopted worker %s has the pane %+v", w, p)
		}
	}
	a.workers += 4
	return n, nil
}
