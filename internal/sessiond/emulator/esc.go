// SPDX-License-Identifier: Apache-2.0

package emulator

// control carries out a C0 control, or a C1 control as its code point.
func (t *Terminal) control(c byte) {
	t.last = 0
	switch c {
	case '\n', '\v', '\f':
		t.lineFeed()
	case '\r':
		t.active.x = 0
	case '\b':
		t.backspace()
	case '\t':
		t.tabForward(1)
	case '\a':
		t.sink.Notice(NoticeBell, "")
	case 0x0e:
		t.charset.invoke(1)
	case 0x0f:
		t.charset.invoke(0)
	case 0x84:
		t.index()
	case 0x85:
		t.active.x = 0
		t.index()
	case 0x88:
		t.tabSet()
	}
}

// esc carries out an escape sequence.
func (t *Terminal) esc(id int) {
	switch id {
	case '7':
		t.saveCursor()
	case '8':
		t.restoreCursor()
	case 'D':
		t.index()
	case 'E':
		t.active.x = 0
		t.index()
	case 'H':
		t.tabSet()
	case 'M':
		t.reverseIndex()
	case '=':
		t.modes.Keypad = true
	case '>':
		t.modes.Keypad = false
	case 'c':
		t.fullReset()
	case '#'<<8 | '8':
		t.alignmentPattern()
	default:
		t.escCharset(id)
	}
}

// escCharset carries out shifts and designations.
func (t *Terminal) escCharset(id int) {
	switch id {
	case '~':
		t.charset.invoke(1)
	case 'n', '}':
		t.charset.invoke(2)
	case 'o', '|':
		t.charset.invoke(3)
	case '%'<<8 | '@', '%'<<8 | 'G':
		t.charset.invoke(0)
		t.charset.designate(0, charsetASCII)
	default:
		level, final := charsetLevel(byte(id>>8)), byte(id)
		if id>>16 == 0 && id>>8 != 0 && level >= 0 && knownCharset(final) {
			t.charset.designate(level, final)
		}
	}
}

// softReset is DECSTR.
func (t *Terminal) softReset() {
	s := t.active
	s.top, s.bottom = 0, t.rows-1
	s.saved = savedCursor{charset: charsetASCII}
	t.pen = pen{}
	t.charset.reset()
	t.modes.softReset()
	t.modes.CursorHidden = false
}

// fullReset is RIS. Titles, the palette, LNM and the modes 12 and 25 outlive
// it, as they do in xterm.js; history doesn't.
func (t *Terminal) fullReset() {
	t.history.wipe(t)
	t.parser.reset()
	t.pen = pen{}
	for _, s := range []*screen{&t.primary, &t.alternate} {
		s.clear(0)
		s.saved = savedCursor{charset: charsetASCII}
	}
	t.active = &t.primary
	t.charset.reset()
	t.modes.fullReset()
}
