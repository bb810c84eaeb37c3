// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"

	"spawn/internal/strictjson"
)

// Fit encodes c so that the file has at most bytesMax bytes, and returns what it encoded: text is left out
// pane by pane from the highest number down, never anything else. ErrSize when that is not enough.
func Fit(c Checkpoint, bytesMax int) ([]byte, Checkpoint, error) {
	c = c.withLists()
	bare := c
	bare.Panes = slices.Clone(c.Panes)
	gains := make([]int, len(c.Panes)) // what each text adds to the file
	for i := range bare.Panes {
		if bare.Panes[i].Text.Availability != TextPlain {
			continue
		}
		with, err := textLen(bare.Panes[i].Text)
		if err != nil {
			return nil, Checkpoint{}, err
		}
		bare.Panes[i].Text = Text{Availability: TextOmitted}
		without, err := textLen(bare.Panes[i].Text)
		if err != nil {
			return nil, Checkpoint{}, err
		}
		gains[i] = with - without
	}
	out, err := Encode(bare, bytesMax) // topology alone has to fit, and to be valid
	if err != nil {
		return nil, Checkpoint{}, err
	}
	size := len(out)
	for _, gain := range gains {
		size += gain
	}
	for i := len(c.Panes) - 1; i >= 0 && size > min(bytesMax, FileBytesMax); i-- {
		if gains[i] > 0 {
			c.Panes[i].Text = Text{Availability: TextOmitted}
			size -= gains[i]
		}
	}
	out, err = Encode(c, bytesMax)
	return out, c, err
}

// textLen is the number of bytes that a text takes in a file. Quoting works character by character, so the
// lengths of parts add up.
func textLen(t Text) (int, error) {
	raw, err := strictjson.Marshal(t)
	if err != nil {
		return 0, corrupt("a text is not UTF-8, or its times are out of range")
	}
	n := len(raw)
	for _, c := range raw {
		if c == '"' || c == '\\' { // JSON holds no control character
			n++
		}
	}
	return n, nil
}

// ClipText makes a pane's text of captured rows: the whole screen, and as much of the history, newest
// rows kept, as rowsMax rows and bytesMax bytes of both together allow. A screen that is too large alone,
// or either limit at zero, gives no text.
func ClipText(screen, history []string, rowsMax, bytesMax int, savedAt, expiresAt Millis) Text {
	rows, bytes := rowsMax-len(screen), bytesMax
	for _, row := range screen {
		bytes -= len(row)
	}
	if rowsMax == 0 || bytesMax == 0 || rows < 0 || bytes < 0 {
		return Text{Availability: TextOmitted}
	}
	from := len(history)
	for from > 0 && rows > 0 && len(history[from-1]) <= bytes {
		from--
		rows--
		bytes -= len(history[from])
	}
	kept := append([]string{}, history[from:]...)
	return Text{Availability: TextPlain, SavedAt: savedAt, ExpiresAt: expiresAt, Screen: screen, History: kept}
}
