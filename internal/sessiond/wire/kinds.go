// SPDX-License-Identifier: Apache-2.0

// Package wire is the protocol between spawnd and a worker: frames, their kinds, their payloads.
//
//	+-----------------+-----------+------------------------+
//	| length  u32 LE  | kind  u8  | payload  length bytes  |
//	+-----------------+-----------+------------------------+
//
// The length counts the payload alone. Hot payloads are raw bytes, structured ones are JSON in the
// one form that strictjson writes. docs/protocol.md describes every byte; testdata pins them.
package wire

import "fmt"

const (
	// ProtoVersion is Hello.Version. A supervisor refuses a worker of any other version.
	ProtoVersion = 5
	// HeaderLen is the size of a frame's header in bytes.
	HeaderLen = 5
	// MaxFrameLen bounds every payload in bytes. No kind may allow more.
	MaxFrameLen = 32 << 20
)

// Kind is a frame's type. Values are part of the protocol: never renumber, never reuse.
type Kind uint8

// Kinds below 0x80 go to the worker, the others come from it.
const (
	KindStart      Kind = 0x01
	KindInput      Kind = 0x02
	KindResize     Kind = 0x03
	KindReplayReq  Kind = 0x04
	KindRedraw     Kind = 0x05 // accepted and ignored: a snapshot needs no help of the program
	KindHistorySub Kind = 0x06
	KindCaptureReq Kind = 0x07
	KindTheme      Kind = 0x08

	KindHello       Kind = 0x81
	KindOutput      Kind = 0x82
	KindReplay      Kind = 0x83
	KindExit        Kind = 0x84
	KindForeground  Kind = 0x85
	KindHistory     Kind = 0x86
	KindHistoryWipe Kind = 0x87
	KindCapture     Kind = 0x88
	KindNotice      Kind = 0x89
)

// Direction says who may send a kind. The zero value is nobody.
type Direction uint8

const (
	ToWorker   Direction = 1
	FromWorker Direction = 2
)

func (d Direction) String() string {
	switch d {
	case ToWorker:
		return "to worker"
	case FromWorker:
		return "from worker"
	}
	return fmt.Sprintf("direction(%d)", uint8(d))
}

// Capabilities that Hello may list. A kind whose Since names one is sent to, or expected from, only
// a worker that lists it.
const (
	CapHistory = "history"
	CapCapture = "capture"
	CapTheme   = "theme"
	CapNotice  = "notice"
)

// CapLockedKey gates nothing. A worker lists it when the system granted every protection of its key's page; one that does not
// list it, or is older, may have its key swapped or dumped. What it logs is encrypted regardless.
const CapLockedKey = "locked_key"

// CapWraps gates CaptureReq.Wraps. A worker without it would refuse the request.
const CapWraps = "capture_wraps"

// CapSubreaper gates nothing. A worker that lists it is the parent of all that the programs of its terminal leave behind, so
// every process that came of the terminal has the worker among its parents, for as long as the worker lives.
const CapSubreaper = "subreaper"

// Capabilities returns those that gate the kinds of this build.
func Capabilities() []string {
	return []string{CapHistory, CapCapture, CapTheme, CapNotice}
}

// Payload caps in bytes that senders need to know, to split or clip before they encode.
const (
	InputMax       = 64 << 10
	OutputMax      = 64 << 10
	HistoryTextMax = 8 << 20 // the log's whole budget: a longer batch could not be logged either
	ForegroundMax  = 256

	structuredMax = 4 << 10 // small JSON payloads
)

// Fixed sizes in bytes.
const (
	resizeLen        = 4
	replayReqLen     = 4
	historySubLen    = 1
	historyWipeLen   = 8
	watermarkLen     = 8
	historyAnchorLen = 16
	emptyObjectLen   = 2
)

// Spec is what the protocol says about one kind.
type Spec struct {
	Kind  Kind
	Name  string
	Dir   Direction
	Min   uint32 // fewest payload bytes
	Max   uint32 // most payload bytes, the cap that is checked before anything is allocated
	Exact bool   // the payload has exactly Max bytes
	Since string // the capability that gates the kind; "" for all of version 5
}

// kinds is the one table: encoder, reader, documentation and tests read it.
var kinds = [...]Spec{
	{KindStart, "START", ToWorker, emptyObjectLen, 256 << 10, false, ""},
	{KindInput, "INPUT", ToWorker, 0, InputMax, false, ""},
	{KindResize, "RESIZE", ToWorker, resizeLen, resizeLen, true, ""},
	{KindReplayReq, "REPLAY_REQ", ToWorker, replayReqLen, replayReqLen, true, ""},
	{KindRedraw, "REDRAW", ToWorker, 0, 0, true, ""},
	{KindHistorySub, "HISTORY_SUB", ToWorker, historySubLen, historySubLen, true, CapHistory},
	{KindCaptureReq, "CAPTURE_REQ", ToWorker, emptyObjectLen, structuredMax, false, CapCapture},
	{KindTheme, "THEME", ToWorker, emptyObjectLen, structuredMax, false, CapTheme},

	{KindHello, "HELLO", FromWorker, emptyObjectLen, 16 << 10, false, ""},
	{KindOutput, "OUTPUT", FromWorker, 0, OutputMax, false, ""},
	{KindReplay, "REPLAY", FromWorker, watermarkLen, MaxFrameLen, false, ""},
	{KindExit, "EXIT", FromWorker, emptyObjectLen, structuredMax, false, ""},
	{KindForeground, "FOREGROUND", FromWorker, 0, ForegroundMax, false, ""},
	{KindHistory, "HISTORY", FromWorker, historyAnchorLen, historyAnchorLen + HistoryTextMax, false, CapHistory},
	{KindHistoryWipe, "HISTORY_WIPE", FromWorker, historyWipeLen, historyWipeLen, true, CapHistory},
	{KindCapture, "CAPTURE", FromWorker, emptyObjectLen, MaxFrameLen, false, CapCapture},
	{KindNotice, "NOTICE", FromWorker, emptyObjectLen, 16 << 10, false, CapNotice},
}

// byKind finds a Spec without a search; a zero Kind marks a hole.
var byKind = func() (index [256]Spec) {
	for _, s := range kinds {
		index[s.Kind] = s
	}
	return index
}()

// Kinds returns every kind in the order of its value.
func Kinds() []Spec { return append([]Spec(nil), kinds[:]...) }

// Lookup returns what the protocol says about k, false for a kind it does not know.
func Lookup(k Kind) (Spec, bool) {
	s := byKind[k]
	return s, s.Kind != 0
}

// String returns the kind's name in the table.
func (k Kind) String() string {
	if s, ok := Lookup(k); ok {
		return s.Name
	}
	return fmt.Sprintf("kind(0x%02x)", uint8(k))
}
