// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"spawn/internal/strictjson"
)

type inner struct {
	Key  string `json:"key" min:"1" max:"4" help:"a key"`
	Size uint64 `json:"size,string,omitzero" help:"a size"`
}

type sample struct {
	Pane  string   `json:"pane" like:"pane" help:"a pane"`
	Axis  string   `json:"axis,omitzero" enum:"rows,cols" help:"an axis"`
	Cols  uint16   `json:"cols,omitzero" min:"1" max:"1000" fault:"invalid.size" help:"columns"`
	Shift int      `json:"shift,omitzero" help:"any number"`
	Count uint64   `json:"count,omitzero" help:"any number that is not negative"`
	On    bool     `json:"on,omitzero" help:"a flag"`
	Argv  []string `json:"argv,omitzero" min:"1" max:"2" cli:"rest" help:"words"`
	Inner inner    `json:"inner,omitzero" help:"a record"`
	Tags  []inner  `json:"tags,omitzero" max:"2" help:"records"`
	Note  string   `json:"note,omitzero" max:"3" text:"terminal" help:"a text"`
}

func TestDecodeKeepsWhatIsRight(t *testing.T) {
	var got sample
	src := `{"pane":"p0","axis":"cols","cols":1000,"shift":-3,"count":9007199254740991,"on":true,"argv":["a"],"inner":{"key":"k","size":"18446744073709551615"},"tags":[{"key":"t"}],"note":"æb"}`
	if err := Of(sample{}).Decode([]byte(src), &got); err != nil {
		t.Fatal(err)
	}
	if again, err := strictjson.Marshal(got); err != nil || string(again) != src {
		t.Errorf("became %s, %v", again, err)
	}
}

func TestDecodeNamesWhatIsWrong(t *testing.T) {
	for src, want := range map[string]Fault{
		`{}`:                                                         {"pane", "is missing", ""},
		`{"pane":"x"}`:                                               {"pane", "is a text, a pane's id, which looks like p0", ""},
		`{"pane":"p0","zz":1,"aa":1}`:                                {"", `has a member "aa" that is not known here`, ""},
		`{"pane":"p0","axis":"Rows"}`:                                {"axis", "is a text, one of rows, cols", ""},
		`{"pane":"p0","cols":0}`:                                     {"cols", "is a whole number, between 1 and 1000", "invalid.size"},
		`{"pane":"p0","cols":1001}`:                                  {"cols", "is a whole number, between 1 and 1000", "invalid.size"},
		`{"pane":"p0","shift":1.5}`:                                  {"shift", "is a whole number", ""},
		`{"pane":"p0","count":-1}`:                                   {"count", "is a whole number, not negative", ""},
		`{"pane":"p0","on":"true"}`:                                  {"on", "is true or false", ""},
		`{"pane":"p0","argv":[]}`:                                    {"argv", "is a list of texts, between 1 and 2 elements", ""},
		`{"pane":"p0","argv":["a",1]}`:                               {"argv", "is a list of texts, between 1 and 2 elements", ""},
		`{"pane":"p0","note":"ææ"}`:                                  {"note", "is a text, at most 3 bytes", ""},
		`{"pane":"p0","inner":{"key":""}}`:                           {"inner.key", "is a text, between 1 and 4 bytes", ""},
		`{"pane":"p0","inner":{"key":"k","size":"01"}}`:              {"inner.size", "is a text of decimal digits", ""},
		`{"pane":"p0","tags":[{"key":"k"},{}]}`:                      {"tags.1.key", "is missing", ""},
		`{"pane":"p0","tags":[{"key":"k"},{"key":"k"},{"key":"k"}]}`: {"tags", "is a list of objects, at most 2 elements", ""},
		`[]`: {"", "is not a JSON object with each of its members once", ""},
		`{"pane":"p0","` + strings.Repeat("x", 100) + `":1}`: {"", `has a member "` + strings.Repeat("x", 64) + `" that is not known here`, ""},
		"{\"pane\":\"p0\",\"\u202e\":1}":                     {"", `has a member "\u202e" that is not known here`, ""},
	} {
		var got sample
		err := Of(sample{}).Decode([]byte(src), &got)
		if f := (*Fault)(nil); !errors.As(err, &f) || *f != want {
			t.Errorf("%s: %v", src, err)
		}
	}
}

// A number that another reader would round is no number of ours.
func TestNumbersAreExactEverywhere(t *testing.T) {
	var got sample
	for _, n := range []string{"9007199254740992", "18446744073709551615", "18446744073709551616", "1e3"} {
		if err := Of(sample{}).Decode([]byte(`{"pane":"p0","count":`+n+`}`), &got); err == nil {
			t.Errorf("%s was taken", n)
		}
	}
}

func TestTerminalTextIsFoundInside(t *testing.T) {
	if !Of(struct {
		List []sample `json:"list" help:"a list"`
	}{}).ShowsTerminal() || Of(inner{}).ShowsTerminal() {
		t.Error("what is marked is not found, or is found where it is not")
	}
}

// What the schema refuses, Decode refuses: whoever keeps to the schema is not told more by it than by spawnd.
func TestSchemaRefusesNothingThatDecodeTakes(t *testing.T) {
	s := Of(sample{})
	src, err := strictjson.Marshal(s.Schema())
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(src, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	taken, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		value := map[string]any{"pane": pick(rt, "p0", "p1", "p", "q0", "p01")}
		for name, choices := range map[string][]any{
			"axis": {"rows", "cols", "", "x"}, "cols": {0, 1, 1000, 1001, "1", nil}, "shift": {-1, 0, 1.5}, "count": {0, -1},
			"on": {true, false, 1}, "argv": {[]any{}, []any{"a"}, []any{"a", "b", "c"}, []any{1}}, "note": {"", "abc", "abcd", "ææ"},
			"inner": {map[string]any{"key": "k"}, map[string]any{"key": ""}, map[string]any{"key": "k", "size": "7"}, map[string]any{"key": "k", "size": 7}},
			"tags":  {[]any{}, []any{map[string]any{"key": "k"}}, []any{map[string]any{}}},
		} {
			if rapid.IntRange(0, 3).Draw(rt, "there "+name) == 0 {
				value[name] = pick(rt, choices...)
			}
		}
		text, err := json.Marshal(value)
		if err != nil {
			rt.Fatal(err)
		}
		var got sample
		decoded, allowed := s.Decode(text, &got), resolved.Validate(value)
		if decoded == nil && allowed != nil {
			rt.Errorf("%s: Decode takes what the schema refuses: %v", text, allowed)
		}
		if decoded == nil {
			taken++
		} else {
			refused++
		}
	})
	if taken == 0 || refused == 0 {
		t.Errorf("%d taken and %d refused: this has shown nothing", taken, refused)
	}
}

func pick(t *rapid.T, choices ...any) any {
	return choices[rapid.IntRange(0, len(choices)-1).Draw(t, "choice")]
}

// Whatever is taken means the same when it is written and read again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"pane":"p0","cols":80,"tags":[{"key":"k","size":"1"}]}`))
	s := Of(sample{})
	f.Fuzz(func(t *testing.T, src []byte) {
		var first, second sample
		if s.Decode(src, &first) != nil {
			return
		}
		again, err := strictjson.Marshal(first)
		if err != nil {
			t.Fatalf("%q was taken and cannot be written: %v", src, err)
		}
		if err := s.Decode(again, &second); err != nil {
			// Zero members that may be left out are left out, and nothing else is lost.
			t.Fatalf("%q became %q: %v", src, again, err)
		}
	})
}
