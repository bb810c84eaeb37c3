// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/topology"
)

// A grove is a tree that grows by what a daemon can be asked for, and by how its terminals end.
type grove struct {
	tree    topology.Tree
	workers int
}

func (g *grove) start(t *rapid.T) topology.Start {
	g.workers++
	return topology.Start{
		Worker: fmt.Sprintf("00000000-0000-4000-8000-%012x", g.workers), Name: anyText(t), Owner: rapid.SampledFrom([]string{"", "owner", "agent:g_0123456789abcdef"}).Draw(t, "owner"),
	}
}

// anyText is mostly of those that somebody would choose to do harm, or that are as long as may be.
func anyText(t *rapid.T) string {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", "build", "a\u202eb", "\u00a0x", "é\u2028", strings.Repeat("é", topology.NameRunesMax), strings.Repeat("a", topology.TagValueMax), "\x1b[2J", "\"\\/<>&",
	})).Draw(t, "text")
}

func (g *grove) anyPane(t *rapid.T) string {
	if len(g.tree.Panes) == 0 {
		return "p0"
	}
	return rapid.SampledFrom(g.tree.Panes).Draw(t, "pane").ID
}

func (g *grove) anyWindow(t *rapid.T) string {
	if len(g.tree.Windows) == 0 {
		return "w0"
	}
	return rapid.SampledFrom(g.tree.Windows).Draw(t, "window").ID
}

func anyFloat(t *rapid.T) topology.Float {
	cells := rapid.Ptr(rapid.IntRange(-topology.OffsetMax, topology.OffsetMax), true)
	return topology.Float{Preset: rapid.SampledFrom([]string{"", "floats.default", "a.b.c", "a." + strings.Repeat("b", topology.PresetMax-2)}).Draw(t, "preset"), Title: anyText(t),
		Geometry: topology.Geometry{
			Width: rapid.SampledFrom([]topology.Extent{"", "1", "65535", "100%", "0"}).Draw(t, "width"), Anchor: rapid.SampledFrom(topology.Anchors).Draw(t, "anchor"),
			X: cells.Draw(t, "x"), Y: cells.Draw(t, "y"), MinCols: rapid.IntRange(0, topology.CellsMax).Draw(t, "min"), Border: rapid.SampledFrom(topology.Borders).Draw(t, "border"),
		}}
}

func anyEnd(t *rapid.T) topology.End {
	if rapid.Bool().Draw(t, "signalled") {
		return topology.End{Signal: rapid.SampledFrom([]string{"SIGKILL", "SIGusr1", "SIG", "KILL", "SIG" + strings.Repeat("A", 29), "SIGRTMIN+3", ""}).Draw(t, "signal")}
	}
	code := rapid.SampledFrom([]int{0, 1, 255, 256, math.MaxUint32}).Draw(t, "code")
	return topology.End{ExitCode: &code}
}

