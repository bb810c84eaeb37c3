// SPDX-License-Identifier: Apache-2.0

package emulator

import "unicode/utf8"

// cluster is a base character with the zero-width ones that joined it, kept
// as the cluster without its last rune and that rune.
type cluster struct {
	parent cell // content bits of the cell that was joined
	last   rune
	marks  uint8
	// size is the length of text, which holds the whole cluster; 0 when it
	// doesn't fit.
	size uint8
	text [clusterTextMax]byte
}

// clusterTextMax is how many bytes of a cluster are kept written out. Nearly
// all are shorter.
const clusterTextMax = 16

// clusterTable gives each distinct cluster a number.
type clusterTable struct {
	list  []cluster
	index map[uint64]uint32 // parent content << 21 | last rune
	// recent holds what was looked up last, by the low bits of a hash.
	recent [recentClusters]struct {
		key     uint64
		content cell
	}
}

// recentClusters is a power of two.
const recentClusters = 64

func (ct *clusterTable) reset() {
	ct.list = ct.list[:0]
	ct.index = map[uint64]uint32{}
	clear(ct.recent[:])
}

// join returns the content of a cell after a zero-width rune joined it. It is
// unchanged when the cell or the table is full.
func (ct *clusterTable) join(content cell, r rune) cell {
	key := uint64(content)<<21 | uint64(r)
	at := &ct.recent[(content+cell(r))%recentClusters]
	if at.key != key {
		at.key, at.content = key, ct.find(content, r)
	}
	return at.content
}

// find is join without the short memory.
func (ct *clusterTable) find(content cell, r rune) cell {
	marks := uint8(1)
	if content&clusterFlag != 0 {
		marks += ct.list[content&runeMask].marks
	}
	if marks > marksMax {
		return content
	}
	key := uint64(content)<<21 | uint64(r)
	id, ok := ct.index[key]
	if !ok {
		if len(ct.list) >= clustersMax {
			return content
		}
		id = uint32(len(ct.list))
		k := cluster{parent: content, last: r, marks: marks}
		var buf [utf8.UTFMax * (marksMax + 1)]byte
		if text := utf8.AppendRune(ct.appendContent(buf[:0], content), r); len(text) <= clusterTextMax {
			k.size = uint8(copy(k.text[:], text))
		}
		ct.list = append(ct.list, k)
		ct.index[key] = id
	}
	return clusterFlag | cell(id)
}

// appendContent appends the text of a printed cell.
func (ct *clusterTable) appendContent(dst []byte, c cell) []byte {
	c &= contentMask
	if c&clusterFlag == 0 {
		return utf8.AppendRune(dst, rune(c))
	}
	k := ct.list[c&runeMask]
	return utf8.AppendRune(ct.appendContent(dst, k.parent), k.last)
}

// width returns the columns that the first rune of a printed cell takes by
// itself.
func (ct *clusterTable) width(c cell) int {
	c &= contentMask
	for c&clusterFlag != 0 {
		c = ct.list[c&runeMask].parent
	}
	return runeWidth(rune(c))
}

// appendRunes appends the runes of a printed cell.
func (ct *clusterTable) appendRunes(dst []rune, c cell) []rune {
	c &= contentMask
	if c&clusterFlag == 0 {
		return append(dst, rune(c))
	}
	k := ct.list[c&runeMask]
	return append(ct.appendRunes(dst, k.parent), k.last)
}
