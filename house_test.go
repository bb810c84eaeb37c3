// SPDX-License-Identifier: Apache-2.0

// Package house holds the rules of the house that a compiler does not: who may import whom, where a
// byte's way runs, which calls are refused and how long a function may be.
package house

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

const module = "spawn/"

// floor is the import table: a package may import those of ours that its row names, and no others.
// A row for a folder covers the folders below it that have no row of their own.
var floor = map[string][]string{
	"internal/version":             {},
	"internal/unmet":               {},
	"internal/chance":              {},
	"internal/procmem":             {},
	"internal/strictjson":          {},
	"internal/sessiond/wire":       {"internal/strictjson"},
	"internal/sessiond/vfs":        {},
	"internal/sessiond/vfs/points": {"internal/sessiond/vfs", "internal/sessiond/failpoint"},
	"internal/sessiond/secret":     {},
	"internal/sessiond/emulator":   {},
	"internal/sessiond/pty":        {"internal/sessiond/failpoint"},
	"internal/sessiond/foreground": {},
	"internal/sessiond/lifecycle":  {},
	"internal/sessiond/failpoint":  {},
	"internal/sessiond/endpoint":   {"internal/sessiond/failpoint"},
	"internal/sessiond/scrollback": {"internal/sessiond/vfs", "internal/sessiond/secret", "internal/sessiond/failpoint"},
	"internal/sessiond": {
		"internal/sessiond/wire", "internal/sessiond/endpoint", "internal/sessiond/lifecycle", "internal/sessiond/vfs",
		"internal/sessiond/secret", "internal/sessiond/emulator", "internal/sessiond/pty", "internal/sessiond/foreground",
		"internal/sessiond/scrollback", "internal/sessiond/failpoint",
	},

	"internal/supervisor/loopback":    {},
	"internal/supervisor/ownfile":     {},
	"internal/supervisor/descriptors": {},
	"internal/supervisor/config":      {"internal/strictjson", "internal/supervisor/loopback", "internal/supervisor/topology", "internal/supervisor/ownfile"},
	"internal/supervisor/loginenv":    {},
	"internal/supervisor/shellmarks":  {},
	"internal/supervisor/turns":       {},
	"internal/supervisor/topology":    {"internal/strictjson", "internal/sessiond/vfs", "internal/sessiond/failpoint", "internal/supervisor/ownfile"},
	"internal/supervisor/control":     {},
	"internal/supervisor/access":      {"internal/strictjson"},
	"internal/supervisor/events":      {},
	"internal/supervisor/recovery":    {"internal/strictjson", "internal/sessiond/vfs", "internal/sessiond/emulator", "internal/supervisor/topology"},
	"internal/supervisor/fleet":       {"internal/sessiond/wire", "internal/sessiond/endpoint", "internal/sessiond/lifecycle", "internal/sessiond/failpoint", "internal/supervisor/descriptors"},
	"internal/supervisor/fanout":      {"internal/sessiond/wire", "internal/sessiond/failpoint", "internal/supervisor/control", "internal/supervisor/turns"},
	"internal/supervisor/rtc":         {"internal/supervisor/descriptors"},
	"internal/supervisor/signaling":   {"internal/strictjson", "internal/supervisor/access", "internal/supervisor/loopback"},
	"internal/supervisor/page":        {"internal/strictjson", "internal/supervisor/fanout", "internal/sessiond/wire", "internal/supervisor/control", "internal/supervisor/verbs"},
	"internal/supervisor/verbs":       {"internal/strictjson", "internal/sessiond/wire", "internal/sessiond/failpoint", "internal/supervisor/fanout", "internal/supervisor/control", "internal/supervisor/descriptors"},
	"internal/supervisor/verbs/shape": {"internal/strictjson"},
	"internal/supervisor/verbs/keys":  {},
	"internal/supervisor/texts": {
		"internal/strictjson", "internal/sessiond/wire", "internal/sessiond/emulator", "internal/supervisor/fanout", "internal/supervisor/turns",
		"internal/supervisor/verbs", "internal/supervisor/verbs/keys",
	},
	"internal/supervisor/verbs/dial":  {"internal/supervisor/verbs", "internal/sessiond/wire"},
	"internal/supervisor/localattach": {"internal/sessiond/wire", "internal/supervisor/verbs"},
	"internal/supervisor/doctor": {
		"internal/strictjson", "internal/sessiond/wire", "internal/sessiond/endpoint", "internal/supervisor/config", "internal/supervisor/fleet",
		"internal/supervisor/loginenv", "internal/supervisor/loopback",
	},
	"internal/supervisor": {
		"internal/version", "internal/strictjson", "internal/sessiond/wire", "internal/sessiond/endpoint", "internal/sessiond/lifecycle", "internal/sessiond/failpoint",
		"internal/sessiond/vfs/points", "internal/supervisor/",
	},

	"cmd/spawn-worker":  {"internal/version", "internal/sessiond", "internal/sessiond/endpoint", "internal/sessiond/failpoint", "internal/sessiond/scrollback"},
	"cmd/spawnd":        {"internal/version", "internal/strictjson", "internal/sessiond/endpoint", "internal/sessiond/failpoint", "internal/supervisor", "internal/supervisor/", "packaging/systemd", "docs", "web"},
	"internal/e2e":      {"internal/chance", "internal/sessiond/endpoint", "internal/sessiond/wire", "internal/supervisor/verbs", "internal/supervisor/verbs/dial"},
	"packaging/systemd": {},
	"docs":              {},
	"web":               {},
}

