// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"errors"

	"spawn/internal/sessiond/emulator"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/secret"
	"spawn/internal/sessiond/wire"
)

// A capture is text, not a stream: what a person would read in the terminal at one place of its output. The loop makes it
// between two strides, so screen, history and watermark belong together, and nothing of the terminal changes.

// executeCapture answers CAPTURE_REQ. A capture that would not fit a frame is answered without rows.
func (w *worker) executeCapture(payload []byte) error {
	req, err := wire.DecodeCaptureReq(payload)
	if err != nil {
		return err
	}
	w.settleNotices()
	c := w.capture(req)
	failpoint.Pass(failpoint.CaptureMade)
	err = wire.ErrTooLarge
	if size := textBytes(c); size <= wire.MaxFrameLen { // else it isn't worth trying
		err = push(w.conn.out, frameHint+size, c, wire.AppendCapture)
	}
	if errors.Is(err, wire.ErrTooLarge) {
		c.Screen, c.StyledScreen, c.History, c.StyledHistory = nil, nil, nil, nil
		c.Oversize = true
		err = push(w.conn.out, frameHint, c, wire.AppendCapture)
	}
	w.conn.send(err)
	return nil
}

func (w *worker) capture(req wire.CaptureReq) wire.Capture {
	c := wire.Capture{Watermark: w.watermark}
	look := func(screen *emulator.Terminal) { captureScreen(&c, screen, req) }
	if !w.guard(look) {
		look(w.screen) // the one that took the place of the broken one
	}
	if req.HasHistory() {
		w.captureHistory(&c, req)
	}
	return c
}

func captureScreen(c *wire.Capture, screen *emulator.Terminal, req wire.CaptureReq) {
	cols, rows := screen.Size()
	modes := screen.Modes()
	primary := req.What == wire.CapturePrimary || req.What == wire.CaptureAll
	v := screen.View(primary, req.Styled)
	c.Cols, c.Rows = uint16(cols), uint16(rows)
	c.Alternate = screen.AlternateActive()
	c.Title = wire.ClipText(screen.Title(), wire.CaptureTitleMax)
	c.Cursor = wire.CaptureCursor{Row: uint16(v.Row), Col: uint16(v.Col), Visible: !modes.CursorHidden, PendingWrap: v.PendingWrap}
	c.Modes = wire.CaptureModes{
		CursorKeys: modes.CursorKeys, BracketedPaste: modes.BracketedPaste, Mouse: modes.Mouse, Focus: modes.FocusEvents,
	}
	if req.HasScreen() {
		c.Screen, c.StyledScreen = v.Plain, v.Styled
	}
}

// captureHistory reads the log. If that can't be had as a whole there is no history: a part of the truth is never shown as
// the whole.
func (w *worker) captureHistory(c *wire.Capture, req wire.CaptureReq) {
	text, err := w.history.log.AppendReplay(nil, wire.HistoryTextMax)
	if err != nil {
		c.Lost = true
		return
	}
	rows, size := int(req.MaxRows), int(min(req.MaxBytes, wire.HistoryTextMax))
	if req.Styled {
		c.History, c.StyledHistory, c.Clipped = emulator.StyledHistory(text, int(c.Cols), rows, size)
	} else {
		c.History, c.Clipped = emulator.PlainHistory(text, int(c.Cols), rows, size)
	}
	secret.Wipe(text)
}

// textBytes is about how much room the rows of a capture take.
func textBytes(c wire.Capture) (n int) {
	for _, rows := range [][]string{c.Screen, c.StyledScreen, c.History, c.StyledHistory} {
		for _, row := range rows {
			n += len(row) + len(`"",`)
		}
	}
	return n
}
