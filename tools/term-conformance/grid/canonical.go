// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Equivalent reports whether two texts are canonically equivalent: whether their normal forms, NFC or
// NFD, are equal.
func Equivalent(a, b string) bool {
	return a == b || !(ascii(a) && ascii(b)) && slices.Equal(decompose(a), decompose(b))
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// decompositions and markRanks come from canonicaltable.go, which canonical.mjs makes and a new version
// of Unicode alone changes: what a code point is made of, and the
// order that marks on one base take. Only the order of ranks means something; 0 is no mark.
var decompositions, markRanks = readTable()

func readTable() (map[rune][]rune, map[rune]int) {
	parts, ranks := map[rune][]rune{}, map[rune]int{}
	for entry := range strings.SplitSeq(decompositionTable, " ") {
		runes := []rune(entry)
		parts[runes[0]] = runes[1:]
	}
	for i, marks := range strings.Split(markTable, " ") {
		for _, r := range marks {
			ranks[r] = i + 1
		}
	}
	return parts, ranks
}

// decompose returns the canonical decomposition of a text, its marks in order (NFD).
func decompose(s string) []rune {
	var out []rune
	for _, r := range s {
		switch parts, ok := decompositions[r]; {
		case ok:
			out = append(out, parts...)
		case r >= hangulBase && r < hangulBase+hangulCount:
			out = appendHangul(out, r)
		default:
			out = append(out, r)
		}
	}
	for start := 0; start < len(out); {
		end := start
		for end < len(out) && markRanks[out[end]] > 0 {
			end++
		}
		slices.SortStableFunc(out[start:end], func(a, b rune) int { return markRanks[a] - markRanks[b] })
		start = end + 1
	}
	return out
}

// Hangul syllables decompose by arithmetic (Unicode Standard, 3.12).
const (
	hangulBase, hangulCount        = 0xac00, 11172
	leadBase, vowelBase, trailBase = 0x1100, 0x1161, 0x11a7
	vowelCount, trailCount         = 21, 28
)

func appendHangul(dst []rune, r rune) []rune {
	i := r - hangulBase
	dst = append(dst, leadBase+i/(vowelCount*trailCount), vowelBase+i/trailCount%vowelCount)
	if trail := i % trailCount; trail > 0 {
		dst = append(dst, trailBase+trail)
	}
	return dst
}
