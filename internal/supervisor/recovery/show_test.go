// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"
	"strings"
	"testing"
)

// What a viewer is given of an archive is what was saved, whatever it says, and nothing once it is blank.
func TestAnArchiveShowsItsTextAndThenNothing(t *testing.T) {
	a := Archive{Cols: 10, Rows: 2, Text: Rows{Screen: []string{"ready [31m", "twelve chars"}, History: []string{"one", "two"}}}
	s, err := a.Show()
	must(t, err)
	if s.Cols != 10 || s.Rows != 2 || a.Recovery.CutRows != 1 {
		t.Errorf("%dx%d, %d rows cut", s.Cols, s.Rows, a.Recovery.CutRows)
	}
	if screen, _ := s.Screen(false); !slices.Equal(screen, []string{"ready [31m", "twelve cha"}) {
		t.Errorf("%q", screen)
	}
	if rows, _, cut := s.History(1, 100, false); !slices.Equal(rows, []string{"two"}) || !cut {
		t.Errorf("%q, %v", rows, cut)
	}
	full, bare := string(s.AppendReplay(nil, true)), string(s.AppendReplay(nil, false))
	if !strings.Contains(full, "one\r\ntwo\r\n") || !strings.HasSuffix(full, bare) || strings.Contains(bare, "two") || s.HistoryLen() != len("one\r\ntwo\r\n") {
		t.Errorf("%q and %q", full, bare)
	}
	s.Blank()
	screen, _ := s.Screen(false)
	if rows, _, cut := s.History(9, 100, false); len(rows) != 0 || cut || !slices.Equal(screen, []string{"", ""}) || strings.Contains(string(s.AppendReplay(nil, true)), "one") {
		t.Errorf("%q and %q", screen, rows)
	}
	a.Text.Screen[0] = "bell \a"
	if _, err := a.Show(); CodeOf(err) != CodeCorrupt {
		t.Errorf("a control character: %v", err)
	}
}
