// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/lifecycle"
	"spawn/internal/sessiond/pty"
	"spawn/internal/unmet"
)

const (
	inNamespace = "SPAWN_TEST_IN_PID_NAMESPACE"
	// numberTaken says that one of our own threads was given the number first, and keeps it: another namespace may fare better.
	numberTaken   = "a thread of ours has the number"
	numberRefused = "the kernel does not let us choose a number"
	namespacesMax = 20
)

// A program's number that the kernel has given to somebody else is never signalled: not by a request, not by the terminal,
// not by the ordered end. The kernel is made to hand the number out again, which takes a namespace of our own.
func TestRecycledNumberIsNeverSignalled(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		runInNamespace(t)
		return
	}
	tw := launch(t)
	p := tw.dial()
	p.startScript("echo ready; read x; exit 3")
	p.untilOutput("ready")
	pid := tw.pid()
	term := tw.w.term.Load()
	p.type_("\r")
	p.exit() // the program is reaped: its number is free
	victim := occupy(t, pid)

	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := term.SignalGroup(s); !errors.Is(err, pty.ErrGone) {
			t.Errorf("%v to the terminal's group: %v", s, err)
		}
	}
	for _, s := range []endpoint.Signal{endpoint.SignalTERM, endpoint.SignalKILL} {
		if ack := tw.signal(p, s); ack != endpoint.AckGone {
			t.Errorf("%v: %v", s, ack)
		}
	}
	tw.stop()
	tw.clock.fire(lifecycle.ExitLinger)
	tw.await()
	var status unix.WaitStatus
	if got, err := unix.Wait4(victim.Process.Pid, &status, unix.WNOHANG, nil); got != 0 || err != nil {
		t.Errorf("the number's next owner got a signal: %v, %v", status, err)
	}
}

// runInNamespace runs this test again, alone, as process 1 of a namespace: when it ends, so does all that it started.
func runInNamespace(t *testing.T) {
	t.Helper()
	unmet.Root(t, "make a namespace of process ids")
	for range namespacesMax {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), inNamespace+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
		said, err := cmd.CombinedOutput()
		switch {
		case errors.Is(err, syscall.EPERM):
			unmet.Skip(t, "no namespace of process ids is allowed here")
		case strings.Contains(string(said), numberTaken):
			continue
		case err != nil:
			t.Fatalf("%v: %s", err, said)
		}
		if strings.Contains(string(said), numberRefused) {
			unmet.Skip(t, numberRefused)
		}
		return
	}
	t.Fatalf("in %d namespaces %s", namespacesMax, numberTaken)
}

// occupy starts a process that leads a process group with the given number.
func occupy(t *testing.T, pid int) *exec.Cmd {
	t.Helper()
	const triesMax = 5
	for range triesMax { // somebody may come between the two calls
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", fmt.Append(nil, pid-1), 0); err != nil {
			t.Skipf("%s: %v", numberRefused, err)
		}
		cmd := exec.Command("/bin/sleep", "1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if cmd.Process.Pid == pid {
			return cmd
		}
		cmd.Process.Kill()
		cmd.Wait()
	}
	t.Skip(numberTaken)
	return nil
}
