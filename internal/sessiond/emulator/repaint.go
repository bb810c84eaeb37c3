// SPDX-License-Identifier: Apache-2.0

package emulator

import "strconv"

// AppendRepaint appends a stream that brings a consumer of the same geometry,
// whatever it shows and in whatever mode it is, into this state: both screens,
// cursors, registers, modes, and the bytes of a sequence that hasn't ended. It
// uses neither ED nor RIS, makes nobody answer, and can be fed twice. Where dst
// has too little room, what is left of it elsewhere is wiped.
//
// The order matters, because some settings can only be made where others are
// not made yet:
//
//  1. Baseline: ASCII, every mode and register as in a new terminal, tab
//     stops, titles, colours. The register of the alternate screen if that
//     isn't shown.
//  2. The primary screen: lines, register, margins.
//  3. If it is shown, the alternate screen, likewise.
//  4. Modes that don't disturb, the mapping that DECRC left, origin mode, the
//     cursor with its pending wrap, character sets, pen.
//  5. The modes under which printing differs, and then the last character
//     again, if it is the last thing that was done: a mark may join it.
//  6. The tail.
func (t *Terminal) AppendRepaint(dst []byte) []byte {
	p := painter{t: t, out: dst}
	p.baseline()
	p.screen(&t.primary)
	if t.active == &t.alternate {
		p.moveTo(t.primary.x, t.primary.y)
		p.setStyle(style{})
		p.text("\x1b[?47h")
		p.tabs(&t.alternate)
		p.screen(&t.alternate)
	}
	p.quietModes()
	p.cursorAndPen()
	p.loudModes()
	p.lastCharacter()
	p.room(paramsBytesMax)
	return t.parser.appendTail(p.out)
}

// painter appends to a stream and knows the consumer's pen.
type painter struct {
	t   *Terminal
	out []byte
	at  style
	// gentle says that the pen is odd and must stay so: no SGR that resets or
	// touches the underline, no OSC 8.
	gentle bool
	// owed are marks that only the last character can bring about; see torn.
	owed string
}

// room makes room for n more bytes and for what is appended beside them until
// the next call: numbers, a style, the content of a cell.
func (p *painter) room(n int) {
	p.out = grow(p.out, n+2*styleBytesMax+clusterBytesMax)
}

func (p *painter) text(s string) {
	p.room(len(s))
	p.out = append(p.out, s...)
}

// csi appends a control sequence with one number.
func (p *painter) csi(n int, final string) {
	p.text("\x1b[")
	p.out = strconv.AppendInt(p.out, int64(n), 10)
	p.text(final)
}

// moveTo puts the cursor on a column and line, counted from 0.
func (p *painter) moveTo(x, y int) {
	p.text("\x1b[")
	p.out = append(appendPair(p.out, y+1, x+1), 'H')
}

// osc appends an operating system command.
func (p *painter) osc(command int, payload string) {
	p.text("\x1b]")
	p.out = strconv.AppendInt(p.out, int64(command), 10)
	p.text(";")
	p.text(payload)
	p.text("\x1b\\")
}

func (p *painter) setStyle(s style) {
	if p.gentle {
		p.out = appendDelta(p.out, p.at, s)
	} else {
		p.out = p.t.appendStyle(p.out, p.at, s)
	}
	p.at = s
}

// breakJoin makes sure that a mark doesn't join what was printed last.
func (p *painter) breakJoin() {
	p.out = appendProtection(p.out, p.at)
}

// endLink closes a hyperlink.
const endLink = "\x1b]8;;\x1b\\"

// resetPen makes a pen that isn't known the default one.
func (p *painter) resetPen() {
	p.text(endLink + "\x1b[0\"q\x1b[0m")
	p.at = style{}
}

// baseline makes a consumer what a new terminal is, but for its lines.
func (p *painter) baseline() {
	t := p.t
	p.text(returnToASCII)
	p.text("\x1b[?47h\x1b[!p")
	if t.active == &t.primary {
		p.resetPen()
		p.register(&t.alternate)
	}
	p.text("\x1b[?47l\x1b[!p\x1b[<")
	p.out = append(strconv.AppendInt(p.out, keyboardDepthMax, 10), 'u')
	p.text("\x1b[4;20l\x1b[?1;6;9;12;45;66;1000;1002;1003;1004;1006;1016;2004;2026;2031;2048l\x1b[?7;25h\x1b[0 q\x1b>")
	p.resetPen()
	p.tabs(&t.primary)
	p.titles()
	p.colors()
	p.osc(oscCwd, t.cwd)
}

// tabs sets the tab stops of the shown screen.
func (p *painter) tabs(s *screen) {
	p.text("\x1b[3g")
	for x := range p.t.cols {
		if s.tabs.has(x) {
			p.csi(x+1, "G\x1bH")
		}
	}
}

