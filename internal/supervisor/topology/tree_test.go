// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func worker(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", n) }

func code(n int) *int { return &n }

func must(t *testing.T, tree Tree, pane Pane, err error) (Tree, Pane) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return tree, pane
}

func TestPanesOpenInTheSessionAskedFor(t *testing.T) {
	var tree Tree
	next, p, err := tree.NewPane("", worker(1), "  build ")
	tree, p = must(t, next, p, err)
	if p.ID != "p0" || p.Name != "build" {
		t.Fatalf("pane %+v", p)
	}
	next, a, err := tree.Adopt(worker(2))
	tree, _ = must(t, next, a, err)
	next, b, err := tree.NewPane("s1", worker(3), "")
	tree, b = must(t, next, b, err)
	if at, _ := tree.Locate(b.ID); at != (Place{"s1", "w2", 1}) {
		t.Fatalf("%s is at %+v", b.ID, at)
	}
	if tree.Sessions[0].Name != defaultName || tree.Sessions[1].Name != AdoptedName {
		t.Fatalf("sessions %+v", tree.Sessions)
	}
	if _, _, err := tree.NewPane("s7", worker(4), ""); !errors.Is(err, ErrNotFound) {
		t.Fatalf("unknown session: %v", err)
	}
	if _, _, err := tree.NewPane("", worker(3), ""); !errors.Is(err, ErrDuplicate) {
		t.Fatalf("same worker: %v", err)
	}
	if _, _, err := tree.NewPane("", "3", ""); !errors.Is(err, ErrWorker) {
		t.Fatalf("no worker: %v", err)
	}
}

func TestAdoptKeepsAKnownWorkersPane(t *testing.T) {
	tree, p := must2(t, worker(1))
	again, q, err := tree.Adopt(worker(1))
	if err != nil || !p.equal(q) || !again.Equal(tree) {
		t.Fatalf("Adopt = %+v, %v", q, err)
	}
}

func must2(t *testing.T, w string) (Tree, Pane) {
	t.Helper()
	tree, p, err := Tree{}.NewPane("", w, "")
	return must(t, tree, p, err)
}

