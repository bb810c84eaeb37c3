// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"errors"
	"slices"
	"testing"
)

// However far a relaunch had come, an archive for which a program may have run is none any more, and the worker is in its
// place.
func TestReconcileSettlesRelaunches(t *testing.T) {
	tree := relaunching(t)
	for name, c := range map[string]struct {
		adopted, refused []string
		replaced, live   bool
	}{
		"its worker lives":           {adopted: []string{worker(9)}, replaced: true, live: true},
		"its worker is gone":         {replaced: true},
		"its worker is out of reach": {refused: []string{worker(9)}},
	} {
		t.Run(name, func(t *testing.T) {
			n, out := tree.Reconcile(c.adopted, c.refused)
			if err := n.check(); err != nil || len(out) > 0 {
				t.Fatalf("%v, left out %v", err, out)
			}
			at, archived := n.Pane("p5")
			if archived == c.replaced || archived && !at.equal(tree.Panes[5]) {
				t.Fatalf("the archive is %+v, %v", at, archived)
			}
			p, there := n.Pane("p6")
			if there != c.replaced {
				t.Fatalf("the pane to come is %+v, %v", p, there)
			}
			if !there {
				return
			}
			if w, _ := n.Window("w2"); p.SessionID != worker(9) || p.Argv0 != "make" || !slices.Equal(p.Tags, []Tag{{OwnerKey, "venom"}}) ||
				p.Archive != nil || (p.End == nil) != c.live || shape(w) != "p6" || w.Revision != 2 {
				t.Fatalf("%+v in %+v", p, w)
			}
			if p.End != nil && p.End.Known() {
				t.Fatalf("nobody saw the end %+v", p.End)
			}
		})
	}
}

// A worker that is heard of later takes the archive's place as one that was there at once.
func TestAdoptPutsAWorkerInTheArchivesPlace(t *testing.T) {
	tree := relaunching(t)
	n, p, err := tree.Adopt(worker(9))
	if _, left := n.Pane("p5"); err != nil || p.ID != "p6" || p.Window != "w2" || left {
		t.Fatalf("%+v, %v", p, err)
	}
	if err := n.check(); err != nil {
		t.Fatal(err)
	}
}

func TestARelaunchBeginsOnce(t *testing.T) {
	tree := relaunching(t)
	again, id, err := tree.ReservePane()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		archive string
		s       Start
		want    error
	}{
		"twice":                  {"p5", Start{Worker: worker(10), ID: id}, ErrRelaunching},
		"of a terminal":          {"p0", Start{Worker: worker(10), ID: id}, ErrArchive},
		"of nothing":             {"p9", Start{Worker: worker(10), ID: id}, ErrNotFound},
		"by another's worker":    {"p5", Start{Worker: worker(1), ID: id}, ErrDuplicate},
		"by its own worker":      {"p5", Start{Worker: worker(9), ID: id}, ErrDuplicate},
		"as the one that begins": {"p5", Start{Worker: worker(10), ID: "p6"}, ErrDuplicate},
		"as one that is there":   {"p5", Start{Worker: worker(10), ID: "p0"}, ErrDuplicate},
		"as one not given out":   {"p5", Start{Worker: worker(10), ID: "p8"}, ErrDuplicate},
	} {
		if n, err := again.BeginRelaunch(c.archive, c.s); !errors.Is(err, c.want) || !n.Equal(again) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	off := tree.CallOff(worker(9))
	if at, _ := off.Pane("p5"); at.Relaunch != nil || at.Archive == nil {
		t.Fatalf("called off, and it is %+v", at)
	}
	if n := off.CallOff(worker(9)); !n.Equal(off) {
		t.Fatal("a worker of no relaunch changes something")
	}
	if got := Diff(tree, off); len(got) > 0 {
		t.Fatalf("told of %v", got)
	}
}
