// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

// T40: 107 bytes are what the kernel takes, by the plain path, and 108 are not.
func TestSocketPathsAreAsLongAsTheKernelTakes(t *testing.T) {
	if sunPathMax != 107 {
		t.Errorf("sunPathMax is %d", sunPathMax)
	}
	dir, err := os.MkdirTemp("", "sp")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	longest := dir + "/" + strings.Repeat("x", sunPathMax-len(dir)-1)
	ln, err := net.Listen("unix", longest)
	if err != nil {
		t.Fatalf("%d bytes: %v", len(longest), err)
	}
	defer ln.Close()
	c, err := net.Dial("unix", longest)
	if err != nil {
		t.Fatalf("%d bytes: %v", len(longest), err)
	}
	_ = c.Close()
	if _, err := net.Listen("unix", longest+"x"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("%d bytes: %v", len(longest)+1, err)
	}
}
