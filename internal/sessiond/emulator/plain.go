// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bytes"
	"slices"
)

// PlainHistory returns the rows that committed text takes at a width, oldest
// first. It keeps the newest: at most rowsMax, of at most bytesMax bytes
// together. cut says that there were older ones.
func PlainHistory(text []byte, cols, rowsMax, bytesMax int) (rows []string, cut bool) {
	rows, _, cut = historyRows(text, cols, rowsMax, bytesMax, false)
	return rows, cut
}

// StyledHistory is PlainHistory with each row once more as text with SGR. Both
// count as bytes.
func StyledHistory(text []byte, cols, rowsMax, bytesMax int) (rows, styled []string, cut bool) {
	return historyRows(text, cols, rowsMax, bytesMax, true)
}

func historyRows(text []byte, cols, rowsMax, bytesMax int, withStyle bool) (rows, styled []string, cut bool) {
	text = bytes.TrimSuffix(text, lineBreak)
	type row struct{ plain, styled string }
	var line []row // of one line, from its first row on
	wrap := NewRowCutter(cols, withStyle, func(plain, styled []byte) { line = append(line, row{string(plain), string(styled)}) })
	for more := len(text) > 0; more && !cut; {
		from := text
		at := bytes.LastIndex(text, lineBreak)
		if more = at >= 0; more {
			from, text = text[at+len(lineBreak):], text[:at]
		}
		line = line[:0]
		wrap.Feed(from)
		wrap.Feed(lineBreak)
		for _, r := range slices.Backward(line) {
			if cut = len(rows) == rowsMax || len(r.plain)+len(r.styled) > bytesMax; cut {
				break
			}
			bytesMax -= len(r.plain) + len(r.styled)
			rows = append(rows, r.plain)
			if withStyle {
				styled = append(styled, r.styled)
			}
		}
	}
	slices.Reverse(rows)
	slices.Reverse(styled)
	return rows, styled, cut
}
