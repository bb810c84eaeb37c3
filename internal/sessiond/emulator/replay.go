// SPDX-License-Identifier: Apache-2.0

package emulator

import "strconv"

// sentinel marks a replay whose history section is flowing text.
const sentinel = "\x1b_sp:h1\x1b\\"

// returnToASCII designates ASCII everywhere and shifts it in: every glyph that
// a replay paints is mapped already, and must not be mapped again.
const returnToASCII = "\x1b(B\x1b)B\x1b*B\x1b+B\x0f"

// AppendReplayHead appends what a replay begins with, before the committed
// lines.
func AppendReplayHead(dst []byte, cols, rows int) []byte {
	dst = AppendGeometry(dst, cols, rows)
	dst = append(dst, sentinel...)
	return append(dst, returnToASCII...)
}

// geometryBytesMax is more than the marker takes.
const geometryBytesMax = 24

// AppendGeometry appends the marker CSI 8 ; rows ; cols t. Where dst has too
// little room, what is left of it elsewhere is wiped.
func AppendGeometry(dst []byte, cols, rows int) []byte {
	dst = append(grow(dst, geometryBytesMax), "\x1b[8;"...)
	dst = strconv.AppendInt(dst, int64(rows), 10)
	dst = append(dst, ';')
	dst = strconv.AppendInt(dst, int64(cols), 10)
	return append(dst, 't')
}
