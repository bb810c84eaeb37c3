// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"strconv"

	"spawn/internal/sessiond/emulator"
	"spawn/internal/sessiond/wire"
)

// mergeTheme turns a THEME into the emulator's. Without a palette the one we were told before stays, at first the emulator's
// own; old is nil before the first THEME.
func mergeTheme(old *emulator.Theme, t wire.Theme) emulator.Theme {
	theme := emulator.DefaultTheme()
	if old != nil {
		theme = *old
	}
	theme.Foreground, theme.Background, theme.Cursor = color(t.Foreground), color(t.Background), color(t.Cursor)
	for i, c := range t.Palette {
		theme.Palette[i] = color(c)
	}
	return theme
}

// color reads "#rrggbb", which wire has checked.
func color(s string) emulator.Color {
	n, _ := strconv.ParseUint(s[1:], 16, 32)
	return emulator.Color(n)
}
