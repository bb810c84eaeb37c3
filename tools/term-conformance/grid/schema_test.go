// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"spawn/internal/strictjson"
)

// definition is what the test reads of an object in the JSON schema.
type definition struct {
	properties []string
	required   []string
}

func definitionOf(v any) definition {
	object := v.(map[string]any)
	var d definition
	properties, _ := object["properties"].(map[string]any)
	d.properties = slices.Sorted(maps.Keys(properties))
	required, _ := object["required"].([]any)
	for _, r := range required {
		d.required = append(d.required, r.(string))
	}
	slices.Sort(d.required)
	return d
}

// membersOf returns the JSON names of a type, and those that are always written.
func membersOf(t reflect.Type) (all, always []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			more, must := membersOf(f.Type)
			all, always = append(all, more...), append(always, must...)
			continue
		}
		all = append(all, fieldName(f))
		if !strings.HasSuffix(f.Tag.Get("json"), ",omitzero") {
			always = append(always, fieldName(f))
		}
	}
	slices.Sort(all)
	slices.Sort(always)
	return all, always
}

// The schema names exactly the members that the code writes, and requires those that it always writes.
func TestSchemaIsTheCode(t *testing.T) {
	text, err := os.ReadFile("../schema/grid-state.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := strictjson.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	defs := schema["$defs"].(map[string]any)
	for name, typ := range map[string]reflect.Type{
		"": reflect.TypeFor[Grid](), "cursor": reflect.TypeFor[Cursor](), "line": reflect.TypeFor[Line](),
		"cell": reflect.TypeFor[Cell](), "style": reflect.TypeFor[Style](), "modes": reflect.TypeFor[Modes](),
		"margins": reflect.TypeFor[Margins](), "saved": reflect.TypeFor[Saved](), "charsets": reflect.TypeFor[Charsets](),
	} {
		object := any(schema)
		if name != "" {
			object = defs[name]
		}
		d := definitionOf(object)
		all, always := membersOf(typ)
		if !slices.Equal(d.properties, all) {
			t.Errorf("%s: the schema has %v, the code writes %v", typ, d.properties, all)
		}
		if !slices.Equal(d.required, always) {
			t.Errorf("%s: the schema requires %v, the code always writes %v", typ, d.required, always)
		}
	}
}

// The example of schema.md can be read.
func TestExampleOfTheDocument(t *testing.T) {
	text, err := os.ReadFile("../schema/schema.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(text)
	if example == nil {
		t.Fatal("there is no example")
	}
	var g Grid
	if err := strictjson.Unmarshal(example[1], &g); err != nil {
		t.Fatal(err)
	}
	live := state(80, 1, "\x1b[31m界\x1b[44m\x1b[X\x1b[m\x1b[C")
	if d := Diff(live, &g); len(d) > 0 {
		t.Errorf("the emulator differs from the example: %q", d)
	}
}
