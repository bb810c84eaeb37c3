// SPDX-License-Identifier: Apache-2.0

package emulator

import "strconv"

// appendStyle appends what takes a consumer from one style to another: SGR,
// DECSCA where protection changes, OSC 8 where the link does.
func (t *Terminal) appendStyle(dst []byte, from, to style) []byte {
	if from.link != to.link {
		dst = t.appendLink(dst, to.link)
	}
	from.link = to.link
	if from == to {
		return dst
	}
	dst = appendSGR(dst, to)
	if (from.attrs|to.attrs)&attrProtected != 0 {
		dst = appendProtection(dst, to)
	}
	return dst
}

// appendStyleID is appendStyle for styles by number.
func (t *Terminal) appendStyleID(dst []byte, from, to uint32) []byte {
	switch {
	case from == to:
		return dst
	case t.styles.plainChange(from, to):
		return append(dst, t.styles.sgr(to)...)
	}
	return t.appendStyle(dst, t.styles.list[from], t.styles.list[to])
}

// appendProtection appends the DECSCA of a style.
func appendProtection(dst []byte, s style) []byte {
	if s.attrs&attrProtected != 0 {
		return append(dst, "\x1b[1\"q"...)
	}
	return append(dst, "\x1b[0\"q"...)
}

// appendDelta appends what changes one style into another of the same
// underline and link, without SGR 0, 4, 24 and 59.
func appendDelta(dst []byte, from, to style) []byte {
	dst = append(dst, "\x1b[39;49"...)
	for _, f := range sgrFlags {
		if from.attrs&^to.attrs&f.attr != 0 {
			dst = append(dst, f.off...)
		}
	}
	dst = appendFlags(dst, to)
	dst = appendColorParam(dst, to.fg, 30)
	dst = appendColorParam(dst, to.bg, 40)
	if to.ul == underlineUnset {
		dst = appendRGB(append(dst, ";58:2::"...), to.ul, ':') // the same, in xterm.js
	} else {
		dst = appendUnderlineColor(dst, to.ul)
	}
	return appendProtection(append(dst, 'm'), to)
}

// appendLink appends an OSC 8 that opens a link, or closes one. It leaves room
// for a style.
func (t *Terminal) appendLink(dst []byte, n uint32) []byte {
	dst = append(dst, "\x1b]8;"...)
	if n != 0 {
		l := t.links.list[n]
		id := l.wireID()
		dst = grow(dst, len(id)+len(l.uri)+styleBytesMax)
		dst = append(dst, "id="...)
		dst = append(dst, id...)
		dst = append(dst, ';')
		dst = append(dst, l.uri...)
	} else {
		dst = append(dst, ';')
	}
	return append(dst, "\x1b\\"...)
}

// sgrFlags lists the parameters of the attributes that are switches.
var sgrFlags = [...]struct {
	attr    uint16
	on, off string
}{
	{attrBold, ";1", ";22"}, {attrDim, ";2", ";22"}, {attrItalic, ";3", ";23"}, {attrBlink, ";5", ";25"},
	{attrInverse, ";7", ";27"}, {attrInvisible, ";8", ";28"}, {attrStrike, ";9", ";29"}, {attrOverline, ";53", ";55"},
}

func appendFlags(dst []byte, s style) []byte {
	for _, f := range sgrFlags {
		if s.attrs&f.attr != 0 {
			dst = append(dst, f.on...)
		}
	}
	return dst
}

// appendSGR appends a Select Graphic Rendition that sets a whole style.
func appendSGR(dst []byte, s style) []byte {
	dst = appendFlags(append(dst, "\x1b[0"...), s)
	switch s.underline {
	case 0:
	case 1:
		dst = append(dst, ";4"...)
	default:
		dst = append(dst, ";4:"...)
		dst = append(dst, '0'+s.underline)
	}
	dst = appendColorParam(dst, s.fg, 30)
	dst = appendColorParam(dst, s.bg, 40)
	dst = appendUnderlineColor(dst, s.ul)
	return append(dst, 'm')
}

// appendColorParam appends a colour; base is 30 for the foreground, 40 for the
// background.
func appendColorParam(dst []byte, c color, base int64) []byte {
	v := int64(c &^ colorKind)
	switch c & colorKind {
	case colorBasic:
		dst = append(dst, ';')
		if v >= 8 {
			v += 60 - 8
		}
		return strconv.AppendInt(dst, base+v, 10)
	case colorIndexed:
		dst = strconv.AppendInt(append(dst, ';'), base+8, 10)
		dst = append(dst, ";5;"...)
		return strconv.AppendInt(dst, v, 10)
	case colorRGB:
		dst = strconv.AppendInt(append(dst, ';'), base+8, 10)
		dst = append(dst, ";2;"...)
		return appendRGB(dst, c, ';')
	}
	return dst
}

// appendUnderlineColor appends SGR 58 in the form with ':', which no consumer
// takes for several attributes.
func appendUnderlineColor(dst []byte, c color) []byte {
	switch {
	case c == 0:
		return dst
	case c == underlineUnset:
		return append(dst, ";59"...)
	case c&colorKind == colorRGB:
		return appendRGB(append(dst, ";58:2::"...), c, ':')
	}
	dst = append(dst, ";58:5:"...)
	return strconv.AppendInt(dst, int64(c&^colorKind), 10)
}

func appendRGB(dst []byte, c color, sep byte) []byte {
	dst = append(strconv.AppendInt(dst, int64(c>>16&0xff), 10), sep)
	dst = append(strconv.AppendInt(dst, int64(c>>8&0xff), 10), sep)
	return strconv.AppendInt(dst, int64(c&0xff), 10)
}
