// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"context"
	"slices"
	"strings"

	"spawn/internal/sessiond/emulator"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/verbs"
)

// Search looks for a text in the history and on the primary screen. A match lies within one line, which may go over
// several rows of the terminal's present width.
func Search(ctx context.Context, t Terminal, p verbs.PaneSearchParams) (verbs.PaneSearchResult, error) {
	re, err := pattern(p.Text, p.Regex, p.IgnoreCase)
	if err != nil {
		return verbs.PaneSearchResult{}, err
	}
	req := wire.CaptureReq{What: wire.CaptureAll, MaxRows: captureRows, MaxBytes: captureBytes, Wraps: true}
	shot, err := document(ctx, t, req)
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
	for from, to := range s.backward() { // the newest are kept
		line := bare(strings.Join(s.plain[from:to], ""))
		found := re.FindAllStringIndex(line, -1)
		for _, at := range slices.Backward(found) {
			if at[0] == at[1] {
				continue // nothing was found
			}
			m := s.matchAt(from, line, at[0], at[1])
			if room -= encoded(m.Line) + matchBytes; room < 0 || len(result.Matches) == most {
				result.More = true
				slices.Reverse(result.Matches)
				return result, nil
			}
			result.Matches = append(result.Matches, m)
		}
	}
	slices.Reverse(result.Matches)
	return result, nil
}

// matchAt describes a match between two bytes of a line that begins with a row.
func (s sheet) matchAt(row int, line string, begin, end int) verbs.Match {
	length := emulator.Columns(line[begin:end])
	for ; begin >= len(s.plain[row]); row++ {
		begin, end = begin-len(s.plain[row]), end-len(s.plain[row])
	}
	m := verbs.Match{Row: s.first + row, Col: uint16(emulator.Columns(s.plain[row][:begin])), Length: uint32(length)}
	touched := s.plain[row]
	for ; end > len(s.plain[row]); row++ {
		end -= len(s.plain[row])
		touched += s.plain[row+1]
	}
	m.Line = bare(touched)
	return m
}

// matchBytes is more than a match takes in JSON beside its line.
const matchBytes = 96
