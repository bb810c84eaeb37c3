// SPDX-License-Identifier: Apache-2.0

package scrollback

import "testing"

// The numbers of a log that are ours to choose, written out once more, so that none changes by the way. Those of the
// contract are held by package sessiond, beside the rest of a worker's.
func TestLimitsAreAsChosen(t *testing.T) {
	const kib = 1 << 10
	for name, n := range map[string]struct{ is, chosen int64 }{
		"bytes of a block of storage":              {blockBytes, 4 * kib},
		"bytes of the folder, at least":            {directoryBytesMin, 4 * kib},
		"bytes of an inode":                        {inodeBytes, 1 * kib},
		"bytes of a name in the folder":            {entryBytes, 512},
		"bytes around a record's text":             {recordOverheadBytes, 4 + 1 + 8 + 16},
		"bytes of a useful record":                 {recordBytesMin, 256},
		"bytes of the longest record's text":       {MaxRecordBytes, 64 * kib},
		"bytes that a capture reads at once":       {PieceBytes, 64*kib + 29},
		"buffers for a record":                     {recordBuffers, 3},
		"number after which a log ends":            {seqMax, 1 << 48},
		"segments of a log that has been lowered":  {segmentsPerLog, 8},
		"records of a log that has been lowered":   {recordsPerLog, 64},
		"charge of a new file":                     {charged(emptySegment()), 4*kib + 1*kib + 512},
		"charge that a record of 100 bytes adds":   {recordCharge(100), 29 + 100 + 2*100},
		"storage behind nothing":                   {blocks(0), 4 * kib},
		"storage behind a block":                   {blocks(4 * kib), 4 * kib},
		"storage behind a block and a byte":        {blocks(4*kib + 1), 8 * kib},
		"longest record of a log of 1 MiB":         {int64(bounded(t, Options{MaxLogBytes: 1024 * kib}).recordBytes), 16 * kib},
		"longest record of a log of 8 MiB":         {int64(bounded(t, Options{}).recordBytes), 64 * kib},
		"segment of a log of 1 MiB":                {segmentOf(t, Options{MaxLogBytes: 1024 * kib}), 128 * kib},
		"segment of a log of 8 MiB":                {segmentOf(t, Options{}), 256 * kib},
		"segment of a log of 1 MiB, where told":    {segmentOf(t, Options{MaxLogBytes: 1024 * kib, SegmentBytes: 9}), 9},
		"charge of a log of which nothing is told": {most(t, Options{}), 8 * kib * kib},
	} {
		if n.is != n.chosen {
			t.Errorf("%s: %d, want %d", name, n.is, n.chosen)
		}
	}
}

func charged(s segment) int64 { return s.charge() }

func bounded(t *testing.T, o Options) *Log {
	l := &Log{}
	must(t, l.setBounds(o))
	return l
}

func segmentOf(t *testing.T, o Options) int64 { return bounded(t, o).segmentCharge }
func most(t *testing.T, o Options) int64      { return bounded(t, o).chargeMax }
