// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	uuidLen   = 36
	finalEnd  = ".json"
	tempBegin = ".tmp-"
)

// ParseID checks the name of a checkpoint, so that no other text ever becomes part of a file name.
func ParseID(id string) (string, error) {
	if rest, ok := strings.CutPrefix(id, "c"); !ok || !isUUID4(rest) {
		return "", &Failure{Code: CodeID, reason: "name checkpoint: not c and a UUID of version 4"}
	}
	return id, nil
}

// isUUID4 accepts the canonical form of a random UUID: lower case, version 4, variant 10.
func isUUID4(s string) bool {
	if len(s) != uuidLen || s[14] != '4' || !strings.ContainsRune("89ab", rune(s[19])) {
		return false
	}
	for i := range len(s) {
		switch i {
		case 8, 13, 18, 23:
			if s[i] != '-' {
				return false
			}
		default:
			if !isDigit(s[i]) && (s[i] < 'a' || s[i] > 'f') {
				return false
			}
		}
	}
	return true
}

// newUUID4 makes a UUID of random bytes.
func newUUID4(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("make checkpoint id: %w", err)
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b[:])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-"), nil
}

// finalID is the checkpoint that a file of this name would hold.
func finalID(name string) (string, bool) {
	id, ok := strings.CutSuffix(name, finalEnd)
	if !ok {
		return "", false
	}
	_, err := ParseID(id)
	return id, err == nil
}

func isTemp(name string) bool {
	rest, ok := strings.CutPrefix(name, tempBegin)
	return ok && isUUID4(rest)
}

// number is the number in an id such as p12, in its one spelling.
func number(letter byte, id string) (int64, bool) {
	if len(id) < 2 || id[0] != letter || len(id) > 2 && id[1] == '0' {
		return 0, false
	}
	for i := 1; i < len(id); i++ {
		if !isDigit(id[i]) {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(id[1:], 10, 64)
	return n, err == nil && n <= safeInteger
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
