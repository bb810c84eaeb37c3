// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"testing"
	"time"
)

// The bounds of frames are in docs/protocol.md too, which another test holds to the table. Here they are written out as numbers.
func TestLimitsAreAsChosen(t *testing.T) {
	for name, n := range map[string][2]any{
		"version":                          {ProtoVersion, 5},
		"bytes of a header":                {HeaderLen, 5},
		"bytes of a payload":               {MaxFrameLen, 32 << 20},
		"bytes of INPUT":                   {InputMax, 64 << 10},
		"bytes of OUTPUT":                  {OutputMax, 64 << 10},
		"bytes of text of HISTORY":         {HistoryTextMax, 8 << 20},
		"bytes of an anchor":               {historyAnchorLen, 8 + 8},
		"bytes of HISTORY_WIPE":            {historyWipeLen, 8},
		"bytes of HISTORY_SUB":             {historySubLen, 1},
		"bytes of REPLAY_REQ":              {replayReqLen, 4},
		"bytes of a watermark":             {watermarkLen, 8},
		"bytes of RESIZE":                  {resizeLen, 4},
		"columns, rows":                    {SizeMax, 1000},
		"bytes of FOREGROUND":              {ForegroundMax, 256},
		"characters of FOREGROUND":         {ForegroundRunesMax, 64},
		"bytes of small JSON":              {structuredMax, 4 << 10},
		"bytes of {}":                      {emptyObjectLen, 2},
		"capabilities":                     {capabilitiesMax, 32},
		"bytes of a capability":            {capabilityNameMax, 32},
		"bytes of a session id":            {sessionIDLen, 36},
		"digits of an instance id":         {instanceIDLen, 32},
		"bytes of a signal's name":         {signalNameMax, 32},
		"colours of a palette":             {paletteLen, 16},
		"bytes of a notice's text":         {NoticeTextMax, 2 << 10},
		"bytes of a title of a capture":    {CaptureTitleMax, 1 << 10},
		"bytes read ahead":                 {ReadAheadMax, 72 << 10},
		"bytes of a reader's first buffer": {readerBufferMin, 4 << 10},
		"time with a large buffer":         {quietMax, time.Second},
		"reads that bring nothing":         {emptyReadsMax, 100},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %v, want %v", name, n[0], n[1])
		}
	}
}