// soleImporters names the one folder in which a library lives.
var soleImporters = map[string]string{
	"github.com/pion/":                "internal/supervisor/rtc",
	"github.com/coder/websocket":      "internal/supervisor/signaling",
	"github.com/creack/pty":           "internal/sessiond/pty",
	"github.com/go-json-experiment/":  "internal/strictjson",
	"golang.org/x/crypto/chacha20":    "internal/sessiond/secret",
	"github.com/godbus/":              "internal/supervisor/fleet",
	"github.com/spf13/cobra":          "cmd/spawnd",
	"github.com/modelcontextprotocol": "cmd/spawnd",
	"github.com/tailscale/hujson":     "internal/supervisor/config",
}

// banned calls, with what to use instead. Those for strict reading bind what reads strangers' bytes, so not
// tests, and not the package that is the stricter way.
var banned = []struct {
	call, instead string
	inTests       bool
}{
	{"time.Sleep", "wait for the event, or for a timer inside a select", true},
	{"json.Unmarshal", "internal/strictjson", false},
	{"json.NewDecoder", "internal/strictjson", false},
	{"log.Printf", "log/slog", true},
	{"log.Fatal", "return an error", true},
	{"ioutil.ReadAll", "io.ReadAll over a limited reader", true},
}

type sourceFile struct {
	path, folder string
	test         bool
	text         []byte
	ast          *ast.File
}

func sources(t *testing.T) (*token.FileSet, []sourceFile) {
	t.Helper()
	fset := token.NewFileSet()
	var files []sourceFile
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "test-output") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, sourceFile{path, filepath.ToSlash(filepath.Dir(path)), strings.HasSuffix(path, "_test.go"), text, parsed})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("found only %d Go files: is this the root of the repository?", len(files))
	}
	return fset, files
}

func TestImportsPointOneWay(t *testing.T) {
	_, files := sources(t)
	for _, f := range files {
		if f.test || strings.HasPrefix(f.folder, "tools/") || filepath.Base(f.folder) == "gen" {
			continue
		}
		allowed, ok := rowFor(f.folder)
		if !ok {
			t.Errorf("%s: folder %s has no row in the import table", f.path, f.folder)
			continue
		}
		for _, spec := range f.ast.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if inner, ours := strings.CutPrefix(path, module); ours && !permitted(f.folder, inner, allowed) {
				t.Errorf("%s imports %s, which its row does not name", f.path, inner)
			}
		}
	}
}

