// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"
	"slices"
)

// Axis is the direction in which a split divides its area.
type Axis string

const (
	AxisCols Axis = "cols" // the columns are divided: the first child is on the left
	AxisRows Axis = "rows" // the rows are divided: the first child is above
)

// NodeKind tells the two nodes of a tree of splits apart.
type NodeKind string

const (
	NodeSplit NodeKind = "split"
	NodePane  NodeKind = "pane"
)

// Node is one node of a window's tree. The nodes of a window are in preorder: the root is 0, the first
// child of a split comes right after it, and the second right after everything that is in the first.
type Node struct {
	Kind NodeKind `json:"kind"`
	// Axis, First, Second and Ratio are of splits alone. First and Second are places of nodes.
	Axis   Axis `json:"axis,omitzero"`
	First  int  `json:"first,omitzero"`
	Second int  `json:"second,omitzero"`
	// Ratio is the share of the first child in 1/10000, 1 to RatioMax; 0 for an equal split.
	Ratio int    `json:"ratio,omitzero"`
	Pane  string `json:"pane,omitzero"` // id; of leaves alone
}

// Spot is a place in a window's tree for one more pane: a split beside what is there.
type Spot struct {
	// Window is the id of the window whose whole tree is split. In a window without tiled panes the pane
	// has all of it, and nothing is split. Empty when Beside is set.
	Window string
	// Beside is the id of the tiled pane whose leaf is split; "" when Window is set.
	Beside string
	Axis   Axis
	Before bool // the pane is the first child; else the second
	Ratio  int  // share of the first child, 1 to RatioMax; 0 for equal ones
}

func (s Spot) check() error {
	if s.Axis != AxisCols && s.Axis != AxisRows {
		return fmt.Errorf("axis %q: %w", s.Axis, ErrSplit)
	}
	return checkRatio(s.Ratio)
}

func checkRatio(ratio int) error {
	if ratio < 0 || ratio > RatioMax {
		return fmt.Errorf("share %d, at most %d: %w", ratio, RatioMax, ErrSplit)
	}
	return nil
}

// leaves lists the tiled panes of a window, in preorder.
func (w Window) leaves() []string {
	var out []string
	for _, n := range w.Nodes {
		if n.Kind == NodePane {
			out = append(out, n.Pane)
		}
	}
	return out
}

func (w Window) hasLeaf(pane string) bool {
	return slices.ContainsFunc(w.Nodes, func(n Node) bool { return n.Kind == NodePane && n.Pane == pane })
}

// branch is a tree of splits while an operation works on it: nodes without their places.
type branch struct {
	pane          string // "" for a split
	axis          Axis
	ratio         int
	first, second *branch // nil for a leaf
	least         Size    // that the subtree needs, as it was when it was read
}

// plant reads nodes that are known to be valid; nil for none.
func plant(nodes []Node) *branch {
	if len(nodes) == 0 {
		return nil
	}
	return plantAt(nodes, 0)
}

func plantAt(nodes []Node, at int) *branch {
	n := nodes[at]
	if n.Kind == NodePane {
		return &branch{pane: n.Pane, least: Size{1, 1}}
	}
	b := &branch{axis: n.Axis, ratio: n.Ratio, first: plantAt(nodes, n.First), second: plantAt(nodes, n.Second)}
	b.least = leastOf(b.axis, b.first.least, b.second.least)
	return b
}

// nodes writes the tree in preorder.
func (b *branch) nodes() []Node {
	var out []Node
	if b != nil {
		b.write(&out)
	}
	return out
}

func (b *branch) write(out *[]Node) {
	if b.pane != "" {
		*out = append(*out, Node{Kind: NodePane, Pane: b.pane})
		return
	}
	at := len(*out)
	*out = append(*out, Node{Kind: NodeSplit, Axis: b.axis, First: at + 1, Ratio: b.ratio})
	b.first.write(out)
	(*out)[at].Second = len(*out)
	b.second.write(out)
}

// path leads from the root to the pane's leaf; nil when the pane is in no leaf.
func (b *branch) path(pane string) []*branch {
	switch {
	case b == nil:
		return nil
	case b.first == nil:
		if b.pane != pane {
			return nil
		}
		return []*branch{b}
	}
	below := b.first.path(pane)
	if below == nil {
		below = b.second.path(pane)
	}
	if below == nil {
		return nil
	}
	return append([]*branch{b}, below...)
}

// split turns b into a split of what it was and the pane.
func (b *branch) split(pane string, s Spot) {
	was := *b
	*b = branch{axis: s.Axis, ratio: s.Ratio, first: &was, second: &branch{pane: pane}}
	if s.Before {
		b.first, b.second = b.second, b.first
	}
}

// prune takes the pane's leaf away; its sibling takes the place of their split. It returns the new root.
func (b *branch) prune(pane string) *branch {
	path := b.path(pane)
	if len(path) < 2 {
		return nil
	}
	split, leaf := path[len(path)-2], path[len(path)-1]
	sibling := split.first
	if sibling == leaf {
		sibling = split.second
	}
	*split = *sibling
	return b
}

// checkNodes holds that nodes are one tree in preorder without anything over.
func checkNodes(nodes []Node) error {
	if len(nodes) > 2*PanesMax-1 {
		return fmt.Errorf("%d nodes: %w", len(nodes), ErrFull)
	}
	if len(nodes) == 0 {
		return nil
	}
	end, err := checkNode(nodes, 0)
	if err != nil {
		return err
	}
	if end != len(nodes) {
		return fmt.Errorf("%d nodes are in no tree", len(nodes)-end)
	}
	return nil
}

// checkNode returns the place after everything that is in the node at that place.
func checkNode(nodes []Node, at int) (int, error) {
	if at >= len(nodes) {
		return 0, fmt.Errorf("node %d is missing", at)
	}
	n := nodes[at]
	if n.Kind == NodePane {
		if n != (Node{Kind: NodePane, Pane: n.Pane}) || n.Pane == "" {
			return 0, fmt.Errorf("node %d is not a leaf: %w", at, ErrSplit)
		}
		return at + 1, nil
	}
	if n.Kind != NodeSplit || n.Pane != "" {
		return 0, fmt.Errorf("node %d is neither a split nor a leaf: %w", at, ErrSplit)
	}
	if err := (Spot{Axis: n.Axis, Ratio: n.Ratio}).check(); err != nil {
		return 0, fmt.Errorf("node %d: %w", at, err)
	}
	if n.First != at+1 {
		return 0, fmt.Errorf("node %d has its first child at %d: %w", at, n.First, ErrSplit)
	}
	second, err := checkNode(nodes, n.First)
	if err != nil {
		return 0, err
	}
	if n.Second != second {
		return 0, fmt.Errorf("node %d has its second child at %d, not %d: %w", at, n.Second, second, ErrSplit)
	}
	return checkNode(nodes, second)
}
