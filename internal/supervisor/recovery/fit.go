// SPDX-License-Identifier: Apache-2.0

package recovery

import "spawn/internal/strictjson"

// fit makes c, in the newest format, a file of at most bytesMax bytes: text is left out pane by pane from the highest number
// down, never anything else. ErrSize when that is not enough. It returns what is left of c, checked, and the length of its file.
func fit(c Checkpoint, bytesMax int) (Checkpoint, int, error) {
	c = c.withLists()
	bare := withoutText(c) // topology alone has to be valid, and to fit
	if err := bare.check(Format3); err != nil {
		return Checkpoint{}, 0, err
	}
	size := envelopeLen
	if err := bare.pieces(func(piece []byte) error { size += quotedLen(piece); return nil }); err != nil {
		return Checkpoint{}, 0, err
	}
	if size > min(bytesMax, FileBytesMax) {
		return Checkpoint{}, 0, oversize("does not fit the longest file allowed")
	}
	gains, err := textGains(c.Panes)
	if err != nil {
		return Checkpoint{}, 0, err
	}
	for _, gain := range gains {
		size += gain
	}
	for i := len(c.Panes) - 1; i >= 0 && size > min(bytesMax, FileBytesMax); i-- {
		if gains[i] > 0 {
			c.Panes[i].Text = Text{Availability: TextOmitted}
			size -= gains[i]
		}
	}
	return c, size, c.check(Format3)
}

// textGains are what the panes' texts add to a file. Quoting works character by character, so the lengths of parts add up.
func textGains(panes []Pane) ([]int, error) {
	gains := make([]int, len(panes))
	absent, err := strictjson.Marshal(Text{Availability: TextOmitted})
	if err != nil {
		return nil, err
	}
	var bare []byte
	for i := range panes {
		text := panes[i].Text
		if text.Availability != TextPlain {
			continue
		}
		history := text.History.spelt
		text.History = noRows
		if bare, err = strictjson.AppendMarshal(bare[:0], &text); err != nil {
			return nil, corrupt("a text is not UTF-8, or its times are out of range")
		}
		gains[i] = quotedLen(bare) + quotedLen(history) - quotedLen(absent)
	}
	return gains, nil
}

// ClipText makes a pane's text of captured rows: the whole screen, and as much of the history, newest
// rows kept, as rowsMax rows and bytesMax bytes of both together allow. A screen that is too large alone,
// or either limit at zero, gives no text.
func ClipText(screen []string, history List, rowsMax, bytesMax int, savedAt, expiresAt Millis) Text {
	rows, bytes := rowsMax-len(screen), bytesMax
	for _, row := range screen {
		bytes -= len(row)
	}
	if rowsMax == 0 || bytesMax == 0 || rows < 0 || bytes < 0 {
		return Text{Availability: TextOmitted}
	}
	if history.IsZero() {
		history = noRows
	}
	return Text{Availability: TextPlain, SavedAt: savedAt, ExpiresAt: expiresAt, Screen: screen, History: history.Newest(rows, bytes)}
}
