// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"errors"
	"strings"
	"testing"
)

func TestFullTreeTakesNoMore(t *testing.T) {
	tree := full()
	if err := tree.check(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tree.NewPane("", Start{Worker: worker(PanesMax)}); !errors.Is(err, ErrFull) {
		t.Fatalf("error %v", err)
	}
	if _, _, err := tree.NewWindow("", ""); !errors.Is(err, ErrFull) {
		t.Fatalf("error %v", err)
	}
	if _, _, err := tree.NewSession("a"); !errors.Is(err, ErrFull) {
		t.Fatalf("error %v", err)
	}
	if _, out := tree.Reconcile([]string{worker(PanesMax)}, nil); len(out) != 1 {
		t.Fatalf("left out %v", out)
	}
	for name, tree := range map[string]Tree{"with workers": tree, "of archives": relaunched(tree)} {
		src, err := Encode(tree)
		if err != nil || len(src) > EncodedMax {
			t.Fatalf("the largest tree %s takes %d bytes, %v", name, len(src), err)
		}
		t.Logf("the largest tree %s takes %d of %d bytes", name, len(src), EncodedMax)
		if back, err := Decode(src); err != nil || !back.Equal(tree) {
			t.Fatalf("decode: %v", err)
		}
	}
}

// relaunched makes an archive of each pane, of which each is being relaunched.
func relaunched(t Tree) Tree {
	t = t.clone()
	for n, p := range t.Panes {
		worker := p.SessionID
		p.SessionID, p.Argv0, p.End = "", "", &End{}
		p.Archive = &Archive{Checkpoint: "c01234567-89ab-4cde-8fab-0123456789ab", PreviousPane: p.ID, ProcessState: ProcessInterrupted, TextState: TextExpired, CutRows: CounterMax}
		p.Relaunch = &Relaunch{
			Pane: makeID('p', uint64(CounterMax-2*PanesMax+n)), Worker: worker, Argv0: strings.Repeat(`"`, Argv0Max), Owner: strings.Repeat(`"`, TagValueMax),
		}
		t.Panes[n] = p
	}
	return t
}

// An adopted worker that finds room for a pane and none for its window leaves nothing behind.
func TestAWorkerWithoutRoomLeavesNothing(t *testing.T) {
	tree := Tree{Next: Next{Session: 1, Window: WindowsMax}, Sessions: []Session{{ID: "s0", Name: "main"}}}
	for n := range uint64(WindowsMax) {
		tree.Windows = append(tree.Windows, Window{ID: makeID('w', n), Session: "s0", Kept: true, Revision: 1})
	}
	got, out := tree.Reconcile([]string{worker(1), worker(2)}, nil)
	if len(out) != 2 || !got.Equal(tree) {
		t.Fatalf("left out %v; sessions %+v, panes %+v", out, got.Sessions, got.Panes)
	}
}

// full is the tree whose encoding is the longest.
func full() Tree {
	const base = CounterMax - PanesMax // the longest ids
	wide := strings.Repeat("\U0001F680", TitleRunesMax)
	quotes := strings.Repeat(`"`, TagValueMax) // each is two bytes in the file
	tree := Tree{Next: Next{CounterMax, CounterMax, CounterMax}, Z: CounterMax}
	var tags []Tag
	for n := range TagsMax {
		tags = append(tags, Tag{strings.Repeat("k", TagKeyMax-1) + string(rune('a'+n)), quotes})
	}
	for n := range uint64(PanesMax) {
		p := Pane{
			ID: makeID('p', base+n), Window: makeID('w', base+n), SessionID: worker(int(n)), Name: wide[:4*NameRunesMax], Title: wide,
			Argv0: strings.Repeat(`"`, Argv0Max), // longer than what an archive has in its place
			End:   &End{Signal: quotes[:signalMax]}, Tags: tags,
			Float: &Float{Z: base + n, Preset: strings.Repeat("p", PresetMax-2) + ".p", Title: quotes, Geometry: Geometry{
				"65535", "65535", AnchorBottomRight, code(-OffsetMax), code(-OffsetMax), CellsMax, CellsMax, BorderRounded,
			}},
		}
		tree.Panes = append(tree.Panes, p)
		tree.Windows = append(tree.Windows, Window{
			ID: p.Window, Session: makeID('s', base+n), Name: p.Name, Kept: true, Active: p.ID, Revision: CounterMax,
		})
		tree.Sessions = append(tree.Sessions, Session{makeID('s', base+n), p.Name, true})
	}
	return tree
}

// A window with every pane, split as deep as can be.
func TestTheDeepestTree(t *testing.T) {
	deep := &branch{pane: "p0"}
	tree := Tree{
		Next:     Next{1, 1, PanesMax},
		Sessions: []Session{{ID: "s0", Name: "main"}},
		Panes:    []Pane{{ID: "p0", Window: "w0", SessionID: worker(0)}},
	}
	for n := 1; n < PanesMax; n++ {
		id := makeID('p', uint64(n))
		tree.Panes = append(tree.Panes, Pane{ID: id, Window: "w0", SessionID: worker(n)})
		deep = &branch{axis: AxisCols, ratio: RatioMax, first: &branch{pane: id}, second: deep}
	}
	tree.Windows = []Window{{ID: "w0", Session: "s0", Active: "p0", Revision: 1, Nodes: deep.nodes()}}
	src, err := Encode(tree)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	w := back.Windows[0]
	if least := w.MinSize(); least != (Size{2*PanesMax - 1, 1}) {
		t.Fatalf("least size %+v", least)
	}
	requireCovered(t, back, w, w.MinSize())
	if back, err = back.Close("p0"); err != nil || len(back.Windows[0].Nodes) != 2*PanesMax-3 {
		t.Fatalf("%v", err)
	}
}

func TestBoundsAreCheckedBeforeAnythingIsFollowed(t *testing.T) {
	for name, tree := range map[string]Tree{
		"sessions": {Sessions: make([]Session, SessionsMax+1)},
		"windows":  {Windows: make([]Window, WindowsMax+1)},
		"panes":    {Panes: make([]Pane, PanesMax+1)},
		"items":    {Windows: []Window{{Nodes: make([]Node, ItemsMax)}}},
	} {
		if err := tree.check(); !errors.Is(err, ErrFull) {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := (Tree{}).Restore(tree, "me"); !errors.Is(err, ErrFull) {
			t.Errorf("restore %s: %v", name, err)
		}
	}
}
