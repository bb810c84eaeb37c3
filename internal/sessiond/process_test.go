// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessiond

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
	"spawn/internal/unmet"
)

// workerBinary is spawn-worker, and failingBinary the one that can be told where to die; each is built once when the first test
// wants it.
var (
	workerBinary  = sync.OnceValues(func() (string, error) { return buildWorker() })
	failingBinary = sync.OnceValues(func() (string, error) { return buildWorker("-tags", "failpoints") })
)

func buildWorker(flags ...string) (string, error) {
	dir, err := os.MkdirTemp("", "spawn-worker")
	if err != nil {
		return "", err
	}
	builtIn = append(builtIn, dir)
	path := filepath.Join(dir, "spawn-worker")
	build := append(append([]string{"build", "-trimpath", "-ldflags", "-s -w"}, flags...), "-o", path, "spawn/cmd/spawn-worker")
	cmd := exec.Command("go", build...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released: docs/security.md says what a C library would leave in memory
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
}

var builtIn []string

func removeBinary() {
	for _, dir := range builtIn {
		os.RemoveAll(dir)
	}
}

// asSpawndStartsIt is what spawnd adds to a worker's environment, as a test of package fleet holds it to.
const asSpawndStartsIt = "GODEBUG=asyncpreemptoff=1"

// process is a worker in a process of its own, started as spawnd starts it.
type process struct {
	t      testing.TB
	folder *endpoint.Folder
	id     endpoint.SessionID
	cmd    *exec.Cmd
	ended  chan struct{}
}

// execute starts the binary with args and the reservation, and returns what it says on standard error until that ends.
func execute(t testing.TB, folder *endpoint.Folder, id endpoint.SessionID, args ...string) (*process, string) {
	t.Helper()
	path, err := workerBinary()
	if err != nil {
		t.Fatal(err)
	}
	return executeFile(t, path, nil, folder, id, args...)
}

// executeFile is execute for a given binary, with additions to its environment.
func executeFile(t testing.TB, path string, env []string, folder *endpoint.Folder, id endpoint.SessionID, args ...string) (*process, string) {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Env = append([]string{"HOME=/", "MARKER=of-the-supervisor", asSpawndStartsIt}, env...)
	return executeCommand(t, cmd, folder, id)
}

// executeCommand starts a worker's command with the reservation before its other files, and returns what it says on standard error
// until that ends.
func executeCommand(t testing.TB, cmd *exec.Cmd, folder *endpoint.Folder, id endpoint.SessionID) (*process, string) {
	t.Helper()
	complaints, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer complaints.Close()
	lock := lockFor(t, folder, id)
	cmd.Stderr = theirs
	cmd.ExtraFiles = append([]*os.File{lock}, cmd.ExtraFiles...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	lock.Close()
	p := &process{t: t, folder: folder, id: id, cmd: cmd, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		cmd.Wait()
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-p.ended
	})
	text, err := io.ReadAll(complaints)
	if err != nil {
		t.Fatal(err)
	}
	return p, string(text)
}

// launchProcess starts a worker in a folder of its own, with additions to its environment.
func launchProcess(t testing.TB, env ...string) *process {
	t.Helper()
	folder, id := openTestFolder(t), endpoint.NewSessionID()
	path, err := workerBinary()
	if err != nil {
		t.Fatal(err)
	}
	p, complaint := executeFile(t, path, env, folder, id, "--session-id", id.String(), "--worker-dir", folder.Path())
	if complaint != "" {
		t.Fatalf("worker complains: %s", complaint)
	}
	return p
}

func (p *process) await() {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatal("the process does not end")
	}
}

func TestProcessIsReadyWhenItsErrorsEnd(t *testing.T) {
	p := launchProcess(t)
	if held, err := p.folder.Locked(p.id); err != nil || !held {
		t.Fatalf("locked: %v, %v", held, err)
	}
	peer := dial(t, p.folder, p.id)
	peer.startScript("echo on; cat")
	peer.untilOutput("on")
}

