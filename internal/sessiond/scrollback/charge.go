// SPDX-License-Identifier: Apache-2.0

package scrollback

import "unsafe"

// The bound of a log is on its charge: what it costs the host at worst, in files, kernel memory
// and process memory together. It is neither an amount of text nor a measured memory size. Per
// segment
//
//	  bytes                    exact ciphertext and framing
//	+ ReplayCopies × plain     the buffer a replay returns, and as much again for its copy on the way out
//	+ allocated                measured storage, at least the length in whole blocks
//	+ inodeBytes + entryBytes  the file itself
//
// and once per log
//
//	  allocated of the directory, at least directoryBytesMin, + inodeBytes + entryBytes
//	+ bookkeeping              this Log, its name, its list of segments, its record buffers
//
// What a replay reads the files through is the record buffer; a capture has two more like it. What else waits to be sent
// with a replay, and the rows that are made of a capture, are the caller's to bound.
//
// Before a record is admitted the sum is made with the record in it, and whole oldest segments go
// until it is within the limit. Storage is only known once written, so it is measured whenever a
// file grows by a block, and a file system that takes more than expected costs older segments.
const (
	// ReplayCopies is how often a byte of text is charged for replays: as a part of the one returned, and of its copy.
	ReplayCopies = 2
	// recordBuffers is how many buffers with room for one longest record there may be: the log's own, and while it is read
	// back those of a Tail, for what it has read of a file and for the text of a piece.
	recordBuffers = 3

	blockBytes        = 4096 // pages of tmpfs, default blocks of ext4, xfs, btrfs
	directoryBytesMin = 4096
	inodeBytes        = 1024 // on disk (ext4: 256) and in the kernel's cache, rounded up
	entryBytes        = 512  // a name on disk (ext4: at most 263) and in the kernel's cache, rounded up

	// recordBytesMin is the least useful record: a line of text with colours.
	recordBytesMin = 256
)

// recordCharge is what one record of n plaintext bytes adds for good; SegmentBytes counts this.
func recordCharge(n int64) int64 { return recordOverheadBytes + n + ReplayCopies*n }

// blocks is n in whole blocks, one at least.
func blocks(n int64) int64 { return max(1, (n+blockBytes-1)/blockBytes) * blockBytes }

func (s *segment) charge() int64 {
	return s.bytes + ReplayCopies*s.plain + s.allocated + inodeBytes + entryBytes
}

// contents is the part of charge that counts towards rotation.
func (s *segment) contents() int64 { return s.bytes + ReplayCopies*s.plain }

// emptySegment is the charge of a segment file as it is made.
func emptySegment() segment { return segment{allocated: blockBytes} }

// charge is the whole sum as of now.
func (l *Log) charge() int64 { return l.fixedCharge() + l.used }

func (l *Log) fixedCharge() int64 {
	bookkeeping := int64(unsafe.Sizeof(*l)) + int64(len(l.name)) + recordBuffers*int64(cap(l.record)) +
		int64(cap(l.segments))*int64(unsafe.Sizeof(segment{}))
	return max(l.dirAllocated, directoryBytesMin) + inodeBytes + entryBytes + bookkeeping
}

// growth is how much a record of n plaintext bytes adds to the charge of a segment, s as it is.
func (s *segment) growth(n int64) int64 {
	after := max(s.allocated, blocks(s.bytes+n+recordOverheadBytes))
	return recordCharge(n) + after - s.allocated
}

// recordThatFits is the longest plaintext of which one record, alone in a log with room for
// charge, is sure to be admitted. Such a byte is charged once in each record buffer, once as
// ciphertext, ReplayCopies times, and once as storage, that rounded up by a block.
func recordThatFits(charge int64) int {
	empty := emptySegment()
	const perByte = recordBuffers + 2 + ReplayCopies
	return int((charge - empty.charge() - blockBytes - perByte*recordOverheadBytes) / perByte)
}
