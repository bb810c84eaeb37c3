// SPDX-License-Identifier: Apache-2.0

package foreground

import (
	"os/exec"
	"testing"
	"time"
)

func TestTheEndOfALeaderIsNoticed(t *testing.T) {
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kept, err := Watch(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	closed, err := Watch(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	select {
	case <-kept.Gone():
		t.Error("it lives")
	case <-closed.Gone():
		t.Error("nobody waits for it any more, and it lives")
	default:
	}
	_ = stdin.Close()
	select {
	case <-kept.Gone(): // though nobody has reaped it
	case <-time.After(10 * time.Second):
		t.Error("its end went unnoticed")
	}
	kept.Close()
	_ = cmd.Wait()
	if _, err := Watch(1 << 30); err == nil {
		t.Error("a process that cannot exist is watched")
	}
}
