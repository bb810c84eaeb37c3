// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// untold is the tree without what nobody is told of.
func untold(t Tree) Tree {
	t = t.clone()
	for i := range t.Panes {
		t.Panes[i].Relaunch = nil
	}
	return t
}

// requireDiff holds that changes are said exactly when there are some, each once, in order, of what is or
// was there.
func requireDiff(t fatal, before, after Tree) {
	t.Helper()
	visible, shown := untold(before), untold(after)
	visible.Next, visible.Z = after.Next, after.Z
	changes := Diff(before, after)
	if (len(changes) == 0) != visible.Equal(shown) {
		t.Fatalf("changes %v between %+v and %+v", changes, before, after)
	}
	if len(Diff(after, after)) > 0 {
		t.Fatalf("a tree differs from itself by %v", Diff(after, after))
	}
	seen := map[Change]bool{}
	for i, c := range changes {
		if seen[c] {
			t.Fatalf("%v is said twice", c)
		}
		seen[c] = true
		if i > 0 && slices.Index(changeOrder, changes[i-1].Kind) > slices.Index(changeOrder, c.Kind) {
			t.Fatalf("%v comes after %v", c, changes[i-1])
		}
		of := after
		if c.Kind == PaneRemoved || c.Kind == WindowClosed || c.Kind == SessionClosed {
			of = before
		}
		above := slices.DeleteFunc([]string{Root, c.Session, c.Window, c.Pane}, func(id string) bool { return id == "" })
		if got, ok := of.Ancestors(c.subject()); !ok || !slices.Equal(got, above) {
			t.Fatalf("%v is below %v", c, got)
		}
	}
}

