// SPDX-License-Identifier: Apache-2.0

package emulator

//go:generate node ../../../tools/widthgen/widthgen.mjs widthtable.go

// runeWidth returns the columns of a code point, 0 to 2, as the page's Unicode
// provider has it. r must be a valid code point.
func runeWidth(r rune) int {
	b := widthBlocks[int(widthIndex[uint32(r)>>8])<<6|int(uint32(r)>>2&63)]
	return int(b>>(uint32(r)&3*2)) & 3
}

// Columns returns how many columns a row of text takes, as a capture shows it: valid UTF-8 without controls.
func Columns(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}
