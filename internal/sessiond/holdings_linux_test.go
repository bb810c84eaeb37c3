// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"os"
	"path/filepath"
	"testing"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/secret"
)

// Whatever is put at the worker folder's path once it is open, the log is made and removed in the folder that is held.
func TestLogIsMadeInTheFolderThatIsHeld(t *testing.T) {
	base := openTestFolder(t).Path()
	path, moved, decoy, id := filepath.Join(base, "w"), filepath.Join(base, "moved"), filepath.Join(base, "decoy"), endpoint.NewSessionID()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	folder, err := endpoint.OpenFolder(path)
	must(err)
	key, err := secret.NewKey()
	must(err)
	must(os.Rename(path, moved))
	must(os.Mkdir(decoy, 0o755))
	must(os.Mkdir(filepath.Join(decoy, endpoint.ScrollbackName(id)), 0o755)) // what must keep its mode, and stay
	must(os.Symlink(decoy, path))

	h := &holdings{folder: folder, key: key}
	must(h.makeLog(Config{SessionID: id}))
	must(h.log.Append([]byte("a line\r\n")))
	if left, err := os.ReadDir(filepath.Join(moved, endpoint.ScrollbackName(id))); err != nil || len(left) != 1 {
		t.Errorf("the log's folder holds %v, %v", left, err)
	}
	must(h.release())
	if left, err := os.ReadDir(moved); err != nil || len(left) != 0 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
	if st, err := os.Lstat(filepath.Join(decoy, endpoint.ScrollbackName(id))); err != nil || st.Mode() != os.ModeDir|0o755 {
		t.Errorf("in the decoy there is %v, %v", st, err)
	}
}
