// SPDX-License-Identifier: Apache-2.0

package wire

import "fmt"

// Values of CaptureReq.What.
const (
	CaptureScreen  = "screen"
	CaptureHistory = "history"
	CaptureAll     = "all" // both
)

// CaptureReq is the payload of CAPTURE_REQ: which plain text to return.
type CaptureReq struct {
	What     string `json:"what"`
	MaxRows  uint32 `json:"max_rows"`  // most rows of history, newest kept; 0 for none
	MaxBytes uint32 `json:"max_bytes"` // most bytes of history text, newest rows kept; 0 for none
}

// AppendCaptureReq appends CAPTURE_REQ.
func AppendCaptureReq(dst []byte, c CaptureReq) ([]byte, error) {
	return appendStructured(dst, KindCaptureReq, c)
}

// DecodeCaptureReq reads the payload of CAPTURE_REQ.
func DecodeCaptureReq(payload []byte) (CaptureReq, error) {
	return decodeStructured[CaptureReq](KindCaptureReq, payload)
}

func (c CaptureReq) check() error {
	if c.What != CaptureScreen && c.What != CaptureHistory && c.What != CaptureAll {
		return fmt.Errorf("%w: unknown part to capture", ErrPayload)
	}
	return nil
}

// Capture is the payload of CAPTURE: plain rows of the primary screen, even while the alternate one
// is shown, and of the history. Rows are UTF-8 without C0, DEL and C1 characters.
type Capture struct {
	Cols    uint16   `json:"cols"`    // 1..SizeMax
	Rows    uint16   `json:"rows"`    // 1..SizeMax
	Screen  []string `json:"screen"`  // exactly Rows rows from the top, or none when not asked for
	History []string `json:"history"` // oldest first
	Cut     bool     `json:"cut"`     // older history exists that the limits left out
	Lost    bool     `json:"lost"`    // the history cannot be had: the log is disabled or damaged
}

// AppendCapture appends CAPTURE.
func AppendCapture(dst []byte, c Capture) ([]byte, error) {
	return appendStructured(dst, KindCapture, c)
}

// DecodeCapture reads the payload of CAPTURE.
func DecodeCapture(payload []byte) (Capture, error) {
	return decodeStructured[Capture](KindCapture, payload)
}

func (c Capture) check() error {
	if err := checkSize(c.Cols, c.Rows); err != nil {
		return err
	}
	if len(c.Screen) != 0 && len(c.Screen) != int(c.Rows) {
		return fmt.Errorf("%w: screen of %d rows, want 0 or %d", ErrPayload, len(c.Screen), c.Rows)
	}
	if c.Lost && len(c.History) != 0 {
		return fmt.Errorf("%w: history both lost and given", ErrPayload)
	}
	if err := checkPlain(c.Screen); err != nil {
		return err
	}
	return checkPlain(c.History)
}

func checkPlain(rows []string) error {
	for _, row := range rows {
		for _, r := range row {
			if isControl(r) {
				return fmt.Errorf("%w: row holds %U", ErrPayload, r)
			}
		}
	}
	return nil
}
