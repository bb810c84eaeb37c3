// SPDX-License-Identifier: Apache-2.0

package wire

import "fmt"

// paletteLen is the number of colours of a palette, when there is one.
const paletteLen = 16

// Theme is the payload of THEME: the colours with which the worker answers colour queries. Each
// colour is "#rrggbb" in lower case.
type Theme struct {
	Foreground string   `json:"foreground"`
	Background string   `json:"background"`
	Cursor     string   `json:"cursor"`
	Palette    []string `json:"palette"` // ANSI colours 0 to 15, or empty to keep the worker's
}

// AppendTheme appends THEME.
func AppendTheme(dst []byte, t Theme) ([]byte, error) { return appendStructured(dst, KindTheme, t) }

// DecodeTheme reads the payload of THEME.
func DecodeTheme(payload []byte) (Theme, error) { return decodeStructured[Theme](KindTheme, payload) }

func (t Theme) check() error {
	if n := len(t.Palette); n != 0 && n != paletteLen {
		return fmt.Errorf("%w: palette of %d colours, want 0 or %d", ErrPayload, n, paletteLen)
	}
	for _, c := range append([]string{t.Foreground, t.Background, t.Cursor}, t.Palette...) {
		if len(c) != 7 || c[0] != '#' || !isHex(c[1:]) {
			return fmt.Errorf("%w: colour is not #rrggbb", ErrPayload)
		}
	}
	return nil
}
