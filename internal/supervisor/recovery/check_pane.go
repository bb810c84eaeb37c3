// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"strings"

	"spawn/internal/supervisor/topology"
)

func (p *Pane) check(format int) error {
	switch {
	case !inRange(p.Cols, 1, sizeMax) || !inRange(p.Rows, 1, sizeMax):
		return corrupt("size of a pane is out of range")
	case p.State != StateRunning && p.State != StateExited:
		return corrupt("a pane has no such state")
	case p.State == StateRunning && (p.ExitCode != nil || p.Signal != "" || p.PreviousState != ""):
		return corrupt("a running pane has an end")
	case p.ExitCode != nil && (!inRange(*p.ExitCode, 0, exitCodeMax) || p.Signal != ""):
		return corrupt("end of a pane is malformed")
	case p.Signal != "" && !IsSignal(p.Signal):
		return corrupt("signal of a pane is malformed")
	case p.PreviousState != "" && p.PreviousState != ProcessExited && p.PreviousState != ProcessInterrupted:
		return corrupt("an archive has no such state")
	case format < Format2 && (p.Layer != "" || p.Float != nil || p.Tags != nil):
		return corrupt("a pane has a field of a later format")
	case p.Layer != "" && p.Layer != LayerFloat || (p.Layer == LayerFloat) != (p.Float != nil):
		return corrupt("layer of a pane does not fit")
	}
	if p.Float != nil {
		if err := p.Float.check(); err != nil {
			return err
		}
	}
	if err := checkTags(p.Tags); err != nil {
		return err
	}
	return p.Text.check(p.Rows)
}

// IsSignal accepts SIG[A-Z0-9]+, also of another platform: it is shown, never sent. A checkpoint has no place for
// any other name.
func IsSignal(s string) bool {
	rest, ok := strings.CutPrefix(s, "SIG")
	return ok && rest != "" && len(s) <= signalMax && !strings.ContainsFunc(rest, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

func (f *Float) check() error {
	switch {
	case f.Z < 1 || f.Z > safeInteger:
		return corrupt("order of a float is out of range")
	case f.Arranged().Check() != nil:
		return corrupt("a float is malformed")
	}
	return nil
}

// Arranged is the float in the words of the arrangement, whose rules are the format's.
func (f *Float) Arranged() topology.Float {
	made := topology.Float{Z: uint64(f.Z), Preset: f.Preset, Geometry: topology.Geometry{
		Width: topology.Extent(f.Width), Height: topology.Extent(f.Height), Anchor: topology.Anchor(f.Anchor), X: f.X, Y: f.Y,
		MinCols: f.MinCols, MinRows: f.MinRows, Border: topology.Border(f.Border),
	}}
	if f.Title != nil {
		made.Title = *f.Title
	}
	return made
}

func checkTags(tags []Tag) error {
	switch {
	case tags == nil:
		return nil
	case len(tags) == 0:
		return corrupt("a pane has an empty list of tags")
	case len(tags) > topology.TagsMax:
		return oversize("a pane has too many tags")
	}
	last := ""
	for _, tag := range tags {
		if topology.Tag(tag).Check() != nil {
			return corrupt("a tag is malformed")
		}
		if tag.Key <= last {
			return corrupt("tags are not sorted by key")
		}
		last = tag.Key
	}
	return nil
}

func (t *Text) check(rows int) error {
	if t.Availability != TextPlain {
		if t.Availability != TextOmitted && t.Availability != TextExpired {
			return corrupt("text has no such availability")
		}
		if t.SavedAt != 0 || t.ExpiresAt != 0 || t.Screen != nil || !t.History.IsZero() {
			return corrupt("text is said to be absent and is there")
		}
		return nil
	}
	switch {
	case !t.SavedAt.valid() || !t.ExpiresAt.valid():
		return corrupt("time of a text is out of range")
	case t.ExpiresAt < t.SavedAt || t.ExpiresAt-t.SavedAt > textAgeMaxMS:
		return corrupt("a text expires before it was saved, or too late")
	case len(t.Screen) != rows:
		return corrupt("a screen does not have the rows of its pane")
	case t.History.IsZero():
		return corrupt("a text has no history")
	case len(t.Screen)+t.History.Len() > textRowsMax:
		return oversize("a text has too many rows")
	}
	for _, row := range t.Screen { // a list of a history has none
		if !isPlain(row) {
			return corrupt("a row of text has control characters")
		}
	}
	return nil
}

func inRange(n, lo, hi int) bool { return n >= lo && n <= hi }
