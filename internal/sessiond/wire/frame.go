// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var (
	// ErrUnknownKind says that a frame's kind is not in the table. The connection must end.
	ErrUnknownKind = errors.New("unknown frame kind")
	// ErrDirection says that a kind came from the side that must not send it. The connection must end.
	ErrDirection = errors.New("frame kind of the other direction")
	// ErrTooLarge says that a payload is longer than its kind's cap.
	ErrTooLarge = errors.New("frame payload above its cap")
	// ErrSize says that a payload is shorter than its kind's fixed part, or not of its exact size.
	ErrSize = errors.New("frame payload of a wrong size")
	// ErrPayload says that a payload has a legal size and an illegal content.
	ErrPayload = errors.New("malformed frame payload")
)

// checkLen applies the size rules of s to a payload of n bytes.
func (s Spec) checkLen(n uint64) error {
	switch {
	case s.Exact && n != uint64(s.Max):
		return fmt.Errorf("%s of %d bytes, want exactly %d: %w", s.Name, n, s.Max, ErrSize)
	case n > uint64(s.Max):
		return fmt.Errorf("%s of %d bytes, cap %d: %w", s.Name, n, s.Max, ErrTooLarge)
	case n < uint64(s.Min):
		return fmt.Errorf("%s of %d bytes, at least %d: %w", s.Name, n, s.Min, ErrSize)
	}
	return nil
}

// AppendHeader appends the header of a frame whose payload has n bytes. A sender that already holds
// the payload in place (5 spare bytes before it) writes header and payload without a copy. Sizes are
// checked before the first byte; on error dst comes back unchanged.
func AppendHeader(dst []byte, k Kind, n int) ([]byte, error) {
	s, ok := Lookup(k)
	if !ok {
		return dst, fmt.Errorf("encode frame 0x%02x: %w", uint8(k), ErrUnknownKind)
	}
	if n < 0 {
		return dst, fmt.Errorf("encode %s of %d bytes: %w", s.Name, n, ErrSize)
	}
	if err := s.checkLen(uint64(n)); err != nil {
		return dst, fmt.Errorf("encode frame: %w", err)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	return append(dst, byte(k)), nil
}

// AppendFrame appends one whole frame whose payload is the parts in order. Sizes are checked before
// the first byte; on error dst comes back unchanged. Like every function here that appends a frame it
// moves dst at most once, and wipes what it leaves: dst may hold what nobody is to find later.
func AppendFrame(dst []byte, k Kind, parts ...[]byte) ([]byte, error) {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	dst, err := appendHeaderOf(dst, k, n)
	if err != nil {
		return dst, err
	}
	for _, p := range parts {
		dst = append(dst, p...)
	}
	return dst, nil
}

// appendHeaderOf is AppendHeader with room behind it for the payload of n bytes, which is to follow.
func appendHeaderOf(dst []byte, k Kind, n int) ([]byte, error) {
	var header [HeaderLen]byte
	h, err := AppendHeader(header[:0], k, n)
	if err != nil {
		return dst, err
	}
	if old := dst; cap(old)-len(old) < HeaderLen+n {
		dst = make([]byte, len(old), len(old)+len(old)/4+HeaderLen+n)
		copy(dst, old)
		clear(old)
	}
	return append(dst, h...), nil
}

// parseHeader reads the kind and payload length of the frame that begins at h, which has at least
// HeaderLen bytes, and applies every rule that can be applied before the payload is there.
func parseHeader(h []byte, accept Direction) (Kind, int, error) {
	n := binary.LittleEndian.Uint32(h)
	k := Kind(h[4])
	s, ok := Lookup(k)
	if !ok {
		return 0, 0, fmt.Errorf("read frame 0x%02x: %w", uint8(k), ErrUnknownKind)
	}
	if s.Dir != accept {
		return 0, 0, fmt.Errorf("read frame %s, which goes %v: %w", s.Name, s.Dir, ErrDirection)
	}
	if err := s.checkLen(uint64(n)); err != nil {
		return 0, 0, fmt.Errorf("read frame: %w", err)
	}
	return k, int(n), nil
}
