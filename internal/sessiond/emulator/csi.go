// SPDX-License-Identifier: Apache-2.0

package emulator

// Identifiers of control sequences: prefix, intermediates, final byte.
const (
	idPrivate   = '?' << 8
	idSecondary = '>' << 8
	idLess      = '<' << 8
	idEqual     = '=' << 8
	idSpace     = ' ' << 8
	idBang      = '!' << 8
	idQuote     = '"' << 8
	idApos      = '\'' << 8
	idDollar    = '$' << 8
)

// csi carries out a control sequence with the parameters of the parser.
// Counts are cut to the geometry where they are used.
func (t *Terminal) csi(id int) {
	if id > 0xff {
		t.csiExtended(id)
		return
	}
	p := &t.parser.params
	switch id {
	case 'm':
		t.sgr(p)
	case 'H', 'f':
		t.moveTo(p.count(1)-1, p.count(0)-1)
	case 'A':
		t.up(p.count(0))
	case 'B':
		t.down(p.count(0))
	case 'C', 'a':
		t.moveBy(p.count(0), 0)
	case 'D':
		t.moveBy(-p.count(0), 0)
	case 'E':
		t.down(p.count(0))
		t.active.x = 0
	case 'F':
		t.up(p.count(0))
		t.active.x = 0
	case 'G', '`':
		t.moveTo(p.count(0)-1, t.active.y)
	case 'd':
		t.moveTo(t.active.x, p.count(0)-1)
	case 'e':
		t.moveBy(0, p.count(0))
	case 'I':
		t.tabForward(p.count(0))
	case 'Z':
		t.tabBackward(p.count(0))
	case 'g':
		t.tabClear(p.at(0))
	default:
		t.csiEdit(id, p)
	}
}

// csiEdit carries out the sequences that change what the screen shows.
func (t *Terminal) csiEdit(id int, p *params) {
	switch id {
	case 'K':
		t.eraseLine(p.at(0), false)
	case 'J':
		t.eraseDisplay(p.at(0), false)
	case 'X':
		t.eraseChars(p.count(0))
	case '@':
		t.insertChars(p.count(0))
	case 'P':
		t.deleteChars(p.count(0))
	case 'L':
		t.insertLines(p.count(0))
	case 'M':
		t.deleteLines(p.count(0))
	case 'S':
		t.scrollUp(p.count(0))
	case 'T':
		t.scrollDown(p.count(0))
	case 'b':
		t.repeat(p.count(0))
	case 'r':
		t.setMargins(p.count(0), p.at(1))
	case 's':
		t.saveCursor()
	case 'u':
		t.restoreCursor()
	default:
		t.csiModesAndQueries(id, p)
	}
}

func (t *Terminal) csiModesAndQueries(id int, p *params) {
	switch id {
	case 'h':
		t.setModes(p, true)
	case 'l':
		t.setModes(p, false)
	case 'c':
		t.primaryAttributes(p)
	case 'n':
		t.deviceStatus(p.at(0))
	case 't':
		t.window(p)
	}
}

// csiExtended carries out the sequences with a prefix or intermediates.
func (t *Terminal) csiExtended(id int) {
	p := &t.parser.params
	switch id {
	case idPrivate | 'h':
		t.setPrivateModes(p, true)
	case idPrivate | 'l':
		t.setPrivateModes(p, false)
	case idPrivate | 'J':
		t.eraseDisplay(p.at(0), true)
	case idPrivate | 'K':
		t.eraseLine(p.at(0), true)
	case idPrivate | 'n':
		t.privateStatus(p.at(0))
	case idSecondary | 'c':
		t.secondaryAttributes(p)
	case idEqual | 'u':
		t.active.keyboard.set(p.at(0), p.count(1))
	case idSecondary | 'u':
		t.active.keyboard.push(p.at(0))
	case idLess | 'u':
		t.active.keyboard.pop(p.count(0))
	case idBang | 'p':
		t.softReset()
	case idSpace | 'q':
		t.setCursorStyle(p.at(0))
	case idSpace | '@':
		t.shiftColumns(0, -p.count(0))
	case idSpace | 'A':
		t.shiftColumns(0, p.count(0))
	case idApos | '}':
		t.shiftColumns(t.active.x, p.count(0))
	case idApos | '~':
		t.shiftColumns(t.active.x, -p.count(0))
	case idQuote | 'q':
		t.protect(p.at(0))
	case idDollar | 'p':
		t.reportMode(p.at(0))
	case idPrivate<<8 | idDollar | 'p':
		t.reportPrivateMode(p.at(0))
	}
}

// protect is DECSCA: what is printed from now on resists selective erasure.
func (t *Terminal) protect(what int) {
	switch what {
	case 0, 2:
		t.pen.attrs &^= attrProtected
	case 1:
		t.pen.attrs |= attrProtected
	}
	t.pen.fresh = 0
}

// window is XTWINOPS: the size report and the title stack. All else a program
// can't make a browser do.
func (t *Terminal) window(p *params) {
	switch p.at(0) {
	case 18:
		t.reportSize()
	case 22:
		t.pushTitle(p.at(1))
	case 23:
		t.popTitle(p.at(1))
	}
}
