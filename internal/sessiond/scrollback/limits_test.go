// SPDX-License-Identifier: Apache-2.0

package scrollback

import "testing"

// The numbers of the charge, which are ours: without them here a floor of 0 would be as good.
func TestLimitsAreAsChosen(t *testing.T) {
	for name, n := range map[string][2]any{
		"plaintext of a record":                      {MaxRecordBytes, 64 << 10},
		"the last sequence number":                   {seqMax, 1 << 48},
		"segments of a lowered log":                  {segmentsPerLog, 8},
		"bytes of a block":                           {blockBytes, 4096},
		"bytes of a directory, at least":             {directoryBytesMin, 4096},
		"charge of a file itself":                    {inodeBytes, 1024},
		"charge of a name":                           {entryBytes, 512},
		"bytes of the least record of a lowered log": {recordBytesMin, 256},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %v, want %v", name, n[0], n[1])
		}
	}
}