// rowFor finds the row of a folder, or of the nearest folder above it.
func rowFor(folder string) ([]string, bool) {
	for at := folder; at != "."; at = filepath.ToSlash(filepath.Dir(at)) {
		if row, ok := floor[at]; ok {
			return row, true
		}
	}
	return nil, false
}

// permitted allows a package its own subtree, the named packages, and whole subtrees named with a slash.
func permitted(folder, imported string, allowed []string) bool {
	if strings.HasPrefix(imported, folder+"/") && folder != "internal/sessiond" && folder != "internal/supervisor" {
		return true
	}
	for _, a := range allowed {
		if imported == a || (strings.HasSuffix(a, "/") && strings.HasPrefix(imported, a)) {
			return true
		}
	}
	return false
}

func TestEachLibraryLivesInOneFolder(t *testing.T) {
	_, files := sources(t)
	for _, f := range files {
		for _, spec := range f.ast.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			for prefix, home := range soleImporters {
				if strings.HasPrefix(path, prefix) && f.folder != home && !strings.HasPrefix(f.folder, home+"/") && !f.test {
					t.Errorf("%s imports %s, which lives in %s alone", f.path, path, home)
				}
			}
		}
	}
}

// hops are the stations of a byte's way out and a key's way in, each marked once where it happens.
var hops = map[string]string{
	"hop out 1/6": "internal/sessiond/pty",
	"hop out 2/6": "internal/sessiond",
	"hop out 3/6": "internal/sessiond",
	"hop out 4/6": "internal/supervisor/fleet",
	"hop out 5/6": "internal/supervisor/fanout",
	"hop out 6/6": "internal/supervisor/rtc",
	"hop in 1/6":  "internal/supervisor/rtc",
	"hop in 2/6":  "internal/supervisor/fanout",
	"hop in 3/6":  "internal/supervisor/fleet",
	"hop in 4/6":  "internal/sessiond",
	"hop in 5/6":  "internal/sessiond",
	"hop in 6/6":  "internal/sessiond/pty",
}

func TestEveryHopIsMarkedOnce(t *testing.T) {
	_, files := sources(t)
	mark := regexp.MustCompile(`hop (?:in|out) [1-6]/6`)
	seen := map[string][]string{}
	for _, f := range files {
		if f.test {
			continue
		}
		for _, m := range mark.FindAllString(string(f.text), -1) {
			seen[m] = append(seen[m], f.folder)
		}
	}
	for hop, home := range hops {
		if got := seen[hop]; len(got) != 1 || got[0] != home {
			t.Errorf("%q is marked in %v, want once in %s", hop, got, home)
		}
	}
}

func TestRefusedCalls(t *testing.T) {
	fset, files := sources(t)
	for _, f := range files {
		if f.path == "house_test.go" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			for _, b := range banned {
				if !b.inTests && (f.test || f.folder == "internal/strictjson") {
					continue
				}
				if pkg.Name+"."+sel.Sel.Name == b.call && !excused(f, fset.Position(call.Pos()).Line) {
					t.Errorf("%s: %s: use %s", fset.Position(call.Pos()), b.call, b.instead)
				}
			}
			return true
		})
	}
}

// barePids are the files that may give a number to kill, and how: to the group of a child that is not reaped, under the lock that
// says so. All else goes by a pidfd or by the os.Process of a child, which knows when its number is somebody else's.
var barePids = map[string]string{"internal/sessiond/pty/pty_unix.go": "-t.pid"}

