// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"
	"strconv"
	"strings"
)

var (
	anchors = []string{"top_left", "top", "top_right", "left", "center", "right", "bottom_left", "bottom", "bottom_right"}
	borders = []string{"none", "single", "double", "rounded", "heavy"}
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
	case p.Signal != "" && !isSignal(p.Signal):
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

// isSignal accepts SIG[A-Z0-9]+, also of another platform: it is shown, never sent.
func isSignal(s string) bool {
	rest, ok := strings.CutPrefix(s, "SIG")
	return ok && rest != "" && len(s) <= signalMax && !strings.ContainsFunc(rest, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

func (f *Float) check() error {
	switch {
	case f.Z < 1 || f.Z > safeInteger:
		return corrupt("order of a float is out of range")
	case f.Preset != "" && !isPreset(f.Preset):
		return corrupt("preset of a float is malformed")
	case f.Width != "" && !isExtent(f.Width) || f.Height != "" && !isExtent(f.Height):
		return corrupt("extent of a float is malformed")
	case f.Anchor != "" && !slices.Contains(anchors, f.Anchor):
		return corrupt("a float has no such anchor")
	case f.Border != "" && !slices.Contains(borders, f.Border):
		return corrupt("a float has no such border")
	case f.X != nil && !inRange(*f.X, -offsetMax, offsetMax) || f.Y != nil && !inRange(*f.Y, -offsetMax, offsetMax):
		return corrupt("offset of a float is out of range")
	case !inRange(f.MinCols, 0, sizeMax) || !inRange(f.MinRows, 0, sizeMax):
		return corrupt("least size of a float is out of range")
	case f.Title != nil && (len(*f.Title) > titleMax || !isPlain(*f.Title)):
		return corrupt("title of a float is malformed")
	}
	return nil
}

// isPreset accepts <namespace>.<name>, each of lower-case letters, digits, - and _, letter first.
func isPreset(s string) bool {
	namespace, name, ok := strings.Cut(s, ".")
	return ok && len(s) <= presetMax && isWord(namespace, "-_") && isWord(name, "-_")
}

// isWord accepts a lower-case letter followed by lower-case letters, digits and the extra characters.
func isWord(s, extra string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z':
		case i > 0 && (isDigit(c) || strings.IndexByte(extra, c) >= 0):
		default:
			return false
		}
	}
	return s != ""
}

// isExtent accepts a count of cells ("12") or a share ("60%"), in its one spelling.
func isExtent(s string) bool {
	digits, share := strings.CutSuffix(s, "%")
	n, err := strconv.Atoi(digits)
	if err != nil || strconv.Itoa(n) != digits {
		return false
	}
	if share {
		return inRange(n, 1, 100)
	}
	return inRange(n, 1, sizeMax)
}

func checkTags(tags []Tag) error {
	switch {
	case tags == nil:
		return nil
	case len(tags) == 0:
		return corrupt("a pane has an empty list of tags")
	case len(tags) > tagsMax:
		return oversize("a pane has too many tags")
	}
	last := ""
	for _, tag := range tags {
		if !isTagKey(tag.Key) || len(tag.Value) > tagValueMax || !isPlain(tag.Value) {
			return corrupt("a tag is malformed")
		}
		if tag.Key <= last {
			return corrupt("tags are not sorted by key")
		}
		last = tag.Key
	}
	return nil
}

func isTagKey(key string) bool { return len(key) <= tagKeyMax && isWord(key, "-_.") }

func (t *Text) check(rows int) error {
	if t.Availability != TextPlain {
		if t.Availability != TextOmitted && t.Availability != TextExpired {
			return corrupt("text has no such availability")
		}
		if t.SavedAt != 0 || t.ExpiresAt != 0 || t.Screen != nil || t.History != nil {
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
	case t.History == nil:
		return corrupt("a text has no history")
	case len(t.Screen)+len(t.History) > textRowsMax:
		return oversize("a text has too many rows")
	}
	for _, part := range [][]string{t.Screen, t.History} {
		for _, row := range part {
			if !isPlain(row) {
				return corrupt("a row of text has control characters")
			}
		}
	}
	return nil
}

func inRange(n, lo, hi int) bool { return n >= lo && n <= hi }
