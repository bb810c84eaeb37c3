// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"spawn/internal/sessiond/wire"
)

// Every leaf of the type has a key and every key a leaf, under the same name.
func TestTableAndTypeAreTheSame(t *testing.T) {
	leaves := map[string]bool{}
	for i := range reflect.TypeFor[Config]().NumField() {
		section := reflect.TypeFor[Config]().Field(i)
		for j := range section.Type.NumField() {
			leaves[section.Tag.Get("json")+"."+section.Type.Field(j).Tag.Get("json")] = true
		}
	}
	for _, k := range Keys() {
		if !leaves[k.Path] {
			t.Errorf("%s is no member of Config, or is listed twice", k.Path)
		}
		delete(leaves, k.Path)
		if k.Help == "" || k.Domain() == "" {
			t.Errorf("%s: no help, or no domain", k.Path)
		}
		if err := k.admits(k.Default); err != nil {
			t.Errorf("%s: its default: %v", k.Path, err)
		}
		if !reflect.DeepEqual(k.Value(Default()), k.Default) {
			t.Errorf("%s: the default is not in Default", k.Path)
		}
		if c := Default(); k.Kind == Int {
			k.assign(&c, int64(77))
			if k.Value(c) != int64(77) {
				t.Errorf("%s does not reach its member", k.Path)
			}
		}
	}
	for path := range leaves {
		t.Errorf("%s has no key", path)
	}
}

func TestTheExampleIsTheDefault(t *testing.T) {
	for _, src := range []string{example(), "{}", "// nothing yet\n{}\n// end"} {
		if c, err := Parse([]byte(src)); err != nil || !reflect.DeepEqual(c, Default()) {
			t.Errorf("Parse(%q) = %+v, %v", src, c, err)
		}
	}
}

func TestSizesAreThoseOfTheWire(t *testing.T) {
	for _, path := range []string{"terminal.cols", "terminal.rows"} {
		if k, _ := Lookup(path); k.Max > wire.SizeMax {
			t.Errorf("%s goes to %d, the wire to %d", path, k.Max, wire.SizeMax)
		}
	}
}

func TestFaultsAreToldWithTheirPlace(t *testing.T) {
	cases := []struct{ name, src, want string }{
		{"unknown section", `{"recover": {}}`, "line 1, column 2: recover: unknown"},
		{"unknown key", "{\n  \"recovery\": {\"speed\": 1}\n}", "line 2, column 16: recovery.speed: unknown"},
		{"case variant", `{"recovery": {"Enabled": true}}`, "line 1, column 15: recovery.\"Enabled\": unknown: it is written enabled"},
		{"section in capitals", `{"SERVE": {}}`, `line 1, column 2: "SERVE": unknown: it is written serve`},
		{"twice", "{\"recovery\": {\"enabled\": true,\n\"enabled\": false}}", "line 2, column 1: recovery.enabled: given twice"},
		{"twice by escape", `{"recovery": {"enabled": true, "\u0065nabled": false}}`, "line 1, column 32: recovery.enabled: given twice"},
		{"section twice", `{"serve": {}, "serve": {}}`, "line 1, column 15: serve: given twice"},
		{"text for a number", `{"recovery": {"interval_ms": "1000"}}`, "line 1, column 30: recovery.interval_ms: wrong type: want a whole number"},
		{"fraction", `{"recovery": {"interval_ms": 1000.5}}`, "wrong type: want a whole number"},
		{"exponent", `{"recovery": {"interval_ms": 1e3}}`, "wrong type"},
		{"negative zero", `{"serve": {"peer_port": -0}}`, "wrong type"},
		{"too large for any number", `{"serve": {"peer_port": 99999999999999999999}}`, "wrong type"},
		{"number for a switch", `{"recovery": {"enabled": 1}}`, "wrong type: want true or false"},
		{"null", `{"recovery": {"enabled": null}}`, "wrong type: want true or false"},
		{"null in a list", `{"shell": {"command": ["/bin/sh", null]}}`, "wrong type: want a list of texts"},
		{"object for a text", `{"shutdown": {"sessions": {}}}`, "wrong type: want a text in quotes"},
		{"array for a section", `{"shutdown": []}`, "line 1, column 14: shutdown: want an object"},
		{"array for the whole", `[]`, "line 1, column 1: want an object"},
		{"null for the whole", `null`, "line 1, column 1: want an object"},
		{"below", `{"recovery": {"interval_ms": 999}}`, "out of range: want 1000 to 3600000"},
		{"above", `{"recovery": {"text_max_bytes": 16777217}}`, "out of range: want 0 to 16777216"},
		{"between none and the least", `{"terminal": {"cpu_weight": -1}}`, "out of range: want 0, or 1 to 10000"},
		{"no choice", `{"shutdown": {"sessions": "kill"}}`, `not a choice: want "keep" or "terminate"`},
		{"elsewhere", `{"serve": {"listen": "0.0.0.0:7717"}}`, "line 1, column 22: serve.listen: only loopback"},
		{"no address", `{"serve": {"listen": "7717"}}`, "serve.listen: not an address"},
		{"relative program", `{"shell": {"command": ["fish"]}}`, "not an absolute path"},
		{"ages", `{"recovery": {"max_age_seconds": 60, "text_max_age_seconds": 61}}`, "line 1, column 62: recovery.text_max_age_seconds: recovery.text_max_age_seconds must be at most"},
		{"age against a default", `{"recovery": {"max_age_seconds": 60}}`, "line 1, column 34: recovery.max_age_seconds:"},
		{"trailing value", `{} {}`, "line 1, column 4: not JSON"},
		{"trailing text", "{}\nx", "line 2, column 1: not JSON"},
		{"empty", ``, "the text ends too early"},
		{"cut", `{"serve": {`, "the text ends too early"},
		{"characters, not bytes", `{/* äöü */ "x": 1}`, "line 1, column 12: x: unknown"},
		{"characters in syntax", `{/* äöü */ x}`, "line 1, column 12: not JSON"},
		{"not UTF-8", "{\"serve\":\n {\"listen\": \"\xff\"}}", "line 2, column 14: not UTF-8"},
		{"lone surrogate", `{"serve": {"listen": "\ud800"}}`, "line 1, column 22: serve.listen: wrong type"},
		{"lone surrogate in a name", `{"\ud800": 1}`, "line 1, column 2: a name that is not valid text"},
		{"deep", strings.Repeat("[", depthMax+1), fmt.Sprintf("line 1, column %d: nested more", depthMax+1)},
		{"long", strings.Repeat(" ", SizeMax) + "{", "longer than"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse([]byte(c.src))
			var problems Problems
			if !errors.As(err, &problems) || !strings.Contains(err.Error(), c.want) || !reflect.DeepEqual(got, Config{}) {
				t.Fatalf("error %v\n want %s", err, c.want)
			}
		})
	}
}

