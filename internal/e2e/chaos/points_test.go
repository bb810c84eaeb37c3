// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"spawn/internal/e2e/rig"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/vfs/points"
)

// root is the tree that the programs are built from.
const root = "../../.."

// The sources say which points there are, so that a new one fails here, and below until something passes it.
func TestPointsAreListedAndUsed(t *testing.T) {
	values := declared(t)
	spawnd := called(t, "cmd/spawnd", "internal/supervisor")
	shared := called(t, "internal/sessiond/endpoint")
	worker := called(t, "cmd/spawn-worker", "internal/sessiond")
	requireSame(t, "spawnd.go", values["spawnd.go"], failpoint.SpawndPoints())
	requireSame(t, "worker.go", values["worker.go"], failpoint.WorkerPoints())
	for name := range spawnd {
		if _, ok := values["spawnd.go"][name]; !ok {
			t.Errorf("spawnd passes %s, which is none of its points", name)
		}
	}
	for name := range values["spawnd.go"] {
		if !spawnd[name] && !shared[name] {
			t.Errorf("nothing passes %s", name)
		}
	}
	for name := range values["worker.go"] {
		if !worker[name] {
			t.Errorf("nothing passes %s", name)
		}
	}
}

// An ordinary spawnd has no such points: neither the names nor what obeys them are in the binary.
func TestOrdinarySpawndHasNoPoints(t *testing.T) {
	binary, err := os.ReadFile(filepath.Join(rig.Build(t), "spawnd"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"SPAWN_FAILPOINT", string(failpoint.StartTorn), string(failpoint.AdoptGreeted)} {
		if bytes.Contains(binary, []byte(text)) {
			t.Errorf("%q is in spawnd", text)
		}
	}
}

// spawndPoints are those that the sources of spawnd name, in order of their names, and one for each file call of the store of
// checkpoints.
func spawndPoints(t *testing.T) []failpoint.Point {
	t.Helper()
	return append(slices.Sorted(maps.Values(declared(t)["spawnd.go"])), storePoints(t)...)
}

// operation is a label of a file call.
var operation = regexp.MustCompile(`^(?:store|checkpoint|temp)\.[a-z_]+$`)

// storePoints are the points behind the file calls of the store of checkpoints, by the labels in its sources.
func storePoints(t *testing.T) (all []failpoint.Point) {
	t.Helper()
	parse(t, "internal/supervisor/recovery", func(_ string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			if literal, ok := call.Args[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if label, err := strconv.Unquote(literal.Value); err == nil && operation.MatchString(label) {
					all = append(all, failpoint.Point(points.Prefix+label))
				}
			}
			return true
		})
	})
	slices.Sort(all)
	all = slices.Compact(all)
	for _, certain := range []string{"temp.write", "checkpoint.rename", "checkpoint.syncdir", "checkpoint.remove", "store.syncremoved"} {
		if !slices.Contains(all, failpoint.Point(points.Prefix+certain)) {
			t.Fatalf("the store publishes, prunes and forgets without %s: its labels are looked for in vain: %v", certain, all)
		}
	}
	return all
}

func requireSame(t *testing.T, file string, inSource map[string]failpoint.Point, listed []failpoint.Point) {
	t.Helper()
	want := slices.Sorted(maps.Values(inSource))
	slices.Sort(listed)
	if !slices.Equal(want, listed) {
		t.Errorf("%s declares %v and lists %v", file, want, listed)
	}
	if len(slices.Compact(want)) != len(inSource) {
		t.Errorf("%s gives two points the same name", file)
	}
}

// declared returns the points by their constants' names, for each file of the package.
func declared(t *testing.T) map[string]map[string]failpoint.Point {
	t.Helper()
	all := map[string]map[string]failpoint.Point{}
	parse(t, "internal/sessiond/failpoint", func(path string, file *ast.File) {
		for _, d := range file.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.CONST {
				continue
			}
			for _, spec := range gen.Specs {
				value := spec.(*ast.ValueSpec)
				text, err := strconv.Unquote(value.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				base := filepath.Base(path)
				if all[base] == nil {
					all[base] = map[string]failpoint.Point{}
				}
				all[base][value.Names[0].Name] = failpoint.Point(text)
			}
		}
	})
	return all
}

// called returns the constants that are passed or torn in the folders and below.
func called(t *testing.T, folders ...string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, folder := range folders {
		parse(t, folder, func(path string, file *ast.File) {
			if strings.HasSuffix(filepath.Dir(path), "vfs/points") {
				return // its points are named by the labels: see storePoints
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) == 0 {
					return true
				}
				if fn, of := selector(call.Fun); of == "failpoint" && (fn == "Pass" || fn == "Tear") {
					point, of := selector(call.Args[0])
					if of != "failpoint" {
						t.Errorf("%s: a point without a name", path)
					}
					names[point] = true
				}
				return true
			})
		})
	}
	return names
}

func selector(e ast.Expr) (name, of string) {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if x, ok := s.X.(*ast.Ident); ok {
		return s.Sel.Name, x.Name
	}
	return "", ""
}

// parse reads all sources of a folder and below that are no tests.
func parse(t *testing.T, folder string, look func(path string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err == nil {
			look(path, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
