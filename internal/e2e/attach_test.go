// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"spawn/internal/e2e/rig"
	"spawn/internal/supervisor/verbs"
)

// seat is a terminal with a spawnd attach in it.
type seat struct {
	*testing.T
	user  *os.File
	ended chan error

	mu   sync.Mutex
	seen strings.Builder
	more chan struct{} // 1 slot: something was seen
}

func sitDown(h *rig.Host, args ...string) *seat {
	h.T.Helper()
	cmd := exec.Command(filepath.Join(h.Programs, "spawnd"), append([]string{"attach"}, args...)...)
	cmd.Env = h.Env
	user, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 90, Rows: 20})
	if err != nil {
		h.T.Fatal(err)
	}
	s := &seat{T: h.T, user: user, ended: make(chan error, 1), more: make(chan struct{}, 1)}
	go func() {
		s.look() // what is left in the terminal is seen before the end
		s.ended <- cmd.Wait()
	}()
	h.T.Cleanup(func() { _ = user.Close() })
	return s
}

func (s *seat) look() {
	buf := make([]byte, 4096)
	for {
		n, err := s.user.Read(buf)
		s.mu.Lock()
		s.seen.Write(buf[:n])
		s.mu.Unlock()
		select {
		case s.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// sees waits until the user has seen all of want since the last call.
func (s *seat) sees(want ...string) {
	s.Helper()
	late := time.After(rig.Patience)
	for {
		s.mu.Lock()
		got := s.seen.String()
		s.mu.Unlock()
		all := true
		for _, w := range want {
			all = all && strings.Contains(got, w)
		}
		if all {
			s.mu.Lock()
			rest := s.seen.String()[len(got):]
			s.seen.Reset()
			s.seen.WriteString(rest)
			s.mu.Unlock()
			return
		}
		select {
		case <-s.more:
		case <-late:
			s.Fatalf("not seen: %q in %q", want, got)
		}
	}
}

func (s *seat) types(text string) {
	s.Helper()
	if _, err := s.user.WriteString(text); err != nil {
		s.Fatal(err)
	}
}

func (s *seat) leaves() error {
	s.Helper()
	select {
	case err := <-s.ended:
		return err
	case <-time.After(rig.Patience):
		s.Fatal("the attachment goes on")
	}
	return nil
}

// A person in one terminal goes from pane to pane, and what is typed goes where they are.
func TestOneTerminalShowsManyPanes(t *testing.T) {
	h := rig.NewHost(t)
	d := h.Serve()
	says := func(name string) []string {
		return []string{"/bin/sh", "-c", "trap '' QUIT; echo I am " + name + "; while read l; do echo " + name + " got $l; done"}
	}
	var split verbs.PaneResult
	h.NewPane(verbs.PaneNewParams{Argv: says("zero")})
	h.NewPane(verbs.PaneNewParams{Argv: says("one")})
	h.Call(verbs.PaneSplit, verbs.PaneSplitParams{Pane: "p1", Axis: "cols", Argv: says("two")}, &split)

	s := sitDown(h, "p0")
	s.sees("I am zero")
	s.types("a\r")
	s.sees("zero got a")
	s.types("\x1cnb\r") // in one piece: the line is for the other pane, which is active in the next window
	s.sees("I am two", "two got b")
	s.types("\x1coc\r")
	s.sees("I am one", "one got c")
	s.types("\x1cpd\r")
	s.sees("zero got a", "zero got d")
	s.types("\x1c1\x1c\x1c?\r") // where they were in that window; and the prefix twice is no command
	s.sees("one got c", "one got ?")
	s.types("\x1c0\x1c?")
	s.sees("zero got d", `ctrl-\ then: d detach`)
	s.types("\x04") // the end of zero
	s.sees("p0 has ended; this is p1", "one got c")
	s.types("e\r")
	s.sees("one got e")
	s.types("\x1cd")
	s.sees("detached from p1, which goes on")
	if err := s.leaves(); err != nil {
		t.Error(err)
	}

	s = sitDown(h) // where they were
	s.sees("one got e")
	s.types("\x1cd")
	if err := s.leaves(); err != nil {
		t.Error(err)
	}
	s = sitDown(h, "--read-only", "--keys", "ctrl-a q", "p1")
	s.sees("one got e")
	s.types("\x01c") // who watches starts no terminal
	s.sees("starts no terminal")
	s.types("\x1cdf\r\x01q") // nor types
	s.sees("detached from p1, which goes on")
	if err := s.leaves(); err != nil {
		t.Error(err)
	}
	h.CloseAll()

	s = sitDown(h, "--read-only")
	s.sees("starts no terminal")
	if err := s.leaves(); err == nil {
		t.Error("a success with nothing to watch")
	}

	s = sitDown(h) // nothing is there: a login shell is started, and what ends last ends the attachment
	s.types("exit 7\r")
	s.sees("has ended with 7")
	if err := s.leaves(); err == nil {
		t.Error("a success")
	}
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}
