// SPDX-License-Identifier: Apache-2.0

package topology

// Bounds of what one spawnd arranges. Together they keep an encoded tree below EncodedMax; a test holds
// them against each other.
const (
	// PanesMax, WindowsMax and SessionsMax are the most of each. A pane costs a process, so 4096 is more
	// than a host runs; windows and sessions may be empty, and need no more.
	PanesMax    = 4096
	WindowsMax  = PanesMax
	SessionsMax = PanesMax
	// ItemsMax bounds sessions, windows, panes and nodes of a stored tree together, before any of them is
	// looked at (recovery, section 4).
	ItemsMax = 100_000

	NameRunesMax  = 64
	TitleRunesMax = 256
	Argv0Max      = 255 // bytes, as the recovery specification has it (section 8); what a file's name can have
	signalMax     = 32  // bytes; the longest name of a signal has 8

	// TagsMax, TagKeyMax and TagValueMax bound the tags of a pane; keys and values are counted in bytes.
	TagsMax     = 16
	TagKeyMax   = 32
	TagValueMax = 128

	// FloatTitleMax and PresetMax are bytes.
	FloatTitleMax = 128
	PresetMax     = 64
	// OffsetMax is the farthest, in cells, that a float may ask to be moved from its anchor.
	OffsetMax = 4096
	// CellsMax is the most columns, or rows, of anything: they travel as 16 bits.
	CellsMax = 1<<16 - 1

	// RatioMax is the largest share of a split, of ratioWhole. The least is 1: 0 means none was given.
	RatioMax   = ratioWhole - 1
	ratioWhole = 10_000

	// CounterMax bounds every number that only grows: ids, revisions, z. Larger ones are not exact in
	// JavaScript.
	CounterMax = 1<<53 - 1

	// EncodedMax is the most bytes an encoded tree can have, and the most that Decode reads.
	EncodedMax = 34 << 20
)
