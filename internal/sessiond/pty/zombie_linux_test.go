// SPDX-License-Identifier: Apache-2.0

package pty

import (
	"errors"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// An ended but unreaped program still owns its number: signalling it is safe and says nothing is wrong.
func TestSignalGroupToAZombieIsSafe(t *testing.T) {
	term := start(t, `exit 0`)
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, term.Pid(), &info, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err := term.SignalGroup(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got, err := term.Wait(); err != nil || got != (Status{}) {
		t.Fatalf("%+v, %v", got, err)
	}
}
