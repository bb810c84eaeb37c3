// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"context"
	"slices"

	"spawn/internal/sessiond/emulator"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/verbs"
)

// Search looks for a text in the history and on the primary screen. A match lies within one row, as wide as the
// terminal is now.
func Search(ctx context.Context, t Terminal, p verbs.PaneSearchParams) (verbs.PaneSearchResult, error) {
	re, err := pattern(p.Text, p.Regex, p.IgnoreCase)
	if err != nil {
		return verbs.PaneSearchResult{}, err
	}
	shot, err := document(ctx, t, wire.CaptureReq{What: wire.CaptureAll, MaxRows: captureRows, MaxBytes: captureBytes})
	if err != nil {
		return verbs.PaneSearchResult{}, err
	}
	most := matchesDefault
	if p.Max != 0 {
		most = int(p.Max)
	}
	s := sheetOf(shot)
	result := verbs.PaneSearchResult{Matches: []verbs.Match{}, More: s.cut}
	room := answerBytes
	for i, row := range slices.Backward(shown(s.plain)) { // the newest are kept
		found := re.FindAllStringIndex(row, -1)
		for _, at := range slices.Backward(found) {
			if at[0] == at[1] {
				continue // nothing was found
			}
			if room -= encoded(row) + matchBytes; room < 0 || len(result.Matches) == most {
				result.More = true
				slices.Reverse(result.Matches)
				return result, nil
			}
			result.Matches = append(result.Matches, verbs.Match{
				Row: s.first + i, Col: uint16(emulator.Columns(row[:at[0]])), Length: uint16(emulator.Columns(row[at[0]:at[1]])), Line: row,
			})
		}
	}
	slices.Reverse(result.Matches)
	return result, nil
}

// matchBytes is more than a match takes in JSON beside its row.
const matchBytes = 96
