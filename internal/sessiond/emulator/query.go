// SPDX-License-Identifier: Apache-2.0

package emulator

import "strconv"

// The answers to queries are those of xterm.js 6.0.0. None of them holds bytes
// that the program chose: whoever can print must not be able to type.

// send delivers the scratch reply.
func (t *Terminal) send(p []byte) {
	t.reply = p
	t.sink.Reply(p)
}

// primaryAttributes answers DA1: a VT100 with advanced video.
func (t *Terminal) primaryAttributes(p *params) {
	if p.at(0) == 0 {
		t.send(append(t.reply[:0], "\x1b[?1;2c"...))
	}
}

// secondaryAttributes answers DA2.
func (t *Terminal) secondaryAttributes(p *params) {
	if p.at(0) == 0 {
		t.send(append(t.reply[:0], "\x1b[>0;276;0c"...))
	}
}

// deviceStatus answers DSR: 5 the status, 6 the cursor. A pending wrap shows
// as a column beyond the last.
func (t *Terminal) deviceStatus(what int) {
	switch what {
	case 5:
		t.send(append(t.reply[:0], "\x1b[0n"...))
	case 6:
		t.send(t.appendCursorReport(append(t.reply[:0], "\x1b["...)))
	}
}

// privateStatus answers DECXCPR, and the question whether the theme is a dark
// one.
func (t *Terminal) privateStatus(what int) {
	switch what {
	case 6:
		t.send(t.appendCursorReport(append(t.reply[:0], "\x1b[?"...)))
	case 996:
		t.reportTheme()
	}
}

// reportTheme tells the program that the viewer's colours are dark ones (1) or
// light ones (2): the answer to DSR 996 and, in mode 2031, the news. See
// contour-terminal.org/vt-extensions/color-palette-update-notifications.
func (t *Terminal) reportTheme() {
	kind := byte('1')
	if t.theme.light() {
		kind = '2'
	}
	t.send(append(append(t.reply[:0], "\x1b[?997;"...), kind, 'n'))
}

func (t *Terminal) appendCursorReport(dst []byte) []byte {
	return append(appendPair(dst, t.active.y+1, t.active.x+1), 'R')
}

// appendPair appends two numbers with a ';' between them.
func appendPair(dst []byte, a, b int) []byte {
	dst = strconv.AppendInt(dst, int64(a), 10)
	dst = append(dst, ';')
	return strconv.AppendInt(dst, int64(b), 10)
}

// reportSizeInBand tells the program its size in mode 2048: when the mode is set,
// and after each resize. The pixels are the viewer's, who may be nobody, and the
// specification has 0 for a size that isn't known. See
// gist.github.com/rockorager/e695fb2924d36b2bcf1fff4a3704bd83.
func (t *Terminal) reportSizeInBand() {
	t.send(append(appendPair(append(t.reply[:0], "\x1b[48;"...), t.rows, t.cols), ";0;0t"...))
}

// reportSize answers CSI 18 t.
func (t *Terminal) reportSize() {
	t.send(AppendGeometry(t.reply[:0], t.cols, t.rows))
}

// The values of a mode report (DECRPM).
const (
	modeUnknown     = 0
	modeSet         = 1
	modeReset       = 2
	modeAlwaysSet   = 3
	modeAlwaysReset = 4
)

func modeValue(on bool) int {
	if on {
		return modeSet
	}
	return modeReset
}

// reportMode answers DECRQM for an ANSI mode.
func (t *Terminal) reportMode(mode int) {
	v := modeUnknown
	switch mode {
	case 2:
		v = modeAlwaysReset
	case 4:
		v = modeValue(t.modes.Insert)
	case 12:
		v = modeAlwaysSet
	case 20:
		v = modeValue(t.modes.LineFeed)
	}
	t.send(append(appendPair(append(t.reply[:0], "\x1b["...), mode, v), "$y"...))
}

// reportPrivateMode answers DECRQM for a private mode.
func (t *Terminal) reportPrivateMode(mode int) {
	t.send(append(appendPair(append(t.reply[:0], "\x1b[?"...), mode, t.privateModeValue(mode)), "$y"...))
}

func (t *Terminal) privateModeValue(mode int) int {
	if f := t.modes.flag(mode); f != nil {
		return modeValue(*f)
	}
	switch mode {
	case 6:
		return modeValue(t.modes.Origin)
	case 8:
		return modeAlwaysSet
	case 9, 1000, 1002, 1003:
		return modeValue(int(t.modes.Mouse) == mode)
	case 25:
		return modeValue(!t.modes.CursorHidden)
	case 47, 1047, 1049:
		return modeValue(t.active == &t.alternate)
	case 67, 1005, 1015:
		return modeAlwaysReset
	case 1006, 1016:
		return modeValue(int(t.modes.MouseEncoding) == mode)
	case 1048:
		return modeSet
	}
	return modeUnknown
}

// requestStatus answers DECRQSS. SGR is always reported as reset and the
// cursor style as the viewer's, as the oracle does.
func (t *Terminal) requestStatus(what string) {
	dst := append(t.reply[:0], "\x1bP"...)
	switch what {
	case `"q`:
		protected := byte('0')
		if t.pen.attrs&attrProtected != 0 {
			protected = '1'
		}
		dst = append(append(dst, "1$r"...), protected, '"', 'q')
	case `"p`:
		dst = append(dst, `1$r61;1"p`...)
	case "r":
		dst = append(appendPair(append(dst, "1$r"...), t.active.top+1, t.active.bottom+1), 'r')
	case "m":
		dst = append(dst, "1$r0m"...)
	case " q":
		block := byte('2')
		if t.modes.CursorBlink {
			block = '1'
		}
		dst = append(append(dst, "1$r"...), block, ' ', 'q')
	default:
		dst = append(dst, "0$r"...)
	}
	t.send(append(dst, "\x1b\\"...))
}
