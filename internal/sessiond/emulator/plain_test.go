// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPlainScreen(t *testing.T) {
	for _, c := range []struct {
		name, feed string
		want       []string
	}{
		{"text", "ab\r\n\tc", []string{"ab", "        c", ""}},
		{"styles and links vanish", "\x1b[1;41ma\x1b]8;;http://x\ab\x1b[K", []string{"ab", "", ""}},
		{"wide characters are one", "世界x", []string{"世界x", "", ""}},
		{"clusters", "e\u0301👩\u200d👧", []string{"e\u0301👩\u200d👧", "", ""}},
		{"a mark alone has a column", "a\x1b[m\u0301b", []string{"a \u0301b", "", ""}},
		{"soft wraps are rows", "0123456789abc", []string{"0123456789", "abc", ""}},
		{"a wide character that didn't fit", "012345678世", []string{"012345678", "世", ""}},
		{"the primary one while the alternate is shown", "main\x1b[?1049halt", []string{"main", "", ""}},
		{"printed blanks stay", "a  ", []string{"a  ", "", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			term := fresh(10, 3, []byte(c.feed))
			before := term.State()
			if got := term.PlainScreen(); !slices.Equal(got, c.want) {
				t.Errorf("rows are %q, want %q", got, c.want)
			}
			if d := diffStates(before, term.State()); d != "" {
				t.Errorf("the terminal has changed: %s", d)
			}
		})
	}
}

func TestRowsOf(t *testing.T) {
	const many = 1 << 20
	for _, c := range []struct {
		name, text string
		rows, max  int
		want       []string
		cut        bool
	}{
		{"nothing", "", many, many, nil, false},
		{"lines", "a\r\n\r\nb\r\n", many, many, []string{"a", "", "b"}, false},
		{"an open line", "a\r\nb", many, many, []string{"a", "b"}, false},
		{"styles and links vanish", "\x1b[0;1;31mred\x1b[0m\x1b]8;id=a;http://x\x1b\\y\x1b]8;;\x1b\\\x1b[1\"qz\r\n", many, many, []string{"redyz"}, false},
		{"long lines wrap", "0123456789abc\r\nx\r\n", many, many, []string{"0123456789", "abc", "x"}, false},
		{"wide ones wrap early", "012345678世界", many, many, []string{"012345678", "世界"}, false},
		{"marks stay with what they join", "0123456789\u0301\u0302x", many, many, []string{"0123456789\u0301\u0302", "x"}, false},
		{"the newest rows", "a\r\nb\r\n0123456789c\r\n", 2, many, []string{"0123456789", "c"}, true},
		{"all rows just fit", "a\r\nb\r\n", 2, 2, []string{"a", "b"}, false},
		{"the newest bytes", "aaa\r\nb\r\nc\r\n", many, 4, []string{"b", "c"}, true},
		{"no rows", "a\r\n", 0, many, nil, true},
		{"what was cut continues", "0123456789abcdefghijklm\r\n", 2, many, []string{"abcdefghij", "klm"}, true},
		{"controls and broken ends vanish", "a\x00b\x1b[1", many, many, []string{"ab"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := RowsOf([]byte(c.text), 10, c.rows, c.max, false)
			if !slices.Equal(got.Plain, c.want) || got.Cut != c.cut {
				t.Errorf("rows are %q, %v, want %q, %v", got.Plain, got.Cut, c.want, c.cut)
			}
		})
	}
}

// What was committed at a width comes back as the rows that were on the screen
// at that width.
func TestHistoryHasTheRowsOfTheScreen(t *testing.T) {
	eachSeed(t, 200, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 8))
		cols := 4 + r.IntN(30)
		rec := &recorder{}
		small, large := New(cols, 1, rec), New(cols, 400, nil)
		g := newGen(seed, cols, 1)
		for range 40 {
			p := []byte(g.words() + g.glyphs() + "\x1b[3" + g.pick("1", "4") + "m" + g.words() + "\x1b[m\r\n")
			small.Feed(p)
			large.Feed(p)
		}
		rows := RowsOf(rec.history.Bytes(), cols, 1000, 1<<20, false)
		got, shown := rows.Plain, large.View(true, false)
		want := shown.Plain[:len(got)]
		for i := range want {
			// A blank that stands where a wide character didn't fit isn't text.
			if strings.TrimRight(got[i], " ") != strings.TrimRight(want[i], " ") {
				t.Errorf("row %d of %d columns is %q, want %q", i, cols, got[i], want[i])
				return
			}
		}
		if rows.Cut || len(got) < 40 {
			t.Errorf("%d rows, cut %v", len(got), rows.Cut)
		}
		if !slices.Equal(rows.Continued, shown.Continued) {
			t.Errorf("rows %d continue others, on the screen %d", rows.Continued, shown.Continued)
		}
	})
}

