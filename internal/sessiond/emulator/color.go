// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"math"
	"strconv"
	"strings"
)

// Color is 0xRRGGBB.
type Color uint32

// Theme holds the colours of the viewer. They answer colour queries where the
// program has set none of its own.
type Theme struct {
	Foreground, Background, Cursor Color
	// Palette holds the colours 0 to 15. All others are fixed.
	Palette [16]Color
}

// DefaultTheme returns the dark colours that xterm.js has by default.
func DefaultTheme() Theme {
	return Theme{
		Foreground: 0xffffff, Background: 0x000000, Cursor: 0xffffff,
		Palette: [16]Color{
			0x2e3436, 0xcc0000, 0x4e9a06, 0xc4a000, 0x3465a4, 0x75507b, 0x06989a, 0xd3d7cf,
			0x555753, 0xef2929, 0x8ae234, 0xfce94f, 0x729fcf, 0xad7fa8, 0x34e2e2, 0xeeeeec,
		},
	}
}

// light reports whether the background is one on which programs should write
// dark text: its luma (ITU-R BT.601) is above the middle.
func (t *Theme) light() bool {
	r, g, b := t.Background>>16&0xff, t.Background>>8&0xff, t.Background&0xff
	const middle = 1000 * 255 / 2
	return 299*r+587*g+114*b > middle
}

// The numbers of the colours beyond the palette.
const (
	paletteSize     = 256
	colorForeground = paletteSize
	colorBackground = paletteSize + 1
	colorCursor     = paletteSize + 2
	colorCount      = paletteSize + 3
)

// palette holds the colours that the program has set.
type palette struct {
	value [colorCount]Color
	set   [colorCount]bool
	count int // how many are set
}

func (p *palette) put(n int, c Color) {
	if !p.set[n] {
		p.count++
	}
	p.value[n], p.set[n] = c, true
}

func (p *palette) unset(n int) {
	if p.set[n] {
		p.count--
	}
	p.value[n], p.set[n] = 0, false
}

// color returns the colour that number n shows as.
func (t *Terminal) color(n int) Color {
	switch {
	case t.palette.set[n]:
		return t.palette.value[n]
	case n == colorForeground:
		return t.theme.Foreground
	case n == colorBackground:
		return t.theme.Background
	case n == colorCursor:
		return t.theme.Cursor
	case n < len(t.theme.Palette):
		return t.theme.Palette[n]
	}
	return fixedColor(n)
}

// fixedColor returns a colour of the 6×6×6 cube or of the grey ramp.
func fixedColor(n int) Color {
	if n >= 232 {
		return Color(8+10*(n-232)) * 0x010101
	}
	level := func(v int) Color {
		if v == 0 {
			return 0
		}
		return Color(55 + 40*v)
	}
	n -= 16
	return level(n/36)<<16 | level(n/6%6)<<8 | level(n%6)
}

// paletteCommand is OSC 4: pairs of number and colour, or '?' for a query.
func (t *Terminal) paletteCommand(payload string) {
	slots := strings.Split(payload, ";")
	for replies := 0; len(slots) > 1; slots = slots[2:] {
		n, err := strconv.ParseUint(slots[0], 10, 8)
		if err != nil || !isDigits(slots[0]) {
			continue
		}
		if slots[1] != "?" {
			if c, ok := parseColor(slots[1]); ok {
				t.palette.put(int(n), c)
			}
			continue
		}
		if replies++; replies <= repliesMax {
			dst := append(t.reply[:0], "\x1b]4;"...)
			dst = append(strconv.AppendUint(dst, n, 10), ';')
			t.sendColor(dst, int(n))
		}
	}
}

// dynamicCommand is OSC 10, 11, 12: the colours from that one on.
func (t *Terminal) dynamicCommand(command int, payload string) {
	for spec := range strings.SplitSeq(payload, ";") {
		if command > oscCursor {
			return
		}
		n := colorForeground + command - oscForeground
		if spec == "?" {
			dst := strconv.AppendInt(append(t.reply[:0], "\x1b]"...), int64(command), 10)
			t.sendColor(append(dst, ';'), n)
		} else if c, ok := parseColor(spec); ok {
			t.palette.put(n, c)
		}
		command++
	}
}

// resetPalette is OSC 104: the listed colours, or all of the palette.
func (t *Terminal) resetPalette(payload string) {
	if payload == "" {
		for n := range paletteSize {
			t.palette.unset(n)
		}
		return
	}
	for field := range strings.SplitSeq(payload, ";") {
		if n, err := strconv.ParseUint(field, 10, 8); err == nil {
			t.palette.unset(int(n))
		}
	}
}

func (t *Terminal) sendColor(dst []byte, n int) {
	t.send(append(appendColor(dst, t.color(n)), "\x1b\\"...))
}

// appendColor appends a colour as rgb:rrrr/gggg/bbbb.
func appendColor(dst []byte, c Color) []byte {
	dst = append(dst, "rgb:"...)
	for shift := 16; shift >= 0; shift -= 8 {
		v := byte(c >> shift)
		dst = append(dst, hexDigit(v>>4), hexDigit(v&15), hexDigit(v>>4), hexDigit(v&15), '/')
	}
	return dst[:len(dst)-1]
}

func hexDigit(v byte) byte { return "0123456789abcdef"[v] }

// parseColor reads rgb:r/g/b with one to four digits each, and #rgb with one to
// four digits each.
func parseColor(spec string) (Color, bool) {
	spec = strings.ToLower(spec)
	if rest, ok := strings.CutPrefix(spec, "rgb:"); ok {
		return parseSlashed(rest)
	}
	if rest, ok := strings.CutPrefix(spec, "#"); ok {
		return parseHashed(rest)
	}
	return 0, false
}

// parseSlashed scales each part to 8 bits. All have the same length.
func parseSlashed(s string) (c Color, ok bool) {
	parts := strings.Split(s, "/")
	if len(parts) != 3 || len(parts[0]) == 0 || len(parts[0]) > 4 {
		return 0, false
	}
	top := float64(uint(1)<<(4*len(parts[0])) - 1)
	for _, part := range parts {
		v, ok := parseHex(part)
		if !ok || len(part) != len(parts[0]) {
			return 0, false
		}
		c = c<<8 | Color(math.Floor(float64(v)/top*255+0.5))
	}
	return c, true
}

// parseHashed takes the upper 8 bits of each part.
func parseHashed(s string) (c Color, ok bool) {
	n := len(s) / 3
	if len(s)%3 != 0 || n < 1 || n > 4 {
		return 0, false
	}
	for i := range 3 {
		v, ok := parseHex(s[i*n : (i+1)*n])
		if !ok {
			return 0, false
		}
		if n == 1 {
			v <<= 4
		} else {
			v >>= 4 * (n - 2)
		}
		c = c<<8 | Color(v)
	}
	return c, true
}

func parseHex(s string) (int, bool) {
	v := 0
	for i := range len(s) {
		d := strings.IndexByte("0123456789abcdef", s[i])
		if d < 0 {
			return 0, false
		}
		v = v<<4 | d
	}
	return v, true
}