// acts are operations, of which many are refused and then change nothing.
func (g *grove) acts(t *rapid.T) map[string]func(*rapid.T) {
	keep := func(next topology.Tree, err error) {
		if err == nil {
			g.tree = next
		}
	}
	return map[string]func(*rapid.T){
		"": func(t *rapid.T) { g.outlivesTheHost(t) },
		"session": func(t *rapid.T) {
			next, _, err := g.tree.NewSession(anyText(t))
			keep(next, err)
		},
		"window": func(t *rapid.T) {
			next, _, err := g.tree.NewWindow("", anyText(t))
			keep(next, err)
		},
		"pane": func(t *rapid.T) {
			next, _, err := g.tree.NewPane("", g.start(t))
			keep(next, err)
		},
		"split": func(t *rapid.T) {
			next, _, err := g.tree.Split(topology.Spot{
				Beside: g.anyPane(t), Axis: rapid.SampledFrom([]topology.Axis{topology.AxisCols, topology.AxisRows}).Draw(t, "axis"), Ratio: rapid.IntRange(0, topology.RatioMax).Draw(t, "ratio"),
			}, g.start(t))
			keep(next, err)
		},
		"float": func(t *rapid.T) {
			next, _, err := g.tree.NewFloat(g.anyWindow(t), anyFloat(t), g.start(t))
			keep(next, err)
		},
		"rename": func(t *rapid.T) { keep(g.tree.Rename(g.anyWindow(t), anyText(t))) },
		"close":  func(t *rapid.T) { keep(g.tree.Close(g.anyPane(t))) },
		"end":    func(t *rapid.T) { keep(g.tree.Ended(g.anyPane(t), anyEnd(t))) },
		"zoom":   func(t *rapid.T) { keep(g.tree.Zoom(g.anyPane(t))) },
		"raise":  func(t *rapid.T) { keep(g.tree.Raise(g.anyPane(t))) },
		"tag": func(t *rapid.T) {
			key := rapid.SampledFrom([]string{"a", "role", "x.y-z_1", "k" + strings.Repeat("e", topology.TagKeyMax-1), "B"}).Draw(t, "key")
			keep(g.tree.SetTag(g.anyPane(t), key, anyText(t)))
		},
		"fill tags": func(t *rapid.T) {
			pane := g.anyPane(t)
			for i := range topology.TagsMax {
				keep(g.tree.SetTag(pane, fmt.Sprintf("t%d", i), ""))
			}
		},
		"restore": func(t *rapid.T) { g.tree = g.outlivesTheHost(t) },
	}
}

// Whatever arrangement a daemon can hold is written, read, and restored as it was, with text of any kind on its
// terminals.
func TestEveryArrangementOutlivesTheHost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &grove{}
		t.Repeat(g.acts(t))
	})
}

// outlivesTheHost saves the tree, restores it into an empty one, and returns that.
func (g *grove) outlivesTheHost(t *rapid.T) topology.Tree {
	p := recovery.DefaultPolicy()
	p.Enabled, p.Text = true, recovery.TextModePlain
	rows := map[string]recovery.Rows{}
	for _, at := range g.tree.Panes {
		if rapid.IntRange(0, 3).Draw(t, "text") == 0 {
			screen := rapid.SliceOfN(rapid.String(), 1, 3).Draw(t, "screen")
			if history, err := recovery.ListOf(rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "history")); err == nil {
				rows[at.ID] = recovery.Rows{Screen: screen, History: history}
			}
		}
	}
	saved := g.save(t, p, rows)
	back, mounted := restoreInto(t, topology.Tree{}, saved)
	again := grove{tree: back}.save(t, p, nil)
	for i := range again.Panes {
		if want := mounted[i].archive.facts().Recovery.ProcessState; again.Panes[i].PreviousState != want {
			t.Fatalf("an archive says %q, and was %q", again.Panes[i].PreviousState, want)
		}
	}
	if want, got := bare(saved), bare(again); !reflect.DeepEqual(got, want) {
		t.Fatalf("restored\n%+v\nsaved\n%+v", got, want)
	}
	return back
}

// save is what a checkpoint of the tree says when it is read again.
func (g grove) save(t rapid.TB, p recovery.Policy, rows map[string]recovery.Rows) recovery.Checkpoint {
	ps := &panes{inForce: config.Default}
	ps.mu.tree = g.tree
	if rows == nil {
		rows = map[string]recovery.Rows{}
	}
	c := recovery.Capture(ps.view(context.Background(), time.Now(), p, 0, rows), recovery.ShutdownOpen, p)
	c.ID, c.Generation, c.Socket = "c01234567-89ab-4cde-8fab-0123456789ab", 1, "/run/spawnd.sock"
	file, err := recovery.Encode(c, recovery.FileBytesMax)
	if err != nil {
		t.Fatalf("%v: %+v", err, c)
	}
	read, _, err := recovery.Decode(file, recovery.Reading{BytesMax: recovery.FileBytesMax, Newest: recovery.Format3})
	if err != nil {
		t.Fatalf("%v: %s", err, file)
	}
	return read
}

