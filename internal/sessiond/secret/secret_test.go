// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/crypto/chacha20poly1305"
)

func newKey(t testing.TB) *Key {
	t.Helper()
	k, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Destroy() })
	return k
}

func TestKeysAreRandom(t *testing.T) {
	seen := map[[KeyBytes]byte]bool{{}: true}
	for range 50 {
		k := [KeyBytes]byte(newKey(t).page)
		if seen[k] {
			t.Fatal("a key came twice or is zero")
		}
		seen[k] = true
	}
}

// The AEAD vector of RFC 8439, section 2.8.2.
func TestSealsAsRFC8439(t *testing.T) {
	unhex := func(s string) []byte {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	k := newKey(t)
	copy(k.page, unhex("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"))
	text := []byte("Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.")
	want := unhex("d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6" +
		"3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36" +
		"92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc" +
		"3ff4def08e4b7a9de576d26586cec64b6116" + "1ae10b594f09e26a7e902ecbd0600691")
	nonce, aad := unhex("070000004041424344454647"), unhex("50515253c0c1c2c3c4c5c6c7")
	if got := k.AEAD().Seal(nil, nonce, text, aad); !bytes.Equal(got, want) {
		t.Errorf("sealed %x, want %x", got, want)
	}
	if got, err := k.AEAD().Open(nil, nonce, want, aad); err != nil || !bytes.Equal(got, text) {
		t.Errorf("opened %q, %v", got, err)
	}
}

// Every length across several blocks of the assembly, against the ordinary cipher.
func TestSealsAsTheOrdinaryCipher(t *testing.T) {
	k := newKey(t)
	ordinary, err := chacha20poly1305.New(k.page[:KeyBytes])
	if err != nil {
		t.Fatal(err)
	}
	ours := k.AEAD()
	if ours.NonceSize() != ordinary.NonceSize() || ours.Overhead() != ordinary.Overhead() {
		t.Fatal("sizes differ")
	}
	text := make([]byte, 1100)
	for i := range text {
		text[i] = byte(i * 7)
	}
	for n := range text {
		nonce := []byte(fmt.Sprintf("%012d", n))
		want := ordinary.Seal(nil, nonce, text[:n], text[:9])
		if got := ours.Seal(nil, nonce, text[:n], text[:9]); !bytes.Equal(got, want) {
			t.Fatalf("length %d: sealed differently", n)
		}
		if got, err := ours.Open(nil, nonce, want, text[:9]); err != nil || !bytes.Equal(got, text[:n]) {
			t.Fatalf("length %d: %v", n, err)
		}
		want[n/2] ^= 1
		if _, err := ours.Open(nil, nonce, want, text[:9]); err == nil {
			t.Fatalf("length %d: opened a changed text", n)
		}
	}
}

func TestDestroyedKeySealsNothing(t *testing.T) {
	k := newKey(t)
	aead := k.AEAD()
	sealed := aead.Seal(nil, make([]byte, 12), []byte("text"), nil)
	for range 2 {
		if err := k.Destroy(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := aead.Open(nil, make([]byte, 12), sealed, nil); err == nil {
		t.Error("opened with a destroyed key")
	}
	defer func() {
		if recover() == nil {
			t.Error("sealed with a destroyed key")
		}
	}()
	aead.Seal(nil, make([]byte, 12), []byte("text"), nil)
}

func TestKeyPrintsNoBytes(t *testing.T) {
	k := newKey(t)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, k); got != "secret.Key(hidden)" {
			t.Errorf("%s printed %q", verb, got)
		}
	}
}

func TestWipe(t *testing.T) {
	p := []byte("secret bytes")
	Wipe(p[:6])
	if !bytes.Equal(p, append(make([]byte, 6), " bytes"...)) {
		t.Errorf("%q", p)
	}
	Wipe(nil)
}

func TestSealAndOpenAllocateNothing(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("only the assembly promises it")
	}
	aead := newKey(t).AEAD()
	nonce, text := make([]byte, 12), make([]byte, 500)
	sealed, opened := make([]byte, 0, 600), make([]byte, 0, 600)
	n := testing.AllocsPerRun(100, func() {
		out := aead.Seal(sealed, nonce, text, nonce)
		if _, err := aead.Open(opened, nonce, out, nonce); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestChangedCipherIsRefused(t *testing.T) {
	xchacha, err := chacha20poly1305.NewX(make([]byte, KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	ordinary, err := chacha20poly1305.New(make([]byte, KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	wrong := [KeyBytes]byte{1}
	for name, check := range map[string]func(){
		"not a pointer":  func() { checkShape(sealer{}) },
		"another struct": func() { checkShape(&struct{ sealer }{}) },
		"another key":    func() { checkSame(ordinary, repoint(ordinary, &wrong)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			check()
		})
	}
	checkShape(xchacha) // the same 32 bytes, so the shape alone does not tell: checkSame has to
}

func BenchmarkSeal(b *testing.B) {
	k := newKey(b)
	ordinary, err := chacha20poly1305.New(make([]byte, KeyBytes))
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{80, 1024, 4096, 65536} {
		text, nonce := make([]byte, n), make([]byte, 12)
		sealed := make([]byte, 0, n+16)
		b.Run(fmt.Sprintf("locked/%d", n), func(b *testing.B) {
			b.SetBytes(int64(n))
			b.ReportAllocs()
			aead := k.AEAD()
			for b.Loop() {
				aead.Seal(sealed, nonce, text, nonce[:9])
			}
		})
		b.Run(fmt.Sprintf("ordinary/%d", n), func(b *testing.B) {
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				ordinary.Seal(sealed, nonce, text, nonce[:9])
			}
		})
	}
}
