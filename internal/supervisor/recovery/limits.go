// SPDX-License-Identifier: Apache-2.0

package recovery

import "spawn/internal/supervisor/topology"

// Hard bounds of a file, whatever the configuration says (recovery specification, sections 2 and 4). Those of names, tags,
// floats and shares are the arrangement's: what can be shown can be saved, and what was saved can be shown.
const (
	// FileBytesMax is the longest file that is read or written.
	FileBytesMax = 64 << 20
	// ResourcesMax bounds sessions, windows, panes and nodes of trees, counted together.
	ResourcesMax = 100_000
	// safeInteger is the largest integer that every JSON reader keeps exactly, 2^53 − 1.
	safeInteger = 1<<53 - 1

	socketMax    = 4096
	signalMax    = 32
	sizeMax      = topology.CellsMax // columns or rows
	ratioMin     = 1
	exitCodeMax  = 255
	uidMax       = 1<<32 - 1
	textAgeMaxMS = 2_592_000 * 1000 // the longest text age a configuration may ask for

	// textRowsMax bounds the rows of one pane: what a configuration may ask for, and the tallest
	// screen, which a reader must be able to hold before it knows the pane's size.
	textRowsMax = policyTextRowsMax + sizeMax
)
