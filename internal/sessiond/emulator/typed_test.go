// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"math/rand/v2"
	"testing"
)

// What a row keeps as typed is what its cells spell.
func TestTypedTextIsWhatTheCellsSpell(t *testing.T) {
	kept, styled := 0, 0
	eachSeed(t, 1500, func(t *testing.T, seed uint64) {
		cols, rows := size(rand.New(rand.NewPCG(seed, 9)))
		g := newGen(seed, cols, rows)
		term := New(cols, rows, nil)
		for range 12 {
			term.Feed(g.stream(1))
			term.Feed([]byte(g.glyphs() + g.words() + g.pick("", "\r\n", "\x1b[m\r\n", "\x1b[2K", "\r")))
			for y := range rows {
				line := *term.primary.row(y)
				if line.typedCols <= 0 {
					continue
				}
				kept++
				if line.typedStyle != 0 {
					styled++
				}
				typed := string(line.typed)
				line.typedCols = -1
				var spelt history
				spelt.appendRow(term, &line, followedByBreak)
				if string(spelt.text) != typed || spelt.at != line.typedStyle {
					t.Errorf("typed is %q, the cells spell %q", typed, spelt.text)
				}
			}
		}
	})
	if kept == 0 || styled == 0 {
		t.Errorf("%d rows kept what was typed, %d of them with a style", kept, styled)
	}
}

// The numbers of styles change when their table is rebuilt; what was typed doesn't.
func TestTypedTextOutlivesARebuildOfTheStyles(t *testing.T) {
	rec := &recorder{}
	term := New(20, 2, rec)
	term.Feed([]byte("\x1b[34mgone\x1b[2K\r\x1b[31mred\x1b[m, \x1b[32mgreen"))
	if r := term.active.row(0); r.typedCols != 10 || r.typedStyle == 0 {
		t.Fatalf("%d columns are typed, in the style %d", r.typedCols, r.typedStyle)
	}
	term.compact()
	term.Feed([]byte("er\x1b[m.\r\n\n"))
	want := New(20, 2, nil)
	want.Feed([]byte("\x1b[31mred\x1b[m, \x1b[32mgreener\x1b[m."))
	var spelt history
	want.active.row(0).typedCols = -1
	spelt.commit(want, want.active.row(0), followedByBreak)
	if got := rec.history.String(); got != string(spelt.text) {
		t.Errorf("history is %q, want %q", got, spelt.text)
	}
}
