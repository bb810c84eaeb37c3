// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"

	"spawn/internal/strictjson"
)

// ErrLine means that a line is longer than it may be.
var ErrLine = errors.New("line too long")

// Raw is a JSON value whose type is not known yet, or that has been encoded already.
type Raw []byte

// UnmarshalJSON keeps the value, whose bytes the decoder reuses.
func (r *Raw) UnmarshalJSON(raw []byte) error {
	*r = slices.Clone(raw)
	return nil
}

// MarshalJSON writes the value as it was read.
func (r Raw) MarshalJSON() ([]byte, error) { return r, nil }

type request struct {
	ID     int64  `json:"id"` // the answer has the same
	Verb   string `json:"verb"`
	Params Raw    `json:"params,omitzero"`
	Token  string `json:"token,omitzero"` // of the caller; without, the kernel says who it is
}

// answer has either OK or Error.
type answer struct {
	ID    int64  `json:"id"` // 0 when the request could not be read
	OK    Raw    `json:"ok,omitzero"`
	Error *Error `json:"error,omitzero"`
}

// ReadLine reads a line of at most max bytes with its newline, and returns it without. The error is
// io.EOF at the end of the stream between two lines.
func ReadLine(r *bufio.Reader, max int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > max {
			return nil, ErrLine
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

// EncodeRequest makes the line of one request. The token may be empty.
func EncodeRequest(id int64, verb string, params any, token string) ([]byte, error) {
	raw, err := strictjson.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("encode parameters of %s: %w", verb, err)
	}
	line, err := strictjson.Marshal(request{id, verb, raw, token})
	if err != nil {
		return nil, fmt.Errorf("encode request %s: %w", verb, err)
	}
	if line = append(line, '\n'); len(line) > LineBytesMax {
		return nil, fmt.Errorf("encode request %s: %w", verb, ErrLine)
	}
	return line, nil
}

// DecodeAnswer reads the answer to request id into result. A refusal is returned as an *Error.
func DecodeAnswer(line []byte, id int64, result any) error {
	var a answer
	if err := strictjson.Unmarshal(line, &a); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if a.Error != nil {
		return a.Error
	}
	if a.ID != id || a.OK == nil {
		return fmt.Errorf("read answer: it belongs to request %d, not %d", a.ID, id)
	}
	if err := strictjson.Unmarshal(a.OK, result); err != nil {
		return fmt.Errorf("read answer of another version of spawnd: %w", err)
	}
	return nil
}
