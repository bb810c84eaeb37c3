// SPDX-License-Identifier: Apache-2.0

//go:build unix

package topology

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"spawn/internal/supervisor/ownfile"
)

// T21: whatever lies where the new file is to be made is not written through, be it a file, a link to one or a second name
// of one. Nor would anybody know where: the name is another each time.
func TestANewFileTakesNobodysPlace(t *testing.T) {
	for _, c := range []struct {
		name  string
		plant func(canary, at string) error
	}{
		{"a file", func(_, at string) error { return os.WriteFile(at, []byte("canary"), 0o600) }},
		{"a link", os.Symlink},
		{"a hard link", os.Link},
		{"a fifo", func(_, at string) error { return syscall.Mkfifo(at, 0o600) }}, // last: who opens it waits
	} {
		dir := t.TempDir()
		canary, at := filepath.Join(dir, "canary"), filepath.Join(dir, "new")
		if err := os.WriteFile(canary, []byte("canary"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.plant(canary, at); err != nil {
			t.Fatal(err)
		}
		if err := (storeDisk{}).Write(at, []byte("written")); err == nil {
			t.Fatalf("%s was written to", c.name)
		}
		if text, err := os.ReadFile(canary); string(text) != "canary" {
			t.Errorf("%s: the canary is %q, %v", c.name, text, err)
		}
	}
	names := map[string]bool{}
	s := NewStore(filepath.Join(t.TempDir(), "topology.json"))
	s.disk = noting{storeDisk{}, names}
	for range 3 {
		if err := s.Save(Tree{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(names) != 3 {
		t.Errorf("three saves made their new files as %v", names)
	}
}

// noting keeps the names of new files.
type noting struct {
	ownfile.Disk
	names map[string]bool
}

func (n noting) Write(path string, src []byte) error {
	n.names[path] = true
	return n.Disk.Write(path, src)
}
