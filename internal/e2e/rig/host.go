// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rig

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

// Host is one set of folders, and whichever spawnd serves them at the moment.
type Host struct {
	T        *testing.T
	Dir      string
	Env      []string // of every program of the host
	Programs string   // folder with spawnd and spawn-worker
}

// NewHost makes folders that nobody else uses, for the ordinary programs.
func NewHost(t *testing.T) *Host {
	t.Helper()
	return NewHostOf(t, Build(t))
}

// NewHostOf is NewHost for programs of another build. When the test ends nothing of the host may live or remain.
func NewHostOf(t *testing.T, programs string) *Host {
	t.Helper()
	dir, err := os.MkdirTemp("", "sp") // short: socket paths have a bound
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{T: t, Dir: dir, Programs: programs}
	h.Env = append(os.Environ(),
		"XDG_CONFIG_HOME="+dir+"/c", "XDG_STATE_HOME="+dir+"/s", "XDG_RUNTIME_DIR="+dir+"/r", "SPAWND_WORKER_DIR="+h.WorkerDir(),
		"ENV=", "PS1=$ ", "GOTRACEBACK=all") // the last is what Daemon.Goroutines reads
	if err := os.Mkdir(dir+"/r", 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.remove)
	return h
}

// WorkerDir is the worker folder.
func (h *Host) WorkerDir() string { return h.Dir + "/w" }

// remove kills what a failed test left and takes the folders away. What was killed may still write for a moment.
func (h *Host) remove() {
	Await(h.T, "what the test left can be removed", func() bool {
		for _, pid := range h.Processes() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return os.RemoveAll(h.Dir) == nil && len(h.Processes()) == 0
	})
}

// Processes are those of this host's programs and shells: all whose environment or arguments name its folder.
func (h *Host) Processes() []int {
	return processes(h.T, func(environ, args string) bool { return strings.Contains(environ+args, h.Dir+"/") })
}

// Workers are the processes whose arguments name this host's worker folder.
func (h *Host) Workers() []int {
	return processes(h.T, func(_, args string) bool { return strings.Contains(args, "--worker-dir\x00"+h.WorkerDir()) })
}

// processes are the living ones that match: one that is dead and not reaped has neither environment nor arguments.
func processes(t *testing.T, match func(environ, args string) bool) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		var pid int
		if _, err := fmt.Sscanf(e.Name(), "%d", &pid); err != nil || pid == os.Getpid() {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		args, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if match(string(environ), string(args)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Run is the command line: its standard output, or what it complains of, and its exit code.
func (h *Host) Run(args ...string) (string, int) {
	h.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(h.Programs, "spawnd"), args...)
	cmd.Env = h.Env
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		h.T.Fatalf("run spawnd %v: %v", args, err)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		return errs.String(), code
	}
	return out.String(), 0
}

// Socket is the host's control socket.
func (h *Host) Socket() dial.Socket {
	return dial.Socket{Path: h.Dir + "/r/spawn/spawnd.sock", CheckPeer: endpoint.CheckPeer}
}

// Call asks spawnd for a verb, which must succeed.
func (h *Host) Call(verb string, params, result any) {
	h.T.Helper()
	// The test's own context has ended when its cleanups run.
	if err := h.Socket().Call(context.WithoutCancel(h.T.Context()), verb, params, result); err != nil {
		h.T.Fatalf("%s: %v", verb, err)
	}
}

// NewPane starts a terminal.
func (h *Host) NewPane(p verbs.PaneNewParams) verbs.Pane {
	h.T.Helper()
	var r verbs.PaneResult
	h.Call(verbs.PaneNew, p, &r)
	return r.Pane
}

// Panes lists all terminals.
func (h *Host) Panes() []verbs.Pane {
	h.T.Helper()
	var r verbs.PaneListResult
	h.Call(verbs.PaneList, verbs.Empty{}, &r)
	return r.Panes
}

