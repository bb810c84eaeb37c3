// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"fmt"
	"strings"
)

// Values of CaptureReq.What.
const (
	CaptureScreen  = "screen"  // the screen that is shown
	CapturePrimary = "primary" // the primary screen, even while the alternate one is shown
	CaptureHistory = "history"
	CaptureAll     = "all" // history and primary screen
)

// CaptureReq is the payload of CAPTURE_REQ: which rows to return.
type CaptureReq struct {
	What     string `json:"what"`
	MaxRows  uint32 `json:"max_rows"`  // most rows of history, newest kept; 0 for none
	MaxBytes uint32 `json:"max_bytes"` // most bytes of history text, newest rows kept; 0 for none
	Styled   bool   `json:"styled"`    // each row once more with SGR, which counts as text
	// Wraps asks which rows continue others. It is for workers that list CapWraps.
	Wraps bool `json:"wraps,omitzero"`
}

// HasScreen reports whether rows of a screen are asked for.
func (c CaptureReq) HasScreen() bool { return c.What != CaptureHistory }

// HasHistory reports whether rows of history are asked for.
func (c CaptureReq) HasHistory() bool { return c.What == CaptureHistory || c.What == CaptureAll }

// AppendCaptureReq appends CAPTURE_REQ.
func AppendCaptureReq(dst []byte, c CaptureReq) ([]byte, error) {
	return appendStructured(dst, KindCaptureReq, c)
}

// DecodeCaptureReq reads the payload of CAPTURE_REQ.
func DecodeCaptureReq(payload []byte) (CaptureReq, error) {
	return decodeStructured[CaptureReq](KindCaptureReq, payload)
}

func (c CaptureReq) check() error {
	switch c.What {
	case CaptureScreen, CapturePrimary, CaptureHistory, CaptureAll:
		return nil
	}
	return fmt.Errorf("%w: unknown part to capture", ErrPayload)
}

// Capture is the payload of CAPTURE: what a terminal shows and has shown, as text. Plain rows are
// UTF-8 without C0, DEL and C1 characters; styled ones hold SGR too and begin and end without any.
type Capture struct {
	Cols          uint16        `json:"cols"`           // 1..SizeMax
	Rows          uint16        `json:"rows"`           // 1..SizeMax
	Alternate     bool          `json:"alternate"`      // the alternate screen is shown
	Cursor        CaptureCursor `json:"cursor"`         // of the screen that was asked for, else of the one that is shown
	Modes         CaptureModes  `json:"modes"`          //
	Title         string        `json:"title"`          // at most CaptureTitleMax bytes; untrusted: a program chose it
	Watermark     uint64        `json:"watermark"`      // bytes of output before the capture, as REPLAY counts them
	Screen        []string      `json:"screen"`         // exactly Rows rows from the top; none if not asked for, or Oversize
	StyledScreen  []string      `json:"styled_screen"`  // as many, or none if not asked for
	History       []string      `json:"history"`        // oldest first
	StyledHistory []string      `json:"styled_history"` // as many, or none if not asked for
	Clipped       bool          `json:"clipped"`        // older history exists that the limits left out
	Lost          bool          `json:"lost"`           // the history cannot be had: the log is disabled or damaged
	Oversize      bool          `json:"oversize"`       // the rows would not fit a frame: there are none
	// The indices, rising, of rows that continue the one before because the terminal's width ended that; only if asked
	// for. The first of the screen continues the last of the history.
	ScreenWraps  []int `json:"screen_wraps,omitzero"`
	HistoryWraps []int `json:"history_wraps,omitzero"`
}

// CaptureCursor is where the next character goes.
type CaptureCursor struct {
	Row         uint16 `json:"row"` // from 0
	Col         uint16 `json:"col"` // from 0
	Visible     bool   `json:"visible"`
	PendingWrap bool   `json:"pending_wrap"` // the row is full: it goes to the next one
}

// CaptureModes are those that decide how to type into the terminal.
type CaptureModes struct {
	CursorKeys     bool   `json:"cursor_keys"`     // application cursor keys, ?1
	BracketedPaste bool   `json:"bracketed_paste"` // ?2004
	Mouse          uint16 `json:"mouse"`           // 0, or the protocol: 9, 1000, 1002 or 1003
	Focus          bool   `json:"focus"`           // focus reports, ?1004
}

// CaptureTitleMax bounds Capture.Title in bytes.
const CaptureTitleMax = 1 << 10

