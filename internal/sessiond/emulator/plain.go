// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bytes"
	"slices"
)

// HistoryRows are rows that committed text takes at a width, oldest first.
type HistoryRows struct {
	Plain, Styled []string // Styled is nil when it wasn't asked for
	Continued     []int    // rows that continue the one before, which the width ended; rising
	Cut           bool     // there were older ones
}

// RowsOf returns the newest rows of committed text: at most rowsMax, of at most
// bytesMax bytes together, for which plain and styled ones both count.
func RowsOf(text []byte, cols, rowsMax, bytesMax int, styled bool) HistoryRows {
	var h HistoryRows
	text = bytes.TrimSuffix(text, lineBreak)
	type row struct {
		plain, styled string
		continues     bool
	}
	var line []row // of one line, from its first row on
	wrap := NewRowCutter(cols, styled, func(plain, styled []byte, continues bool) {
		line = append(line, row{string(plain), string(styled), continues})
	})
	for more := len(text) > 0; more && !h.Cut; {
		from := text
		at := bytes.LastIndex(text, lineBreak)
		if more = at >= 0; more {
			from, text = text[at+len(lineBreak):], text[:at]
		}
		line = line[:0]
		wrap.Feed(from)
		wrap.Feed(lineBreak)
		for _, r := range slices.Backward(line) {
			if h.Cut = len(h.Plain) == rowsMax || len(r.plain)+len(r.styled) > bytesMax; h.Cut {
				break
			}
			bytesMax -= len(r.plain) + len(r.styled)
			if r.continues {
				h.Continued = append(h.Continued, len(h.Plain)) // counted from the end, for now
			}
			h.Plain = append(h.Plain, r.plain)
			if styled {
				h.Styled = append(h.Styled, r.styled)
			}
		}
	}
	slices.Reverse(h.Plain)
	slices.Reverse(h.Styled)
	slices.Reverse(h.Continued)
	for i := range h.Continued {
		h.Continued[i] = len(h.Plain) - 1 - h.Continued[i]
	}
	return h
}