// TimeList is how long spawnd takes for a list of all terminals, from connecting to the end of the answer. Reading
// what it says is the test's own time, which the race detector makes long, and not counted.
func (h *Host) TimeList() time.Duration {
	h.T.Helper()
	began := time.Now()
	line, err := verbs.EncodeRequest(1, verbs.PaneList, verbs.Empty{}, "")
	if err != nil {
		h.T.Fatal(err)
	}
	c, err := net.Dial("unix", h.Socket().Path)
	if err != nil {
		h.T.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(line); err != nil {
		h.T.Fatal(err)
	}
	answer, err := verbs.ReadLine(bufio.NewReaderSize(c, verbs.AnswerBytesMax), verbs.AnswerBytesMax)
	took := time.Since(began)
	if err == nil {
		err = verbs.DecodeAnswer(answer, 1, &verbs.PaneListResult{})
	}
	if err != nil {
		h.T.Fatal(err)
	}
	return took
}

// Pane is the one of that id, which must be there.
func (h *Host) Pane(id string) verbs.Pane {
	h.T.Helper()
	for _, p := range h.Panes() {
		if p.ID == id {
			return p
		}
	}
	h.T.Fatalf("no pane %s", id)
	return verbs.Pane{}
}

// Viewers are those of one pane.
func (h *Host) Viewers(pane string) verbs.ViewerListResult {
	h.T.Helper()
	var r verbs.ViewerListResult
	h.Call(verbs.ViewerList, verbs.ViewerListParams{Pane: pane}, &r)
	return r
}

// KillPane ends a terminal.
func (h *Host) KillPane(id string) {
	h.T.Helper()
	h.Call(verbs.PaneClose, verbs.PaneCloseParams{Pane: id}, &verbs.Empty{})
}

// CloseAll ends every terminal.
func (h *Host) CloseAll() {
	h.T.Helper()
	for _, p := range h.Panes() {
		h.KillPane(p.ID)
	}
}

// Leftovers are the names in the worker folder that belong to no terminal which lives by its lock. The folder for the
// answers to a spawnd that was killed goes with the worker, so it is one only when that is gone.
func (h *Host) Leftovers() []string {
	h.T.Helper()
	entries, err := os.ReadDir(h.WorkerDir())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		h.T.Fatal(err)
	}
	folder, err := endpoint.OpenFolder(h.WorkerDir())
	if err != nil {
		h.T.Fatal(err)
	}
	defer folder.Close()
	var left []string
	for _, e := range entries {
		stem, _, _ := strings.Cut(e.Name(), ".")
		id, err := endpoint.ParseSessionID(stem)
		held := err == nil
		if held {
			if held, err = folder.Locked(id); err != nil {
				h.T.Fatal(err)
			}
		}
		if !held && e.Name() != "spawnd.lock" {
			left = append(left, e.Name())
		}
	}
	return left
}

// AwaitNothingLeft holds a host to its word after all terminals were closed and spawnd has ended.
func (h *Host) AwaitNothingLeft() {
	h.T.Helper()
	Await(h.T, "no process is left", func() bool { return len(h.Processes()) == 0 })
	if left := h.Leftovers(); len(left) > 0 {
		h.T.Errorf("the worker folder still holds %v", left)
	}
}

// SamePanes requires that both list the same terminals, each with the same worker and in the same state.
func SamePanes(t testing.TB, before, after []verbs.Pane) {
	t.Helper()
	key := func(p verbs.Pane) string {
		return strings.Join([]string{p.ID, p.SessionID, p.Name, strconv.Itoa(p.PID), string(p.State)}, " ")
	}
	if len(before) != len(after) {
		t.Fatalf("%d terminals before, %d after", len(before), len(after))
	}
	for i := range before {
		if key(before[i]) != key(after[i]) {
			t.Fatalf("before: %s; after: %s", key(before[i]), key(after[i]))
		}
	}
}
