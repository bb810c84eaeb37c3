// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/build"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// twoSides are the folders of the contract between a worker and spawnd, with all below them. Each number that is written in one of
// them is written a second time, in a row of a limits test: so none changes by the way.
var twoSides = []string{"internal/sessiond", "internal/supervisor/fleet", "internal/supervisor/fanout", "internal/supervisor/control"}

// othersNumbers are files and folders whose numbers are no bounds, and why.
var othersNumbers = map[string]string{
	"internal/sessiond/failpoint":            "points of tests",
	"internal/sessiond/vfs/crash.go":         "a disk that tests imagine",
	"internal/sessiond/emulator/streams":     "loads that the emulator is measured with",
	"internal/sessiond/emulator/color.go":    "what terminals have agreed on, as in all that follow",
	"internal/sessiond/emulator/keyboard.go": "",
	"internal/sessiond/emulator/modes.go":    "",
	"internal/sessiond/emulator/osc.go":      "",
	"internal/sessiond/emulator/query.go":    "",
	"internal/sessiond/emulator/table.go":    "",
	"internal/sessiond/emulator/tabs.go":     "",
	"internal/sessiond/emulator/utf8.go":     "",
}

// number is a constant of a package: "internal/sessiond/wire.InputMax".
type number string

var limitsTest = regexp.MustCompile(`^limits(_\w+)?_test\.go$`)

func TestEveryNumberOfBothSidesIsPinned(t *testing.T) {
	fset, files := sources(t)
	numbers := map[number]token.Pos{}
	for _, f := range files {
		if f.onTwoSides() && !f.test && !f.ofOthers() && f.onLinux(t) {
			f.numbers(numbers)
		}
	}
	if len(numbers) < 150 {
		t.Fatalf("found only %d numbers", len(numbers))
	}
	pinned := map[number]bool{}
	for _, f := range files {
		if f.onTwoSides() && limitsTest.MatchString(filepath.Base(f.path)) {
			f.rows(numbers, pinned)
		}
	}
	for n, at := range numbers {
		if !pinned[n] {
			t.Errorf("%s: %s is in no row of a limits test: name it there beside its value, written out", fset.Position(at), n)
		}
	}
}

func (f *sourceFile) onTwoSides() bool {
	for _, side := range twoSides {
		if f.folder == side || strings.HasPrefix(f.folder, side+"/") {
			return true
		}
	}
	return false
}

func (f *sourceFile) ofOthers() bool {
	_, file := othersNumbers[filepath.ToSlash(f.path)]
	_, folder := othersNumbers[f.folder]
	return file || folder
}

// onLinux reports whether a file is compiled there, where the tests run.
func (f *sourceFile) onLinux(t *testing.T) bool {
	context := build.Default
	context.GOOS, context.GOARCH = "linux", "amd64"
	match, err := context.MatchFile(f.folder, filepath.Base(f.path))
	if err != nil {
		t.Fatal(err)
	}
	return match
}

// numbers adds the file's constants whose value is a number, or a time: not those of a type of their own, which are names for
// cases, nor those that are made of others alone.
func (f *sourceFile) numbers(into map[number]token.Pos) {
	for _, decl := range f.ast.Decls {
		consts, ok := decl.(*ast.GenDecl)
		if !ok || consts.Tok != token.CONST {
			continue
		}
		for _, s := range consts.Specs {
			spec := s.(*ast.ValueSpec)
			if named, ok := spec.Type.(*ast.Ident); ok && !strings.HasPrefix(named.Name, "int") && !strings.HasPrefix(named.Name, "uint") {
				continue
			}
			for i, name := range spec.Names {
				if name.Name != "_" && i < len(spec.Values) && isNumber(spec.Values[i]) {
					into[number(f.folder+"."+name.Name)] = name.Pos()
				}
			}
		}
	}
}

// isNumber reports whether some digits, or a unit of time, are part of an expression, and no character or counter is.
func isNumber(e ast.Expr) bool {
	found, other := false, false
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			found = found || n.Kind == token.INT || n.Kind == token.FLOAT
			other = other || n.Kind == token.CHAR
		case *ast.Ident:
			other = other || n.Name == "iota"
		case *ast.SelectorExpr:
			found = found || isTime(n)
		}
		return true
	})
	return found && !other
}

func isTime(s *ast.SelectorExpr) bool {
	pkg, ok := s.X.(*ast.Ident)
	return ok && pkg.Name == "time"
}

// rows marks every number that stands alone in a row of a table beside another one that is written out.
func (f *sourceFile) rows(numbers map[number]token.Pos, pinned map[number]bool) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		row, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		out := false
		for _, cell := range row.Elts {
			out = out || isWrittenOut(cell)
		}
		for _, cell := range row.Elts {
			if names := f.names(cell, numbers); out && len(names) == 1 {
				pinned[names[0]] = true
			}
		}
		return true
	})
}

// isWrittenOut reports whether an expression is a number that no constant of ours can change.
func isWrittenOut(e ast.Expr) bool {
	out := isNumber(e)
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			out = out && (n.Name == "kib" || n.Name == "mib" || n.Name == "len")
		case *ast.SelectorExpr:
			out = out && isTime(n)
			return false
		case *ast.CompositeLit, *ast.KeyValueExpr:
			out = false
		}
		return true
	})
	return out
}

// names returns which of the numbers an expression names.
func (f *sourceFile) names(e ast.Expr, numbers map[number]token.Pos) (found []number) {
	add := func(folder, name string) {
		if n := number(folder + "." + name); numbers[n] != token.NoPos {
			found = append(found, n)
		}
	}
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			add(f.folder, n.Name)
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok {
				add(f.imported(pkg.Name), n.Sel.Name)
			}
			return false
		}
		return true
	})
	return found
}

// imported is the folder of ours that a file knows under a name, "" for none.
func (f *sourceFile) imported(name string) string {
	for _, spec := range f.ast.Imports {
		full, _ := strconv.Unquote(spec.Path.Value)
		if inner, ours := strings.CutPrefix(full, module); ours && path.Base(inner) == name {
			return inner
		}
	}
	return ""
}
