// SPDX-License-Identifier: Apache-2.0

package topology

import "cmp"

// FloatsDefault is the preset of a float that names none, or one that is not there.
const FloatsDefault = "floats.default"

// Presets are geometries by their namespaced id. A preset need not have every member: what it lacks comes
// from FloatsDefault, and what that lacks from the built-in one.
type Presets map[string]Geometry

// builtIn is what nobody said otherwise: a window in the middle, large enough to type in.
var builtIn = Geometry{
	Width: "60%", Height: "60%", Anchor: AnchorCenter, X: new(int), Y: new(int), MinCols: 20, MinRows: 5, Border: BorderSingle,
}

// Resolve works out every member of a float's geometry. It reports false when the float names a preset that
// is not there; FloatsDefault stands in for it.
func (ps Presets) Resolve(f Float) (Geometry, bool) {
	named, known := ps[f.Preset]
	return f.Geometry.over(named).over(ps[FloatsDefault]).over(builtIn), known || f.Preset == "" || f.Preset == FloatsDefault
}

// over takes from below what g does not give.
func (g Geometry) over(below Geometry) Geometry {
	return Geometry{
		Width: cmp.Or(g.Width, below.Width), Height: cmp.Or(g.Height, below.Height),
		Anchor: cmp.Or(g.Anchor, below.Anchor), X: cmp.Or(g.X, below.X), Y: cmp.Or(g.Y, below.Y),
		MinCols: cmp.Or(g.MinCols, below.MinCols), MinRows: cmp.Or(g.MinRows, below.MinRows), Border: cmp.Or(g.Border, below.Border),
	}
}