// titles empties the title stacks and fills them again.
func (p *painter) titles() {
	for range titleStackMax {
		p.text("\x1b[23;0t")
	}
	for _, s := range p.t.title.windowStack {
		p.osc(oscTitle, s)
		p.text("\x1b[22;2t")
	}
	for _, s := range p.t.title.iconStack {
		p.osc(oscIcon, s)
		p.text("\x1b[22;1t")
	}
	p.osc(oscTitle, p.t.title.window)
	p.osc(oscIcon, p.t.title.icon)
}

// colors resets all colours and sets those that the program has set.
func (p *painter) colors() {
	p.text("\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\")
	if p.t.palette.count == 0 {
		return
	}
	for n, set := range p.t.palette.set {
		if !set {
			continue
		}
		spec := string(appendColor(nil, p.t.palette.value[n]))
		if n < paletteSize {
			p.osc(oscPalette, strconv.Itoa(n)+";"+spec)
		} else {
			p.osc(oscForeground+n-colorForeground, spec)
		}
	}
}

// screen paints the lines of the shown screen and sets its register and
// margins. The consumer's margins are the whole screen, its pen is the
// default one.
func (p *painter) screen(s *screen) {
	for y := range s.order {
		p.moveTo(0, y)
		p.text("x\x1b[2K") // prompt marks go with what a line shows
	}
	if s.row(0).wrapped && !(s == &p.t.primary && len(s.order) == 1) {
		p.wrapFirst(s) // it would commit the only line
	}
	for y := range s.order {
		if y+1 < len(s.order) && s.row(y+1).wrapped {
			p.wrap(y)
		}
		p.line(s.row(y), y)
	}
	p.promptMarks(s)
	p.register(s)
	p.keyboard(&s.keyboard)
	if s.top != 0 || s.bottom != p.t.rows-1 {
		p.text("\x1b[")
		p.out = append(appendPair(p.out, s.top+1, s.bottom+1), 'r')
	}
}

// keyboard sets the keyboard flags of the shown screen, where there are none.
func (p *painter) keyboard(k *keyboard) {
	if *k == (keyboard{}) {
		return
	}
	for n, flags := range k.flags[:k.top+1] {
		p.out = append(p.out, 0x1b, '[', "=>"[min(n, 1)])
		p.out = append(strconv.AppendInt(p.out, int64(flags), 10), 'u')
	}
}

// register fills the DECSC register of the shown screen, unless it is the
// default one.
func (p *painter) register(s *screen) {
	r := &s.saved
	if *r == (savedCursor{charset: charsetASCII}) {
		return
	}
	look := style{fg: r.fg, bg: r.bg, attrs: r.attrs}
	if r.underlined {
		look.underline = 1
	}
	p.setStyle(look)
	switch {
	case r.extended && !r.underlined:
		// A link was open. The register keeps that there was one, not which.
		p.text("\x1b]8;id=" + linkPrefix + "0;about:blank\x1b\\")
	case r.underlined && !r.extended:
		// It comes back without its kind, and the end of a link settles that
		// there is none.
		p.text("\x1b7\x1b[24m\x1b8" + endLink)
	}
	p.text("\x1b(")
	p.out = append(p.out, r.charset)
	p.moveTo(r.x, r.y)
	p.text("\x1b7\x1b(B")
	p.resetPen()
}

// quietModes sets the modes that no later step minds.
func (p *painter) quietModes() {
	m := &p.t.modes
	p.mode(m.CursorKeys, 1)
	p.mode(m.CursorBlink, 12)
	p.mode(m.Keypad, 66)
	p.mode(m.BracketedPaste, 2004)
	p.mode(m.ThemeReports, 2031)
	if m.SizeReports {
		p.text("\x1b[?2048:1h") // see quietly
	}
	p.mode(m.Mouse != 0, int(m.Mouse))
	p.mode(m.MouseEncoding != 0, int(m.MouseEncoding))
	if m.CursorHidden {
		p.text("\x1b[?25l")
	}
	if m.CursorStyle != 0 {
		p.csi(int(m.CursorStyle), " q")
	}
}

// loudModes sets the modes under which printing or moving differs, and those
// that make a viewer act at once.
func (p *painter) loudModes() {
	m := &p.t.modes
	if m.Insert {
		p.text("\x1b[4h")
	}
	if m.LineFeed {
		p.text("\x1b[20h")
	}
	if !m.AutoWrap {
		p.text("\x1b[?7l")
	}
	p.mode(m.ReverseWrap, 45)
	p.mode(m.Synchronized, 2026)
	p.mode(m.FocusEvents, 1004)
}

func (p *painter) mode(on bool, mode int) {
	if on {
		p.text("\x1b[?")
		p.out = strconv.AppendInt(p.out, int64(mode), 10)
		p.text("h")
	}
}
