// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"math/bits"
	"math/rand/v2"
)

// color is a colour as a cell has it: a kind in bits 24–25 and a value below.
// The zero color is the default one.
type color uint32

const (
	colorBasic   color = 1 << 24 // one of the 16 colours of SGR 30–37, 90–97
	colorIndexed color = 2 << 24 // one of 256
	colorRGB     color = 3 << 24 // 0xRRGGBB
	colorKind    color = 3 << 24

	// underlineUnset is what SGR 59 leaves. xterm.js stores it as white.
	underlineUnset color = colorRGB | 0xffffff
)

// The attributes of a style.
const (
	attrBold uint16 = 1 << iota
	attrDim
	attrItalic
	attrBlink
	attrInverse
	attrInvisible
	attrStrike
	attrOverline
	attrProtected
)

// attrsOnBlank are the attributes that an erased cell shows or obeys.
const attrsOnBlank = attrInverse | attrStrike | attrOverline | attrProtected

// style is everything about a cell but its content.
type style struct {
	fg, bg, ul color
	link       uint32 // index into the link table, 0 = none
	attrs      uint16
	underline  uint8 // 0 none, 1 single, 2 double, 3 curly, 4 dotted, 5 dashed
}

// canonical drops what can't be seen: the colour of an absent underline.
func (s style) canonical() style {
	if s.underline == 0 {
		s.ul = 0
	}
	return s
}

// onBlank drops from a style what an erased cell doesn't show.
func (s style) onBlank() style {
	if s.attrs&attrsOnBlank == 0 && s.underline == 0 && s.link == 0 {
		return style{bg: s.bg}
	}
	return s.canonical()
}

// erasable reports whether an erase sequence can leave a cell in this style.
func (s style) erasable() bool { return s == style{bg: s.bg} }

// styleKey is a canonical style in two words, for comparing and hashing it. The
// second one has the colour of the underline and the link.
type styleKey struct{ look, more uint64 }

// key packs a style: a color takes 26 bits, the attributes 9, the underline 3.
func (s *style) key() styleKey {
	return styleKey{
		look: uint64(s.fg) | uint64(s.bg)<<26 | uint64(s.attrs)<<52 | uint64(s.underline)<<61,
		more: uint64(s.ul) | uint64(s.link)<<32,
	}
}

// hashSeeds are random, so that no stream can be made to collide.
var hashSeeds = [2]uint64{rand.Uint64(), rand.Uint64()}

// hash mixes the words twice, by the halves of their products, as wyhash does:
// styles come in rows, one colour after the other, and one multiplication by an
// unlucky seed would put a row into few slots.
func (k styleKey) hash() uint64 {
	hi, lo := bits.Mul64(k.look^hashSeeds[0], k.more^hashSeeds[1])
	hi, lo = bits.Mul64(lo^0x9e3779b97f4a7c15, hi^0xc2b2ae3d27d4eb4f)
	return hi ^ lo
}

// styleSlots is how many slots a table has at first, a power of two.
const styleSlots = 64

// styleTable gives each distinct style a number. Number 0 is the default
// style. Numbers are stable until the table is rebuilt.
type styleTable struct {
	list []style
	keys []styleKey // of list
	// text holds the SGR of each style, "" until it is asked for.
	text []string
	// slots finds a number by the lower bits of its key's hash, and goes on from
	// there to the first free slot, which is 0. At least half of them are free.
	slots []uint32
}

func (s *styleTable) reset() {
	s.list = append(s.list[:0], style{})
	s.keys = append(s.keys[:0], styleKey{})
	s.text = append(s.text[:0], "")
	s.slots = make([]uint32, styleSlots)
}

// intern returns the number of a canonical style.
func (s *styleTable) intern(k style) uint32 {
	key := k.key()
	if key == (styleKey{}) {
		return 0
	}
	id, slot := s.find(key)
	if id == 0 {
		id = uint32(len(s.list))
		s.list = append(s.list, k)
		s.keys = append(s.keys, key)
		s.text = append(s.text, "")
		s.slots[slot] = id
		if 2*len(s.list) > len(s.slots) {
			s.grow()
		}
	}
	return id
}

// find returns the number of a style that isn't the default one, 0 if it has none,
// and the slot where it is, or goes.
func (s *styleTable) find(key styleKey) (id uint32, slot uint64) {
	mask := uint64(len(s.slots) - 1)
	slot = key.hash() & mask
	for {
		id = s.slots[slot]
		if id == 0 || s.keys[id] == key {
			return id, slot
		}
		slot = (slot + 1) & mask
	}
}

