// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"slices"

	"spawn/internal/sessiond/emulator"
)

// sameState equals reflect.DeepEqual, but compares the cells, which are nearly all of a state, as values.
func sameState(a, b emulator.State) bool {
	if !slices.EqualFunc(a.Primary.Lines, b.Primary.Lines, sameLine) || !slices.EqualFunc(a.Alternate.Lines, b.Alternate.Lines, sameLine) {
		return false
	}
	a.Primary.Lines, a.Alternate.Lines, b.Primary.Lines, b.Alternate.Lines = nil, nil, nil, nil
	return reflect.DeepEqual(a, b)
}

func sameLine(a, b emulator.LineState) bool {
	return a.Wrapped == b.Wrapped && a.Prompt == b.Prompt && slices.Equal(a.Cells, b.Cells)
}
