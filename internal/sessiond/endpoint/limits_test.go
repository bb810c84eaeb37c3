// SPDX-License-Identifier: Apache-2.0

//go:build linux

package endpoint

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestLimitsAreAsChosen(t *testing.T) {
	for name, n := range map[string]struct{ is, chosen int }{
		"bytes of a socket's path":    {sunPathMax, 107},
		"bytes of a folder's path":    {FolderPathMax, 55},
		"names of a folder":           {scanEntriesMax, 50_000},
		"files of a session's folder": {sweepEntriesMax, 1024},
		"tries to reserve":            {reserveTriesMax, 256},
		"names read at once":          {readdirBatch, 256},
		"mode of a folder":            {FolderMode, 0o700},
		"mode of a file":              {FileMode, 0o600},
		"bytes of a session's id":     {sessionIDLen, 36},
		"bytes of a reply's name":     {replyNameLen, 8},
		"bytes of an instance's id":   {len(InstanceID{}), 16},
		"bytes of a request":          {RequestLen, 17},
		"bytes of its buffer":         {RequestBufLen, 18},
		"bytes of an answer":          {ackLen, 1},
	} {
		if n.is != n.chosen {
			t.Errorf("%s: %d, want %d", name, n.is, n.chosen)
		}
	}
	for name, d := range map[string]struct{ is, chosen time.Duration }{
		"signal":                 {SignalDeadline, 2 * time.Second},
		"one request of it":      {signalAttemptMax, time.Second / 2},
		"its queue was full":     {signalRetryWait, 10 * time.Millisecond},
		"dial":                   {DialDeadline, 5 * time.Second},
		"its backlog was full":   {dialRetryWait, 5 * time.Millisecond},
		"a probe holds the lock": {probeWait, 200 * time.Microsecond},
	} {
		if d.is != d.chosen {
			t.Errorf("%s: %v, want %v", name, d.is, d.chosen)
		}
	}
}

// The number is the kernel's, less one byte for the end of the string: such a path can be bound and dialled by itself.
func TestSocketPathLimitIsTheKernels(t *testing.T) {
	if room := len(unix.RawSockaddrUnix{}.Path); sunPathMax != room-1 {
		t.Errorf("%d of the %d bytes of an address", sunPathMax, room)
	}
	above, err := os.MkdirTemp("", "ep")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(above)
	longest := filepath.Join(above, strings.Repeat("x", sunPathMax-len(above)-1))
	l, err := net.Listen("unix", longest)
	if err != nil {
		t.Fatalf("a path of %d bytes: %v", len(longest), err)
	}
	defer l.Close()
	conn, err := net.Dial("unix", longest)
	if err != nil {
		t.Fatalf("a path of %d bytes: %v", len(longest), err)
	}
	conn.Close()
}
