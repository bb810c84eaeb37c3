// SPDX-License-Identifier: Apache-2.0

package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
)

// A Token is 256 random bits that stand for a principal for as long as one spawnd runs. It is shown to
// whoever asked for it, once; spawnd keeps its hash alone, and that in memory alone.
type Token [tokenBytes]byte

// OwnerWord is what a person puts into SPAWN_TOKEN to act as the owner where the kernel says otherwise,
// such as in a pane. Whoever sends the request puts the owner's token in its place.
const OwnerWord = "@owner"

// String is the token as it travels: in the variable SPAWN_TOKEN, in a request's field, or in the fragment
// of a link. Never in an argument, which every process of the host can read. Do not log it.
func (t Token) String() string { return encode(t[:]) }

func newToken(random io.Reader) (Token, error) {
	var t Token
	if _, err := io.ReadFull(random, t[:]); err != nil {
		return Token{}, fmt.Errorf("make a token: %w", err)
	}
	return t, nil
}

type tokenHash [sha256.Size]byte

func (t Token) hash() tokenHash { return sha256.Sum256(t[:]) }

// bearers are the principals that a token stands for.
type bearers map[Principal]tokenHash

// find looks at every hash, and at all of each, whatever it finds.
func (b bearers) find(want tokenHash) (Principal, bool) {
	var found Principal
	ok := false
	for p, have := range b {
		if subtle.ConstantTimeCompare(have[:], want[:]) == 1 {
			found, ok = p, true
		}
	}
	return found, ok
}
