// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestPanesOpenInTheSessionAskedFor(t *testing.T) {
	b := build{t: t}
	b.pane("", "  build ")
	b.adopt(worker(100))
	b.pane("s1", "")
	if p, _ := b.Pane("p0"); p.Name != "build" || p.Tags[0] != (Tag{OwnerKey, "test"}) {
		t.Fatalf("pane %+v", p)
	}
	if at, _ := b.Locate("p2"); at != (Place{"s1", "w2", 1}) {
		t.Fatalf("p2 is at %+v", at)
	}
	if b.Sessions[0].Name != defaultName || b.Sessions[1].Name != AdoptedName {
		t.Fatalf("sessions %+v", b.Sessions)
	}
}

// Every way in which an operation may fail: the error says which, and the tree is the one before.
func TestWhatCannotBeDoneChangesNothing(t *testing.T) {
	tree := goldenTree(t)
	fresh := Start{Worker: worker(99)}
	cols := Spot{Beside: "p0", Axis: AxisCols}
	three := func(n Tree, _ Pane, err error) (Tree, error) { return n, err }
	window := func(n Tree, _ Window, err error) (Tree, error) { return n, err }
	session := func(n Tree, _ Session, err error) (Tree, error) { return n, err }
	restored := func(n Tree, _ Mapping, err error) (Tree, error) { return n, err }
	for name, c := range map[string]struct {
		do   func() (Tree, error)
		want error
	}{
		"pane in no session":   {func() (Tree, error) { return three(tree.NewPane("s7", fresh)) }, ErrNotFound},
		"same worker":          {func() (Tree, error) { return three(tree.NewPane("", Start{Worker: worker(2)})) }, ErrDuplicate},
		"no worker":            {func() (Tree, error) { return three(tree.NewPane("", Start{Worker: "3"})) }, ErrWorker},
		"bad name":             {func() (Tree, error) { return three(tree.NewPane("", Start{Worker: worker(99), Name: "\x00"})) }, ErrName},
		"bad owner":            {func() (Tree, error) { return three(tree.NewPane("", Start{Worker: worker(99), Owner: "\x00"})) }, ErrTag},
		"adopt no worker":      {func() (Tree, error) { return three(tree.Adopt("x")) }, ErrWorker},
		"nameless session":     {func() (Tree, error) { return session(tree.NewSession(" ")) }, ErrName},
		"window in no session": {func() (Tree, error) { return window(tree.NewWindow("s9", "")) }, ErrNotFound},
		"split beside nothing": {func() (Tree, error) { return three(tree.Split(Spot{Beside: "p9", Axis: AxisCols}, fresh)) }, ErrNotFound},
		"split of no window":   {func() (Tree, error) { return three(tree.Split(Spot{Axis: AxisCols}, fresh)) }, ErrNotFound},
		"split of two things": {func() (Tree, error) {
			return three(tree.Split(Spot{Window: "w0", Beside: "p0", Axis: AxisCols}, fresh))
		}, ErrSplit},
		"split beside a float": {func() (Tree, error) { return three(tree.Split(Spot{Beside: "p3", Axis: AxisCols}, fresh)) }, ErrLayer},
		"axis":                 {func() (Tree, error) { return three(tree.Split(Spot{Beside: "p0", Axis: "x"}, fresh)) }, ErrSplit},
		"share": {func() (Tree, error) {
			return three(tree.Split(Spot{Window: "w0", Axis: AxisCols, Ratio: 10000}, fresh))
		}, ErrSplit},
		"float in no window":      {func() (Tree, error) { return three(tree.NewFloat("w9", Float{}, fresh)) }, ErrNotFound},
		"bad float":               {func() (Tree, error) { return three(tree.NewFloat("w0", Float{Preset: "x"}, fresh)) }, ErrFloat},
		"rename nothing":          {func() (Tree, error) { return tree.Rename("p9", "a") }, ErrNotFound},
		"session without name":    {func() (Tree, error) { return tree.Rename("s0", "") }, ErrName},
		"close nothing":           {func() (Tree, error) { return tree.Close("w9") }, ErrNotFound},
		"title of nothing":        {func() (Tree, error) { return tree.SetTitle("w0", "") }, ErrNotFound},
		"keys to nothing":         {func() (Tree, error) { return tree.SetActive("p9") }, ErrNotFound},
		"zoom nothing":            {func() (Tree, error) { return tree.Zoom("p9") }, ErrNotFound},
		"zoom a float":            {func() (Tree, error) { return tree.Zoom("p4") }, ErrLayer},
		"unzoom nothing":          {func() (Tree, error) { return tree.Unzoom("p0") }, ErrNotFound},
		"resize nothing":          {func() (Tree, error) { return tree.Resize("p9", AxisCols, 1) }, ErrNotFound},
		"resize a float":          {func() (Tree, error) { return tree.Resize("p4", AxisCols, 1) }, ErrLayer},
		"no split of that axis":   {func() (Tree, error) { return tree.Resize("p0", AxisRows, 1) }, ErrSplit},
		"share too large":         {func() (Tree, error) { return tree.Resize("p0", AxisCols, RatioMax+1) }, ErrSplit},
		"share too small":         {func() (Tree, error) { return tree.Resize("p0", AxisCols, -1) }, ErrSplit},
		"resize a lone pane":      {func() (Tree, error) { return tree.ResizeBy("p5", AxisCols, 1, Size{80, 24}) }, ErrSplit},
		"focus nothing":           {func() (Tree, error) { return tree.Focus("p9") }, ErrNotFound},
		"raise nothing":           {func() (Tree, error) { return tree.Raise("p9") }, ErrNotFound},
		"raise a tile":            {func() (Tree, error) { return tree.Raise("p0") }, ErrLayer},
		"place nothing":           {func() (Tree, error) { return tree.PlaceTile("p9", cols) }, ErrNotFound},
		"place a tile as a tile":  {func() (Tree, error) { return tree.PlaceTile("p1", cols) }, ErrLayer},
		"place beside nothing":    {func() (Tree, error) { return tree.PlaceTile("p3", Spot{Beside: "p9", Axis: AxisCols}) }, ErrNotFound},
		"place as a bad float":    {func() (Tree, error) { return tree.PlaceFloat("p0", Float{Geometry: Geometry{Anchor: "x"}}) }, ErrFloat},
		"replace by a bad float":  {func() (Tree, error) { return tree.PlaceFloat("p3", Float{Geometry: Geometry{Width: "x"}}) }, ErrFloat},
		"place an archive":        {func() (Tree, error) { return tree.PlaceFloat("p5", Float{}) }, ErrLayer},
		"place an archive's tile": {func() (Tree, error) { return tree.PlaceTile("p5", cols) }, ErrLayer},
		"move nothing":            {func() (Tree, error) { return tree.MovePane("p9", cols) }, ErrNotFound},
		"move beside a float":     {func() (Tree, error) { return tree.MovePane("p1", Spot{Beside: "p4", Axis: AxisCols}) }, ErrLayer},
		"move no window":          {func() (Tree, error) { return tree.MoveWindow("w9", "s0", 0) }, ErrNotFound},
		"move to no session":      {func() (Tree, error) { return tree.MoveWindow("w0", "s9", 0) }, ErrNotFound},
		"move no session":         {func() (Tree, error) { return tree.MoveSession("w0", 0) }, ErrNotFound},
		"swap with nothing":       {func() (Tree, error) { return tree.Swap("p0", "p9") }, ErrNotFound},
		"swap with a float":       {func() (Tree, error) { return tree.Swap("p0", "p3") }, ErrLayer},
		"tag nothing":             {func() (Tree, error) { return tree.SetTag("p9", "a", "") }, ErrNotFound},
		"tag of the daemon":       {func() (Tree, error) { return tree.SetTag("p0", OwnerKey, "me") }, ErrOwner},
		"untag of the daemon":     {func() (Tree, error) { return tree.RemoveTag("p0", OwnerKey) }, ErrOwner},
		"bad key":                 {func() (Tree, error) { return tree.SetTag("p0", "Role", "") }, ErrTag},
		"bad value":               {func() (Tree, error) { return tree.SetTag("p0", "role", "a\u202eb") }, ErrTag},
		"long value":              {func() (Tree, error) { return tree.SetTag("p0", "role", strings.Repeat("x", TagValueMax+1)) }, ErrTag},
		"replace a living pane":   {func() (Tree, error) { return three(tree.ReplaceArchive("p0", fresh)) }, ErrArchive},
		"replace nothing":         {func() (Tree, error) { return three(tree.ReplaceArchive("p9", fresh)) }, ErrNotFound},
		"replace by a known one":  {func() (Tree, error) { return three(tree.ReplaceArchive("p5", Start{Worker: worker(1)})) }, ErrDuplicate},
		"expire a living pane":    {func() (Tree, error) { return tree.ExpireText("p0") }, ErrArchive},
		"restore into something":  {func() (Tree, error) { return restored(tree.Restore(Tree{}, "me")) }, ErrNotEmpty},
	} {
		t.Run(name, func(t *testing.T) {
			before, _ := Encode(tree)
			got, err := c.do()
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if after, _ := Encode(tree); !got.Equal(tree) || string(before) != string(after) {
				t.Fatalf("the tree is another")
			}
		})
	}
}

