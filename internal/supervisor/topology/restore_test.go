// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"errors"
	"slices"
	"testing"
)

// saved makes a tree what a checkpoint holds of it: archives alone, without counters.
func saved(t Tree) Tree {
	t = t.clone()
	t.Next, t.Z = Next{}, 0
	for i, p := range t.Panes {
		p = archived(p, "p0", TextOmitted)
		if was := t.Panes[i].End; was != nil && was.Known() {
			p.End, p.Archive.ProcessState = was, ProcessExited
		}
		t.Panes[i] = p
	}
	return t
}

func TestRestoreInstallsTheWholeTree(t *testing.T) {
	b := build{t: t}
	b.pane("", "build")                                          // p0, w0, s0
	b.split(Spot{Beside: "p0", Axis: AxisCols, Ratio: 6250}, "") // p1
	b.float("w0", Float{Preset: "venom.settings", Title: "a"})   // p2
	b.float("w0", Float{})                                       // p3
	b.session("empty")                                           // s1
	b.window("s1", "empty")                                      // w1
	b.session("emptier")                                         // s2
	b.do(b.SetTag("p0", "role", "agent"))
	b.do(b.Ended("p0", End{ExitCode: code(3)}))
	b.do(b.Raise("p2"))
	b.do(b.SetActive("p1"))
	old := saved(b.Tree)
	old.Panes[1].Tags = nil    // of a format that had none
	old.Windows[0].Active = "" // no checkpoint holds it
	old.Panes[2].Float.Z, old.Panes[3].Float.Z = 9, 9

	into := Tree{Next: Next{Session: 5, Window: 6, Pane: 7}, Z: 8}
	got, ids, err := into.Restore(old, "venom")
	if err != nil {
		t.Fatal(err)
	}
	if err := got.check(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(ids.Sessions, []Renumbered{{"s0", "s5"}, {"s1", "s6"}, {"s2", "s7"}}) ||
		!slices.Equal(ids.Windows, []Renumbered{{"w0", "w6"}, {"w1", "w7"}}) ||
		!slices.Equal(ids.Panes, []Renumbered{{"p0", "p7"}, {"p1", "p8"}, {"p2", "p9"}, {"p3", "p10"}}) {
		t.Fatalf("mapping %+v", ids)
	}
	if got.Next != (Next{8, 8, 11}) || got.Z != 10 {
		t.Fatalf("counters %+v, %d", got.Next, got.Z)
	}
	w := got.Windows[0]
	if shape(w) != "(p7 |6250 p8)" || w.Revision != 1 || w.Session != "s5" || w.Active != "p7" || w.Kept {
		t.Fatalf("window %+v", w)
	}
	if s := got.Sessions[1]; s != (Session{"s6", "empty", false}) || !got.Windows[1].Kept || !got.Sessions[2].Kept {
		t.Fatalf("the empty window and its session are %+v and %+v", s, got.Windows[1])
	}
	// Equal places in the stack are ordered by the saved ids, by number and not by letter.
	if p, q := got.Panes[2].Float, got.Panes[3].Float; p.Z != 9 || q.Z != 10 || p.Preset != "venom.settings" || p.Title != "a" {
		t.Fatalf("floats %+v and %+v", p, q)
	}
	p := got.Panes[0]
	if p.Archive.PreviousPane != "p0" || p.Archive.ProcessState != ProcessExited || p.Name != "build" || *p.End.ExitCode != 3 {
		t.Fatalf("pane %+v", p)
	}
	if owner, _ := p.Tag(OwnerKey); owner != "test" || len(p.Tags) != 2 {
		t.Fatalf("tags %+v", p.Tags)
	}
	if owner, _ := got.Panes[1].Tag(OwnerKey); owner != "venom" {
		t.Fatalf("tags %+v", got.Panes[1].Tags)
	}
	if old.Panes[1].Tags != nil || old.Panes[2].Float.Z != 9 || old.Windows[0].Nodes[1].Pane != "p0" {
		t.Fatal("what was saved has been written to")
	}
}

func TestTiesInTheStackAreOrderedByNumber(t *testing.T) {
	b := build{t: t}
	b.window("", "")
	for range 11 {
		b.float("w0", Float{})
	}
	old := saved(b.Tree)
	for i := range old.Panes {
		old.Panes[i].Float.Z = 4
	}
	old.Panes[1].Float.Z = 3
	slices.Reverse(old.Panes)
	got, _, err := Tree{}.Restore(old, "")
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, p := range got.PanesOf("w0") {
		order = append(order, p.Archive.PreviousPane)
	}
	if !slices.Equal(order, []string{"p1", "p0", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10"}) || got.Panes[0].Tags[0].Value != "test" {
		t.Fatalf("order %v", order)
	}
}

// A checkpoint sorts windows by number, whatever session they are in.
func TestRestoreGathersTheWindowsOfASession(t *testing.T) {
	b := build{t: t}
	b.pane("", "")   // w0 of s0
	b.session("two") // s1
	b.pane("s1", "") // w1
	b.pane("s0", "") // w2
	old := saved(b.Tree)
	slices.SortFunc(old.Windows, func(a, b Window) int { return compareIDs(a.ID, b.ID) })
	got, ids, err := Tree{}.Restore(old, "")
	if err != nil || len(got.WindowsOf("s0")) != 2 || ids.Windows[2] != (Renumbered{"w2", "w2"}) || got.Panes[2].Archive.PreviousPane != "p2" {
		t.Fatalf("%+v, %+v, %v", got, ids, err)
	}
}

func TestRestoreRefusesWhatIsNotWhole(t *testing.T) {
	for name, spoil := range map[string]func(*Tree){
		"living pane":           func(s *Tree) { s.Panes[0].Archive = nil },
		"archive with a worker": func(s *Tree) { s.Panes[0].SessionID = worker(1) },
		"session twice":         func(s *Tree) { s.Sessions[1].ID = "s0" },
		"window twice":          func(s *Tree) { s.Windows[1].ID = "w0" },
		"empty window twice":    func(s *Tree) { s.Windows = append(s.Windows, s.Windows[1]) },
		"pane twice":            func(s *Tree) { s.Panes[1].ID = "p0" },
		"no id":                 func(s *Tree) { s.Panes[1].ID = "x" },
		"missing session":       func(s *Tree) { s.Windows[0].Session = "s9" },
		"missing window":        func(s *Tree) { s.Panes[0].Window = "w9" },
		"missing leaf":          func(s *Tree) { s.Windows[0].Nodes[1].Pane = "p9" },
		"leaf twice":            func(s *Tree) { s.Windows[0].Nodes[1].Pane = "p2" },
		"missing active":        func(s *Tree) { s.Windows[0].Active = "p9" },
		"orphan":                func(s *Tree) { s.Windows[0].Nodes = nil; s.Windows[0].Zoomed = "" },
		"axis":                  func(s *Tree) { s.Windows[0].Nodes[0].Axis = "x" },
		"share":                 func(s *Tree) { s.Windows[0].Nodes[0].Ratio = 10000 },
		"name":                  func(s *Tree) { s.Windows[0].Name = "\x1b" },
		"float":                 func(s *Tree) { f := *s.Panes[3].Float; f.Border = "x"; s.Panes[3].Float = &f },
		"z below 1":             func(s *Tree) { f := *s.Panes[3].Float; f.Z = 0; s.Panes[3].Float = &f },
		"z too large":           func(s *Tree) { f := *s.Panes[3].Float; f.Z = CounterMax + 1; s.Panes[3].Float = &f },
		"revision below 1":      func(s *Tree) { s.Windows[0].Revision = 0 },
		"revision too large":    func(s *Tree) { s.Windows[0].Revision = CounterMax + 1 },
		"tags":                  func(s *Tree) { s.Panes[4].Tags = []Tag{{"z", ""}, {"a", ""}} },
		"checkpoint":            func(s *Tree) { a := *s.Panes[0].Archive; a.Checkpoint = "c1"; s.Panes[0].Archive = &a },
	} {
		t.Run(name, func(t *testing.T) {
			old := saved(goldenTree(t))
			for i := range old.Windows {
				old.Windows[i].Nodes = slices.Clone(old.Windows[i].Nodes)
			}
			spoil(&old)
			into := Tree{Next: Next{1, 2, 3}}
			got, ids, err := into.Restore(old, "venom")
			if !errors.Is(err, ErrCorrupt) || !got.Equal(into) || len(ids.Sessions) > 0 {
				t.Fatalf("%+v, %+v, %v", got, ids, err)
			}
		})
	}
	full := saved(goldenTree(t))
	full.Panes[0].Tags = nil
	for n := range TagsMax {
		full.Panes[0].Tags = append(full.Panes[0].Tags, Tag{"a" + string(rune('a'+n)), ""})
	}
	if _, _, err := (Tree{}).Restore(full, "venom"); !errors.Is(err, ErrFull) {
		t.Fatalf("no room for the owner: %v", err)
	}
	if _, _, err := (Tree{Z: CounterMax}).Restore(saved(goldenTree(t)), ""); !errors.Is(err, ErrOverflow) {
		t.Fatalf("no z is left: %v", err)
	}
	if _, _, err := (Tree{Next: Next{Pane: CounterMax - 2}}).Restore(saved(goldenTree(t)), ""); !errors.Is(err, ErrOverflow) {
		t.Fatalf("no id is left: %v", err)
	}
}

func TestRelaunchTakesTheArchivesPlace(t *testing.T) {
	tree, _, err := Tree{}.Restore(saved(goldenTree(t)), "venom")
	if err != nil {
		t.Fatal(err)
	}
	tile, p, err := tree.ReplaceArchive("p1", Start{Worker: worker(50), Owner: "me"})
	if err != nil || p.ID != "p6" {
		t.Fatalf("%+v, %v", p, err)
	}
	w, was := tile.Windows[0], tree.Windows[0]
	if shape(w) != "(p0 |6250 (p2 / p6))" || w.Revision != was.Revision+1 || w.Active != "p6" || w.Zoomed != "p6" {
		t.Fatalf("window %+v", w)
	}
	if !slices.Equal(p.Tags, []Tag{{OwnerKey, "me"}}) || p.Archive != nil || p.End != nil || p.Title != "" {
		t.Fatalf("pane %+v", p)
	}
	float, q, err := tree.ReplaceArchive("p4", Start{Worker: worker(50), Name: "again"})
	if err != nil || !q.Float.equal(tree.Panes[4].Float) || q.Name != "again" || q.Tags != nil || float.Windows[0].Revision != was.Revision {
		t.Fatalf("%+v, %v", q, err)
	}
	if _, named, err := tree.ReplaceArchive("p2", Start{Worker: worker(50)}); err != nil || named.Name != "logs" {
		t.Fatalf("%+v, %v", named, err)
	}
	for _, n := range []Tree{tile, float} {
		if err := n.check(); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := tile.ReplaceArchive("p1", Start{Worker: worker(51)}); !errors.Is(err, ErrNotFound) {
		t.Fatalf("the second relaunch: %v", err)
	}
	if _, _, err := tile.ReplaceArchive("p6", Start{Worker: worker(51)}); !errors.Is(err, ErrArchive) {
		t.Fatalf("relaunch of a living pane: %v", err)
	}
}

func TestTextExpiresOnce(t *testing.T) {
	tree := goldenTree(t)
	next, err := tree.ExpireText("p5")
	if err != nil || next.Panes[5].Archive.TextState != TextExpired || tree.Panes[5].Archive.TextState != TextPlain {
		t.Fatalf("%+v, %v", next.Panes[5].Archive, err)
	}
	omitted := tree.clone()
	omitted.Panes[5] = archived(tree.Panes[5], "p7", TextOmitted)
	if next, err = omitted.ExpireText("p5"); err != nil || !next.Equal(omitted) {
		t.Fatalf("%+v, %v", next.Panes[5].Archive, err)
	}
}

// A relaunch starts its program, which is told its pane's id, before it takes the archive's place. Panes that
// were made meanwhile have later ids.
func TestARelaunchUsesTheIDThatWasReserved(t *testing.T) {
	tree, _, err := Tree{}.Restore(saved(goldenTree(t)), "venom")
	if err != nil {
		t.Fatal(err)
	}
	tree, id, err := tree.ReservePane()
	if err != nil || id != "p6" {
		t.Fatalf("%s, %v", id, err)
	}
	tree, later, err := tree.NewPane("", Start{Worker: worker(60)})
	if err != nil || later.ID != "p7" {
		t.Fatalf("%+v, %v", later, err)
	}
	next, p, err := tree.ReplaceArchive("p1", Start{Worker: worker(50), ID: id})
	if err != nil || p.ID != id || next.Next.Pane != 8 {
		t.Fatalf("%+v, next %d, %v", p, next.Next.Pane, err)
	}
	if err := next.check(); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{"p7", "p8", "x6", "p0"} {
		if _, _, err := tree.ReplaceArchive("p1", Start{Worker: worker(50), ID: wrong}); err == nil {
			t.Errorf("took the place as %s", wrong)
		}
	}
}
