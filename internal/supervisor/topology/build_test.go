// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"
	"testing"
)

func worker(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", n) }

func code(n int) *int { return &n }

// build grows a tree by operations that must succeed.
type build struct {
	Tree
	t       *testing.T
	workers int
}

func (b *build) do(next Tree, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	b.Tree = next
}

func (b *build) start(name string) Start {
	b.workers++
	return Start{Worker: worker(b.workers), Name: name, Owner: "test"}
}

func (b *build) pane(session, name string) {
	b.t.Helper()
	next, _, err := b.NewPane(session, b.start(name))
	b.do(next, err)
}

func (b *build) split(to Spot, name string) {
	b.t.Helper()
	next, _, err := b.Split(to, b.start(name))
	b.do(next, err)
}

func (b *build) float(window string, f Float) {
	b.t.Helper()
	next, _, err := b.NewFloat(window, f, b.start(""))
	b.do(next, err)
}

func (b *build) session(name string) {
	b.t.Helper()
	next, _, err := b.NewSession(name)
	b.do(next, err)
}

func (b *build) window(session, name string) {
	b.t.Helper()
	next, _, err := b.NewWindow(session, name)
	b.do(next, err)
}

func (b *build) adopt(worker string) {
	b.t.Helper()
	next, _, err := b.Adopt(worker)
	b.do(next, err)
}

// shape draws a window's tree: p0 alone, (p0 | p1) by columns, (p0 / p1) by rows.
func shape(w Window) string {
	if len(w.Nodes) == 0 {
		return ""
	}
	return plant(w.Nodes).shape()
}

func (b *branch) shape() string {
	if b.first == nil {
		return b.pane
	}
	mark := map[Axis]string{AxisCols: "|", AxisRows: "/"}[b.axis]
	if b.ratio != 0 {
		mark = fmt.Sprintf("%s%d", mark, b.ratio)
	}
	return "(" + b.first.shape() + " " + mark + " " + b.second.shape() + ")"
}

func onePane(t *testing.T, worker string) Tree {
	t.Helper()
	tree, _, err := Tree{}.NewPane("", Start{Worker: worker})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
