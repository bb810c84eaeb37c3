// SPDX-License-Identifier: Apache-2.0

package rtc

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/pion/sdp/v3"
)

// fingerprint is the SHA-256 of a DTLS certificate.
type fingerprint [sha256.Size]byte

const fingerprintAttribute = "fingerprint"

// checkDescription returns the one certificate that a description names. Descriptions are read by several
// parsers, each with rules of its own for which fingerprint counts; so every one that any parser could see
// must be the same sha-256, and the description must be of the one shape that pages send: a single
// section, for data channels over DTLS.
func checkDescription(text string) (fingerprint, error) {
	if len(text) > offerMax {
		return fingerprint{}, fmt.Errorf("%w: longer than %d bytes", ErrDescription, offerMax)
	}
	var d sdp.SessionDescription
	if err := d.UnmarshalString(text); err != nil {
		return fingerprint{}, fmt.Errorf("%w: %w", ErrDescription, err)
	}
	if len(d.MediaDescriptions) != 1 {
		return fingerprint{}, fmt.Errorf("%w: %d sections, not 1", ErrDescription, len(d.MediaDescriptions))
	}
	m := d.MediaDescriptions[0]
	if m.MediaName.Media != "application" || strings.Join(m.MediaName.Protos, "/") != "UDP/DTLS/SCTP" {
		return fingerprint{}, fmt.Errorf("%w: not for data channels", ErrDescription)
	}
	var named []string
	for _, a := range append(append([]sdp.Attribute{}, d.Attributes...), m.Attributes...) {
		if a.Key == fingerprintAttribute {
			named = append(named, a.Value)
		}
	}
	return agree(named, countNaively(text))
}

// countNaively counts what the sloppiest reader might take for a fingerprint: the word, anywhere, in any
// case.
func countNaively(text string) int {
	return strings.Count(strings.ToLower(text), fingerprintAttribute)
}

func agree(named []string, naively int) (fingerprint, error) {
	if len(named) == 0 || len(named) != naively {
		return fingerprint{}, fmt.Errorf("%w: %d fingerprints, %d more that others might see", ErrDescription, len(named), naively-len(named))
	}
	first, err := parseFingerprint(named[0])
	if err != nil {
		return fingerprint{}, err
	}
	for _, value := range named[1:] {
		if next, err := parseFingerprint(value); err != nil || next != first {
			return fingerprint{}, fmt.Errorf("%w: fingerprints differ", ErrDescription)
		}
	}
	return first, nil
}

// parseFingerprint reads "sha-256 AA:BB:…" with 32 bytes in upper-case hex, as browsers write it.
func parseFingerprint(value string) (fingerprint, error) {
	digits, ok := strings.CutPrefix(value, "sha-256 ")
	if !ok {
		return fingerprint{}, fmt.Errorf("%w: fingerprint is not sha-256", ErrDescription)
	}
	raw, err := hex.DecodeString(strings.ReplaceAll(digits, ":", ""))
	if err != nil || len(raw) != sha256.Size || digits != printFingerprint(raw) {
		return fingerprint{}, fmt.Errorf("%w: malformed fingerprint", ErrDescription)
	}
	return fingerprint(raw), nil
}

func printFingerprint(raw []byte) string {
	var out bytes.Buffer
	for i, b := range raw {
		if i > 0 {
			out.WriteByte(':')
		}
		fmt.Fprintf(&out, "%02X", b)
	}
	return out.String()
}