func TestProcessSaysWhyItCannotBegin(t *testing.T) {
	folder, id := openTestFolder(t), endpoint.NewSessionID()
	other := endpoint.NewSessionID()
	good := []string{"--session-id", id.String(), "--worker-dir", folder.Path()}
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no arguments":      {nil, 2, "--session-id"},
		"bad id":            {[]string{"--session-id", "../x", "--worker-dir", folder.Path()}, 2, "--session-id"},
		"relative folder":   {[]string{"--session-id", id.String(), "--worker-dir", "x"}, 2, "--worker-dir"},
		"unknown flag":      {append(good, "--verbose"), 2, "verbose"},
		"stray argument":    {append(good, "extra"), 2, "arguments"},
		"log above ceiling": {append(good, "--max-log-bytes", "8388609"), 2, "--max-log-bytes"},
		"another's lock":    {[]string{"--session-id", other.String(), "--worker-dir", folder.Path()}, 1, "inherit"},
		"hopeless folder":   {[]string{"--session-id", id.String(), "--worker-dir", "/proc/no/folder"}, 1, "/proc/no"},
	} {
		p, complaint := execute(t, folder, id, c.args...)
		p.await()
		if p.cmd.ProcessState.ExitCode() != c.code || !strings.Contains(complaint, c.says) {
			t.Errorf("%s: exit code %d, says %q", name, p.cmd.ProcessState.ExitCode(), complaint)
		}
	}
}

func TestProcessKilledLeavesOnlyWhatASweepRemoves(t *testing.T) {
	p := launchProcess(t)
	peer := dial(t, p.folder, p.id)
	peer.startScript("seq 1 1000; echo $$ the-end; cat")
	peer.untilOutput("the-end")
	p.cmd.Process.Kill()
	p.await()
	if e, err := peer.read(); err == nil && e.kind == wire.KindExit {
		t.Error("a killed worker told an EXIT")
	}
	if err := p.folder.Sweep(p.id); err != nil {
		t.Fatal(err)
	}
	requireEmpty(t, p.folder)
}

func TestProcessEndsCleanlyOnTerm(t *testing.T) {
	p := launchProcess(t)
	peer := dial(t, p.folder, p.id)
	peer.startScript("echo ready; exec sleep 1000")
	peer.untilOutput("ready")
	p.cmd.Process.Signal(syscall.SIGTERM)
	if e := peer.exit(); e.Signal != "SIGTERM" {
		t.Errorf("EXIT %+v", e)
	}
	p.await()
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	requireEmpty(t, p.folder)
}

func TestProcessSurvivesTheSignalsOfItsSurroundings(t *testing.T) {
	p := launchProcess(t)
	peer := dial(t, p.folder, p.id)
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE} {
		p.cmd.Process.Signal(s)
	}
	peer.startScript(`grep -E '^Sig(Ign|Blk)' /proc/self/status; echo the-end; cat`)
	peer.untilOutput("the-end")
	for _, line := range strings.Split(string(peer.output), "\r\n") {
		if strings.HasPrefix(line, "Sig") && !isEmptySet(line) {
			t.Errorf("the program inherited %q", line)
		}
	}
	// A signal that is caught leaves registers in memory, with half a key or text in them; so a worker goes on ignoring.
	status := readFile(t, fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	_, set, _ := strings.Cut(status, "SigIgn:\t")
	set, _, _ = strings.Cut(set, "\n")
	ignored, err := strconv.ParseUint(set, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE} {
		if ignored&(1<<(s-1)) == 0 {
			t.Errorf("with its program started, a worker catches %v", s)
		}
	}
}

// libcSignals are bits 32 and 33, which are the C library's own: a program that was started by its posix_spawn, as make
// starts all, has them ignored, and no program can tell.
const libcSignals = 1<<31 | 1<<32

// isEmptySet reports whether a line of /proc/PID/status, such as SigIgn, names no signal that a program could use.
func isEmptySet(line string) bool {
	_, set, _ := strings.Cut(line, "\t")
	signals, err := strconv.ParseUint(strings.TrimSpace(set), 16, 64)
	return err == nil && signals&^libcSignals == 0
}

