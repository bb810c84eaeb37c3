// SPDX-License-Identifier: Apache-2.0

package emulator

// torn paints the end of a torn row, whose other columns are painted, and
// leaves the cursor beyond the last column if that holds a character. y counts
// from the top margin in origin mode.
//
// The half that is left is either a wide character, over whose right half
// something was printed without autowrap, or a narrow one: a wide character
// without room vanishes, but its marks then join the one left of the last
// column and make that wide.
//
// With dropped such a character is the last thing that was done. Its effect on
// a column that is blank is left to whoever prints it again.
func (p *painter) torn(r *row, y int, dropped bool) {
	t := p.t
	x := t.cols - 2
	half, last := r.cells[x], r.cells[x+1]
	if t.clusters.width(half) == 2 {
		p.moveTo(x, y)
		p.setStyle(t.styles.list[half.style()])
		p.out = t.clusters.appendContent(p.out, half)
		switch {
		case last.printed():
			p.withoutAutowrap(last, "")
		case !dropped:
			p.withoutAutowrap(last, filler)
		}
	} else {
		p.widened(half, last, y, dropped)
	}
	p.setStyle(style{})
}

// widened paints a narrow character that marks have made wide, or marks alone.
func (p *painter) widened(half, last cell, y int, dropped bool) {
	t := p.t
	x := t.cols - 2
	if !last.printed() {
		p.moveTo(x+1, y)
		p.setStyle(t.styles.list[last.style()])
		p.csi(1, "X")
	}
	p.moveTo(x, y)
	p.setStyle(t.styles.list[half.style()])
	marks := t.clusters.appendRunes(nil, half)
	if runeWidth(marks[0]) > 0 {
		p.text(string(marks[0]))
		marks = marks[1:]
	} else {
		p.csi(1, "X")
		p.moveTo(x+1, y)
	}
	if dropped && !last.printed() {
		p.owed = string(marks)
		return
	}
	p.withoutAutowrap(last, filler+string(marks))
}

// withoutAutowrap prints, in the style of the last cell, what goes before its
// content and the content.
func (p *painter) withoutAutowrap(last cell, before string) {
	p.setStyle(p.t.styles.list[last.style()])
	p.text("\x1b[?7l")
	p.text(before)
	if last.class() == classMark {
		// It takes the column that a first one left without.
		if before != "" {
			p.text("x")
		}
		p.breakJoin()
		p.text("\u0301")
	}
	if last.printed() {
		p.out = p.t.clusters.appendContent(p.out, last)
	}
	p.text("\x1b[?7h")
}
