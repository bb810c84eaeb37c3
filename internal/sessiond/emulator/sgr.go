// SPDX-License-Identifier: Apache-2.0

package emulator

// sgr is Select Graphic Rendition, by the rules of xterm.js.
func (t *Terminal) sgr(p *params) {
	s := &t.pen.style
	t.pen.fresh = 0
	for i := 0; i < p.n; i++ {
		switch v := p.v[i]; {
		case v == 0:
			*s = style{link: s.link}
			t.pen.underlineAs(0)
		case v >= 30 && v <= 37:
			s.fg = colorBasic | color(v-30)
		case v >= 40 && v <= 47:
			s.bg = colorBasic | color(v-40)
		case v == 38 || v == 48 || v == 58:
			if p.subN == 0 && i+2 < p.n && p.v[i+1] == 5 {
				s.setTarget(v, colorIndexed|color(p.v[i+2]&0xff))
				i += 2
			} else {
				i += s.extendedColor(p, i)
			}
		case v >= 90 && v <= 97:
			s.fg = colorBasic | color(v-90+8)
		case v >= 100 && v <= 107:
			s.bg = colorBasic | color(v-100+8)
		case v == 4:
			t.pen.underlineAs(underlineKind(p.subs(i)))
		default:
			t.pen.simple(v)
		}
	}
}

// underlineKind returns the kind that the sub-parameters of SGR 4 name.
func underlineKind(subs []int32) uint8 {
	if len(subs) == 0 || subs[0] < 0 || subs[0] > 5 {
		return 1
	}
	return uint8(subs[0])
}

// simple carries out the parameters that stand alone.
func (p *pen) simple(v int32) {
	s := &p.style
	switch v {
	case 1:
		s.attrs |= attrBold
	case 2:
		s.attrs |= attrDim
	case 3:
		s.attrs |= attrItalic
	case 5:
		s.attrs |= attrBlink
	case 7:
		s.attrs |= attrInverse
	case 8:
		s.attrs |= attrInvisible
	case 9:
		s.attrs |= attrStrike
	case 21:
		p.underlineAs(2)
	case 22:
		s.attrs &^= attrBold | attrDim
	case 23:
		s.attrs &^= attrItalic
	case 24:
		p.underlineAs(0)
	case 25:
		s.attrs &^= attrBlink
	case 27:
		s.attrs &^= attrInverse
	case 28:
		s.attrs &^= attrInvisible
	case 29:
		s.attrs &^= attrStrike
	case 39:
		s.fg = 0
	case 49:
		s.bg = 0
	case 53:
		s.attrs |= attrOverline
	case 55:
		s.attrs &^= attrOverline
	case 59:
		s.ul = underlineUnset
		p.settle()
	}
}

// extendedColor carries out 38, 48 and 58 at parameter i, in the forms with
// ';', with ':' and mixed. It returns how many further parameters it used.
//
// The parts fill six slots: target, kind, colour space, and three values. The
// colour space has no parameter in the forms with ';'.
func (s *style) extendedColor(p *params, i int) int {
	slots := [6]int32{0, 0, -1, 0, 0, 0}
	used, skip := 0, 0
	for {
		slots[used+skip] = p.v[i+used]
		if subs := p.subs(i + used); len(subs) > 0 {
			for k, v := range subs {
				if slots[1] == 5 {
					skip = 1
				}
				at := used + k + 1 + skip
				if at >= len(slots) {
					break
				}
				slots[at] = v
			}
			break
		}
		if slots[1] == 5 && used+skip >= 2 || slots[1] == 2 && used+skip >= 5 {
			break
		}
		if slots[1] != 0 {
			skip = 1
		}
		used++
		if i+used >= p.n || used+skip >= len(slots) {
			break
		}
	}
	s.setColor(slots)
	return used
}

func (s *style) setColor(slots [6]int32) {
	for i := range slots[2:] {
		slots[2+i] = max(slots[2+i], 0)
	}
	var c color
	switch slots[1] {
	case 2:
		c = colorRGB | color(slots[3]&0xff)<<16 | color(slots[4]&0xff)<<8 | color(slots[5]&0xff)
	case 5:
		c = colorIndexed | color(slots[3]&0xff)
	default:
		return
	}
	s.setTarget(slots[0], c)
}

func (s *style) setTarget(target int32, c color) {
	switch target {
	case 38:
		s.fg = c
	case 48:
		s.bg = c
	case 58:
		s.ul = c
	}
}