// Whatever only grows ends with an error and not at 0.
func TestCountersDoNotTurn(t *testing.T) {
	tree := goldenTree(t)
	tree.Next = Next{CounterMax, CounterMax, CounterMax}
	tree.Z = CounterMax
	for i := range tree.Windows {
		tree.Windows[i].Revision = CounterMax
	}
	if err := tree.check(); err != nil {
		t.Fatal(err)
	}
	fresh := Start{Worker: worker(99)}
	var errs []error
	add := func(_ Tree, err error) { errs = append(errs, err) }
	_, _, err := tree.NewSession("a")
	add(tree, err)
	_, _, err = tree.NewWindow("s0", "a")
	add(tree, err)
	_, _, err = tree.NewPane("s0", fresh)
	add(tree, err)
	_, _, err = tree.NewFloat("w0", Float{}, fresh)
	add(tree, err)
	add(tree.Raise("p3"))
	add(tree.Unzoom("w0"))
	add(tree.Close("p1"))
	add(tree.Swap("p0", "p1"))
	add(tree.Resize("p0", AxisCols, 1))
	add(tree.PlaceFloat("p0", Float{}))
	add(tree.MovePane("p0", Spot{Window: "w1"}))
	for i, err := range errs {
		if !errors.Is(err, ErrOverflow) {
			t.Errorf("case %d: %v", i, err)
		}
	}
	if _, err := tree.Rename("w0", "still"); err != nil {
		t.Error(err)
	}
}