// restoreInto does what the verb does, without events and files.
func restoreInto(t rapid.TB, tree topology.Tree, c recovery.Checkpoint) (topology.Tree, []*pane) {
	plan, err := recovery.PlanRestore(c, recovery.Counters{}, "owner")
	if err != nil {
		t.Fatal(err)
	}
	mounted := make([]*pane, len(plan.Archives))
	for i, a := range plan.Archives {
		if mounted[i], err = newArchive(a, nil); err != nil {
			t.Fatalf("%v: %+v", err, a)
		}
	}
	back, _, err := tree.Restore(savedTree(c, plan, mounted), "")
	if err != nil {
		t.Fatalf("%v: %+v", err, c)
	}
	if src, err := topology.Encode(back); err != nil {
		t.Fatal(err)
	} else if same, err := topology.Decode(src); err != nil || !same.Equal(back) {
		t.Fatalf("what was restored is not kept: %v", err)
	}
	return back, mounted
}

// bare is what has to outlive a restore: not ids, which are fresh, nor sizes, text and what is told of processes, which
// archives have behind the tree.
func bare(c recovery.Checkpoint) (out []string) {
	for _, s := range c.Sessions {
		out = append(out, fmt.Sprintf("session %q", s.Name))
	}
	order := map[string]int{}
	for i, p := range c.Panes {
		order[p.ID] = i
	}
	for _, w := range c.Windows {
		nodes := slices.Clone(w.Nodes)
		for i, n := range nodes {
			if n.Kind == recovery.NodePane {
				nodes[i].Pane = fmt.Sprint(order[n.Pane])
			}
		}
		out = append(out, fmt.Sprintf("window %q %v", w.Name, nodes))
	}
	var floats []recovery.Pane
	for _, p := range c.Panes {
		tags := p.Tags
		if !slices.ContainsFunc(tags, func(tag recovery.Tag) bool { return tag.Key == topology.OwnerKey }) && len(tags) < topology.TagsMax {
			tags = append(slices.Clone(tags), recovery.Tag{Key: topology.OwnerKey, Value: "owner"})
			slices.SortFunc(tags, func(a, b recovery.Tag) int { return strings.Compare(a.Key, b.Key) })
		}
		out = append(out, fmt.Sprintf("pane %v %s %q", tags, value(p.ExitCode), p.Signal))
		if p.Float != nil {
			floats = append(floats, p)
		}
	}
	slices.SortFunc(floats, func(a, b recovery.Pane) int { return int(a.Float.Z - b.Float.Z) })
	for _, p := range floats {
		f := p.Float.Arranged()
		f.Z = 0
		out = append(out, fmt.Sprintf("float %d %v %v %+v", order[p.ID], value(f.X), value(f.Y), topology.Float{Preset: f.Preset, Title: f.Title, Geometry: topology.Geometry{
			Width: f.Width, Height: f.Height, Anchor: f.Anchor, MinCols: f.MinCols, MinRows: f.MinRows, Border: f.Border,
		}}))
	}
	return out
}

func value(n *int) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}

