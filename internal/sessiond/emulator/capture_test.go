// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sgr finds the only sequence that styled rows may hold.
var sgr = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// bare drops from a cell what styled rows don't tell.
func bare(c CellState) CellState {
	c.Style.Link, c.Style.LinkID, c.Style.URI = 0, "", ""
	c.Style.Attributes &^= attrProtected
	return c
}

// Styled rows hold SGR and the plain text, and whoever prints one gets the
// cells of the screen.
func TestStyledRowsShowTheScreen(t *testing.T) {
	eachSeed(t, 400, func(t *testing.T, seed uint64) {
		cols, rows := size(rand.New(rand.NewPCG(seed, 11)))
		g := newGen(seed, cols, rows)
		term := fresh(cols, rows, g.stream(40))
		before := term.State()
		for _, primary := range []bool{true, false} {
			v := term.View(primary, true)
			lines := before.Primary.Lines
			if !primary && before.AlternateActive {
				lines = before.Alternate.Lines
			}
			for y, row := range v.Styled {
				text := sgr.ReplaceAllString(row, "")
				if !isPlain(text) || strings.TrimRight(text, " ") != strings.TrimRight(v.Plain[y], " ") {
					t.Errorf("row %d is %q and plainly %q", y, row, v.Plain[y])
				}
				if d := rowDiff(fresh(cols+1, 1, []byte(row)), lines[y]); d != "" {
					t.Errorf("row %d, %q: %s", y, row, d)
				}
			}
		}
		if d := diffStates(before, term.State()); d != "" {
			t.Errorf("looking changed it: %s", d)
		}
	})
}

// rowDiff compares what a row was printed to with the cells it was taken from.
// Cells that no SGR and text can make are left out: those that a wide character
// left behind, and marks that had nothing to join.
func rowDiff(got *Terminal, want LineState) string {
	cells := got.State().Primary.Lines[0].Cells
	for x, c := range want.Cells {
		if x > 0 && want.Cells[x-1].Width == 2 && c.Width != 0 || c.Width == 0 && c.Text != "" || c.Width == 2 && x+1 < len(want.Cells) && want.Cells[x+1].Width != 0 {
			return ""
		}
		a, b := bare(cells[x]), bare(c)
		if a.Text == " " && b.Text == "" {
			a.Text = "" // a blank is printed where nothing was
		}
		if a.Text == "" {
			a.Style, b.Style = CellStyle{Background: a.Style.Background}, CellStyle{Background: b.Style.Background}
		}
		if a.Text != b.Text || a.Width != b.Width || a.Style.canonical() != b.Style.canonical() {
			return fmt.Sprintf("column %d is %+v, want %+v", x, a, b)
		}
	}
	return ""
}

func (s CellStyle) canonical() CellStyle {
	if s.Underline == 0 {
		s.UnderlineColor = 0
	}
	return s
}

func TestStyledRowsAreThePlainOnesWithLooks(t *testing.T) {
	eachSeed(t, 200, func(t *testing.T, seed uint64) {
		g := newGen(seed, 20, 3)
		rec := &recorder{}
		term := New(20, 3, rec)
		for range 12 {
			term.Feed(g.stream(20))
			term.Feed([]byte("\x1b[m\r\n"))
		}
		text, limit := rec.history.Bytes(), rec.history.Len()*3
		for _, cols := range []int{2, 7, 20, 90} {
			plain := RowsOf(text, cols, 1000, limit, false)
			rows := RowsOf(text, cols, 1000, 10*limit+1000, true)
			if plain.Cut || !slices.Equal(rows.Plain, plain.Plain) || len(rows.Styled) != len(rows.Plain) || !slices.Equal(rows.Continued, plain.Continued) {
				t.Fatalf("%d, %d and %d rows, cut %v", len(plain.Plain), len(rows.Plain), len(rows.Styled), plain.Cut)
			}
			for i, row := range rows.Styled {
				if sgr.ReplaceAllString(row, "") != plain.Plain[i] {
					t.Errorf("row %d is %q and plainly %q", i, row, plain.Plain[i])
				}
			}
			checkLooks(t, text, rows.Styled)
		}
	})
}

// checkLooks compares the looks of all characters of a history, in order, with
// those in the rows that were made of it.
func checkLooks(t *testing.T, text []byte, styled []string) {
	t.Helper()
	looks := func(p []byte) (out []string) {
		now := string(defaultLook)
		for len(p) > 0 {
			if m := sgr.FindIndex(p); m != nil && m[0] == 0 {
				now, p = string(p[:m[1]]), p[m[1]:]
				continue
			}
			n := 1
			if p[0] == 0x1b {
				n, _ = escapeLen(p)
			} else if p[0] >= 0x20 {
				out = append(out, now+string(p[0]))
			}
			p = p[n:]
		}
		return out
	}
	want := looks(text)
	got := looks([]byte(strings.Join(styled, "")))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%d characters with looks, want %d, or they differ", len(got), len(want))
	}
}

func TestStyledRowsAreCutInsideALook(t *testing.T) {
	text := []byte("a\x1b[0;31mbcd\x1b[0;1mef\x1b[0mg\r\n")
	h := RowsOf(text, 3, 2, 1000, true)
	if want := []string{"\x1b[0;31md\x1b[0;1mef\x1b[0m", "g"}; !slices.Equal(h.Styled, want) || !h.Cut {
		t.Errorf("%q, cut %v, want %q", h.Styled, h.Cut, want)
	}
	if want := []string{"def", "g"}; !slices.Equal(h.Plain, want) || !slices.Equal(h.Continued, []int{0, 1}) {
		t.Errorf("%q, want %q; %d continue others", h.Plain, want, h.Continued)
	}
	if h := RowsOf(text, 3, 9, len("g")+len("g"), true); len(h.Plain) != 1 || !h.Cut {
		t.Errorf("%q, cut %v: plain and styled bytes count", h.Plain, h.Cut)
	}
}

// One line without an end, in a million looks, costs each row what the row has.
func TestStyledRowsOfAnEndlessLineAreLinear(t *testing.T) {
	text := bytes.Repeat([]byte("\x1b[0;31ma\x1b[0;32mb"), 100_000)
	if h := RowsOf(text, 80, 2500, 8<<20, true); len(h.Plain) != 2500 || len(h.Styled) != 2500 || h.Cut {
		t.Errorf("%d rows, cut %v", len(h.Plain), h.Cut)
	}
}

func TestViewTellsTheCursorOfTheScreenAskedFor(t *testing.T) {
	term := fresh(5, 3, []byte("abcde\x1b[?47h\x1b[2;2H"))
	if v := term.View(true, false); v.Row != 0 || v.Col != 4 || v.PendingWrap || v.Styled != nil {
		t.Errorf("primary: %+v", v) // the cursor was carried over, which ends its pending wrap
	}
	if v := term.View(false, false); v.Row != 1 || v.Col != 1 || !term.AlternateActive() {
		t.Errorf("shown: %+v", v)
	}
	if v := fresh(5, 3, []byte("abcde")).View(false, false); v.Col != 4 || !v.PendingWrap {
		t.Errorf("pending: %+v", v)
	}
}
