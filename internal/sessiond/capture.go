// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"errors"

	"spawn/internal/sessiond/emulator"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/wire"
)

// A capture is text, not a stream: what a person would read in the terminal at one place of its output. Screen, watermark and the
// end of the history belong together: the loop looks at them in one turn. The history before that end is long, so it is read
// back and made rows of in steps, between which output goes on (capture_history.go).
//
//	CAPTURE_REQ ─► screen, watermark, end of the log ─► step ─► output ─► step ─► … ─► CAPTURE

// executeCapture begins to answer CAPTURE_REQ. One that comes while another is being made waits for that in obey.
func (w *worker) executeCapture(payload []byte) error {
	req, err := wire.DecodeCaptureReq(payload)
	if err != nil {
		return err
	}
	w.settleNotices()
	c := wire.Capture{Watermark: w.watermark}
	look := func(screen *emulator.Terminal) { captureScreen(&c, screen, req) }
	if !w.guard(look) {
		look(w.screen) // the one that took the place of the broken one
	}
	w.conn.capturing = beginCapture(w.history.log, req, c)
	return nil
}

// captureWork is ready while a capture is being made.
func (c *connection) captureWork() <-chan struct{} {
	if c.capturing == nil {
		return nil
	}
	return always
}

// always is ready.
var always = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// continueCapture does one step, and then lets output pass that has come meanwhile: so a capture makes output wait for a step,
// however long the history is, and never for two.
func (w *worker) continueCapture() {
	if w.conn.capturing.step() {
		w.endCapture()
	}
	output, _, _, _ := w.intake()
	select {
	case <-output:
		w.takeOutput()
	default:
	}
}

// endCapture sends what was captured. A capture that would not fit a frame is answered without rows.
func (w *worker) endCapture() {
	made := w.conn.capturing
	failpoint.Pass(failpoint.CaptureMade)
	w.conn.capturing = nil
	rows := made.rows()
	size := frameHint + textBytes(made.c) + rows.Len() + indexBytesMax*len(rows.Wraps)
	encode := func(dst []byte, c wire.Capture) ([]byte, error) { return wire.AppendCaptureParts(dst, c, rows) }
	err := made.err
	switch {
	case err != nil:
	case size > wire.MaxFrameLen: // it isn't worth trying
		err = wire.ErrTooLarge
	default:
		err = pushAnswer(w.conn.out, size, made.c, encode)
	}
	if errors.Is(err, wire.ErrTooLarge) {
		c := made.c
		c.Screen, c.StyledScreen, c.ScreenWraps, c.Oversize = nil, nil, nil, true
		err = pushAnswer(w.conn.out, frameHint, c, wire.AppendCapture)
	}
	made.close()
	w.conn.send(err)
	if next := w.conn.delayed; next != nil {
		w.conn.delayed = nil
		w.obey(*next)
	}
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
		if req.Wraps {
			c.ScreenWraps = v.Continued
		}
	}
}

// textBytes is about how much room the rows of a captured screen take.
func textBytes(c wire.Capture) (n int) {
	for _, rows := range [][]string{c.Screen, c.StyledScreen} {
		for _, row := range rows {
			n += len(row) + len(`"",`)
		}
	}
	return n + indexBytesMax*len(c.ScreenWraps)
}

// indexBytesMax is what an index of a row takes at most: there are fewer rows than bytes of text.
const indexBytesMax = len("12345678,")
