// SPDX-License-Identifier: Apache-2.0

package emulator

// filler is a wide character that is painted only to be painted over.
const filler = "あ"

// cursorAndPen places the cursor and sets character sets and pen.
func (p *painter) cursorAndPen() {
	t := p.t
	detached := t.charset.detached()
	switch {
	case detached:
		p.charsets()
		p.restore()
	case t.pen.odd():
		p.restore()
		p.text("\x0f")
	}
	if t.modes.Origin {
		p.text("\x1b[?6h")
	}
	p.place()
	if !detached {
		p.charsets()
	}
	p.setStyle(t.pen.style)
	p.breakJoin()
}

// restore uses the register of the shown screen: DECRC alone can leave a
// mapping that isn't the designated one, and an odd pen.
//
// An odd pen owes lined to the register, or extended, or both. If extended has
// been settled since, it is settled again by the link.
func (p *painter) restore() {
	t := p.t
	if !t.pen.odd() {
		p.text("\x1b8")
		p.resetPen()
		return
	}
	p.setStyle(style{underline: t.pen.underline, link: t.pen.link, ul: t.pen.ul})
	p.text("\x1b8")
	r := &t.active.saved
	if r.extended != t.pen.extended {
		p.out = t.appendLink(p.out, t.pen.link)
	}
	p.at = style{fg: r.fg, bg: r.bg, attrs: r.attrs, ul: t.pen.ul, underline: t.pen.underline, link: t.pen.link}
	p.gentle = true
}

// charsets designates G0 to G3 and shifts one in.
func (p *painter) charsets() {
	c := &p.t.charset
	for level, final := range c.g {
		if final != charsetASCII {
			p.out = append(p.out, 0x1b, "()*+"[level], final)
		}
	}
	if c.level != 0 {
		p.text([...]string{"", "\x0e", "\x1bn", "\x1bo"}[c.level])
	}
}

// place puts the cursor where it is, or left of the last character if that is
// yet to be printed.
func (p *painter) place() {
	t := p.t
	s := t.active
	x := s.x
	torn := s.row(s.y).torn() && (x >= t.cols || t.dropped())
	switch {
	case t.last == 0 || t.dropped():
	case torn:
		x = t.cols // the last character is in the last column, and has to be left of it
	default:
		x -= t.last
	}
	switch {
	case t.modes.Origin && !s.inMargins():
		if torn {
			x = max(x, t.cols)
		}
		p.placeFromAlternate(x)
	case torn:
		y := s.y
		if t.modes.Origin {
			y -= s.top
		}
		p.torn(s.row(s.y), y, t.dropped())
		p.overhang()
	case x < t.cols:
		p.moveInMode(x)
	case s.row(s.y).class(t.cols-1) == classTail || s.row(s.y).cells[t.cols-1].printed():
		p.pendByReprint()
	case s.row(s.y).uniform(s.row(s.y).cells[0]) && p.erasable(s.row(s.y).cells[0]):
		p.pendByErase()
	default:
		p.placeFromAlternate(x)
	}
	if t.last > 0 && t.modes.Insert && !t.dropped() {
		// The last character will be inserted: take it out.
		p.csi(t.last, "P")
	}
}

// moveInMode moves on the cursor's line, which counts from the top margin in
// origin mode.
func (p *painter) moveInMode(x int) {
	s := p.t.active
	y := s.y
	if p.t.modes.Origin {
		y -= s.top
	}
	p.moveTo(x, y)
}

// pendByReprint brings the pending wrap about by printing what is in the last
// column again.
func (p *painter) pendByReprint() {
	s := p.t.active
	line := s.row(s.y)
	x := p.t.cols - 1
	if line.class(x) == classTail {
		x--
	}
	p.moveInMode(x)
	p.setStyle(p.t.styles.list[line.cells[x].style()])
	if p.t.charset.detached() {
		p.printMapped(line.cells[x])
	} else {
		p.out = p.t.clusters.appendContent(p.out, line.cells[x])
	}
	p.setStyle(style{})
	p.overhang()
}

// pendByErase brings it about on a blank line: what was printed for it is
// erased by EL 1, which leaves the cursor.
func (p *painter) pendByErase() {
	s := p.t.active
	p.moveInMode(p.t.cols - 1)
	p.text("x")
	p.setStyle(p.t.styles.list[s.row(s.y).cells[0].style()])
	p.text("\x1b[1K")
	p.setStyle(style{})
	p.overhang()
}

// placeFromAlternate places the cursor of the primary screen through the
// alternate one, from which it is carried over: beyond the margins in origin
// mode, or pending on a line that must not be touched.
func (p *painter) placeFromAlternate(x int) {
	y := p.t.active.y
	p.text("\x1b[?47h")
	p.moveTo(min(x, p.t.cols-1), y)
	if x >= p.t.cols {
		p.text("x")
		p.overhang()
	}
	p.text("\x1b[?47l")
}

// overhang moves a pending cursor one column further, as a zero-width
// character with nothing to join does.
func (p *painter) overhang() {
	if p.t.active.x > p.t.cols {
		p.breakJoin()
		p.text("\u0301")
	}
}

// lastCharacter prints the last character again.
func (p *painter) lastCharacter() {
	t := p.t
	s := t.active
	switch {
	case t.last == 0:
	case t.dropped():
		p.text(filler)
		p.text(p.owed)
	default:
		p.printMapped(s.row(s.y).cells[s.x-t.last])
	}
}

// printMapped prints the content of a cell through the mapping in force.
func (p *painter) printMapped(c cell) {
	mapping := p.t.charset
	for _, r := range p.t.clusters.appendRunes(nil, c) {
		from, _ := mapping.source(r)
		p.text(string(from))
	}
}
