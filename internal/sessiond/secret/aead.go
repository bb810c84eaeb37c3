// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"unsafe"

	"golang.org/x/crypto/chacha20poly1305"
)

// chacha20poly1305.New copies the key into an object on the Go heap, which no lock covers and
// nobody wipes. That object is nothing but the 32 key bytes. So one is made with a zero key, and
// the interface value is pointed at the locked page in its place: same code, the assembly
// included, other bytes. What this relies on is checked each time a key is made: the shape of
// the object by its type, the result by comparing a sealed text with the ordinary way.
//
// While it works, the cipher lays the key out once more on the stack of the calling goroutine
// and leaves it there. sealer therefore makes room for those frames first (so that the stack
// does not move, leaving an old copy behind, while they are live) and overwrites them after. One
// gap is left: between laying out the key and using it, some nanoseconds, the collector may shrink
// an oversized stack, which also moves it.

// errDestroyed is what Open returns for a key that is gone.
var errDestroyed = errors.New("secret: key destroyed")

// frameBytes is the stack that one Seal or Open may use below sealer: on amd64 about 650 bytes
// with the assembly, and about 950 without.
const frameBytes = 2048

type sealer struct{ key *Key }

func (s sealer) NonceSize() int { return chacha20poly1305.NonceSize }
func (s sealer) Overhead() int  { return chacha20poly1305.Overhead }

func (s sealer) Seal(dst, nonce, plaintext, additional []byte) []byte {
	if s.key.inner == nil {
		panic("secret: internal error: Seal under a destroyed key")
	}
	frames(keep)
	out := s.key.inner.Seal(dst, nonce, plaintext, additional)
	frames(wipe)
	return out
}

func (s sealer) Open(dst, nonce, ciphertext, additional []byte) ([]byte, error) {
	if s.key.inner == nil {
		return nil, errDestroyed
	}
	frames(keep)
	out, err := s.key.inner.Open(dst, nonce, ciphertext, additional)
	frames(wipe)
	return out, err
}

type frameUse bool

const (
	keep frameUse = false
	wipe frameUse = true
)

// frames claims frameBytes of stack, and zeroes them on demand. Its own entry check is what
// grows the stack, so keep costs one comparison. It must stay a call of its own, made from the
// frame that also calls the cipher: that is what puts both on the same addresses.
//
//go:noinline
func frames(use frameUse) {
	if use == keep {
		return
	}
	var area [frameBytes]byte
	hold(&area)
}

//go:noinline
func hold(area *[frameBytes]byte) { runtime.KeepAlive(area) }

// aeadOver returns an AEAD whose key is the page's first bytes, in place. The page must outlive it.
func aeadOver(page *[KeyBytes]byte) (cipher.AEAD, error) {
	known := [KeyBytes]byte{0: 0x80, 7: 0x01, KeyBytes - 1: 0x9f} // no secret: only for the check
	ordinary, err := chacha20poly1305.New(known[:])
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	checkShape(ordinary)
	checkSame(ordinary, repoint(ordinary, &known))
	return repoint(ordinary, page), nil
}

// interfaceWords is how the gc toolchain lays out a non-empty interface value.
type interfaceWords struct{ table, object unsafe.Pointer }

// repoint returns a copy of aead whose object is at key. The collector ignores pointers outside
// its own heap, and the caller keeps the page mapped.
func repoint(aead cipher.AEAD, key *[KeyBytes]byte) cipher.AEAD {
	(*interfaceWords)(unsafe.Pointer(&aead)).object = unsafe.Pointer(key)
	return aead
}

// checkShape panics unless aead is a pointer to a struct of exactly one [32]byte.
func checkShape(aead cipher.AEAD) {
	t := reflect.TypeOf(aead)
	if t.Kind() == reflect.Pointer && unsafe.Sizeof(aead) == unsafe.Sizeof(interfaceWords{}) {
		t = t.Elem()
		if t.Kind() == reflect.Struct && t.NumField() == 1 && t.Size() == KeyBytes &&
			t.Field(0).Type == reflect.TypeFor[[KeyBytes]byte]() {
			return
		}
	}
	panic(fmt.Sprintf("secret: internal error: %s of golang.org/x/crypto/chacha20poly1305 is not just its %d "+
		"key bytes any more; the key cannot be kept in its locked page with this version", t, KeyBytes))
}

// checkSame panics unless both seal alike and moved opens the result.
func checkSame(ordinary, moved cipher.AEAD) {
	var nonce [chacha20poly1305.NonceSize]byte
	text, additional := []byte("the same bytes under the same key"), []byte{1}
	sealed := ordinary.Seal(nil, nonce[:], text, additional)
	opened, err := moved.Open(nil, nonce[:], sealed, additional)
	if err != nil || !bytes.Equal(opened, text) || !bytes.Equal(moved.Seal(nil, nonce[:], text, additional), sealed) {
		panic("secret: internal error: golang.org/x/crypto/chacha20poly1305 does not read its key from where " +
			"this package points it; the key cannot be kept in its locked page with this version")
	}
}
