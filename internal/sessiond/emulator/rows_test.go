// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Rows are the same wherever the text is cut into pieces, within sequences, characters and line breaks too.
func TestRowsOfPiecesAreThoseOfTheWhole(t *testing.T) {
	eachSeed(t, 100, func(t *testing.T, seed uint64) {
		g := newGen(seed, 20, 3)
		rec := &recorder{}
		term := New(20, 3, rec)
		for range 12 {
			term.Feed(g.stream(20))
			term.Feed([]byte(g.glyphs() + "\x1b[m\r\n"))
		}
		text := rec.history.Bytes()
		r := rand.New(rand.NewPCG(seed, 9))
		for _, cols := range []int{1, 2, 7, 90} {
			whole := RowsOf(text, cols, 1<<20, 1<<30, true)
			if whole.Cut {
				t.Fatal("the whole was cut")
			}
			for _, most := range []int{1, 2, 7, 300} {
				var got HistoryRows
				rows := NewRowCutter(cols, true, func(plain, styled []byte, continues bool) {
					if continues {
						got.Continued = append(got.Continued, len(got.Plain))
					}
					got.Plain, got.Styled = append(got.Plain, string(plain)), append(got.Styled, string(styled))
				})
				for rest := text; len(rest) > 0; {
					n := min(len(rest), 1+r.IntN(most))
					piece := slices.Clone(rest[:n])
					rows.Feed(piece)
					clear(piece) // it is the caller's again
					rest = rest[n:]
				}
				rows.End()
				if !reflect.DeepEqual(got, whole) {
					t.Fatalf("%d columns, pieces of up to %d: rows\n%+q\nwant\n%+q", cols, most, got.Plain, whole.Plain)
				}
			}
		}
	})
}

func TestRowCutterEndsALineThatWasLeftOpen(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"a\r\nb", []string{"a", "b"}},
		{"a\r\n", []string{"a"}},
		{"\r\n", []string{""}},
		{"a\r", []string{"a"}},
		{"\x1b[0;1", []string{""}},
		{"\xe4\xb8", []string{"\xe4\xb8"}},
	} {
		var got []string
		rows := NewRowCutter(10, false, func(plain, _ []byte, _ bool) { got = append(got, string(plain)) })
		rows.Feed([]byte(c.text))
		rows.End()
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: rows are %q, want %q", c.text, got, c.want)
		}
	}
}

// What is kept between two pieces is the present row, however long its line is.
func TestRowCutterKeepsNoMoreThanARow(t *testing.T) {
	const cols, piece = 80, 4 << 10
	shown := 0
	rows := NewRowCutter(cols, true, func(plain, _ []byte, _ bool) { shown += len(plain) })
	word := []byte(strings.Repeat("\x1b[0;31mred\x1b[0m世界", piece/20))
	for range 200 {
		rows.Feed(word)
	}
	if shown < 200*piece/4 {
		t.Errorf("%d bytes of rows were shown", shown)
	}
	if kept := cap(rows.text) + cap(rows.open) + cap(rows.sgr) + cap(rows.row); kept > 8*piece {
		t.Errorf("%d bytes are kept of a line in pieces of %d", kept, len(word))
	}
}
