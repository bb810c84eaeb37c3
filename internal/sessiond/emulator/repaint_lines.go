// SPDX-License-Identifier: Apache-2.0

package emulator

import "slices"

// wrap sets the wrapped flag of the line below y by printing over the end of
// line y. Both lines are blank, before and after.
func (p *painter) wrap(y int) {
	p.moveTo(p.t.cols-1, y)
	p.text("xx")
	p.blank(y)
	p.blank(y + 1)
}

// wrapFirst sets the wrapped flag of the first line. It comes from the second
// one, which a deletion moves up. All lines are blank, before and after.
func (p *painter) wrapFirst(s *screen) {
	p.moveTo(p.t.cols-1, 0)
	p.text("xx")
	if len(s.order) > 1 {
		p.text("\x1b[H\x1b[M")
	}
	p.blank(0)
}

// blank erases a line and leaves its wrapped flag.
func (p *painter) blank(y int) {
	p.moveTo(0, y)
	p.csi(p.t.cols, "X")
}

// line paints a row onto a blank line: erased cells by ECH under their
// background, all others by printing them.
func (p *painter) line(r *row, y int) {
	if r.torn() {
		whole := *r
		whole.cells = slices.Clone(r.cells)
		clear(whole.cells[len(whole.cells)-2:])
		p.line(&whole, y)
		p.torn(r, y, false)
		return
	}
	littered := p.hollows(r, y)
	next := -1 // the column that printing goes on in
	end := r.used
	if littered {
		end = len(r.cells)
	}
	for x := 0; x < end; x++ {
		c := r.cells[x]
		switch {
		case c == 0 && !littered, c.class() == classTail, p.t.hollow(c):
		case c.blank():
			n := 1
			for x+n < end && r.cells[x+n] == c {
				n++
			}
			p.moveTo(x, y)
			p.cellStyle(c)
			p.csi(n, "X")
			x += n - 1
			next = -1
		default:
			next = p.glyph(c, x, y, next)
		}
	}
	p.setStyle(style{})
}

// glyph prints a cell and returns the column after it, if printing may go on
// there.
func (p *painter) glyph(c cell, x, y, next int) int {
	if x != next || c.class() == classMark {
		p.moveTo(x, y)
	}
	p.room(0)
	p.cellStyle(c)
	if code := c & contentMask; code < 0x80 {
		p.out = append(p.out, byte(code))
	} else {
		p.out = p.t.clusters.appendContent(p.out, c)
	}
	switch c.class() {
	case classHead:
		return x + 2
	case classMark:
		return -1
	}
	return x + 1
}

// cellStyle sets the pen for a cell.
func (p *painter) cellStyle(c cell) {
	to := &p.t.styles.list[c.style()]
	switch {
	case *to == p.at:
	case to.link == p.at.link && (to.attrs|p.at.attrs)&attrProtected == 0:
		p.out = append(p.out, p.t.styles.sgr(c.style())...)
		p.at = *to
	default:
		p.setStyle(*to)
	}
}

// hollows makes the hollow cells of a row on a blank line, and reports whether
// there were any: then it left litter in others. A wide character whose right
// half is overwritten leaves one in its left half. Those at the end of the
// line are made one column to the left and shifted.
func (p *painter) hollows(r *row, y int) bool {
	run := len(r.cells)
	for run > 0 && p.t.hollow(r.cells[run-1]) {
		run--
	}
	littered := run < len(r.cells)
	for x := run; x < len(r.cells); x++ {
		p.hollowCell(r.cells[x], x-1, y)
	}
	if littered {
		p.setStyle(style{})
		p.moveTo(0, y)
		p.csi(1, "@")
	}
	for x := range run {
		if p.t.hollow(r.cells[x]) {
			p.hollowCell(r.cells[x], x, y)
			littered = true
		}
	}
	return littered
}

func (p *painter) hollowCell(c cell, x, y int) {
	p.moveTo(x, y)
	p.text(filler)
	p.moveTo(x+1, y)
	p.cellStyle(c)
	p.text("x")
}

func (p *painter) erasable(c cell) bool {
	return c.blank() && p.t.styles.list[c.style()].erasable()
}