// grow doubles the slots.
func (s *styleTable) grow() {
	s.slots = make([]uint32, 2*len(s.slots))
	for id, key := range s.keys[1:] {
		_, slot := s.find(key)
		s.slots[slot] = uint32(id) + 1
	}
}

// sgr returns the SGR that sets a style.
func (s *styleTable) sgr(id uint32) string {
	if s.text[id] == "" {
		s.text[id] = string(appendSGR(nil, s.list[id]))
	}
	return s.text[id]
}

// plainChange reports whether an SGR alone leads from one style to another.
func (s *styleTable) plainChange(from, to uint32) bool {
	a, b := &s.list[from], &s.list[to]
	return a.link == b.link && (a.attrs|b.attrs)&attrProtected == 0
}

// pen is what the next printed character looks like, with its numbers.
type pen struct {
	style
	// lined and extended are what DECSC saves of underline and link: that
	// there is one, and that there is either. DECRC brings them back as they
	// were, whatever kind of underline and which link the pen has by now, and
	// so may hide both, or underline without a kind; see shown. Elsewhere they
	// say what style says.
	lined, extended bool
	// printed, blank and erased are the style bits of a printed cell, the cell
	// that a print leaves where it breaks a wide one, and the cell that an erase
	// leaves; each valid only if its bit of fresh is set.
	printed, blank, erased cell
	fresh                  uint8
}

// The bits of fresh. Whoever changes a pen sets it to 0.
const (
	freshPrinted = 1 << iota
	freshBlank
	freshErased
)

// shown returns the style that is applied.
func (p *pen) shown() style {
	s := p.style
	if !p.extended {
		s.link, s.ul, s.underline = 0, 0, 1
	}
	if !p.lined {
		s.underline = 0
	}
	return s
}

// settle makes the pen extended as its underline and link have it.
func (p *pen) settle() {
	p.extended = p.underline != 0 || p.link != 0
}

// underlineAs sets or, with kind 0, ends an underline.
func (p *pen) underlineAs(kind uint8) {
	p.underline, p.lined = kind, kind != 0
	p.settle()
}

// odd reports whether only DECRC can have left a pen like this.
func (p *pen) odd() bool {
	return p.lined != (p.underline != 0) || p.extended != (p.underline != 0 || p.link != 0)
}

// gentlyReaches reports whether an odd pen can print in a style without being
// made even: underline and link are what the pen shows.
func (p *pen) gentlyReaches(s style) bool {
	shown := p.shown().canonical()
	return s.underline == shown.underline && s.link == shown.link && s.ul == shown.ul
}

// key returns the key of what the pen shows.
func (p *pen) key() styleKey {
	if p.odd() {
		s := p.shown().canonical()
		return s.key()
	}
	k := p.style.key()
	if p.underline == 0 {
		k.more &^= 1<<32 - 1 // no underline, no colour of it
	}
	return k
}

// even makes the pen one that isn't odd and looks the same.
func (p *pen) even() {
	p.style = p.shown()
	p.underlineAs(p.underline)
	p.fresh = 0
}

// penStyle returns the style bits of a printed cell.
func (t *Terminal) penStyle() cell {
	if t.pen.fresh&freshPrinted == 0 {
		t.refreshPrinted()
	}
	return t.pen.printed
}

func (t *Terminal) refreshPrinted() {
	p := &t.pen
	p.printed = 0
	if key := p.key(); key != (styleKey{}) {
		id, _ := t.styles.find(key)
		if id == 0 {
			id = t.styles.intern(p.shown().canonical())
		}
		p.printed = styled(id)
	}
	p.fresh |= freshPrinted
}

// penBlank returns the cell that a print leaves where it breaks a wide one.
func (t *Terminal) penBlank() cell {
	p := &t.pen
	if p.fresh&freshBlank == 0 {
		p.blank = styled(t.styles.intern(p.shown().onBlank()))
		p.fresh |= freshBlank
	}
	return p.blank
}

// erased returns the cell that an erase leaves: the background alone.
func (t *Terminal) erased() cell {
	p := &t.pen
	if p.fresh&freshErased == 0 {
		p.erased = styled(t.styles.intern(style{bg: p.bg}))
		p.fresh |= freshErased
	}
	return p.erased
}

func (t *Terminal) protected(c cell) bool {
	return t.styles.list[c.style()].attrs&attrProtected != 0
}
