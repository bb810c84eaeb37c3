// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/wire"
	"spawn/internal/unmet"
)

const (
	inNamespace = "SPAWN_TEST_IN_PID_NAMESPACE"
	// numberTaken says that one of our own threads was given the number first, and keeps it: another namespace may fare better.
	numberTaken   = "a thread of ours has the number"
	numberRefused = "the kernel does not let us choose a number"
	namespacesMax = 20
	occupyMax     = 5 // tries; somebody may come between two calls
)

// T29: the last way to end a worker kills the process at the other end of the connection, and nobody else who has been
// given its number since. The kernel is made to hand the number out again, which takes a namespace of our own.
func TestWhoHasTheNumberOfADeadWorkerIsNotKilled(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		runInNamespace(t)
		return
	}
	house := newHouse(t)
	f := house.fleet("good")
	h := house.launch(f)
	next(t, h, wire.KindOutput)
	pid := h.WorkerPID()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := f.AwaitChildren(t.Context()); err != nil { // reaped: its number is free
		t.Fatal(err)
	}
	victim := occupy(t, pid)
	if err := killPeer(h.conn); err != nil {
		t.Error(err)
	}
	beforePeerPidfd(t)
	if err := killPeer(h.conn); err != nil {
		t.Errorf("before Linux 6.5: %v", err)
	}
	_ = victim.Process.Signal(unix.SIGTERM) // a KILL that came before comes first
	_ = victim.Wait()
	if status, ok := victim.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != unix.SIGTERM {
		t.Errorf("the number's next owner ended with %v", victim.ProcessState)
	}
	h.Close()
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

// occupy starts a process with the given number.
func occupy(t *testing.T, pid int) *exec.Cmd {
	t.Helper()
	for range occupyMax {
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", fmt.Append(nil, pid-1), 0); err != nil {
			t.Skipf("%s: %v", numberRefused, err)
		}
		cmd := exec.Command("/bin/sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if cmd.Process.Pid == pid {
			return cmd
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Skip(numberTaken)
	return nil
}
