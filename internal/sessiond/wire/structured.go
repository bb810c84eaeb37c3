// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"spawn/internal/strictjson"
)

// payload is a structured payload: check holds the rules that JSON cannot express, and runs before
// encoding as well as after decoding.
type payload interface{ check() error }

// appendStructured appends a frame of kind k that carries v as JSON.
func appendStructured(dst []byte, k Kind, v payload) ([]byte, error) {
	if err := v.check(); err != nil {
		return dst, fmt.Errorf("encode %v: %w", k, err)
	}
	body, err := strictjson.Marshal(v)
	if err != nil {
		return dst, fmt.Errorf("encode %v: %w: %w", k, ErrPayload, err)
	}
	defer clear(body)
	return AppendFrame(dst, k, body)
}

// decodeStructured reads src as a payload of kind k. It accepts exactly the bytes that
// appendStructured would write for the result: no white space, no null, no second spelling of a
// number or string, so that two readers cannot differ.
func decodeStructured[T payload](k Kind, src []byte) (T, error) {
	var v, none T
	if err := checkDecode(k, src); err != nil {
		return none, err
	}
	if err := strictjson.Unmarshal(src, &v); err != nil {
		return none, fmt.Errorf("decode %v: %w: %w", k, ErrPayload, err)
	}
	canonical, err := strictjson.Marshal(v)
	if err != nil {
		return none, fmt.Errorf("decode %v: %w: %w", k, ErrPayload, err)
	}
	if !bytes.Equal(canonical, src) {
		return none, fmt.Errorf("decode %v: %w: JSON is not in canonical form", k, ErrPayload)
	}
	if err := v.check(); err != nil {
		return none, fmt.Errorf("decode %v: %w", k, err)
	}
	return v, nil
}

// checkNoNUL refuses what could not be passed to the kernel as a C string.
func checkNoNUL(what, s string) error {
	if strings.IndexByte(s, 0) >= 0 {
		return fmt.Errorf("%w: %s holds a NUL", ErrPayload, what)
	}
	return nil
}

// ClipText returns the longest beginning of s that is at most n bytes and ends with a whole
// character. Bytes that are not UTF-8 become U+FFFD.
func ClipText(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