func TestPanesGoWhereTheyAreSent(t *testing.T) {
	b := build{t: t}
	b.pane("", "")                                                // p0, w0
	b.split(Spot{Beside: "p0", Axis: AxisCols}, "")               // p1
	b.split(Spot{Window: "w0", Axis: AxisRows, Before: true}, "") // p2
	b.split(Spot{Beside: "p1", Axis: AxisRows, Ratio: 3000}, "")  // p3
	b.pane("", "")                                                // p4, w1
	want := func(window, tree, active string) {
		t.Helper()
		w, _ := b.Window(window)
		if shape(w) != tree || w.Active != active {
			t.Fatalf("%s is %s with the keys at %s, want %s and %s", window, shape(w), w.Active, tree, active)
		}
		if err := b.check(); err != nil {
			t.Fatal(err)
		}
	}
	want("w0", "(p2 / (p0 | (p1 /3000 p3)))", "p3")
	b.do(b.MovePane("p0", Spot{Beside: "p3", Axis: AxisCols, Before: true}))
	want("w0", "(p2 / (p1 /3000 (p0 | p3)))", "p0")
	b.do(b.MovePane("p0", Spot{Window: "w0", Axis: AxisCols, Before: true}))
	want("w0", "(p0 | (p2 / (p1 /3000 p3)))", "p0")
	b.do(b.Swap("p0", "p3"))
	want("w0", "(p3 | (p2 / (p1 /3000 p0)))", "p3")
	b.do(b.Swap("p3", "p4"))
	want("w0", "(p4 | (p2 / (p1 /3000 p0)))", "p4")
	want("w1", "p3", "p3")
	b.do(b.MovePane("p4", Spot{Beside: "p3", Axis: AxisRows}))
	want("w0", "(p2 / (p1 /3000 p0))", "p2")
	want("w1", "(p3 / p4)", "p4")
	b.do(b.PlaceFloat("p1", Float{}))
	want("w0", "(p2 / p0)", "p2")
	b.do(b.MovePane("p1", Spot{Window: "w1", Axis: AxisCols}))
	want("w1", "(p3 / p4)", "p1")
	b.do(b.PlaceTile("p1", Spot{Beside: "p4", Axis: AxisCols}))
	want("w1", "(p3 / (p4 | p1))", "p1")
	b.do(b.MovePane("p2", Spot{Beside: "p1", Axis: AxisCols}))
	b.do(b.MovePane("p0", Spot{Beside: "p1", Axis: AxisCols}))
	if _, left := b.Window("w0"); left {
		t.Fatal("a window stays whose last pane moved away")
	}
	want("w1", "(p3 / (p4 | ((p1 | p0) | p2)))", "p0")
	b.do(b.MovePane("p0", Spot{Beside: "p0", Axis: AxisCols}))
	want("w1", "(p3 / (p4 | ((p1 | p0) | p2)))", "p0")
}

