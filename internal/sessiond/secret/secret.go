// SPDX-License-Identifier: Apache-2.0

// Package secret keeps one key in one locked page of memory and wipes what has been used.
//
// The promise is: the 32 key bytes exist once in the address space, in a page that is never
// swapped, never part of a core file and empty in a forked child; they come from the kernel
// straight into that page and are zero before the page goes back. What is not covered: CPU
// registers, which the kernel or the runtime may save while a record is being sealed, and
// whoever may read this process's memory anyway (root; [Harden] keeps the same user out).
//
//	              NewKey                AEAD                      Destroy
//	getrandom ──► locked page ◄── read by every Seal/Open ──► zeroed ──► unmapped
package secret

import (
	"crypto/cipher"
	"errors"
	"fmt"
	"runtime"
)

// KeyBytes is the length of a key.
const KeyBytes = 32

// Key is a random key for ChaCha20-Poly1305. It is not safe for concurrent use. Without a
// Destroy it lives as long as the process.
type Key struct {
	page    []byte      // the mapping, key bytes first; nil once destroyed
	inner   cipher.AEAD // reads its key bytes from page; nil once destroyed
	warning error
}

// NewKey makes a key. An error means that there is no key; a protection of the page that the
// system refused is not an error but is told by [Key.Warning].
func NewKey() (*Key, error) {
	page, err := mapPage()
	if err != nil {
		return nil, fmt.Errorf("map key page: %w", err)
	}
	k := &Key{page: page, warning: protectPage(page)}
	if err := fillRandom(page[:KeyBytes]); err != nil {
		return nil, errors.Join(fmt.Errorf("fill key page: %w", err), k.Destroy())
	}
	if k.inner, err = aeadOver((*[KeyBytes]byte)(page)); err != nil {
		return nil, errors.Join(err, k.Destroy())
	}
	return k, nil
}

// Warning tells which protections of the page the system refused: nil when all hold. The usual
// one is a lock refused under RLIMIT_MEMLOCK 0, in containers for instance. Encryption at rest
// stands regardless; the key may then reach swap or a core file. Log it once and go on.
func (k *Key) Warning() error { return k.warning }

// AEAD returns the cipher under this key. It holds no copy of the key. With the
// assembly it allocates nothing when dst has room. After Destroy its Open fails and its Seal panics.
func (k *Key) AEAD() cipher.AEAD { return sealer{k} }

// Destroy zeroes the key and gives the page back. A second call does nothing.
func (k *Key) Destroy() error {
	page := k.page
	if page == nil {
		return nil
	}
	Wipe(page)
	k.page, k.inner = nil, nil
	if err := unmapPage(page); err != nil {
		return fmt.Errorf("unmap key page: %w", err)
	}
	return nil
}

// String keeps the bytes out of every text that is made from a Key.
func (k *Key) String() string { return "secret.Key(hidden)" }

// GoString does the same for %#v.
func (k *Key) GoString() string { return k.String() }

// Wipe zeroes p up to its length. It is a call the compiler cannot see through, so the stores
// stay although nobody reads p afterwards.
//
//go:noinline
func Wipe(p []byte) {
	clear(p)
	runtime.KeepAlive(p)
}
