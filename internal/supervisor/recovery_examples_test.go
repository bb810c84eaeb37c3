// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/topology"
)

// The examples of the specification become archives under fresh ids: tiles with their shares, floats above all that there were in
// their order, tags as saved, an owner where there is none.
func TestTheExamplesOfTheSpecificationRestore(t *testing.T) {
	for format, want := range map[int][]string{
		recovery.Format1: {
			"s1 work",
			"w1 shell of s1, revision 1: p1",
			"p1 in w1: 80x24, interrupted, omitted, was p0, owner=owner",
		},
		recovery.Format2: {
			"s1 work",
			"w1 agents of s1, revision 1: cols 1 2 0, p1, p2",
			"p1 in w1: 40x24, interrupted, omitted, was p0, group=thread-7 owner=venom role=agent",
			"p2 in w1: 39x24, exited 0, omitted, was p1, owner=venomx",
			"p3 in w1: 64x19, interrupted, omitted, was p2, owner=venom role=control, float 2 venom.settings",
			"p4 in w1: 48x12, interrupted, omitted, was p3, owner=venomx, float 3  60% 12 bottom_right -1 -1 single build log",
		},
		recovery.Format3: {
			"s1 work",
			"w1 agents of s1, revision 1: cols 1 2 6250, p1, rows 3 4 0, p2, p3",
			"p1 in w1: 50x24, interrupted, omitted, was p0, owner=venomx",
			"p2 in w1: 29x12, interrupted, omitted, was p1, owner=venomx",
			"p3 in w1: 29x11, interrupted, omitted, was p2, owner=venomx",
		},
	} {
		t.Run(fmt.Sprintf("format %d", format), func(t *testing.T) {
			file, err := os.ReadFile(fmt.Sprintf("recovery/testdata/example-format-%d.json", format))
			if err != nil {
				t.Fatal(err)
			}
			c, own, err := recovery.Decode(file, recovery.Reading{BytesMax: recovery.FileBytesMax, Newest: recovery.Format3})
			if err != nil || own != format {
				t.Fatalf("read as format %d: %v", own, err)
			}
			back, mounted := restoreInto(t, topology.Tree{Next: topology.Next{Session: 1, Window: 1, Pane: 1}, Z: 1}, c)
			if got := described(back, mounted); !slices.Equal(got, want) {
				t.Errorf("restored\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func described(tree topology.Tree, mounted []*pane) (out []string) {
	for _, s := range tree.Sessions {
		out = append(out, s.ID+" "+s.Name)
	}
	for _, w := range tree.Windows {
		var nodes []string
		for _, n := range w.Nodes {
			node := n.Pane
			if n.Kind == topology.NodeSplit {
				node = fmt.Sprintf("%s %d %d %d", n.Axis, n.First, n.Second, n.Ratio)
			}
			nodes = append(nodes, node)
		}
		out = append(out, fmt.Sprintf("%s %s of %s, revision %d: %s", w.ID, w.Name, w.Session, w.Revision, strings.Join(nodes, ", ")))
	}
	for i, p := range tree.Panes {
		size := mounted[i].Facts()
		var tags []string
		for _, tag := range p.Tags {
			tags = append(tags, tag.Key+"="+tag.Value)
		}
		state := string(p.Archive.ProcessState)
		if p.End.ExitCode != nil {
			state += fmt.Sprintf(" %d", *p.End.ExitCode)
		}
		line := fmt.Sprintf("%s in %s: %dx%d, %s, %s, was %s, %s", p.ID, p.Window, size.Cols, size.Rows, state, p.Archive.TextState, p.Archive.PreviousPane, strings.Join(tags, " "))
		if f := p.Float; f != nil {
			asked := fmt.Sprintf(", float %d %s %s %s %s %s %s %s %s", f.Z, f.Preset, f.Width, f.Height, f.Anchor, value(f.X), value(f.Y), f.Border, f.Title)
			line += strings.ReplaceAll(asked, " none", "")
		}
		out = append(out, strings.TrimRight(line, " "))
	}
	return out
}
