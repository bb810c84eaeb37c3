// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"slices"
	"testing"

	"spawn/internal/sessiond/emulator"
	"spawn/internal/strictjson"
)

func state(cols, rows int, feed string) *Grid {
	t := emulator.New(cols, rows, nil)
	t.Feed([]byte(feed))
	return FromState(t.State())
}

func TestDiffNamesWhatDiffers(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		want       []string
	}{
		{"same", "a\x1b[31mb", "a\x1b[31mb\x1b[31m", []string{"last_width: 1, not 0"}},
		{"text", "ab", "ac", []string{`cell 0,1: "b w1", not "c w1"`}},
		{"colour", "\x1b[31mx\x1b[m\x1b[D", "\x1b[32mx\x1b[m\x1b[D", []string{`cell 0,0: "x w1 fg=1", not "x w1 fg=2"`}},
		{"cursor", "\x1b[2;3H", "\x1b[3;4H", []string{"cursor row: 1, not 2", "cursor col: 2, not 3"}},
		{"pending wrap", "\x1b[3;10Hx\x1b[m", "\x1b[3;10Hx\x1b[10G", []string{"cursor pending_wrap: true, not false"}},
		{"prompt marks", "\x1b]133;A\a", "\n\x1b]133;C\a\x1bM", []string{`line 0 prompt: "A", not ""`, `line 1 prompt: "", not "C"`}},
		{"mode", "\x1b[?2004h", "\x1b[m", []string{"modes bracketed_paste: true, not false"}},
		{"tabs", "\x1b[3g", "\x1b[m", []string{"tabs: [], not [0 8]"}},
		{"canonically equivalent", "e\u0301\x1b[m", "\u00e9\x1b[m", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Diff(state(10, 3, c.a), state(10, 3, c.b)); !slices.Equal(got, c.want) {
				t.Errorf("the difference is %q, want %q", got, c.want)
			}
		})
	}
}

func TestNullEqualsEverything(t *testing.T) {
	a := state(10, 3, "\x1b]133;A\a\x1b]8;;http://x\x1b\\abc\x1b[?25l\x1b]2;title\a")
	b := state(10, 3, "xyz\x1b[2;2H")
	b.Cursor, b.Title, b.Modes, b.Pen, b.LastWidth = nil, nil, nil, nil, nil
	b.Lines[0].Prompt = nil
	b.Lines[0].Cells[0], b.Lines[0].Cells[1], b.Lines[0].Cells[2] = nil, nil, nil
	if got := Diff(a, b); len(got) > 0 {
		t.Errorf("null differs: %q", got)
	}
	b.Lines[0].Cells[1] = &Cell{Text: "b", Style: Style{Link: LinkUnknown}}
	if got := Diff(a, b); len(got) > 0 {
		t.Errorf("an unknown link differs from a known one: %q", got)
	}
	b.Lines[0].Cells[1] = &Cell{Text: "b"}
	if got := Diff(a, b); len(got) != 1 {
		t.Errorf("no link must differ from a link: %q", got)
	}
}

func TestCursorIsClampedForPendingWrap(t *testing.T) {
	a, b := state(10, 3, "0123456789"), state(10, 3, "0123456789")
	b.Cursor.Col, b.Cursor.PendingWrap = 10, nil
	if got := Diff(a, b); len(got) > 0 {
		t.Errorf("the column beyond the last differs: %q", got)
	}
}

func TestGridSurvivesJSON(t *testing.T) {
	a := state(20, 4, "\x1b[1;4:3;38;2;1;2;3;48;5;200;58;5;7ma界\x1b[m\x1b]8;id=1;http://x\x1b\\l\x1b]8;;\x1b\\\x1b7\x1b(0\x1b[5 q\x1b[?1003;1006h")
	a.Lines[0].Cells[3].Link = LinkUnknown
	a.Lines[2], a.Title = nil, nil
	text, err := strictjson.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var b Grid
	if err := strictjson.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	again, err := strictjson.Marshal(&b)
	if err != nil || string(again) != string(text) {
		t.Errorf("it reads back as %s (%v), want %s", again, err, text)
	}
	if b.Lines[2] != nil || b.Title != nil || b.Lines[0].Cells[3].Link != LinkUnknown {
		t.Error("null doesn't survive")
	}
	if b.Lines[0].Cells[2].Width.Columns() != 0 || b.Lines[0].Cells[1].Width.Columns() != 2 {
		t.Error("widths don't survive")
	}
}

func TestEquivalent(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"\u00e9", "e\u0301", true},
		{"\u1e69", "s\u0323\u0307", true},
		{"s\u0307\u0323", "s\u0323\u0307", true},
		{"a\u0301\u0300", "a\u0300\u0301", false},
		{"\uac01", "\u1100\u1161\u11a8", true},
		{"\uac00", "\u1100\u1161", true},
		{"\u212b", "\u00c5", true},
		{"\u00b5", "\u03bc", false},
		{"\ufb01", "fi", false},
		{"x", "y", false},
	} {
		if got := Equivalent(c.a, c.b); got != c.want {
			t.Errorf("Equivalent(%+q, %+q) is %v", c.a, c.b, got)
		}
	}
}
