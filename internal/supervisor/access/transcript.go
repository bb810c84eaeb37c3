// SPDX-License-Identifier: Apache-2.0

package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/big"
	"strings"
)

// The texts under MAC and signature. Each starts with a label of its own, so that none can stand for
// another, and binds the host key and the nonce of one connection, so that none can be used elsewhere
// or again. Every field but the last is base64url or a device id and so holds no line feed; the only
// free text, a device's name, is last.

func pairDeviceText(nonce, hostKey, deviceKey, name string) []byte {
	return lines("spawn.pair.device.v1", nonce, hostKey, deviceKey, name)
}

func pairHostText(nonce, hostKey, deviceKey, device string) []byte {
	return lines("spawn.pair.host.v1", nonce, hostKey, deviceKey, device)
}

func offerText(hostKey, nonce, clientNonce, device, offerSDP string) []byte {
	return lines("spawn.offer.v1", hostKey, nonce, clientNonce, device, digest(offerSDP))
}

func answerText(hostKey, nonce, clientNonce, device, offerSDP, answerSDP string) []byte {
	return lines("spawn.answer.v1", hostKey, nonce, clientNonce, device, digest(offerSDP), digest(answerSDP))
}

func visitText(hostKey, nonce, clientNonce, link, offerSDP string) []byte {
	return lines("spawn.visit.v1", hostKey, nonce, clientNonce, link, digest(offerSDP))
}

func welcomeText(hostKey, nonce, clientNonce, link, offerSDP, answerSDP string) []byte {
	return lines("spawn.welcome.v1", hostKey, nonce, clientNonce, link, digest(offerSDP), digest(answerSDP))
}

func lines(fields ...string) []byte { return []byte(strings.Join(fields, "\n")) }

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return encode(sum[:])
}

// keyed is HMAC-SHA256 under a pairing code.
func keyed(c Code, text []byte) []byte {
	h := hmac.New(sha256.New, c[:])
	h.Write(text)
	return h.Sum(nil)
}

// b64 refuses padding, line breaks and bits that no byte needs, so that each value has one spelling.
var b64 = base64.RawURLEncoding.Strict()

func encode(p []byte) string { return b64.EncodeToString(p) }

// decode accepts exactly n bytes. encoding/base64 skips line breaks, so the length of the text is
// checked too.
func decode(s string, n int) ([]byte, error) {
	if len(s) != b64.EncodedLen(n) {
		return nil, fmt.Errorf("%w: a field has %d characters, not %d", ErrProtocol, len(s), b64.EncodedLen(n))
	}
	p, err := b64.DecodeString(s)
	if err != nil || len(p) != n {
		return nil, fmt.Errorf("%w: a field is not base64url", ErrProtocol)
	}
	return p, nil
}

// parseDeviceKey accepts a point on P-256 in its uncompressed form, and no other.
func parseDeviceKey(s string) (*ecdsa.PublicKey, error) {
	raw, err := decode(s, deviceKeyBytes)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw)
	if err != nil {
		return nil, fmt.Errorf("%w: the device key is not a point on P-256", ErrProtocol)
	}
	return key, nil
}

// verify checks r‖s as WebCrypto makes it. ecdsa.Verify itself refuses r and s outside 1…n−1. The twin
// (r, n−s) of a signature passes as well: it says nothing else, and its nonce is used up by then.
func verify(key *ecdsa.PublicKey, text, sig []byte) bool {
	if len(sig) != deviceSignatureBytes {
		return false
	}
	sum := sha256.Sum256(text)
	half := deviceSignatureBytes / 2
	return ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(sig[:half]), new(big.Int).SetBytes(sig[half:]))
}