func TestEveryFaultIsToldAtOnceAndInOrder(t *testing.T) {
	_, err := Parse([]byte("{\n\"a\": 1,\n\"recovery\": {\"enabled\": 1, \"b\": 2},\n\"serve\": 3}"))
	var problems Problems
	if !errors.As(err, &problems) || len(problems) != 4 {
		t.Fatalf("%v", err)
	}
	for i, line := range []int{2, 3, 3, 4} {
		if problems[i].Line != line {
			t.Errorf("problem %d is %v", i, problems[i])
		}
	}
	_, err = Parse([]byte("{" + strings.Repeat(`"x":1,`, 1000) + "}"))
	if !errors.As(err, &problems) || len(problems) != problemsMax {
		t.Errorf("%d problems of a thousand", len(problems))
	}
}

// A value may be what a person typed into the wrong place: it is never repeated.
func TestValuesAreNeverTold(t *testing.T) {
	const secret = "hunter2"
	for _, k := range Keys() {
		for _, value := range []string{`"` + secret + `"`, secret, `["` + secret + `"]`, `{"x": "` + secret + `"}`, `"` + secret + `\q"`} {
			src := fmt.Sprintf(`{%q: {%q: %s}}`, k.section(), k.name(), value)
			if _, err := Parse([]byte(src)); err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", src, err)
			}
		}
		if _, err := Edit(nil, k.Path, `["`+secret+`", 1]`); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("set %s: %v", k.Path, err)
		}
	}
}

func TestBracketsInTextAndCommentsAreNotDeep(t *testing.T) {
	many := strings.Repeat("[", 2*depthMax)
	src := "{ // " + many + "\n/* " + many + " */ \"shell\": {\"command\": [\"/bin/sh\", \"\\\"" + many + "\"]}}"
	c, err := Parse([]byte(src))
	if err != nil || len(c.Shell.Command) != 2 {
		t.Fatalf("%+v, %v", c.Shell, err)
	}
}

func TestCommandIsNotShared(t *testing.T) {
	c, err := Parse([]byte(`{"shell": {"command": ["/bin/sh", "-l"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	k, _ := Lookup("shell.command")
	k.Value(c).([]string)[0] = "/bin/other"
	if c.Shell.Command[0] != "/bin/sh" {
		t.Fatal("a caller wrote into the configuration")
	}
}

// Whatever comes in, the parser ends without a fault of its own; what it accepts is within the table, and
// setting a key in it changes that key alone.
func FuzzParse(f *testing.F) {
	f.Add([]byte(example()))
	f.Add([]byte("{} // end"))
	f.Add([]byte(`{"shell":{"command":["/bin/sh","\u0041"],},/* c */}`))
	f.Add([]byte(`{"recovery":{"max_age_seconds":60,"text_max_age_seconds":60}}`))
	f.Add([]byte(strings.Repeat("[", 100)))
	f.Fuzz(func(t *testing.T, src []byte) {
		c, err := Parse(src)
		if err != nil {
			var problems Problems
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		for _, k := range Keys() {
			if err := k.admits(k.Value(c)); err != nil {
				t.Fatalf("%s: %v", k.Path, err)
			}
		}
		edited, err := Edit(src, "serve.peer_port", "4711")
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(edited)
		c.Serve.PeerPort = 4711
		if err != nil || !reflect.DeepEqual(again, c) {
			t.Fatalf("after a set: %+v, %v", again, err)
		}
	})
}