// Nothing of the worker reaches the program: no descriptor, no variable, no argument, no folder.
func TestProcessHandsTheProgramNothingOfItsOwn(t *testing.T) {
	p := launchProcess(t)
	peer := dial(t, p.folder, p.id)
	peer.start([]string{"/bin/sh", "-c", `printf fds:; for f in /proc/$$/fd/*; do [ -e $f ] && printf " ${f##*/}"; done; echo; env; pwd; tr '\0' ' ' < /proc/$$/cmdline; umask; echo the-end; cat`})
	peer.untilOutput("the-end\r")
	out := string(peer.output)
	if !strings.Contains(out, "fds: 0 1 2\r\n") {
		t.Errorf("descriptors: %q", out)
	}
	for _, secret := range []string{p.id.String(), p.folder.Path(), peer.hello.InstanceID, "of-the-supervisor"} {
		if strings.Contains(out, secret) {
			t.Errorf("the program can see %q", secret)
		}
	}
}

func TestProcessCannotBeDumped(t *testing.T) {
	p := launchProcess(t)
	limits := readFile(t, filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "limits"))
	for _, line := range strings.Split(limits, "\n") {
		if strings.HasPrefix(line, "Max core file size") && !strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(line, "Max core file size")), "0 ") {
			t.Error(line)
		}
	}
	cwd, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "cwd"))
	if err == nil && cwd != "/" {
		t.Errorf("the worker stands in %s", cwd)
	}
}

// Plaintext must be in no file, while the worker lives and after.
func TestProcessWritesNoPlaintext(t *testing.T) {
	p := launchProcess(t)
	peer := dial(t, p.folder, p.id)
	marker := "PLAINTEXT-" + endpoint.NewSessionID().String()
	peer.startScript("i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo %s $i; done; echo the-end; cat", marker)
	peer.untilOutput("the-end")
	if _, stream := peer.replay(everything); strings.Count(stream, marker) != 200 {
		t.Fatalf("%d markers in the replay", strings.Count(stream, marker))
	}
	files := 0
	err := filepath.WalkDir(p.folder.Path(), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(marker[:12])) {
			t.Errorf("plaintext in %s", path)
		}
		return err
	})
	if err != nil || files < 2 {
		t.Errorf("%d files, %v", files, err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// The other tests stand on a clock of their own; this one needs the machine's to go.
func TestProcessTellsForegroundChanges(t *testing.T) {
	p := launchProcess(t)
	peer := dial(t, p.folder, p.id)
	peer.startScript("stty -echo; echo ready; read x; exec sleep 1000")
	peer.untilOutput("ready")
	peer.type_("\r")
	for string(peer.until(wire.KindForeground)) != "sleep" {
	}
}

// Where the system does not let the key's page be locked, as in containers without the limit for it, the worker works, and its
// HELLO says so.
func TestProcessTellsWhetherItsKeyIsLocked(t *testing.T) {
	worker, err := workerBinary()
	if err != nil {
		t.Fatal(err)
	}
	unmet.Root(t, "take the right to lock memory away")
	for _, wrap := range [][]string{
		{"env"},
		{"prlimit", "--memlock=0:0", "setpriv", "--bounding-set=-ipc_lock"},
	} {
		path, err := exec.LookPath(wrap[0])
		if err != nil {
			unmet.Skip(t, "%v", err)
		}
		folder, id := openTestFolder(t), endpoint.NewSessionID()
		args := append(wrap[1:], worker, "--session-id", id.String(), "--worker-dir", folder.Path())
		_, complaint := executeFile(t, path, []string{"PATH=" + os.Getenv("PATH")}, folder, id, args...)
		if complaint != "" {
			t.Fatalf("%v: %s", wrap, complaint)
		}
		peer := dial(t, folder, id)
		if got, want := peer.hello.Can(wire.CapLockedKey), wrap[0] == "env"; got != want {
			t.Errorf("%v: the key is locked: %v, want %v; %v", wrap, got, want, peer.hello.Capabilities)
		}
		peer.startScript("seq 1 100; echo works; cat")
		peer.untilOutput("works\r\n")
		if _, stream := peer.replay(everything); !strings.Contains(stream, "1\r\n2\r\n3") {
			t.Errorf("%v: no history", wrap)
		}
	}
}
