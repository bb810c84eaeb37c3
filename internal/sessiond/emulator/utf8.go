// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"math/bits"
	"unicode/utf8"
)

const byteOrderMark = 0xfeff

// decodeUTF8 decodes the first code point of p, whose first byte is 0x80 or
// more, by the rules of xterm.js: what is invalid vanishes, and so does the
// byte order mark. It returns the code point and its length, or -1 and how
// many bytes vanish, or a length of 0 when p ends too early.
func decodeUTF8(p []byte) (rune, int) {
	var need int
	var r rune
	switch b := p[0]; {
	case b >= 0xc0 && b < 0xe0:
		need, r = 2, rune(b&0x1f)
	case b >= 0xe0 && b < 0xf0:
		need, r = 3, rune(b&0x0f)
	case b >= 0xf0 && b < 0xf8:
		need, r = 4, rune(b&0x07)
	default:
		return -1, 1
	}
	for i := 1; i < need; i++ {
		if i == len(p) {
			return -1, 0
		}
		if p[i]&0xc0 != 0x80 {
			return -1, i
		}
		r = r<<6 | rune(p[i]&0x3f)
	}
	if !validDecoded(r, need) {
		return -1, need
	}
	return r, need
}

// completeUTF8 is decodeUTF8 for a code point whose first bytes may be in
// partial, where it leaves what is still incomplete. It returns the code point,
// or -1, and how many bytes of p belong to it.
func completeUTF8(partial *[3]byte, partialN *int, p []byte) (r rune, n int) {
	var buf [utf8.UTFMax]byte
	had := copy(buf[:], partial[:*partialN])
	have := had + copy(buf[had:], p)
	if buf[0] < utf8.RuneSelf {
		return rune(buf[0]), 1
	}
	r, n = decodeUTF8(buf[:have])
	if n == 0 {
		*partialN = copy(partial[:], buf[:have])
		return -1, have - had
	}
	*partialN = 0
	return r, n - had
}

// validDecoded refuses overlong forms, surrogates, the byte order mark and
// what lies beyond Unicode.
func validDecoded(r rune, n int) bool {
	switch n {
	case 2:
		return r >= 0x80
	case 3:
		return r >= 0x800 && (r < 0xd800 || r > 0xdfff) && r != byteOrderMark
	}
	return r >= 0x10000 && r <= 0x10ffff
}

// lead says how a code point goes on after its first byte.
type lead struct {
	mask, want uint32 // what the bytes after the first must hold
	min, span  uint32 // the code points of this length
	bits       uint8  // the first byte's share of the code point
	shift      uint8
	n          uint8 // bytes; 0 when none begins like this
}

// leads is indexed by the upper five bits of the first byte.
var leads = buildLeads()

func buildLeads() (table [32]lead) {
	for i := range table {
		switch b := i << 3; {
		case b < 0x80:
			table[i] = lead{0, 0, 0, 0x80, 0x7f, 18, 1}
		case b >= 0xc0 && b < 0xe0:
			table[i] = lead{0xc00000, 0x800000, 0x80, 0x800 - 0x80, 0x1f, 12, 2}
		case b >= 0xe0 && b < 0xf0:
			table[i] = lead{0xc0c000, 0x808000, 0x800, 0x10000 - 0x800, 0x0f, 6, 3}
		case b == 0xf0:
			table[i] = lead{0xc0c0c0, 0x808080, 0x10000, 0x110000 - 0x10000, 0x07, 0, 4}
		}
	}
	return table
}

// decodeWord decodes the first code point of four bytes, the first one on top,
// without a branch that depends on its length. It returns 0, 0 for what is
// invalid.
func decodeWord(v uint32) (rune, int) {
	l := &leads[v>>27]
	r := (v>>24&uint32(l.bits))<<18 | (v>>16&0x3f)<<12 | (v>>8&0x3f)<<6 | v&0x3f
	r >>= l.shift & 31
	if v&l.mask != l.want || r-l.min >= l.span || r>>11 == 0xd800>>11 {
		return 0, 0
	}
	return rune(r), int(l.n)
}

// encoding says how a code point of a length is written.
type encoding struct {
	marks uint32 // the upper bits of its bytes
	shift uint8  // by how much its groups of six bits are moved down
	n     uint8  // bytes
}

// encodings is indexed by the bit length of a code point from U+0080 on.
var encodings = buildEncodings()

func buildEncodings() (table [32]encoding) {
	for i := range table {
		switch {
		case i <= 11:
			table[i] = encoding{0x80c0, 16, 2}
		case i <= 16:
			table[i] = encoding{0x8080e0, 8, 3}
		default:
			table[i] = encoding{0x808080f0, 0, 4}
		}
	}
	return table
}

// encodeWord encodes a code point from U+0080 on into the lowest bytes of a
// word, the first one at the bottom, without a branch that depends on its
// length.
func encodeWord(r uint32) (word uint32, n int) {
	e := &encodings[bits.Len32(r)&31]
	word = r>>18&0x07 | (r>>12&0x3f)<<8 | (r>>6&0x3f)<<16 | (r&0x3f)<<24
	return word>>(e.shift&31) | e.marks, int(e.n)
}
