// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"spawn/internal/procmem"
	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/secret"
	"spawn/internal/sessiond/wire"
	"spawn/internal/unmet"
)

const (
	ordinary = 1000 // a user without any right beyond his own

	// workerOfUser names the worker that a test runs again as an ordinary user, and says that it does.
	workerOfUser = "SPAWN_TEST_WORKER_OF_USER"
)

// asOrdinary runs the rest of the test in a process of an ordinary user, to whom it returns the worker's path; to root, who
// may see everything, it returns false when that is over.
func asOrdinary(t *testing.T) (worker string, inner bool) {
	t.Helper()
	if worker = os.Getenv(workerOfUser); worker != "" {
		return worker, true
	}
	unmet.Root(t, "become an ordinary user")
	worker, err := workerBinary()
	if err == nil {
		err = os.Chmod(filepath.Dir(worker), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	// Through the link, a user who may not look into the build folder can run it too.
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = "/", append(os.Environ(), workerOfUser+"="+worker)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	if said, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(said), "--- PASS: "+t.Name()) {
		t.Fatalf("as uid %d: %v\n%s", ordinary, err, said)
	}
	return "", false
}

// launchFile is launchProcess for a given binary.
func launchFile(t *testing.T, path string) *process {
	t.Helper()
	folder, id := openTestFolder(t), endpoint.NewSessionID()
	p, complaint := executeFile(t, path, nil, folder, id, "--session-id", id.String(), "--worker-dir", folder.Path())
	if complaint != "" {
		t.Fatal(complaint)
	}
	return p
}

// peekers are the ways of a process into another one's memory. Each returns nil if it is let in; some stay there.
var peekers = map[string]func(pid int) error{
	"ptrace attach": unix.PtraceAttach,
	"ptrace seize":  unix.PtraceSeize,
	"process_vm_readv": func(pid int) error {
		// An address of ours need not be mapped there: who is told that it is not was let in.
		var b [16]byte
		local := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
		remote := unix.RemoteIovec{Base: uintptr(unsafe.Pointer(&b[0])), Len: len(b)}
		_, err := unix.ProcessVMReadv(pid, []unix.Iovec{local}, []unix.RemoteIovec{remote}, 0)
		if errors.Is(err, unix.EFAULT) {
			return nil
		}
		return err
	},
	"memory file": func(pid int) error { return opened(pid, "mem") },
	"mappings":    func(pid int) error { return opened(pid, "maps") },
	"environment": func(pid int) error { return opened(pid, "environ") },
	"descriptors": func(pid int) error {
		_, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		return err
	},
}

func opened(pid int, name string) error {
	file, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err == nil {
		file.Close()
	}
	return err
}

// A worker is closed to other processes of its own user, which an ordinary child of theirs is not.
func TestWorkerIsClosedToItsUser(t *testing.T) {
	path, inner := asOrdinary(t)
	if !inner {
		return
	}
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	p := launchFile(t, path)
	peer := dial(t, p.folder, p.id)
	peer.startScript("echo ready; cat")
	peer.untilOutput("ready\r\n")
	for name, peek := range peekers {
		open := exec.Command("sleep", "1000")
		if err := open.Start(); err != nil {
			t.Fatal(err)
		}
		if err := peek(open.Process.Pid); err != nil {
			t.Errorf("%s: not even an ordinary process can be seen: %v", name, err)
		}
		open.Process.Kill()
		open.Wait()
		if err := peek(p.cmd.Process.Pid); !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES) {
			t.Fatalf("%s of a worker: %v, want a refusal", name, err)
		}
	}
	peer.type_("still well\r")
	peer.untilOutput("still well\r\nstill well\r\n")
}

// However it is brought down, with whatever limit, a worker leaves no core.
func TestWorkerLeavesNoCore(t *testing.T) {
	path, inner := asOrdinary(t)
	if !inner {
		return
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil || limit.Max == 0 {
		unmet.Skip(t, "no process may leave a core here: %v", err)
	}
	limit.Cur = limit.Max // as whoever wants a core would set it
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		t.Fatal(err)
	}
	for _, s := range []syscall.Signal{syscall.SIGABRT, syscall.SIGSEGV, syscall.SIGQUIT} {
		p := launchFile(t, path)
		peer := dial(t, p.folder, p.id)
		peer.startScript("echo ready; cat")
		peer.untilOutput("ready\r\n")
		var theirs unix.Rlimit
		if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_CORE, &limit, &theirs); err != nil {
			t.Fatal(err)
		}
		if theirs.Cur != 0 {
			t.Errorf("a core of the worker may have %d bytes", theirs.Cur)
		}
		p.cmd.Process.Signal(s)
		p.await()
		if status := p.cmd.ProcessState.Sys().(syscall.WaitStatus); status.CoreDump() {
			t.Errorf("%v: it dumped core", s)
		}
		if left, _ := filepath.Glob(filepath.Join(p.folder.Path(), "*core*")); len(left) > 0 {
			t.Errorf("%v: left %v", s, left)
		}
	}
}

// After all that a worker does with its key, a flood, replays and captures, it is in memory once, and no half of it elsewhere.
func TestFloodLeavesOneCopyOfTheKey(t *testing.T) {
	unmet.Root(t, "read a worker's memory")
	p := launchProcess(t)
	peer := dial(t, p.folder, p.id)
	peer.startScript("stty -echo; while read -r n; do seq 1 $n; echo flood-done; done")
	for range 3 {
		peer.output = nil
		peer.type_("60000\r")
		peer.untilOutput("flood-done\r\n")
		peer.replay(everything)
		peer.send(wire.AppendCaptureReq(nil, wire.CaptureReq{What: wire.CaptureAll, MaxRows: 1000, MaxBytes: 1 << 20}))
		peer.until(wire.KindCapture)
	}
	pid := p.cmd.Process.Pid
	awaitNoProgress(t, pid) // while a record is sealed, halves of the key are on the stack
	memory := procmem.Of(t, pid)
	key := readAt(t, memory, keyPage(t, pid), secret.KeyBytes)
	for name, part := range map[string][]byte{"whole": key, "first half": key[:secret.KeyBytes/2], "second half": key[secret.KeyBytes/2:]} {
		if n := procmem.Copies(memory, part); n != 1 {
			t.Errorf("%s of the key is in memory %d times, want 1", name, n)
		}
	}
}
