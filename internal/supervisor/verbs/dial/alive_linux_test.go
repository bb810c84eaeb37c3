// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"bufio"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/supervisor/verbs"
)

// F5: whoever asks a spawnd that is stopped waits five seconds, whether the kernel takes what is said, and nobody
// answers, or so many wait already that it takes no more.
func TestAStoppedSpawndKeepsNobodyLonger(t *testing.T) {
	if callTimeout > 5*time.Second || probeAfter >= callTimeout {
		t.Errorf("silence lasts %v, of which %v before the first probe", callTimeout, probeAfter)
	}
	t.Parallel()
	var asking sync.WaitGroup
	for _, s := range []Socket{bound(t, 1<<10), full(t)} {
		asking.Go(func() {
			err := s.Call(t.Context(), verbs.PaneList, verbs.Empty{}, &verbs.PaneListResult{})
			refusal := (*verbs.Error)(nil)
			if !errors.As(err, &refusal) || refusal.Code != verbs.CodeTimeout || !strings.Contains(refusal.Message, "no life for 5s") {
				t.Errorf("error %v, want one of 5 s of silence", err)
			}
		})
	}
	asking.Wait()
}

// bound is a socket on which nobody accepts.
func bound(t *testing.T, backlog int) Socket {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, backlog)); err != nil {
		t.Fatal(err)
	}
	return Socket{Path: path}
}

// full is one whose backlog is full.
func full(t *testing.T) Socket {
	t.Helper()
	s := bound(t, 1)
	for {
		c, err := net.Dial("unix", s.Path)
		if errors.Is(err, unix.EAGAIN) {
			return s
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
}

// A verb may take as long as it says, as long as spawnd answers others meanwhile.
func TestALongVerbIsWaitedForWhileSpawndLives(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		var slow net.Conn
		for probes := time.Duration(0); probes*probeAfter <= callTimeout; {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			line, err := verbs.ReadLine(bufio.NewReader(c), verbs.LineBytesMax)
			switch {
			case err != nil:
			case strings.Contains(string(line), verbs.ServerInfo):
				probes++
				_, _ = c.Write([]byte(`{"id":1,"error":{"code":"denied.read","message":"no","data":{}}}` + "\n"))
			default:
				slow = c
			}
		}
		_, _ = slow.Write([]byte(`{"id":1,"ok":{}}` + "\n"))
	}()
	s := Socket{Path: ln.Addr().String()}
	if err := s.Call(t.Context(), verbs.PaneClose, verbs.PaneCloseParams{Pane: "p0"}, &verbs.Empty{}); err != nil {
		t.Error(err)
	}
}
