// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"spawn/internal/strictjson"
)

// A capture's history is long, and whoever makes or reads one has terminals to serve. So its rows can be encoded on their own, each
// as it comes, and joined to a frame that has the same bytes as AppendCapture's. They are read without the passes that
// any other structured payload takes: every row of the frame is a part of one string.

// AppendCaptureRow appends a row of history as it stands in its list, with the comma that goes behind it. On an error, the one
// that AppendCapture would return for the row, dst comes back as it was.
func AppendCaptureRow(dst, row []byte, styled bool) ([]byte, error) {
	check := checkPlainRow[[]byte]
	if styled {
		check = func(row []byte) error { return checkStyled(string(row)) }
	}
	if err := check(row); err != nil {
		return dst, fmt.Errorf("encode %v: %w", KindCapture, err)
	}
	out, err := strictjson.AppendString(dst, row)
	if err != nil {
		return dst, fmt.Errorf("encode %v: %w: %w", KindCapture, ErrPayload, err)
	}
	return append(out, ','), nil
}

// CaptureRows are encoded rows of a history and of the styled one, oldest first, each part any number of rows as
// AppendCaptureRow made them. There are as many of both, or no styled ones.
type CaptureRows struct {
	Plain, Styled [][]byte
	Wraps         []int // Capture.HistoryWraps
}

// Len is the number of bytes of all parts.
func (r CaptureRows) Len() (n int) {
	for _, parts := range [][][]byte{r.Plain, r.Styled} {
		for _, p := range parts {
			n += len(p)
		}
	}
	return n
}

// AppendCaptureParts is AppendCapture of c, which has no history, with rows as its history.
func AppendCaptureParts(dst []byte, c Capture, rows CaptureRows) ([]byte, error) {
	if len(c.History)+len(c.StyledHistory)+len(c.HistoryWraps) > 0 {
		return dst, fmt.Errorf("encode %v: %w: history both encoded and not", KindCapture, ErrPayload)
	}
	wrapsErr := checkIndices(rows.Wraps, rows.Len()) // there are fewer rows than bytes
	if err := errors.Join(c.check(), c.checkWraps(), wrapsErr); err != nil {
		return dst, fmt.Errorf("encode %v: %w", KindCapture, err)
	}
	c.HistoryWraps = rows.Wraps
	body, err := strictjson.Marshal(c)
	if err != nil {
		return dst, fmt.Errorf("encode %v: %w: %w", KindCapture, ErrPayload, err)
	}
	// No string holds a quote that stands alone, and titles and rows are strings: so this is the member.
	at := bytes.Index(body, emptyHistories)
	parts := [][]byte{body[:at], beginHistory}
	parts = append(parts, withoutLastComma(rows.Plain)...)
	parts = append(parts, beginStyledHistory)
	parts = append(parts, withoutLastComma(rows.Styled)...)
	parts = append(parts, endHistories, body[at+len(emptyHistories):])
	return AppendFrame(dst, KindCapture, parts...)
}

var (
	emptyHistories     = []byte(`"history":[],"styled_history":[]`)
	beginHistory       = []byte(`"history":[`)
	beginStyledHistory = []byte(`],"styled_history":[`)
	endHistories       = []byte(`]`)
)

// withoutLastComma is the parts without the comma at their end.
func withoutLastComma(parts [][]byte) [][]byte {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p []byte) bool { return len(p) == 0 })
	if n := len(parts); n > 0 {
		last := parts[n-1]
		parts[n-1] = last[:len(last)-1]
	}
	return parts
}

// DecodeCapture reads the payload of CAPTURE: exactly the bytes that AppendCapture writes.
func DecodeCapture(payload []byte) (Capture, error) {
	if err := checkDecode(KindCapture, payload); err != nil {
		return Capture{}, err
	}
	c, err := decodeCapture(payload)
	if err != nil {
		return Capture{}, fmt.Errorf("decode %v: %w", KindCapture, err)
	}
	return c, nil
}

var errRows = errors.New("history is not what a writer writes")

func decodeCapture(payload []byte) (Capture, error) {
	at := bytes.Index(payload, beginHistory)
	if at < 0 || !utf8.Valid(payload) {
		return Capture{}, fmt.Errorf("%w: %w", ErrPayload, errRows)
	}
	plain, rest, err := cutRows(string(payload[at+len(beginHistory):]))
	if err != nil {
		return Capture{}, fmt.Errorf("%w: %w", ErrPayload, err)
	}
	rest, ok := strings.CutPrefix(rest, string(beginStyledHistory))
	if !ok {
		return Capture{}, fmt.Errorf("%w: %w", ErrPayload, errRows)
	}
	styled, rest, err := cutRows(rest)
	if err != nil {
		return Capture{}, fmt.Errorf("%w: %w", ErrPayload, err)
	}
	// cutRows has left the bracket that ends the list.
	c, err := decodeStructured[Capture](KindCapture, slices.Concat(payload[:at], emptyHistories, []byte(rest[1:])))
	if err != nil {
		return Capture{}, err
	}
	if len(plain)+len(styled) > 0 {
		c.History, c.StyledHistory = plain, styled
	}
	return c, errors.Join(c.check(), c.checkWraps())
}

// cutRows reads the rows of a list up to the bracket that ends it, with which rest begins.
func cutRows(text string) (rows []string, rest string, err error) {
	if strings.HasPrefix(text, "]") {
		return []string{}, text, nil
	}
	for {
		row, after, err := cutRow(text)
		if err != nil {
			return nil, "", err
		}
		rows = append(rows, row)
		switch {
		case strings.HasPrefix(after, ","):
			text = after[1:]
		case strings.HasPrefix(after, "]"):
			return rows, after, nil
		default:
			return nil, "", errRows
		}
	}
}

// cutRow reads the string that text begins with. One without escapes is the very bytes of it.
func cutRow(text string) (row, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", errRows
	}
	escaped := false
	for i := 1; i < len(text); i++ {
		switch b := text[i]; {
		case b == '\\':
			escaped = true
			i++ // whatever it is that is escaped, it does not end the string
		case b < 0x20:
			return "", "", errRows
		case b == '"' && !escaped:
			return text[1:i], text[i+1:], nil
		case b == '"':
			row, err := unescape(text[:i+1])
			return row, text[i+1:], err
		}
	}
	return "", "", errRows
}

// unescape reads a string that is spelt in the one way.
func unescape(quoted string) (row string, err error) {
	if err := strictjson.Unmarshal([]byte(quoted), &row); err != nil {
		return "", err
	}
	if again, err := strictjson.AppendString(nil, row); err != nil || string(again) != quoted {
		return "", errRows
	}
	return row, nil
}
