// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"spawn/internal/sessiond/emulator"
)

// What a viewer is given of an archive is what was saved, whatever it says, and nothing once it is blank.
func TestAnArchiveShowsItsTextAndThenNothing(t *testing.T) {
	a := Archive{Cols: 10, Rows: 2, Text: Rows{Screen: []string{"ready [31m", "twelve chars"}, History: list("one", "two")}}
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
	if !strings.HasSuffix(bare, "\x1b[?25l") {
		t.Errorf("a record with a cursor: %q", bare)
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

// Cells are made anew for each look, and are those that the saved text came to.
func TestEachLookAtAnArchiveShowsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.StringOf(rapid.RuneFrom([]rune("ab \u00a0é\u0301日🙂\u200d\u200c\u202e\uffffx")))
		screen := rapid.SliceOfN(row, 1, 4).Draw(t, "screen")
		a := Archive{Cols: rapid.IntRange(1, 9).Draw(t, "cols"), Rows: len(screen), Text: Rows{Screen: screen}}
		at, cut, err := emulator.Hydrate(a.Cols, a.Rows, emulator.Plain{Screen: screen}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := a.Show()
		if err != nil || a.Recovery.CutRows != int64(cut) {
			t.Fatalf("%d rows cut, %v", a.Recovery.CutRows, err)
		}
		for range 2 {
			if got, _ := s.Screen(false); !slices.Equal(got, at.View(true, false).Plain) {
				t.Fatalf("%q, want %q", got, at.View(true, false).Plain)
			}
		}
		again, cut, err := emulator.Hydrate(a.Cols, a.Rows, emulator.Plain{Screen: s.mu.screen}, nil)
		if err != nil || cut != 0 || !slices.Equal(again.View(true, false).Plain, at.View(true, false).Plain) {
			t.Fatalf("%d rows cut, %v: %q", cut, err, again.View(true, false).Plain)
		}
	})
}

// An archive costs what its text does, however large its terminal was.
func TestALargeArchiveCostsItsText(t *testing.T) {
	screen := make([]string, 1000)
	var before, after runtime.MemStats
	var all []*Shown
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 50 {
		a := Archive{Cols: 1000, Rows: 1000, Text: Rows{Screen: screen}}
		s, err := a.Show()
		must(t, err)
		all = append(all, s)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 50*100_000 {
		t.Errorf("50 archives keep %d bytes", kept)
	}
	runtime.KeepAlive(all)
}
