// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unnamed is what a device is called whose name has nothing to show.
const unnamed = "Browser"

// checkSentName bounds what a stranger may make us work on.
func checkSentName(name string) error {
	if len(name) > nameSentBytesMax || !utf8.ValidString(name) {
		return fmt.Errorf("%w: the name is longer than %d bytes or not UTF-8", ErrProtocol, nameSentBytesMax)
	}
	return nil
}

// cleanName is cleanText for what must have a name.
func cleanName(name string) string {
	return cmp.Or(cleanText(name), unnamed)
}

// cleanText makes a name fit to be shown in a page, a list and a log: printable characters alone, so
// no control, bidirectional or zero-width ones, single spaces, nameRunesMax characters at most.
// Cleaning a clean name changes nothing.
func cleanText(name string) string {
	kept := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r) && r != utf8.RuneError:
			return r
		}
		return -1
	}, name)
	runes := []rune(strings.Join(strings.Fields(kept), " "))
	if len(runes) > nameRunesMax {
		runes = runes[:nameRunesMax]
	}
	return strings.TrimSpace(string(runes))
}