func TestHydrateShowsRowsLiterally(t *testing.T) {
	rec := &recorder{}
	term, cut, err := Hydrate(10, 4, Plain{
		Screen:  []string{"ready", "世界", "0123456789"},
		History: []string{"one", "", "e\u0301x"},
	}, rec)
	if err != nil || cut != 0 {
		t.Fatalf("%d rows cut, %v", cut, err)
	}
	if got, want := term.PlainScreen(), []string{"ready", "世界", "0123456789", ""}; !slices.Equal(got, want) {
		t.Errorf("rows are %q, want %q", got, want)
	}
	if got := rec.history.String(); got != "one\r\n\r\ne\u0301x\r\n" {
		t.Errorf("history is %q", got)
	}
	want := New(10, 4, nil).State()
	got := term.State()
	got.Primary.Lines = want.Primary.Lines
	if d := diffStates(want, got); d != "" {
		t.Errorf("more than cells has changed: %s", d)
	}
	if rec.wipes > 0 || rec.replies.Len() > 0 || len(rec.notices) > 0 {
		t.Error("hydration had side effects")
	}
}

func TestHydrateCountsCutRows(t *testing.T) {
	for _, c := range []struct {
		row, want string
		cut       int
	}{
		{"0123456789", "0123456789", 0},
		{"0123456789x", "0123456789", 1},
		{"012345678世", "012345678", 1},
		{"0123456789\u0301", "0123456789\u0301", 0},
		{"e" + strings.Repeat("\u0301", marksMax), "e" + strings.Repeat("\u0301", marksMax), 0},
		{"e" + strings.Repeat("\u0301", marksMax+1), "e" + strings.Repeat("\u0301", marksMax), 1},
		{"a\ufeffb", "ab", 1},
	} {
		rec := &recorder{}
		term, cut, err := Hydrate(10, 1, Plain{Screen: []string{c.row}, History: []string{c.row, "x"}}, rec)
		if err != nil || cut != 2*c.cut {
			t.Errorf("%q: %d rows cut, want %d; %v", c.row, cut, 2*c.cut, err)
			continue
		}
		if got := term.PlainScreen()[0]; got != c.want || rec.history.String() != c.want+"\r\nx\r\n" {
			t.Errorf("%q shows %q, history %q, want %q", c.row, got, rec.history.String(), c.want)
		}
	}
}

func TestHydrateRefusesWhatIsNotPlain(t *testing.T) {
	for _, row := range []string{"\x1b[2J", "a\nb", "a\r", "\t", "\x00", "\x7f", "\u009b2J", "\xff", "\xed\xa0\x80"} {
		for _, p := range []Plain{{Screen: []string{row}}, {History: []string{row}}} {
			if _, _, err := Hydrate(10, 2, p, nil); !errors.Is(err, ErrPlain) {
				t.Errorf("%q: %v", row, err)
			}
		}
	}
	if _, _, err := Hydrate(10, 2, Plain{Screen: make([]string, 3)}, nil); !errors.Is(err, ErrPlain) {
		t.Errorf("three rows for two: %v", err)
	}
}

// A checkpoint's text survives any number of restores, and the restored
// terminal is one like any other.
func checkHydration(t *testing.T, cols, rows int, screen []string) {
	t.Helper()
	term, cut, err := Hydrate(cols, rows, Plain{Screen: screen}, nil)
	if err != nil {
		for _, row := range screen {
			if !isPlain(row) {
				return
			}
		}
		if len(screen) <= rows {
			t.Errorf("%q is refused: %v", screen, err)
		}
		return
	}
	got := term.PlainScreen()
	again, more, err := Hydrate(cols, rows, Plain{Screen: got}, nil)
	if err != nil || more != 0 {
		t.Fatalf("%q restores with %d rows cut, %v", got, more, err)
	}
	if !slices.Equal(again.PlainScreen(), got) {
		t.Errorf("%q restores as %q", got, again.PlainScreen())
	}
	for y, row := range screen {
		if cut == 0 && got[y] != row && !startsWithMark(row) {
			t.Errorf("no row is cut, yet %q became %q", row, got[y])
		}
	}
	if d := diffStates(term.State(), fresh(cols, rows, term.AppendRepaint(nil)).State()); d != "" {
		t.Errorf("the repaint of %q differs: %s", got, d)
	}
}

func startsWithMark(row string) bool {
	r, _ := utf8.DecodeRuneInString(row)
	return row != "" && runeWidth(r) == 0
}

func TestPlainRowsSurviveRestores(t *testing.T) {
	eachSeed(t, 300, func(t *testing.T, seed uint64) {
		cols, rows := size(rand.New(rand.NewPCG(seed, 7)))
		g := newGen(seed, cols, rows)
		screen := fresh(cols, rows, g.stream(40)).PlainScreen()
		term, cut, err := Hydrate(cols, rows, Plain{Screen: screen}, nil)
		if err != nil || cut != 0 || !reflect.DeepEqual(term.PlainScreen(), screen) {
			t.Errorf("%q restores with %d rows cut, %v", screen, cut, err)
			return
		}
		checkHydration(t, cols, rows, screen)
	})
}

func FuzzHydrate(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(strings.Join(fresh(20, 5, newGen(seed, 20, 5).stream(20)).PlainScreen(), "\n"), uint8(20), uint8(5))
	}
	f.Add("\u0301\u0302x\n\ufeff\n世", uint8(3), uint8(3))
	f.Fuzz(func(t *testing.T, text string, cols, rows uint8) {
		checkHydration(t, int(cols%60)+2, int(rows%20)+1, strings.Split(text, "\n"))
	})
}