// A pid is never signalled bare: by the time of the call it may be another process's. A process's own never is.
func TestNoPidIsSignalledBare(t *testing.T) {
	fset, files := sources(t)
	found := map[string]bool{}
	for _, f := range files {
		if f.test || f.folder == "internal/e2e/rig" || f.folder == "internal/procmem" || strings.HasPrefix(f.folder, "tools/") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			switch exprText(fset, call.Fun) {
			case "syscall.Kill", "unix.Kill", "unix.Tgkill", "os.FindProcess":
			default:
				return true
			}
			whom := exprText(fset, call.Args[0])
			path := filepath.ToSlash(f.path)
			if allowed, ok := barePids[path]; ok && whom == allowed {
				found[path] = true
			} else if whom != "os.Getpid()" && whom != "unix.Getpid()" {
				t.Errorf("%s: %s is signalled by its number", fset.Position(call.Pos()), whom)
			}
			return true
		})
	}
	for path := range barePids {
		if !found[path] {
			t.Errorf("%s signals nothing any more: it needs no leave", path)
		}
	}
}

func exprText(fset *token.FileSet, e ast.Expr) string {
	var text strings.Builder
	_ = printer.Fprint(&text, fset, e)
	return text.String()
}

// excused reports whether the call's line, or the one above it, says why it must be there.
func excused(f sourceFile, line int) bool {
	lines := strings.Split(string(f.text), "\n")
	for _, n := range []int{line - 1, line - 2} {
		if n >= 0 && n < len(lines) && strings.Contains(lines[n], "//house:allow ") {
			return true
		}
	}
	return false
}

// maxFunctionLines is a ratchet: a longer function needs a `//house:long why` in its comment.
const maxFunctionLines = 70

func TestFunctionsFitOnAScreen(t *testing.T) {
	fset, files := sources(t)
	for _, f := range files {
		if f.test || strings.Contains(string(f.text[:min(len(f.text), 400)]), "DO NOT EDIT") {
			continue
		}
		for _, decl := range f.ast.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			lines := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1
			if lines > maxFunctionLines && !markedLong(fn) {
				t.Errorf("%s: %s has %d lines; split it, or say why it is one idea (//house:long why)", fset.Position(fn.Pos()), fn.Name.Name, lines)
			}
		}
	}
}

func markedLong(fn *ast.FuncDecl) bool {
	if fn.Doc == nil {
		return false
	}
	for _, c := range fn.Doc.List {
		if strings.HasPrefix(c.Text, "//house:long ") {
			return true
		}
	}
	return false
}

func TestEveryFileNamesItsLicence(t *testing.T) {
	_, files := sources(t)
	for _, f := range files {
		if !strings.Contains(string(f.text[:min(len(f.text), 300)]), "SPDX-License-Identifier: Apache-2.0") {
			t.Errorf("%s: no SPDX line", f.path)
		}
	}
}

// There is one worker for each terminal, so what it links is paid a thousand times.
func TestTheWorkerLinksLittle(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the set of packages is checked where workers run")
	}
	out, err := exec.Command("go", "list", "-deps", "./cmd/spawn-worker").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(out)) {
		for _, refused := range []string{
			"net/http", "crypto/tls", "github.com/pion", "github.com/coder", "github.com/spf13", "github.com/godbus", "github.com/coreos", module + "internal/supervisor",
			"encoding/json", "encoding/xml", "encoding/gob", "text/template", "html/template", "expvar", "database/sql", "net/rpc", // reflection, or a server of their own
		} {
			if dep == refused || strings.HasPrefix(dep, refused+"/") {
				t.Errorf("spawn-worker links %s", dep)
			}
		}
	}
}

// spawnd sees a worker from outside: through the wire, the endpoint and the life of a session.
func TestSpawndNeverLinksTheWorker(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./cmd/spawnd").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(out)) {
		switch dep {
		case module + "internal/sessiond", module + "internal/sessiond/scrollback", module + "internal/sessiond/pty":
			t.Errorf("spawnd links %s", dep)
		}
	}
}