// AppendCapture appends CAPTURE. ErrTooLarge says that the rows do not fit a frame.
func AppendCapture(dst []byte, c Capture) ([]byte, error) {
	if err := c.checkWraps(); err != nil {
		return dst, fmt.Errorf("encode %v: %w", KindCapture, err)
	}
	return appendStructured(dst, KindCapture, c)
}

func (c Capture) check() error {
	if err := checkSize(c.Cols, c.Rows); err != nil {
		return err
	}
	switch {
	case c.Cursor.Row >= c.Rows || c.Cursor.Col >= c.Cols:
		return fmt.Errorf("%w: cursor in row %d, column %d of %dx%d", ErrPayload, c.Cursor.Row, c.Cursor.Col, c.Cols, c.Rows)
	case len(c.Title) > CaptureTitleMax:
		return fmt.Errorf("%w: title of %d bytes, at most %d", ErrPayload, len(c.Title), CaptureTitleMax)
	case len(c.Screen) != 0 && len(c.Screen) != int(c.Rows):
		return fmt.Errorf("%w: screen of %d rows, want 0 or %d", ErrPayload, len(c.Screen), c.Rows)
	case len(c.StyledScreen) != 0 && len(c.StyledScreen) != len(c.Screen):
		return fmt.Errorf("%w: %d styled rows of a screen of %d", ErrPayload, len(c.StyledScreen), len(c.Screen))
	case len(c.StyledHistory) != 0 && len(c.StyledHistory) != len(c.History):
		return fmt.Errorf("%w: %d styled rows of a history of %d", ErrPayload, len(c.StyledHistory), len(c.History))
	case c.Lost && len(c.History) != 0:
		return fmt.Errorf("%w: history both lost and given", ErrPayload)
	case c.Oversize && len(c.Screen)+len(c.History) != 0:
		return fmt.Errorf("%w: rows both too many and given", ErrPayload)
	}
	if err := c.Modes.check(); err != nil {
		return err
	}
	return c.checkText()
}

// checkWraps is apart from check, because a history may be decoded apart from the rest.
func (c Capture) checkWraps() error {
	return errors.Join(checkIndices(c.ScreenWraps, len(c.Screen)), checkIndices(c.HistoryWraps, len(c.History)))
}

// checkIndices wants some of n rows, rising.
func checkIndices(indices []int, n int) error {
	next := 0
	for _, i := range indices {
		if i < next || i >= n {
			return fmt.Errorf("%w: row %d of %d continues another, after row %d", ErrPayload, i, n, next-1)
		}
		next = i + 1
	}
	return nil
}

func (m CaptureModes) check() error {
	switch m.Mouse {
	case 0, 9, 1000, 1002, 1003:
		return nil
	}
	return fmt.Errorf("%w: mouse protocol %d", ErrPayload, m.Mouse)
}

func (c Capture) checkText() error {
	if err := checkPlain([]string{c.Title}); err != nil {
		return err
	}
	for _, rows := range [][]string{c.Screen, c.History} {
		if err := checkPlain(rows); err != nil {
			return err
		}
	}
	for _, rows := range [][]string{c.StyledScreen, c.StyledHistory} {
		for _, row := range rows {
			if err := checkStyled(row); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkPlain(rows []string) error {
	for _, row := range rows {
		if err := checkPlainRow(row); err != nil {
			return err
		}
	}
	return nil
}

// checkPlainRow looks at bytes, for rows are many: C1 is the one that begins with 0xC2.
func checkPlainRow[T string | []byte](row T) error {
	for i := range len(row) {
		switch b := row[i]; {
		case b < 0x20 || b == 0x7f:
			return fmt.Errorf("%w: row holds %U", ErrPayload, b)
		case b == 0xc2 && i+1 < len(row) && isControl(rune(row[i+1])):
			return fmt.Errorf("%w: row holds %U", ErrPayload, row[i+1])
		}
	}
	return nil
}

// checkStyled refuses controls other than SGR.
func checkStyled(row string) error {
	for {
		text, rest, found := strings.Cut(row, "\x1b")
		if err := checkPlainRow(text); err != nil || !found {
			return err
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return r == 'm' })
		if end < 1 || rest[0] != '[' || strings.Trim(rest[1:end], "0123456789;:") != "" {
			return fmt.Errorf("%w: row holds a sequence that is no SGR", ErrPayload)
		}
		row = rest[end+1:]
	}
}
