// SPDX-License-Identifier: Apache-2.0

package scrollback

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spawn/internal/sessiond/vfs"
)

var update = flag.Bool("update", false, "write the golden files anew")

const goldenFile = "testdata/segment-v1.hex"

// goldenTexts are the batches in the golden segment.
var goldenTexts = []string{
	"\x1b[0;1mfirst line\x1b[0m\r\n",
	"x",
	strings.Repeat("a record of more than four blocks of the cipher ", 6) + "\r\n",
	"wide: 漢字, combining: e\u0301\r\n",
}

// The bytes on disk are pinned: a golden file is annotated hex, a comment behind each # sign.
func TestGoldenSegment(t *testing.T) {
	l := newLog(t, vfs.OS{}, Options{})
	for _, text := range goldenTexts {
		must(t, l.Append([]byte(text)))
	}
	path := filepath.Join(folderOf(l), "seg-00000001.log")
	got, err := os.ReadFile(path)
	must(t, err)
	if *update {
		must(t, os.WriteFile(goldenFile, annotate(got), 0o644))
	}
	golden := readGolden(t)
	if !bytes.Equal(got, golden) {
		t.Errorf("wrote\n%s", annotate(got))
	}
	must(t, os.WriteFile(path, golden, 0o600))
	if got := replay(t, l); got != strings.Join(goldenTexts, "") {
		t.Errorf("read %q", got)
	}
}

func readGolden(t *testing.T) (b []byte) {
	t.Helper()
	text, err := os.ReadFile(goldenFile)
	must(t, err)
	for line := range strings.Lines(string(text)) {
		digits, _, _ := strings.Cut(line, "#")
		part, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
		must(t, err)
		b = append(b, part...)
	}
	return b
}

func annotate(b []byte) []byte {
	out := new(bytes.Buffer)
	fmt.Fprintf(out, "# A segment file, version 1. Key %x.\n", fixedKey)
	for i, text := range goldenTexts {
		fmt.Fprintf(out, "\n# record %d: %.40q, %d bytes\n", i+1, text, len(text))
		for _, field := range []struct {
			name   string
			length int
		}{{"u32 LE ciphertext length", 4}, {"u8 kind: history", 1}, {"u64 LE seq", 8}, {"ciphertext", len(text)}, {"tag", 16}} {
			for at := 0; at < field.length; at += 16 {
				part := b[:min(16, field.length-at)]
				b = b[len(part):]
				fmt.Fprintf(out, "%-48s# %s\n", fmt.Sprintf("% x", part), field.name)
			}
		}
	}
	return out.Bytes()
}
