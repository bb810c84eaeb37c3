// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"spawn/internal/supervisor/descriptors"
)

// T40, and what the control socket decides for itself.
func TestLimitsOfTheControlSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "sp")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	longest := dir + "/" + strings.Repeat("x", SocketPathMax-len(dir)-1)
	ln, err := net.Listen("unix", longest)
	if err != nil {
		t.Fatalf("%d bytes: %v", len(longest), err)
	}
	defer ln.Close()
	if _, err := net.Listen("unix", longest+"x"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("%d bytes: %v", len(longest)+1, err)
	}
	for _, c := range []struct {
		says       string
		have, want int
	}{
		{"bytes of a request", LineBytesMax, 64 << 10},
		{"bytes of an answer", AnswerBytesMax, 8 << 20},
		{"connections", connectionsMax, 1024},
		{"descriptors that no viewer, page or new terminal keeps", descriptors.Kept, 64},
		{"of them those that nobody takes by asking", askersKept, 32},
		{"seconds of a request from its first byte", int(lineTimeout / time.Second), 10},
		{"seconds to take an answer", int(answerTimeout / time.Second), 10},
		{"minutes between two requests", int(idleTimeout / time.Minute), 10},
		{"seconds of a verb", int(runTimeout / time.Second), 30},
		{"milliseconds without descriptors", int(acceptRetry / time.Millisecond), 50},
	} {
		if c.have != c.want {
			t.Errorf("%s: %d, want %d", c.says, c.have, c.want)
		}
	}
}
