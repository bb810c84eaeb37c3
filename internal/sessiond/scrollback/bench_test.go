// SPDX-License-Identifier: Apache-2.0

package scrollback

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"spawn/internal/sessiond/secret"
	"spawn/internal/sessiond/vfs"
)

func benchLog(b *testing.B) *Log {
	b.Helper()
	key, err := secret.NewKey()
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "log")
	l, err := Create(openOuter(b, vfs.OS{}, path), filepath.Base(path), key, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := l.Destroy(); err != nil {
			b.Error(err)
		}
		_ = key.Destroy()
	})
	return l
}

// Append with rotation and dropping in it: the log is full after the first few megabytes.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 80, 4 << 10, 64 << 10} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l, text := benchLog(b), bytes.Repeat([]byte("x"), n)
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				if err := l.Append(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendReplay(b *testing.B) {
	for _, n := range []int{80, 4 << 10} {
		b.Run(fmt.Sprintf("full log of %d", n), func(b *testing.B) {
			l := benchLog(b)
			for text := bytes.Repeat([]byte("x"), n); l.Stats().FirstSeq == 1; {
				if err := l.Append(text); err != nil {
					b.Fatal(err)
				}
			}
			out := make([]byte, 0, MaxLogBytes)
			b.SetBytes(l.Stats().Text)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.AppendReplay(out, MaxLogBytes); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
