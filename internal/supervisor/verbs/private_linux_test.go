// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// There is no moment at which the socket is wider (T22): its mode is right at bind.
func TestTheModeIsRightAtBind(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	path := filepath.Join(t.TempDir(), "s")
	ln, err := (&net.ListenConfig{Control: privateFromBirth}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if st, err := os.Lstat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}
