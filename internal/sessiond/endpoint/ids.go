// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

// SessionID names a session: a UUID in lower case. It becomes part of file names, so a value that
// did not come from ParseSessionID or NewSessionID must not be used.
type SessionID string

// ParseSessionID accepts the 8-4-4-4-12 form in lower case and nothing else.
func ParseSessionID(s string) (SessionID, error) {
	if len(s) != sessionIDLen {
		return "", fmt.Errorf("parse session id: %d characters, want %d", len(s), sessionIDLen)
	}
	for i := range len(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (s[i] == '-') || !dash && !isHexDigit(s[i]) {
			return "", fmt.Errorf("parse session id: not a lower-case UUID at character %d", i)
		}
	}
	return SessionID(s), nil
}

// NewSessionID returns a random UUID of version 4.
func NewSessionID() SessionID {
	var b [16]byte
	rand.Read(b[:]) // never fails: the runtime ends the process instead
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return SessionID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}

func (id SessionID) String() string { return string(id) }

// InstanceID names one worker process: random, so that a request for a process that is gone never
// reaches its successor.
type InstanceID [16]byte

// NewInstanceID returns 16 random bytes.
func NewInstanceID() InstanceID {
	var id InstanceID
	rand.Read(id[:])
	return id
}

// ParseInstanceID accepts 32 lower-case hexadecimal digits.
func ParseInstanceID(s string) (InstanceID, error) {
	var id InstanceID
	if len(s) != 2*len(id) {
		return InstanceID{}, fmt.Errorf("parse instance id: %d characters, want %d", len(s), 2*len(id))
	}
	for i := range len(s) {
		if !isHexDigit(s[i]) {
			return InstanceID{}, fmt.Errorf("parse instance id: not a lower-case hexadecimal digit at character %d", i)
		}
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return InstanceID{}, fmt.Errorf("parse instance id: %w", err)
	}
	return id, nil
}

// String returns 32 lower-case hexadecimal digits.
func (id InstanceID) String() string { return hex.EncodeToString(id[:]) }

func isHexDigit(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

func isHex(s string) bool {
	for i := range len(s) {
		if !isHexDigit(s[i]) {
			return false
		}
	}
	return true
}
