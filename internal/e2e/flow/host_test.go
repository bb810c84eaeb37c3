// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package flow shows with real processes that a viewer that does not keep up is nobody else's trouble.
package flow

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "spawn-flow-")
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

// host is a spawnd in folders that nobody else uses.
type host struct {
	*testing.T
	dir    string
	spawnd *exec.Cmd
	log    *os.File
	panes  []string
}

// newHost starts spawnd. At the end of the test its panes are closed and it ends.
func newHost(t *testing.T) *host {
	t.Helper()
	dir, err := os.MkdirTemp("", "sp") // short: socket paths have a bound
	if err != nil {
		t.Fatal(err)
	}
	h := &host{T: t, dir: dir}
	if err := os.Mkdir(dir+"/r", 0o700); err != nil {
		t.Fatal(err)
	}
	if h.log, err = os.Create(dir + "/log"); err != nil {
		t.Fatal(err)
	}
	h.spawnd = exec.Command(filepath.Join(binaries, "spawnd"), "serve", "--listen", "127.0.0.1:0")
	h.spawnd.Stderr = h.log
	h.spawnd.Env = append(os.Environ(),
		"XDG_CONFIG_HOME="+dir+"/c", "XDG_STATE_HOME="+dir+"/s", "XDG_RUNTIME_DIR="+dir+"/r", "SPAWND_WORKER_DIR="+dir+"/w", "ENV=")
	out, err := h.spawnd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.spawnd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.end)
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("spawnd is not ready: %v", err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return h
}

func (h *host) end() {
	for _, id := range h.panes { // the test's own context has ended
		if err := h.socket().Call(context.Background(), verbs.PaneClose, verbs.PaneCloseParams{Pane: id}, &verbs.Empty{}); err != nil {
			h.Errorf("close %s: %v", id, err)
		}
	}
	_ = h.spawnd.Process.Signal(syscall.SIGTERM)
	overdue := time.AfterFunc(patience, func() { _ = h.spawnd.Process.Signal(syscall.SIGQUIT) })
	defer overdue.Stop()
	if err := h.spawnd.Wait(); err != nil {
		h.Errorf("spawnd: %v", err)
	}
	if text, err := os.ReadFile(h.log.Name()); h.Failed() && err == nil {
		h.Logf("%s", text)
	}
	_ = h.log.Close()
	for _, pid := range h.workers() { // of a test that failed
		h.Errorf("worker %d is left", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err := os.RemoveAll(h.dir); err != nil {
		h.Error(err)
	}
}

// workers are the processes whose arguments name this host's worker folder.
func (h *host) workers() (pids []int) {
	entries, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range entries {
		args, _ := os.ReadFile(path)
		var pid int
		if _, err := fmt.Sscanf(path, "/proc/%d/", &pid); err == nil && strings.Contains(string(args), h.dir+"/w") {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (h *host) socket() dial.Socket {
	return dial.Socket{Path: h.dir + "/r/spawn/spawnd.sock", CheckPeer: endpoint.CheckPeer}
}

func (h *host) call(verb string, params, result any) {
	h.Helper()
	if err := h.socket().Call(h.Context(), verb, params, result); err != nil {
		h.Fatalf("%s: %v", verb, err)
	}
}

// start starts a program in a new pane and returns the pane's id.
func (h *host) start(argv ...string) string {
	h.Helper()
	var r verbs.PaneResult
	h.call(verbs.PaneNew, verbs.PaneNewParams{Argv: argv, Cols: 80, Rows: 24}, &r)
	h.panes = append(h.panes, r.Pane.ID)
	return r.Pane.ID
}

func (h *host) viewers(pane string) verbs.ViewerListResult {
	h.Helper()
	var r verbs.ViewerListResult
	h.call(verbs.ViewerList, verbs.ViewerListParams{Pane: pane}, &r)
	return r
}

// resident is how many bytes of memory spawnd has now.
func (h *host) resident() int64 {
	h.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.spawnd.Process.Pid))
	if err != nil {
		h.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		h.Fatal(err)
	}
	return kib << 10
}

// during calls look every now and then for as long as a span lasts.
func (h *host) during(span time.Duration, look func()) {
	h.Helper()
	over := time.NewTimer(span)
	defer over.Stop()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-over.C:
			return
		case <-tick.C:
			look()
		}
	}
}

// await polls what has no event of its own.
func (h *host) await(what string, holds func() bool) {
	h.Helper()
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			h.Fatalf("waited %v in vain: %s", patience, what)
		}
		h.during(20*time.Millisecond, func() {})
	}
}