// One operation is one change of the layout, however many steps it has; what changes no layout is none.
func TestRevisionsCountChangesOfTheLayout(t *testing.T) {
	b := build{t: t}
	b.pane("", "")
	b.pane("", "")
	step := func(what string, w0, w1 uint64, next Tree, err error) {
		t.Helper()
		before := b.Tree
		b.do(next, err)
		for i, grew := range []uint64{w0, w1} {
			if got := b.Windows[i].Revision - before.Windows[i].Revision; got != grew {
				t.Errorf("%s: revision of w%d grew by %d, want %d", what, i, got, grew)
			}
		}
	}
	two := func(next Tree, _ Pane, err error) (Tree, error) { return next, err }
	do := func(what string, w0, w1 uint64, f func() (Tree, error)) {
		t.Helper()
		next, err := f()
		step(what, w0, w1, next, err)
	}
	do("split", 1, 0, func() (Tree, error) { return two(b.Split(Spot{Beside: "p0", Axis: AxisCols}, b.start(""))) })
	do("float", 0, 0, func() (Tree, error) { return two(b.NewFloat("w0", Float{}, b.start(""))) })
	do("move within", 1, 0, func() (Tree, error) { return b.MovePane("p0", Spot{Beside: "p2", Axis: AxisRows}) })
	do("swap across", 1, 1, func() (Tree, error) { return b.Swap("p0", "p1") })
	do("swap with itself", 0, 0, func() (Tree, error) { return b.Swap("p0", "p0") })
	do("zoom", 1, 0, func() (Tree, error) { return b.Zoom("p2") })
	do("zoom again", 0, 0, func() (Tree, error) { return b.Zoom("p2") })
	do("keys to a float", 0, 0, func() (Tree, error) { return b.SetActive("p3") })
	do("keys to another tile", 1, 0, func() (Tree, error) { return b.SetActive("p1") })
	b.do(b.Zoom("p1"))
	do("split under a zoom", 1, 0, func() (Tree, error) { return two(b.Split(Spot{Beside: "p2", Axis: AxisCols}, b.start(""))) })
	if w := b.Windows[0]; w.Zoomed != "" || w.Active != "p4" {
		t.Errorf("the window has the zoom at %q and the keys at %s", w.Zoomed, w.Active)
	}
	do("rename", 0, 0, func() (Tree, error) { return b.Rename("w0", "a") })
	do("title", 0, 0, func() (Tree, error) { return b.SetTitle("p1", "a") })
	do("float to tile", 0, 1, func() (Tree, error) { return b.PlaceTile("p3", Spot{Window: "w1", Axis: AxisCols}) })
	do("move across", 1, 1, func() (Tree, error) { return b.MovePane("p3", Spot{Window: "w0", Axis: AxisRows}) })
	do("close", 1, 0, func() (Tree, error) { return b.Close("p3") })
}