func TestTheFirstEndStays(t *testing.T) {
	tree, p := must2(t, worker(1))
	tree, err := tree.Ended(p.ID, End{ExitCode: code(3)})
	if err != nil {
		t.Fatal(err)
	}
	tree, err = tree.Lost(p.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := tree.Pane(p.ID); got.End == nil || !got.End.Known() || *got.End.ExitCode != 3 {
		t.Fatalf("end %+v", got.End)
	}
	for _, bad := range []End{{ExitCode: code(0), Signal: "KILL"}, {ExitCode: code(-1)}, {ExitCode: code(math.MaxUint32 + 1)}, {Signal: "\x1b[m"}} {
		if _, err := tree.Ended(p.ID, bad); err == nil {
			t.Errorf("end %+v was taken", bad)
		}
	}
}

func TestALostPaneIsNeverASuccess(t *testing.T) {
	tree, p := must2(t, worker(1))
	tree, _ = tree.Lost(p.ID)
	if got, _ := tree.Pane(p.ID); got.End == nil || got.End.Known() {
		t.Fatalf("end %+v", got.End)
	}
}

func TestReconcile(t *testing.T) {
	var tree Tree
	for n := range 4 {
		next, p, err := tree.NewPane("", worker(n), "")
		tree, _ = must(t, next, p, err)
	}
	tree, _ = tree.Lost("p1")                          // given up, but answers again
	tree, _ = tree.Ended("p3", End{ExitCode: code(0)}) // ended, and gone
	got, out := tree.Reconcile([]string{worker(0), worker(1), worker(9)}, []string{worker(2)})
	if len(out) != 0 {
		t.Fatalf("no room for %v", out)
	}
	for id, want := range map[string]string{"p0": "live", "p1": "live", "p2": "live", "p3": "known", "p4": "live"} {
		p, ok := got.Pane(id)
		have := "live"
		if p.End != nil {
			have = map[bool]string{true: "known", false: "lost"}[p.End.Known()]
		}
		if !ok || have != want {
			t.Errorf("%s is %s, want %s", id, have, want)
		}
	}
	if at, _ := got.Locate("p4"); got.Sessions[1].Name != AdoptedName || at.Session != got.Sessions[1].ID {
		t.Errorf("the unknown worker's pane is at %+v", at)
	}
	again, _ := tree.Reconcile(nil, nil)
	if p, _ := again.Pane("p0"); p.End == nil || p.End.Known() {
		t.Errorf("a pane without worker has the end %+v", p.End)
	}
}

func TestFullTreeTakesNoMore(t *testing.T) {
	tree := full()
	if err := tree.check(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tree.NewPane("", worker(PanesMax), ""); !errors.Is(err, ErrFull) {
		t.Fatalf("error %v", err)
	}
	if _, out := tree.Reconcile([]string{worker(PanesMax)}, nil); len(out) != 1 {
		t.Fatalf("left out %v", out)
	}
	src, err := Encode(tree)
	if err != nil || len(src) > EncodedMax {
		t.Fatalf("the largest tree takes %d bytes, %v", len(src), err)
	}
	if back, err := Decode(src); err != nil || !back.Equal(tree) {
		t.Fatalf("decode: %v", err)
	}
}

// full is the tree whose encoding is the longest.
func full() Tree {
	const base = 1 << 62 // the longest ids
	wide := strings.Repeat("\U0001F680", TitleRunesMax)
	tree := Tree{Next: Next{base + PanesMax, base + PanesMax, base + PanesMax}}
	for n := range uint64(PanesMax) {
		p := Pane{makeID('p', base+n), worker(int(n)), wide[:4*NameRunesMax], wide, &End{Signal: strings.Repeat(`"`, signalMax)}}
		tree.Panes = append(tree.Panes, p)
		w := Window{makeID('w', base+n), wide[:4*NameRunesMax], p.ID}
		tree.Sessions = append(tree.Sessions, Session{makeID('s', base+n), wide[:4*NameRunesMax], []Window{w}})
	}
	return tree
}

// Any run of operations keeps every rule, gives no id twice, leaves earlier trees alone, and survives
// being written and read.
func TestOperationsKeepTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tree Tree
		given := map[string]bool{}
		workers := 0
		anyID := func(t *rapid.T) string {
			return rapid.SampledFrom([]string{"p", "w", "s", "x"}).Draw(t, "kind") + fmt.Sprint(rapid.IntRange(0, 12).Draw(t, "n"))
		}
		open := func(t *rapid.T, f func(w string) (Tree, Pane, error)) {
			next, p, err := f(worker(workers))
			if err != nil {
				return
			}
			at, ok := next.Locate(p.ID)
			if workers++; !ok || given[p.ID] || given[at.Window] {
				t.Fatalf("pane %s in window %s was given out before", p.ID, at.Window)
			}
			given[p.ID], given[at.Window] = true, true
			tree = next
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if err := tree.check(); err != nil {
					t.Fatal(err)
				}
				src, err := Encode(tree)
				if err != nil {
					t.Fatal(err)
				}
				if back, err := Decode(src); err != nil || !back.Equal(tree) {
					t.Fatalf("decoded %+v, %v\nwant %+v", back, err, tree)
				}
			},
			"new": func(t *rapid.T) {
				session := rapid.SampledFrom([]string{"", "s0", "s1", "s2"}).Draw(t, "session")
				open(t, func(w string) (Tree, Pane, error) { return tree.NewPane(session, w, rapid.String().Draw(t, "name")) })
			},
			"adopt": func(t *rapid.T) { open(t, func(w string) (Tree, Pane, error) { return tree.Adopt(w) }) },
			"rename": func(t *rapid.T) {
				before, _ := Encode(tree)
				next, err := tree.Rename(anyID(t), rapid.String().Draw(t, "name"))
				if after, _ := Encode(tree); string(before) != string(after) {
					t.Fatal("the operation changed its receiver")
				}
				if err == nil {
					tree = next
				}
			},
			"title": func(t *rapid.T) {
				if next, err := tree.SetTitle(anyID(t), rapid.String().Draw(t, "title")); err == nil {
					tree = next
				}
			},
			"close": func(t *rapid.T) {
				before, _ := Encode(tree)
				next, err := tree.Close(anyID(t))
				if after, _ := Encode(tree); string(before) != string(after) {
					t.Fatal("the operation changed its receiver")
				}
				if err == nil {
					tree = next
				}
			},
			"lost": func(t *rapid.T) {
				if next, err := tree.Lost(anyID(t)); err == nil {
					tree = next
				}
			},
			"reconcile": func(t *rapid.T) {
				pick := func(label string) (out []string) {
					for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(0, workers+2), 0, 4, rapid.ID).Draw(t, label) {
						out = append(out, worker(n))
					}
					return out
				}
				adopted := pick("adopted")
				next, _ := tree.Reconcile(adopted, pick("refused"))
				for _, w := range adopted {
					if p, ok := next.PaneOf(w); !ok || p.End != nil {
						t.Fatalf("adopted worker %s has the pane %+v", w, p)
					}
				}
				workers += 4
				tree = next
			},
		})
	})
}

func TestNamesThatDoNotShowAreRefused(t *testing.T) {
	for _, bad := range []string{
		"a\nb", "a\x1b[31mb", "a\x00", "a\u202eb", "a\u2066b", "a\u200bb", "a\u2028b", "a\u0085b", "a\xffb", "a\u200d", "\u200da", "a\ufeffb", "a\U000e0041", "a\ue000",
		strings.Repeat("a", NameRunesMax+1),
	} {
		if got, err := CleanName(bad); !errors.Is(err, ErrName) {
			t.Errorf("CleanName(%q) = %q, %v", bad, got, err)
		}
	}
	for in, want := range map[string]string{"": "", "  ": "", " a b ": "a b", "Ü 日本": "Ü 日本", "👩\u200d💻": "👩\u200d💻", "می\u200cخواهم": "می\u200cخواهم", strings.Repeat("é", NameRunesMax): strings.Repeat("é", NameRunesMax)} {
		if got, err := CleanName(in); got != want || err != nil {
			t.Errorf("CleanName(%q) = %q, %v", in, got, err)
		}
	}
}

func TestTitlesAreMadeFitToShow(t *testing.T) {
	for in, want := range map[string]string{
		"vim \x1b]0;x\x07 a": "vim ]0;x a", "a\u202eb\u200b": "ab", " a\tb\n": "ab", "a\xff": "a\uFFFD",
		strings.Repeat("x", 1e6): strings.Repeat("x", TitleRunesMax),
	} {
		if got := CleanTitle(in); got != want {
			t.Errorf("CleanTitle(%.40q) = %.40q", in, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) })).Draw(t, "in")
		got := CleanTitle(in)
		if CleanTitle(got) != got || !utf8.ValidString(got) || utf8.RuneCountInString(got) > TitleRunesMax {
			t.Fatalf("CleanTitle(%q) = %q, then %q", in, got, CleanTitle(got))
		}
	})
}
