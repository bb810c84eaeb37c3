// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"bytes"
	"strconv"
)

// A daemon gives a generation out once. Two files of one generation are both of no use, since nobody knows which was meant, and
// whatever a disk returns or a power loss undoes may come right again later. So the store keeps the highest that any
// file was seen to have, and one counts as used before its file gets its name. The next daemon knows what files show.

// shownMax is the highest generation that is believed of a file that is not valid. Damage then never uses up what
// is left: as many generations again are above it.
const shownMax = safeInteger / 2

// generationLeap is how many generations a start leaves out for each file that shows none, because it is damaged, unsafe, or cannot
// be read: it may have any that an earlier daemon gave out above those that are shown. That is nearly as many as there are in a
// year of checkpoints every 30 seconds, and few enough for a million starts beside as many such files as a folder may hold.
const generationLeap = 1 << 20

// shownBegin is in front of the generation in every file: quotes are escaped within the envelope.
var shownBegin = []byte(`\"generation\":`)

// shownGeneration is the generation that stands in a file which may be damaged or of a later format; 0 when none can be read.
func shownGeneration(raw []byte) int64 {
	_, rest, found := bytes.Cut(raw, shownBegin)
	if !found {
		return 0
	}
	digits := 0
	for digits < len(rest) && isDigit(rest[digits]) {
		digits++
	}
	n, err := strconv.ParseInt(string(rest[:digits]), 10, 64)
	if err != nil || n > shownMax {
		return 0
	}
	return n
}

// illegible counts the files that show no generation.
func illegible(entries []Entry) (n int64) {
	for _, e := range entries {
		if e.claims == 0 {
			n++
		}
	}
	return n
}