func TestContainersGoWithTheirLastUnlessMadeEmpty(t *testing.T) {
	b := build{t: t}
	b.pane("", "") // p0 in w0 of s0
	b.session("kept")
	b.window("s1", "kept")
	b.pane("s1", "") // p1 in w2
	b.split(Spot{Window: "w1"}, "")
	b.do(b.Close("p1"))
	if _, left := b.Window("w2"); left {
		t.Error("a window stays without its last pane")
	}
	b.do(b.Close("p2"))
	if w, left := b.Window("w1"); !left || w.Active != "" || len(w.Nodes) > 0 {
		t.Errorf("a window that was made empty: %+v, %t", w, left)
	}
	b.do(b.Close("w1"))
	if _, left := b.Window("w1"); left {
		t.Error("a window stays that was closed")
	}
	if _, left := b.Session("s1"); !left {
		t.Error("a session that was made empty is gone with its last window")
	}
	b.do(b.MoveWindow("w0", "s1", -1))
	if _, left := b.Session("s0"); left {
		t.Error("a session stays without its last window")
	}
	b.do(b.Close("s1"))
	if !b.Empty() || b.Next != (Next{2, 3, 3}) {
		t.Errorf("left are %+v", b.Tree)
	}
}

func TestKeysGoToWhatFollows(t *testing.T) {
	b := build{t: t}
	b.pane("", "")
	b.split(Spot{Beside: "p0", Axis: AxisCols}, "")
	b.split(Spot{Beside: "p1", Axis: AxisCols}, "")
	b.float("w0", Float{})
	b.float("w0", Float{})
	for _, c := range []struct{ close, want string }{{"p4", "p3"}, {"p3", "p0"}} {
		if b.do(b.Close(c.close)); b.Windows[0].Active != c.want {
			t.Fatalf("after %s: %s", c.close, b.Windows[0].Active)
		}
	}
	b.float("w0", Float{})
	b.do(b.SetActive("p1"))
	for _, c := range []struct{ close, want string }{{"p1", "p2"}, {"p2", "p0"}, {"p0", "p5"}} {
		if b.do(b.Close(c.close)); b.Windows[0].Active != c.want {
			t.Fatalf("after %s: %s", c.close, b.Windows[0].Active)
		}
	}
}

func TestKeysAreNeverBehindAZoom(t *testing.T) {
	b := build{t: t}
	b.pane("", "")
	b.split(Spot{Beside: "p0", Axis: AxisCols}, "")
	b.do(b.Zoom("p1"))
	b.float("w0", Float{})
	b.do(b.Close("p2"))
	if w := b.Windows[0]; w.Active != "p1" || w.Zoomed != "p1" {
		t.Fatalf("after the float: keys at %s, zoom at %s", w.Active, w.Zoomed)
	}
	b.do(b.MovePane("p0", Spot{Beside: "p0", Axis: AxisCols}))
	if w := b.Windows[0]; w.Active != "p0" || w.Zoomed != "" {
		t.Fatalf("after a move to its own place: keys at %s, zoom at %s", w.Active, w.Zoomed)
	}
}