func TestDiffSaysWhatHappened(t *testing.T) {
	tree := goldenTree(t)
	two := func(n Tree, _ Pane, err error) (Tree, error) { return n, err }
	for name, c := range map[string]struct {
		do   func() (Tree, error)
		want string
	}{
		"nothing": {func() (Tree, error) { return tree, nil }, ""},
		"pane":    {func() (Tree, error) { return two(tree.NewPane("s0", Start{Worker: worker(9)})) }, "window.created w3, pane.created p6"},
		"adopted": {func() (Tree, error) { return two(tree.Adopt(worker(9))) }, "session.created s2, window.created w3, pane.created p6"},
		"split": {func() (Tree, error) {
			return two(tree.Split(Spot{Beside: "p0", Axis: AxisCols}, Start{Worker: worker(9)}))
		}, "pane.created p6, window.layout_changed w0, window.activated w0"},
		"float":        {func() (Tree, error) { return two(tree.NewFloat("w0", Float{}, Start{Worker: worker(9)})) }, "pane.created p6, window.activated w0"},
		"close pane":   {func() (Tree, error) { return tree.Close("p1") }, "pane.removed p1, window.layout_changed w0, window.activated w0"},
		"close window": {func() (Tree, error) { return tree.Close("w0") }, "pane.removed p0, pane.removed p1, pane.removed p2, pane.removed p3, pane.removed p4, window.closed w0, session.closed s0"},
		"rename":       {func() (Tree, error) { return tree.Rename("w0", "a") }, "window.renamed w0"},
		"title":        {func() (Tree, error) { return tree.SetTitle("p1", "a") }, "pane.titled p1"},
		"ended":        {func() (Tree, error) { return tree.Ended("p1", End{ExitCode: code(0)}) }, "pane.exited p1"},
		"revived": {func() (Tree, error) {
			n, _ := tree.Reconcile([]string{worker(1), worker(4)}, []string{worker(2), worker(5)})
			return n, nil
		}, "pane.revived p0, pane.revived p3"},
		"restarted":          {func() (Tree, error) { return tree.Restart("p3", worker(9), "sh") }, "pane.restarted p3"},
		"tagged":             {func() (Tree, error) { return tree.SetTag("p1", "a", "") }, "pane.tagged p1"},
		"raised":             {func() (Tree, error) { return tree.Raise("p3") }, "pane.moved p3"},
		"unzoomed":           {func() (Tree, error) { return tree.Unzoom("w0") }, "window.layout_changed w0"},
		"activated":          {func() (Tree, error) { return tree.SetActive("p3") }, "window.activated w0"},
		"moved pane":         {func() (Tree, error) { return tree.MovePane("p2", Spot{Window: "w1"}) }, "pane.moved p2, window.layout_changed w0, window.layout_changed w1, window.activated w1"},
		"moved window":       {func() (Tree, error) { return tree.MoveWindow("w2", "s1", 0) }, "window.moved w2"},
		"to another session": {func() (Tree, error) { return tree.MoveWindow("w0", "s1", 1) }, "window.moved w0, session.closed s0"},
		"moved session":      {func() (Tree, error) { return tree.MoveSession("s0", 1) }, "session.moved s1"},
		"relaunched":         {func() (Tree, error) { return two(tree.ReplaceArchive("p5", Start{Worker: worker(9)})) }, "pane.removed p5, pane.created p6, window.layout_changed w2, window.activated w2"},
		"expired":            {func() (Tree, error) { return tree.ExpireText("p5") }, "pane.archived p5"},
	} {
		t.Run(name, func(t *testing.T) {
			after, err := c.do()
			if err != nil {
				t.Fatal(err)
			}
			requireDiff(t, tree, after)
			if got := said(Diff(tree, after)); got != c.want {
				t.Fatalf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Containers before what is in them, then every end, as recovery wants it.
func TestARestoreIsSaidInOrder(t *testing.T) {
	after, _, err := Tree{}.Restore(saved(goldenTree(t)), "venom")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, c := range []struct{ kind, ids string }{
		{"session.created", "s0 s1"}, {"window.created", "w0 w1 w2"}, {"pane.created", "p0 p1 p2 p3 p4 p5"}, {"pane.exited", "p0 p1 p2 p3 p4 p5"},
	} {
		for _, id := range strings.Fields(c.ids) {
			want = append(want, c.kind+" "+id)
		}
	}
	if got := said(Diff(Tree{}, after)); got != strings.Join(want, ", ") {
		t.Fatalf("got %s", got)
	}
}

func said(changes []Change) string {
	var out []string
	for _, c := range changes {
		out = append(out, string(c.Kind)+" "+c.subject())
	}
	return strings.Join(out, ", ")
}

// Diff has a kind for every member that can change, but for a relaunch, of which nobody is told: one that is added later fails here until it has one.
func TestEveryMemberHasItsChange(t *testing.T) {
	for of, want := range map[reflect.Type]int{reflect.TypeFor[Tree](): 5, reflect.TypeFor[Window](): 8, reflect.TypeFor[Pane](): 11, reflect.TypeFor[End](): 2, reflect.TypeFor[Session](): 3, reflect.TypeFor[Float](): 4, reflect.TypeFor[Geometry](): 8} {
		if of.NumField() != want {
			t.Errorf("%s has %d members, Equal and Diff know %d", of, of.NumField(), want)
		}
	}
}

func TestReorderedMovesTheFewest(t *testing.T) {
	for _, c := range []struct{ before, after, moved string }{
		{"", "", ""}, {"a b c", "a b c", ""}, {"a b c", "c a b", "c"}, {"a b c d", "b c d a", "a"}, {"a b c", "c b a", "a b"}, {"a b", "x b y a", "b"}, {"a b c", "c a", "c"},
	} {
		var moved []string
		for id := range reordered(strings.Fields(c.before), strings.Fields(c.after)) {
			moved = append(moved, id)
		}
		slices.Sort(moved)
		if len(moved) != len(strings.Fields(c.moved)) {
			t.Errorf("%q to %q: moved %v, want %s", c.before, c.after, moved, c.moved)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		all := []string{"a", "b", "c", "d", "e", "f"}
		before, after := rapid.Permutation(all).Draw(t, "before"), rapid.Permutation(all).Draw(t, "after")
		moved := reordered(before, after)
		stay := func(ids []string) []string {
			return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return moved[id] })
		}
		if !slices.Equal(stay(before), stay(after)) {
			t.Fatalf("%v to %v by moving %v", before, after, moved)
		}
	})
}
