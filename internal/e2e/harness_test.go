// SPDX-License-Identifier: Apache-2.0

// Package e2e shows spawn's promises with real processes: real spawnd, real workers, real shells.
package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

// patience is how long anything that should happen at once may take on a loaded machine.
const patience = 30 * time.Second

var binaries string // folder of the built programs

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == generatorArg {
		if err := runGenerator(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(build(m))
}

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "spawn-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binaries = dir
	out, err := exec.Command("go", "build", "-o", dir+"/", "spawn/cmd/spawnd", "spawn/cmd/spawn-worker").CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "build the programs: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// host is one set of folders, and whichever spawnd serves them at the moment.
type host struct {
	t   *testing.T
	dir string
	env []string
}

// newHost makes folders that nobody else uses. At the end of the test nothing of it may live or remain.
func newHost(t *testing.T) *host {
	t.Helper()
	dir, err := os.MkdirTemp("", "sp") // short: socket paths have a bound
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, dir: dir}
	h.env = append(os.Environ(),
		"XDG_CONFIG_HOME="+dir+"/c", "XDG_STATE_HOME="+dir+"/s", "XDG_RUNTIME_DIR="+dir+"/r", "SPAWND_WORKER_DIR="+dir+"/w",
		"ENV=", "PS1=$ ")
	if err := os.Mkdir(dir+"/r", 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.remove)
	return h
}

func (h *host) workers() string { return h.dir + "/w" }

// remove kills what a failed test left and takes the folders away.
func (h *host) remove() {
	for _, pid := range h.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err := os.RemoveAll(h.dir); err != nil {
		h.t.Error(err)
	}
}

// processes are those of this host's programs and shells: all whose environment or arguments name its folder.
func (h *host) processes() []int {
	var pids []int
	entries, err := os.ReadDir("/proc")
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range entries {
		var pid int
		if _, err := fmt.Sscanf(e.Name(), "%d", &pid); err != nil || pid == os.Getpid() {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		args, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if strings.Contains(string(environ)+string(args), h.dir+"/") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// daemon is one running spawnd.
type daemon struct {
	h    *host
	cmd  *exec.Cmd
	url  string
	log  *logBuffer
	done chan error // gets the result of Wait, once
}

// serve starts spawnd and waits for its address.
func (h *host) serve(args ...string) *daemon {
	h.t.Helper()
	d, err := h.tryServe(args...)
	if err != nil {
		h.t.Fatal(err)
	}
	return d
}

func (h *host) tryServe(args ...string) (*daemon, error) {
	d := &daemon{h: h, log: &logBuffer{}, done: make(chan error, 1)}
	d.cmd = exec.Command(filepath.Join(binaries, "spawnd"), append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	d.cmd.Env, d.cmd.Stderr = h.env, d.log
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() {
		_, _ = io.Copy(io.Discard, out)
		d.done <- d.cmd.Wait()
	}()
	if err != nil {
		waited := <-d.done
		d.done <- waited
		return d, fmt.Errorf("spawnd ended before it was ready: %w\n%s", waited, d.log)
	}
	d.url = strings.TrimSpace(line)
	return d, nil
}

// kill is SIGKILL; stop is SIGTERM. Both wait for the end.
func (d *daemon) kill() {
	d.h.t.Helper()
	_ = d.cmd.Process.Kill()
	<-d.done
}

func (d *daemon) stop() {
	d.h.t.Helper()
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-d.done:
		if err != nil {
			d.h.t.Errorf("spawnd after SIGTERM: %v\n%s", err, d.log)
		}
	case <-time.After(patience):
		_ = d.cmd.Process.Signal(syscall.SIGQUIT)
		<-d.done
		d.h.t.Fatalf("spawnd does not end\n%s", d.log)
	}
}

// run is the command line: its standard output, and its exit code.
func (h *host) run(args ...string) (string, int) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(binaries, "spawnd"), args...)
	cmd.Env = h.env
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		h.t.Fatalf("run spawnd %v: %v", args, err)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		return errs.String(), code
	}
	return out.String(), 0
}

func (h *host) socket() dial.Socket {
	return dial.Socket{Path: h.dir + "/r/spawn/spawnd.sock", CheckPeer: endpoint.CheckPeer}
}

func (h *host) call(verb string, params, result any) {
	h.t.Helper()
	if err := h.socket().Call(h.t.Context(), verb, params, result); err != nil {
		h.t.Fatalf("%s: %v", verb, err)
	}
}

func (h *host) newPane(p verbs.PaneNewParams) verbs.Pane {
	h.t.Helper()
	var r verbs.PaneResult
	h.call(verbs.PaneNew, p, &r)
	return r.Pane
}

func (h *host) panes() []verbs.Pane {
	h.t.Helper()
	var r verbs.PaneListResult
	h.call(verbs.PaneList, verbs.Empty{}, &r)
	return r.Panes
}

// await polls a fact that has no event of its own, such as a process of somebody else's being gone.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("waited %v in vain: %s", patience, what)
		case <-look.C:
		}
	}
}

// awaitNothingLeft holds a host to its word after all terminals were closed and spawnd has ended.
func (h *host) awaitNothingLeft() {
	h.t.Helper()
	await(h.t, "no process is left", func() bool { return len(h.processes()) == 0 })
	left := []string{}
	entries, err := os.ReadDir(h.workers())
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "spawnd.lock" {
			left = append(left, e.Name())
		}
	}
	if len(left) > 0 {
		h.t.Errorf("the worker folder still holds %v", left)
	}
}

// logBuffer keeps the end of a log for the report of a failure.
type logBuffer struct {
	mu   sync.Mutex
	text []byte
}

// logKept holds the stacks of a spawnd with many terminals, which SIGQUIT makes it print.
const logKept = 1 << 20

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	if over := len(l.text) - logKept; over > 0 {
		l.text = l.text[over:]
	}
	return len(p), nil
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}
