// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"unicode/utf8"
)

// NoticeTextMax is the most bytes of Notice.Text. Six bytes of JSON for each still fit the frame.
const NoticeTextMax = 2 << 10

// Values of Notice.Kind. A worker sends the first six; the others go from spawnd to a local viewer
// that streams a pane.
const (
	NoticeTitle        = "title"        // Text is the window title
	NoticeCwd          = "cwd"          // Text is the path the shell reported
	NoticeBell         = "bell"         // no Text
	NoticeNotification = "notification" // Text is what the program wants to tell
	NoticeMark         = "mark"         // Text is the prompt mark: A, B, C, D or D;code
	NoticeHistoryLost  = "history_lost" // no Text; the log is disabled: replays come without history
	NoticeDetached     = "detached"     // Text says why the viewer was detached
	NoticeControl      = "control"      // Mine, and in Text the name of who controls
	NoticeSize         = "size"         // Cols and Rows are the terminal's new size
)

// Notice is the payload of NOTICE: something happened that is not output.
type Notice struct {
	Kind string `json:"kind"`
	Text string `json:"text,omitzero"` // at most NoticeTextMax bytes; untrusted: a program chose it
	Cols uint16 `json:"cols,omitzero"` // NoticeSize only
	Rows uint16 `json:"rows,omitzero"` // NoticeSize only
	Mine bool   `json:"mine,omitzero"` // NoticeControl only: the receiver controls the pane
}

// noticeKinds says of each kind whether it may carry text.
var noticeKinds = map[string]bool{
	NoticeTitle:        true,
	NoticeCwd:          true,
	NoticeBell:         false,
	NoticeNotification: true,
	NoticeMark:         true,
	NoticeDetached:     true,
	NoticeControl:      true,
	NoticeSize:         false,
	NoticeHistoryLost:  false,
}

// AppendNotice appends NOTICE. Text has to be clipped before; see ClipText.
func AppendNotice(dst []byte, n Notice) ([]byte, error) { return appendStructured(dst, KindNotice, n) }

// DecodeNotice reads the payload of NOTICE.
func DecodeNotice(payload []byte) (Notice, error) {
	return decodeStructured[Notice](KindNotice, payload)
}

func (n Notice) check() error {
	text, known := noticeKinds[n.Kind]
	switch {
	case !known:
		return fmt.Errorf("%w: unknown notice", ErrPayload)
	case n.Text != "" && !text:
		return fmt.Errorf("%w: %s with text", ErrPayload, n.Kind)
	case len(n.Text) > NoticeTextMax:
		return fmt.Errorf("%w: text of %d bytes, at most %d", ErrPayload, len(n.Text), NoticeTextMax)
	case !utf8.ValidString(n.Text):
		return fmt.Errorf("%w: text is not UTF-8", ErrPayload)
	case n.Mine && n.Kind != NoticeControl:
		return fmt.Errorf("%w: %s with mine", ErrPayload, n.Kind)
	case n.Kind == NoticeSize:
		return checkSize(n.Cols, n.Rows)
	case n.Cols != 0 || n.Rows != 0:
		return fmt.Errorf("%w: %s with a size", ErrPayload, n.Kind)
	}
	return nil
}
