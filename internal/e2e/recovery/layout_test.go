// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recovery

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/topology"
	"spawn/internal/supervisor/verbs"
)

// brokenFloats changes a file of format 2 by one rule each time. A popup belongs to who looks and is in no checkpoint, so that
// layer is as wrong as any other.
func brokenFloats(t *testing.T, c recovery.Checkpoint) {
	h := newHost(t, on)
	h.plantAs(c, "2")
	raw, err := os.ReadFile(h.file(planted))
	h.must(err)
	const owner, float = `{\"key\":\"owner\",\"value\":\"venom\"}`, `\"layer\":\"float\",\"float\":{`
	for name, change := range map[string][2]string{
		"in format 1":          {`{"format":2`, `{"format":1`},
		"float in the tree":    {`\"kind\":\"pane\",\"pane\":\"p0\"`, `\"kind\":\"pane\",\"pane\":\"p2\"`},
		"layer popup":          {`\"layer\":\"float\"`, `\"layer\":\"popup\"`},
		"layer tile":           {`\"layer\":\"float\"`, `\"layer\":\"tile\"`},
		"layer without float":  {float + `\"preset\":\"venom.settings\",\"z\":9}`, `\"layer\":\"float\"`},
		"z 0":                  {`\"z\":4`, `\"z\":0`},
		"no z":                 {`,\"z\":4`, ``},
		"width":                {`\"60%\"`, `\"101%\"`},
		"height as a number":   {`\"height\":\"12\"`, `\"height\":12`},
		"anchor":               {`\"bottom_right\"`, `\"middle\"`},
		"offset":               {`\"x\":-1`, `\"x\":-4097`},
		"border":               {`\"single\"`, `\"thin\"`},
		"preset":               {`\"venom.settings\"`, `\"settings\"`},
		"title":                {`\"build log\"`, `\"build\\u0007log\"`},
		"tags out of order":    {owner, `{\"key\":\"a\",\"value\":\"\"}`},
		"tag twice":            {owner, `{\"key\":\"group\",\"value\":\"h\"}`},
		"tag key":              {`\"key\":\"group\"`, `\"key\":\"Group\"`},
		"no tags":              {`\"tags\":[{\"key\":\"group\",\"value\":\"g\"},` + owner + `]`, `\"tags\":[]`},
		"a share, of format 3": {`\"kind\":\"pane\",\"pane\":\"p0\"`, `\"kind\":\"pane\",\"ratio\":5000,\"pane\":\"p0\"`},
	} {
		bad := resealed(string(raw), change[0], change[1])
		if !strings.Contains(string(raw), change[0]) {
			t.Fatalf("%s: the case changes nothing", name)
		}
		h.plantRaw(planted, []byte(bad))
		if h.d == nil {
			h.serve()
		}
		h.tellsNothing(planted, "corrupt", 0)
		if e := refusal(h.socket(), verbs.RecoveryRestore, verbs.CheckpointParams{Checkpoint: planted}, nil); e.Code != verbs.CodeCorrupt {
			t.Errorf("%s: %+v", name, e)
		}
	}
	h.plantRaw(planted, raw) // and whole it is taken
	h.restore(planted)
}

// What a daemon shows above its windows, and the tags that somebody put on a pane, are there after the reboot.
func floatsOfADaemonThatRuns(t *testing.T) {
	h := newHost(t, on)
	h.serve()
	for range 3 {
		h.start("sleep", "1000")
	}
	for pane, f := range map[string]verbs.Float{"p1": {Width: "60%", Height: "12", Anchor: "bottom_right", X: -1, Border: "single", Title: "build log"}, "p2": {Preset: "venom.settings"}} {
		h.call(verbs.PaneMove, verbs.PaneMoveParams{Pane: pane, Beside: "p0", Axis: "cols"}, &verbs.WindowResult{})
		h.call(verbs.PanePlace, verbs.PanePlaceParams{Pane: pane, Float: f}, &verbs.WindowResult{})
	}
	h.call(verbs.PaneTag, verbs.PaneTagParams{Pane: "p0", Key: "role", Value: "agent"}, &verbs.PaneTagResult{})
	id := h.checkpoint()
	saved := h.decode(id)
	h.reboot()
	h.serve()
	h.restore(id)
	again := h.decode(h.checkpoint())
	for i, p := range saved.Panes {
		got := again.Panes[i]
		if !slices.Equal(got.Tags, p.Tags) || (got.Float == nil) != (i == 0) || (p.Float == nil) != (i == 0) {
			t.Fatalf("%+v, was %+v", got, p)
		}
		if i > 0 {
			before, after := *p.Float, *got.Float
			if before.Z, after.Z = 0, 0; !reflect.DeepEqual(after, before) {
				t.Errorf("%+v, was %+v", after, before)
			}
		}
	}
	if tags := saved.Panes[0].Tags; len(tags) != 2 || tags[1] != (recovery.Tag{Key: "role", Value: "agent"}) {
		t.Errorf("tags %v", tags)
	}
	if (saved.Panes[1].Float.Z < saved.Panes[2].Float.Z) != (again.Panes[1].Float.Z < again.Panes[2].Float.Z) {
		t.Errorf("another is in front: %+v, was %+v", again.Panes, saved.Panes)
	}
}