func TestSessionsAndWindowsKeepTheOrderTheyAreGiven(t *testing.T) {
	b := build{t: t}
	for range 3 {
		b.pane("", "")
	}
	b.adopt(worker(50))
	order := func() string {
		var out []string
		for _, s := range b.Sessions {
			out = append(out, s.ID)
			for _, w := range b.WindowsOf(s.ID) {
				out = append(out, w.ID)
			}
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct {
		do   func() (Tree, error)
		want string
	}{
		{func() (Tree, error) { return b.MoveWindow("w0", "s0", 1) }, "s0 w1 w0 w2 s1 w3"},
		{func() (Tree, error) { return b.MoveWindow("w1", "s0", -1) }, "s0 w0 w2 w1 s1 w3"},
		{func() (Tree, error) { return b.MoveSession("s0", 9) }, "s1 w3 s0 w0 w2 w1"},
		{func() (Tree, error) { return b.MoveWindow("w2", "s1", 0) }, "s1 w2 w3 s0 w0 w1"},
		{func() (Tree, error) { return b.MoveSession("s0", 0) }, "s0 w0 w1 s1 w2 w3"},
		{func() (Tree, error) { return b.MoveWindow("w0", "s0", 7) }, "s0 w1 w0 s1 w2 w3"},
	} {
		if b.do(c.do()); order() != c.want || b.check() != nil {
			t.Fatalf("order %s, want %s; %v", order(), c.want, b.check())
		}
	}
	var listed []string
	for _, p := range b.List() {
		listed = append(listed, p.ID)
	}
	if !slices.Equal(listed, []string{"p1", "p0", "p2", "p3"}) {
		t.Fatalf("listed %v", listed)
	}
}

func TestListIsByPlace(t *testing.T) {
	tree := goldenTree(t)
	tree, err := tree.Raise("p3")
	if err != nil {
		t.Fatal(err)
	}
	var all, own []string
	for _, p := range tree.List() {
		all = append(all, p.ID)
	}
	for _, p := range tree.PanesOf("w0") {
		own = append(own, p.ID)
	}
	if !slices.Equal(all, []string{"p0", "p2", "p1", "p4", "p3", "p5"}) || !slices.Equal(own, all[:5]) {
		t.Fatalf("all %v, of w0 %v", all, own)
	}
}

func TestAncestorsLeadFromTheRoot(t *testing.T) {
	tree := goldenTree(t)
	for id, want := range map[string]string{
		Root: "server:root", "s1": "server:root s1", "w1": "server:root s1 w1", "p4": "server:root s0 w0 p4", "p5": "server:root s1 w2 p5",
	} {
		if got, ok := tree.Ancestors(id); !ok || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %t", id, got, ok)
		}
	}
	for _, id := range []string{"", "p9", "s9", "w9", "x", "p00"} {
		if got, ok := tree.Ancestors(id); ok {
			t.Errorf("%q: %v", id, got)
		}
	}
}

func TestTagsAreSortedAndCounted(t *testing.T) {
	b := build{t: t}
	b.pane("", "")
	for n := range TagsMax - 1 {
		b.do(b.SetTag("p0", fmt.Sprintf("z%02d", (n*7)%16), "v"))
	}
	p, _ := b.Pane("p0")
	if len(p.Tags) != TagsMax || checkTags(p.Tags) != nil {
		t.Fatalf("tags %+v", p.Tags)
	}
	if _, err := b.SetTag("p0", "one-more", ""); !errors.Is(err, ErrFull) {
		t.Fatalf("error %v", err)
	}
	before := b.Tree
	b.do(b.SetTag("p0", "z00", ""))
	if p, _ := before.Pane("p0"); p.Tags[1] != (Tag{"z00", "v"}) {
		t.Fatalf("an earlier tree has %+v", p.Tags)
	}
	before = b.Tree
	b.do(b.RemoveTag("p0", "z01"))
	if p, _ := before.Pane("p0"); p.Tags[2].Key != "z01" || p.Tags[TagsMax-1].Key == "" {
		t.Fatalf("an earlier tree has %+v", p.Tags)
	}
	b.do(b.RemoveTag("p0", "z01"))
	p, _ = b.Pane("p0")
	if value, ok := p.Tag("z00"); !ok || value != "" || len(p.Tags) != TagsMax-1 {
		t.Fatalf("tags %+v", p.Tags)
	}
	b.adopt(worker(9)) // nobody's: the place of its owner stays free
	for n := range TagsMax - 1 {
		b.do(b.SetTag("p1", fmt.Sprintf("z%02d", n), ""))
	}
	if _, err := b.SetTag("p1", "one-more", ""); !errors.Is(err, ErrFull) {
		t.Fatalf("error %v", err)
	}
	for n := range TagsMax - 1 {
		b.do(b.RemoveTag("p1", fmt.Sprintf("z%02d", n)))
	}
	if p, _ := b.Pane("p1"); p.Tags != nil {
		t.Fatalf("tags %+v", p.Tags)
	}
}

func TestAFloatKeepsItsPlaceInTheStack(t *testing.T) {
	b := build{t: t}
	b.pane("", "")
	b.float("w0", Float{Z: 77})
	b.float("w0", Float{})
	b.do(b.PlaceFloat("p1", Float{Z: 99, Title: "a"}))
	if p, _ := b.Pane("p1"); p.Float.Z != 1 || p.Float.Title != "a" {
		t.Fatalf("float %+v", p.Float)
	}
	b.do(b.Raise("p1"))
	b.do(b.Raise("p1"))
	if p, _ := b.Pane("p1"); p.Float.Z != 3 || b.Z != 3 {
		t.Fatalf("float %+v, last %d", p.Float, b.Z)
	}
}

// Who turns to a pane gets its keys there, and sees it.
func TestFocusGivesTheKeysAndRaises(t *testing.T) {
	b := build{t: t}
	b.pane("", "")
	b.float("w0", Float{})
	b.float("w0", Float{})
	b.do(b.Zoom("p0"))
	b.do(b.Focus("p1"))
	if p, _ := b.Pane("p1"); p.Float.Z != 3 || b.Windows[0].Active != "p1" || b.Windows[0].Zoomed != "p0" {
		t.Fatalf("float %+v in %+v", p.Float, b.Windows[0])
	}
	b.do(b.Focus("p1"))
	b.do(b.Focus("p0"))
	if b.Z != 3 || b.Windows[0].Active != "p0" || b.Windows[0].Zoomed != "p0" {
		t.Fatalf("last %d in %+v", b.Z, b.Windows[0])
	}
}

func TestTheFirstEndStays(t *testing.T) {
	tree := onePane(t, worker(1))
	tree, err := tree.Ended("p0", End{ExitCode: code(3)})
	if err != nil {
		t.Fatal(err)
	}
	tree, err = tree.Lost("p0")
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := tree.Pane("p0"); got.End == nil || !got.End.Known() || *got.End.ExitCode != 3 {
		t.Fatalf("end %+v", got.End)
	}
	for _, bad := range []End{{ExitCode: code(0), Signal: "KILL"}, {ExitCode: code(-1)}, {ExitCode: code(math.MaxUint32 + 1)}, {Signal: "\x1b[m"}} {
		if _, err := tree.Ended("p0", bad); err == nil {
			t.Errorf("end %+v was taken", bad)
		}
	}
}

func TestALostPaneIsNeverASuccess(t *testing.T) {
	tree, _ := onePane(t, worker(1)).Lost("p0")
	if got, _ := tree.Pane("p0"); got.End == nil || got.End.Known() {
		t.Fatalf("end %+v", got.End)
	}
}

func TestAdoptKeepsAKnownWorkersPane(t *testing.T) {
	tree := onePane(t, worker(1))
	again, p, err := tree.Adopt(worker(1))
	if err != nil || p.ID != "p0" || !again.Equal(tree) {
		t.Fatalf("Adopt = %+v, %v", p, err)
	}
}

func TestReconcile(t *testing.T) {
	b := build{t: t, workers: -1}
	for range 5 {
		b.pane("", "")
	}
	b.do(b.Lost("p1"))                          // given up, but answers again
	b.do(b.Ended("p3", End{ExitCode: code(0)})) // ended, and gone
	b.Panes[4] = archived(b.Panes[4], "p9", TextOmitted)
	got, out := b.Reconcile([]string{worker(0), worker(1), worker(9)}, []string{worker(2)})
	if len(out) != 0 {
		t.Fatalf("no room for %v", out)
	}
	for id, want := range map[string]string{"p0": "live", "p1": "live", "p2": "live", "p3": "known", "p4": "lost", "p5": "live"} {
		p, ok := got.Pane(id)
		have := "live"
		if p.End != nil {
			have = map[bool]string{true: "known", false: "lost"}[p.End.Known()]
		}
		if !ok || have != want {
			t.Errorf("%s is %s, want %s", id, have, want)
		}
	}
	if p, _ := got.Pane("p4"); !p.equal(b.Panes[4]) {
		t.Errorf("the archive is %+v", p)
	}
	if at, _ := got.Locate("p5"); got.Sessions[1].Name != AdoptedName || at.Session != got.Sessions[1].ID {
		t.Errorf("the unknown worker's pane is at %+v", at)
	}
	again, _ := b.Reconcile(nil, nil)
	if p, _ := again.Pane("p0"); p.End == nil || p.End.Known() {
		t.Errorf("a pane without worker has the end %+v", p.End)
	}
}