// The complete examples of the specification become archives as they say, whichever format they are in, and are saved again as
// what they were.
func TestExamplesOfTheSpecificationAreRestored(t *testing.T) {
	for format, want := range map[int]struct {
		nodes  string
		floats []string // in front last
	}{
		recovery.Format1: {"p0", nil},
		recovery.Format2: {"cols (p0 p1)", []string{"venom.settings", "build log"}},
		recovery.Format3: {"cols 6250 (p0 rows (p1 p2))", nil},
	} {
		file, err := os.ReadFile(fmt.Sprintf("recovery/testdata/example-format-%d.json", format))
		if err != nil {
			t.Fatal(err)
		}
		c, read, err := recovery.Decode(file, recovery.Reading{BytesMax: recovery.FileBytesMax, Newest: recovery.Format3})
		if err != nil || read != format {
			t.Fatalf("format %d: read as %d, %v", format, read, err)
		}
		back, mounted := restoreInto(t, topology.Tree{}, c)
		if got := drawn(back.Windows[0].Nodes, 0); got != want.nodes || back.Windows[0].Revision != 1 {
			t.Errorf("format %d: drawn as %s", format, got)
		}
		floats := slices.DeleteFunc(slices.Clone(back.Panes), func(p topology.Pane) bool { return p.Float == nil })
		slices.SortFunc(floats, func(a, b topology.Pane) int { return cmp.Compare(a.Float.Z, b.Float.Z) })
		if got := mapped(floats, func(p topology.Pane) string { return cmp.Or(p.Float.Preset, p.Float.Title) }); !slices.Equal(got, want.floats) {
			t.Errorf("format %d: floats %v", format, got)
		}
		for i, p := range c.Panes {
			state := recovery.ProcessInterrupted
			if p.State == recovery.StateExited {
				state = recovery.ProcessExited
			}
			facts := mounted[i].archive.facts()
			if owner, ok := back.Panes[i].Tag(topology.OwnerKey); facts.Recovery.ProcessState != state || facts.Cols != p.Cols || facts.Rows != p.Rows || !ok || format == recovery.Format1 && owner != "owner" {
				t.Errorf("format %d: %s is %+v of %q", format, p.ID, facts, owner)
			}
		}
		if again := (grove{tree: back}).save(t, recovery.DefaultPolicy(), nil); !slices.Equal(bare(again), bare(c)) {
			t.Errorf("format %d: saved again as %v, and was %v", format, bare(again), bare(c))
		}
	}
}

// drawn is a tree in words.
func drawn(nodes []topology.Node, at int) string {
	n := nodes[at]
	if n.Kind == topology.NodePane {
		return n.Pane
	}
	share := ""
	if n.Ratio != 0 {
		share = fmt.Sprintf(" %d", n.Ratio)
	}
	return fmt.Sprintf("%s%s (%s %s)", n.Axis, share, drawn(nodes, n.First), drawn(nodes, n.Second))
}

// A file may hold more than a daemon does. It is refused for its size, as a whole.
func TestARestoreOfMoreThanThereMayBeIsRefused(t *testing.T) {
	c := recovery.Checkpoint{
		ID: "c01234567-89ab-4cde-8fab-0123456789ab", Generation: 1, Socket: "/run/spawnd.sock", CapturedAt: 1, Shutdown: recovery.ShutdownOpen,
		Sessions: []recovery.Session{{ID: "s0", Name: "x"}},
	}
	for i := range topology.PanesMax + 1 {
		window, pane := fmt.Sprintf("w%d", i), fmt.Sprintf("p%d", i)
		c.Windows = append(c.Windows, recovery.Window{ID: window, Session: "s0", Revision: 1, Nodes: []recovery.Node{{Kind: recovery.NodePane, Pane: pane}}})
		c.Panes = append(c.Panes, recovery.Pane{
			ID: pane, Window: window, Session: "s0", Cols: 1, Rows: 1, State: recovery.StateExited, Text: recovery.Text{Availability: recovery.TextOmitted},
		})
	}
	file, err := recovery.Encode(c, recovery.FileBytesMax)
	if err != nil {
		t.Fatal(err)
	}
	read, _, err := recovery.Decode(file, recovery.Reading{BytesMax: recovery.FileBytesMax, Newest: recovery.Format3})
	if err != nil {
		t.Fatal(err)
	}
	ps := &panes{inForce: config.Default}
	if _, err := ps.restore(t.Context(), read, "owner"); !errors.Is(err, recovery.ErrSize) || recovery.CodeOf(err) != recovery.CodeSize || !ps.mu.tree.Empty() {
		t.Errorf("%v", err)
	}
}
