// SPDX-License-Identifier: Apache-2.0

// Package foreground names the command that has a terminal's keyboard.
package foreground

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// NameRunesMax bounds a name. More is of no use in a label, and the frame that carries it has a fixed size.
const NameRunesMax = 64

// clean makes a label of what a process calls itself: its last path element, without control or format characters (a process
// chooses its own name, and names are shown in browsers and terminals), at most NameRunesMax characters.
func clean(name string) string {
	name = strings.ToValidUTF8(name, "")
	name = name[strings.LastIndexByte(name, '/')+1:]
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name)
	if utf8.RuneCountInString(name) > NameRunesMax {
		name = string([]rune(name)[:NameRunesMax])
	}
	return name
}
