// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"fmt"

	"github.com/tailscale/hujson"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/topology"
)

// presetsMax bounds floats.presets: each that a person can tell apart, and no more than a list shows.
const presetsMax = 64

// Preset is a geometry of floats by its name. What it leaves out comes from floats.default, and what that leaves out is
// built in.
type Preset struct {
	Name string `json:"name"` // "<namespace>.<name>"
	topology.Geometry
}

func checkPresets(value any) error {
	presets := value.([]Preset)
	if len(presets) > presetsMax {
		return fmt.Errorf("too long: at most %d presets", presetsMax)
	}
	seen := map[string]bool{}
	for i, p := range presets {
		if err := (topology.Float{Preset: p.Name, Geometry: p.Geometry}).Check(); err != nil || p.Name == "" {
			return fmt.Errorf("preset %d breaks a rule of floats: its name is namespace.name, its members are those of pane.place", i+1)
		}
		if seen[p.Name] {
			return fmt.Errorf("preset %d has the name of an earlier one", i+1)
		}
		seen[p.Name] = true
	}
	return nil
}

// presetSchema describes one preset for editors.
func presetSchema() map[string]any {
	text := map[string]any{"type": string(Text)}
	offset := map[string]any{"type": string(Int), "minimum": int64(-topology.OffsetMax), "maximum": int64(topology.OffsetMax)}
	cells := map[string]any{"type": string(Int), "minimum": int64(1), "maximum": int64(topology.CellsMax)}
	return map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"name"},
		"properties": map[string]any{
			"name": text, "width": text, "height": text, "x": offset, "y": offset, "min_cols": cells, "min_rows": cells,
			"anchor": map[string]any{"enum": topology.Anchors}, "border": map[string]any{"enum": topology.Borders},
		},
	}
}

// decodePresets reads a list of presets. A null would pass for what was left out.
func decodePresets(src []byte) (presets []Preset, ok bool) {
	tree, err := hujson.Parse(bytes.Clone(src))
	if err != nil {
		return nil, false
	}
	for v := range tree.All() {
		if l, literal := v.Value.(hujson.Literal); literal && l.Kind() == 'n' {
			return nil, false
		}
	}
	return presets, strictjson.Unmarshal(src, &presets) == nil
}
