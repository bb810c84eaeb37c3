// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The table is made from the page's provider; made again, it is the same. This
// compares the width of every code point.
func TestWidthsAreThoseOfTheProvider(t *testing.T) {
	root := repository(t)
	modules := os.Getenv("SPAWN_NODE_MODULES")
	if modules == "" {
		modules = filepath.Join(root, "web", "node_modules")
	}
	_, err := os.Stat(filepath.Join(modules, "@xterm", "addon-unicode11", "package.json"))
	mustHave(t, err, "@xterm/addon-unicode11 (npm ci in web/)")
	node, err := exec.LookPath("node")
	mustHave(t, err, "node")
	cmd := exec.CommandContext(t.Context(), node, filepath.Join(root, "tools", "widthgen", "widthgen.mjs"))
	cmd.Env = append(os.Environ(), "SPAWN_NODE_MODULES="+modules)
	cmd.Stderr = os.Stderr
	want, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("widthtable.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("widthtable.go isn't what tools/widthgen makes: run make gen")
	}
}

func TestWidths(t *testing.T) {
	for r, want := range map[rune]int{
		'a': 1, 0: 0, 0x7f: 0, 0xa0: 1, 0xad: 1, 0x301: 0, 0x200b: 0, 0x200d: 0, 0x4e00: 2, 0x1f600: 2, 0x1f1e9: 1,
		0xfe0f: 0, 0x20000: 2, 0x10ffff: 1, 0xff21: 2, 0xff71: 1,
	} {
		if got := runeWidth(r); got != want {
			t.Errorf("U+%04X has width %d, want %d", r, got, want)
		}
	}
}
