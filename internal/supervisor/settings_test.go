// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/topology"
)

// readers are the methods of inForce.
var readers = map[string]func(inForce) any{
	"listen":           func(now inForce) any { return now.listen() },
	"peers":            func(now inForce) any { return now.peers(netip.IPv6Loopback()) },
	"shellCommand":     func(now inForce) any { return now.shellCommand() },
	"shellIntegration": func(now inForce) any { return now.shellIntegration() },
	"terminalSize":     func(now inForce) any { cols, rows := now.terminalSize(); return [...]uint16{cols, rows} },
	"terminalLimits":   func(now inForce) any { return now.terminalLimits() },
	"terminalLog":      func(now inForce) any { return now.terminalLog() },
	"viewersMax":       func(now inForce) any { return now.viewersMax() },
	"floatPresets":     func(now inForce) any { return now.floatPresets() },
	"shareMax":         func(now inForce) any { return now.shareMax() },
	"unknown":          func(now inForce) any { return now.unknown() },
	"recovery":         func(now inForce) any { return now.recovery() },
	"endsTerminals":    func(now inForce) any { return now.endsTerminals() },
}

// another returns settings in which that key alone differs from its default.
func another(t *testing.T, k config.Key) config.Config {
	t.Helper()
	var value any
	switch d := k.Default.(type) {
	case bool:
		value = !d
	case int64:
		value = d + 1
		if k.OrZero && d == 0 {
			value = k.Min
		} else if d == k.Max {
			value = d - 1
		}
	case string:
		value = "127.0.0.1:1"
		for _, one := range k.Enum {
			if one != d {
				value = one
			}
		}
	case []string:
		value = []string{"/bin/true", "word"}
	case []config.Preset:
		value = []config.Preset{{Name: "a.b", Geometry: topology.Geometry{Width: "10"}}}
	}
	text, err := strictjson.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	src, err := config.Edit(nil, k.Path, string(text))
	if err != nil {
		t.Fatalf("%s: %v", k.Path, err)
	}
	c, err := config.Parse(src)
	if err != nil || reflect.DeepEqual(k.Value(c), k.Default) {
		t.Fatalf("%s: %v", k.Path, err)
	}
	return c
}

func of(c config.Config) inForce { return func() config.Config { return c } }

// A change of any key changes what one reader says, and of one alone: nothing of spawnd goes by a setting
// that is another's.
func TestEachSettingHasOneReader(t *testing.T) {
	usual := of(config.Default())
	for _, k := range config.Keys() {
		now := of(another(t, k))
		var noticed []string
		for name, read := range readers {
			if !reflect.DeepEqual(read(now), read(usual)) {
				noticed = append(noticed, name)
			}
		}
		if len(noticed) != 1 {
			t.Errorf("%s is read by %v", k.Path, noticed)
		}
	}
}

// What a reader says is used somewhere in this package.
func TestEachReaderIsAsked(t *testing.T) {
	asked := map[string]bool{}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") || e.Name() == "settings.go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if read, is := n.(*ast.SelectorExpr); is && lastName(read.X) == "inForce" {
				asked[read.Sel.Name] = true
			}
			return true
		})
	}
	methods := reflect.TypeFor[inForce]()
	if methods.NumMethod() != 0 {
		t.Error("a reader is exported, which this test does not see")
	}
	for name := range readers {
		if !asked[name] {
			t.Errorf("%s: nobody asks", name)
		}
	}
	for name := range asked {
		if readers[name] == nil {
			t.Errorf("%s is not among the readers of this test", name)
		}
	}
}

func lastName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

// The rooms have bounds of their own, which the settings keep to.
func TestSettingsFitTheirRooms(t *testing.T) {
	if got := of(config.Default()).recovery(); got != recovery.DefaultPolicy() {
		t.Errorf("the settings have %+v by default, recovery %+v", got, recovery.DefaultPolicy())
	}
	for _, k := range config.Keys() {
		if p := recoveryPolicy(another(t, k)); p.Check() != nil {
			t.Errorf("%s: %v", k.Path, p.Check())
		}
	}
	k, _ := config.Lookup("access.share_max_seconds")
	if most := time.Duration(k.Max) * time.Second; most != access.ShareLifeMax {
		t.Errorf("links may live %v by the settings and %v by the rules", most, access.ShareLifeMax)
	}
	if got := of(config.Default()).unknown(); got != access.UnknownReads {
		t.Errorf("who is unknown may do %v", got)
	}
}
