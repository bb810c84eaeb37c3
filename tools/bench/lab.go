// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

const (
	// sweepMax is how long killed processes may take to be gone.
	sweepMax = 10 * time.Second
	// sweepPoll is how often they are looked for: nobody tells us of processes that aren't our children.
	sweepPoll = 20 * time.Millisecond
)

// lab is a private place to measure in: folders, programs built from this tree, and at most one spawnd.
type lab struct {
	root   string // of the repository
	dir    string // short, because socket paths are bounded
	run    string // what is a user's runtime folder elsewhere: in memory where the system has such a place
	env    []string
	built  bool
	daemon *daemon // nil when none runs
}

// openLab makes the folders. Programs are built and spawnd is started when a figure needs them.
func openLab() (*lab, error) {
	root, err := repositoryRoot()
	if err != nil {
		return nil, err
	}
	l := &lab{root: root}
	if l.dir, err = os.MkdirTemp("", "sb"); err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	if l.run, err = os.MkdirTemp("/dev/shm", "sb"); err != nil {
		l.run, err = os.MkdirTemp("", "sb")
	}
	for _, folder := range []string{l.dir + "/bin", l.run + "/screen"} {
		if err == nil {
			err = os.Mkdir(folder, 0o700)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make folder: %w", err), l.remove())
	}
	l.env = labEnviron(l.dir, l.run)
	return l, nil
}

func (l *lab) remove() error { return errors.Join(os.RemoveAll(l.dir), os.RemoveAll(l.run)) }

func repositoryRoot() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for ; ; at = filepath.Dir(at) {
		if exists(filepath.Join(at, "go.mod")) && exists(filepath.Join(at, "cmd", "spawnd")) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", errors.New("find the repository: run this inside it")
		}
	}
}

// labEnviron is what everything that we start gets. The folders' names in it are also how close finds what runs.
func labEnviron(dir, run string) []string {
	leave := []string{"TMUX", "TMUX_PANE", "STY", "TERMCAP", "DBUS_SESSION_BUS_ADDRESS", "NOTIFY_SOCKET", "LC_ALL", "LC_CTYPE"}
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(leave, name) || strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "SPAWN")
	})
	return append(env,
		"XDG_CONFIG_HOME="+dir+"/c", "XDG_STATE_HOME="+dir+"/s", "XDG_RUNTIME_DIR="+run, "SPAWND_WORKER_DIR="+run+"/w",
		"SCREENDIR="+run+"/screen", "TERM=xterm-256color", "LANG=C.UTF-8", "ENV=", "PS1=$ ")
}

// program is the path of a program that build makes.
func (l *lab) program(name string) string { return filepath.Join(l.dir, "bin", name) }

// build makes spawnd and spawn-worker as they are released.
func (l *lab) build(ctx context.Context) error {
	if l.built {
		return nil
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w",
		"-o", l.program("")+"/", "./cmd/spawnd", "./cmd/spawn-worker")
	cmd.Dir, cmd.Env = l.root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	l.built = true
	return nil
}

func (l *lab) socket() dial.Socket {
	return dial.Socket{Path: l.run + "/spawn/spawnd.sock", CheckPeer: endpoint.CheckPeer}
}

func (l *lab) newPane(ctx context.Context, argv ...string) (verbs.Pane, error) {
	var r verbs.PaneResult
	err := l.socket().Call(ctx, verbs.PaneNew, verbs.PaneNewParams{Argv: argv}, &r)
	return r.Pane, err
}

func (l *lab) killPane(ctx context.Context, id string) error {
	return l.socket().Call(ctx, verbs.PaneClose, verbs.PaneCloseParams{Pane: id}, &verbs.Empty{})
}

func (l *lab) panes(ctx context.Context) ([]verbs.Pane, error) {
	var r verbs.PaneListResult
	err := l.socket().Call(ctx, verbs.PaneList, verbs.Empty{}, &r)
	return r.Panes, err
}

// workerPIDs are the processes of the panes' workers, in the same order. A child that a worker has forked looks like it
// until it runs its own program; a worker's parent is never a worker.
func (l *lab) workerPIDs(panes ...verbs.Pane) ([]int, error) {
	bySession := map[string]int{}
	found := l.processes()
	for _, p := range found {
		parent := slices.IndexFunc(found, func(q process) bool { return q.pid == parentOf(p.pid) })
		if parent >= 0 && found[parent].args == p.args {
			continue
		}
		if _, rest, ok := strings.Cut(p.args, "--session-id\x00"); ok {
			session, _, _ := strings.Cut(rest, "\x00")
			bySession[session] = p.pid
		}
	}
	pids := make([]int, len(panes))
	for i, pane := range panes {
		if pids[i] = bySession[pane.SessionID]; pids[i] == 0 {
			return nil, fmt.Errorf("find the worker of %s: no such process", pane.ID)
		}
	}
	return pids, nil
}

// parentOf is the parent of a process; 0 when it is gone.
func parentOf(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, fields, _ := strings.Cut(string(text), ") ") // the name before may hold anything
	state := strings.Fields(fields)
	if len(state) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(state[1])
	return parent
}

// process is one that was started in the lab, by us or by something of ours.
type process struct {
	pid  int
	args string // ends each argument with NUL
}

// processes are all whose arguments or environment name a folder of the lab.
func (l *lab) processes() []process {
	var found []process
	entries, _ := os.ReadDir("/proc") // what can't be read isn't ours
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if args, ours := l.owns(pid); ours {
			found = append(found, process{pid, args})
		}
	}
	return found
}

func (l *lab) owns(pid int) (args string, ours bool) {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	all := string(line) + "\x00" + string(environ)
	return string(line), strings.Contains(all, l.dir+"/") || strings.Contains(all, l.run+"/")
}

// close ends everything that runs in the lab and removes it. It works after an interrupt too.
func (l *lab) close() error {
	if l.daemon != nil {
		l.daemon.kill()
	}
	deadline := time.After(sweepMax)
	look := time.NewTicker(sweepPoll)
	defer look.Stop()
	for l.sweep() > 0 {
		select {
		case <-look.C:
		case <-deadline:
			return fmt.Errorf("end what was started: some processes of %s live on", l.dir)
		}
	}
	return l.remove()
}

// sweep kills what runs in the lab and returns how many there were.
func (l *lab) sweep() int {
	found := l.processes()
	for _, p := range found {
		// The handle is taken before the second look, so that a number which has gone to a stranger is not hit.
		handle, err := os.FindProcess(p.pid)
		if err != nil {
			continue
		}
		if _, ours := l.owns(p.pid); ours {
			_ = handle.Kill()
		}
		_ = handle.Release()
	}
	return len(found)
}
