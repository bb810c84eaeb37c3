// SPDX-License-Identifier: Apache-2.0

package recovery

// Hard bounds of a file, whatever the configuration says (recovery specification, sections 2 and 4).
const (
	// FileBytesMax is the longest file that is read or written.
	FileBytesMax = 64 << 20
	// ResourcesMax bounds sessions, windows, panes and nodes of trees, counted together.
	ResourcesMax = 100_000
	// safeInteger is the largest integer that every JSON reader keeps exactly, 2^53 − 1.
	safeInteger = 1<<53 - 1

	tagsMax      = 16
	tagKeyMax    = 64  // bytes
	tagValueMax  = 256 // bytes
	presetMax    = 128 // bytes of a float's preset name
	titleMax     = 128 // bytes of a float's title
	nameMax      = 512 // bytes of a session's or window's name; topology allows fewer
	socketMax    = 4096
	signalMax    = 32
	sizeMax      = 65535 // columns or rows
	offsetMax    = 4096  // cells, either way, of a float from its anchor
	ratioMax     = 9999
	ratioMin     = 1
	exitCodeMax  = 255
	uidMax       = 1<<32 - 1
	textAgeMaxMS = 2_592_000 * 1000 // the longest text age a configuration may ask for

	// textRowsMax bounds the rows of one pane: what a configuration may ask for, and the tallest
	// screen, which a reader must be able to hold before it knows the pane's size.
	textRowsMax = policyTextRowsMax + sizeMax
)