// A split that somebody resized is so after the reboot, one that nobody did is equal. That a reader of formats 1 and 2 alone
// refuses the file is recovery's TestFormatComesFirst: there is no such program.
func resizedSplit(t *testing.T) {
	h := newHost(t, on)
	h.serve()
	h.start("sleep", "1000")
	h.call(verbs.PaneSplit, verbs.PaneSplitParams{Pane: "p0", Axis: "cols", Argv: []string{"sleep", "1000"}}, &verbs.PaneResult{})
	h.call(verbs.PaneSplit, verbs.PaneSplitParams{Pane: "p1", Axis: "rows", Argv: []string{"sleep", "1000"}}, &verbs.PaneResult{})
	h.call(verbs.PaneResize, verbs.PaneResizeParams{Pane: "p0", Axis: "cols", Ratio: 6250}, &verbs.WindowResult{})
	id := h.checkpoint()
	nodes := []recovery.Node{split("cols", 1, 2, 6250), leaf("p0"), split("rows", 3, 4, 0), leaf("p1"), leaf("p2")}
	if got := h.decode(id).Windows[0].Nodes; !slices.Equal(got, nodes) {
		t.Errorf("saved %+v", got)
	}
	h.reboot()
	h.serve()
	h.restore(id)
	if got := h.decode(h.checkpoint()).Windows[0].Nodes; !slices.Equal(got, nodes) {
		t.Errorf("restored %+v", got)
	}
}

// A pane that was closed before is in no leaf, and its neighbours have its place.
func removedLeaves(t *testing.T) {
	h := newHost(t, on)
	h.serve()
	first := h.start("sleep", "1000")
	for _, beside := range []string{"p0", "p1"} {
		h.call(verbs.PaneSplit, verbs.PaneSplitParams{Pane: beside, Axis: "cols", Argv: []string{"sleep", "1000"}}, &verbs.PaneResult{})
	}
	h.call(verbs.PaneClose, verbs.PaneCloseParams{Pane: "p1"}, &verbs.Empty{})
	id := h.checkpoint()
	saved := h.decode(id)
	nodes := []recovery.Node{split("cols", 1, 2, 0), leaf("p0"), leaf("p2")}
	if !slices.Equal(saved.Windows[0].Nodes, nodes) || len(saved.Panes) != 2 {
		t.Errorf("%+v", saved)
	}
	h.reboot()
	h.serve()
	h.restore(id)
	again := h.decode(h.checkpoint())
	if nodes[2] = leaf("p1"); !slices.Equal(again.Windows[0].Nodes, nodes) || first.Window != again.Windows[0].ID {
		t.Errorf("%+v", again)
	}
}

// What there is no room for is refused as a whole: nothing of it is shown, told, or there afterwards.
func moreThanThereMayBe(t *testing.T) {
	h := newHost(t, on)
	c := one(planted, 1)
	for i := 1; i <= topology.PanesMax; i++ {
		pane := fmt.Sprintf("p%d", i)
		c.Windows = append(c.Windows, recovery.Window{ID: fmt.Sprintf("w%d", i), Session: "s0", Revision: 1, Nodes: []recovery.Node{leaf(pane)}})
		c.Panes = append(c.Panes, tile(pane, fmt.Sprintf("w%d", i), "s0"))
	}
	h.plant(c)
	h.serve()
	follower := h.follow(h.socket(), verbs.EventsSubscribeParams{})
	follower.next()
	if got := h.inspect(planted); got.Panes != topology.PanesMax+1 {
		t.Errorf("%+v", got)
	}
	h.cannotRestore(verbs.CodeCheckpointSize, planted)
	h.start("sleep", "1000")
	if before, _ := follower.until("pane.created"); len(before) != 0 {
		t.Errorf("a refused restore tells %+v", before)
	}
}
