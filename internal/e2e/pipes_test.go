// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"spawn/internal/e2e/rig"
)

// A log that nobody reads any more is no reason for spawnd to end other than in an orderly way, when it is told to.
func TestSpawndOutlivesTheReaderOfItsLog(t *testing.T) {
	h := rig.NewHost(t)
	log, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(h.Programs, "spawnd"), "serve", "--listen", "127.0.0.1:0")
	cmd.Env, cmd.Stderr = h.Env, theirs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	_ = log.Close()
	_ = cmd.Process.Signal(syscall.SIGTERM) // of which the log tells
	if err := cmd.Wait(); err != nil {
		t.Errorf("spawnd after SIGTERM: %v", err)
	}
	h.AwaitNothingLeft()
}
