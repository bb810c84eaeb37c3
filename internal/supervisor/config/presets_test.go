// SPDX-License-Identifier: Apache-2.0

package config

import (
	"reflect"
	"strings"
	"testing"

	"spawn/internal/supervisor/topology"
)

func TestPresetsAreReadAndHeldToTheRulesOfFloats(t *testing.T) {
	one := -1
	c, err := Parse([]byte(`{"floats": {"presets": [
		{"name": "work.side", "width": "40%", "anchor": "right", "x": -1}, // mine
		{"name": "floats.default", "border": "double", "min_cols": 30},
	]}}`))
	want := []Preset{
		{"work.side", topology.Geometry{Width: "40%", Anchor: topology.AnchorRight, X: &one}},
		{"floats.default", topology.Geometry{Border: topology.BorderDouble, MinCols: 30}},
	}
	if err != nil || !reflect.DeepEqual(c.Floats.Presets, want) {
		t.Errorf("%+v, %v", c.Floats.Presets, err)
	}
	for name, src := range map[string]string{
		"no name":        `{"width": "1"}`,
		"bare name":      `{"name": "side"}`,
		"null":           `{"name": "a.b", "width": null}`,
		"null preset":    `null`,
		"unknown member": `{"name": "a.b", "colour": "red"}`,
		"twice a member": `{"name": "a.b", "name": "a.c"}`,
		"size":           `{"name": "a.b", "width": "0"}`,
		"anchor":         `{"name": "a.b", "anchor": "middle"}`,
		"offset":         `{"name": "a.b", "x": 5000}`,
		"twice":          `{"name": "a.b"}, {"name": "a.b"}`,
		"title":          `{"name": "a.b", "title": "t"}`,
		"too many":       strings.TrimSuffix(strings.Repeat(`{"name": "a.b"},`, presetsMax+1), ","),
	} {
		if _, err := Parse([]byte(`{"floats": {"presets": [` + src + `]}}`)); err == nil || !strings.Contains(err.Error(), "floats.presets") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
