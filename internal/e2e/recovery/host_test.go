// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package recovery shows with real processes what is left after a reboot, and what is never done because of it: the
// acceptance matrix of the recovery specification, section 8, a subtest a row.
package recovery

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

// patience is how long anything that should happen at once may take on a loaded machine.
const patience = 30 * time.Second

var binaries string // folder of the built programs

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	if os.Getenv(confined) != "" {
		confine()
	}
	dir, err := os.MkdirTemp("", "spawn-recovery-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binaries = dir
	if err := compile(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// compile builds the programs into a folder.
func compile(into string, flags ...string) error {
	args := append(append([]string{"build", "-o", into + "/"}, flags...), "spawn/cmd/spawnd", "spawn/cmd/spawn-worker")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return nil
}

// host is one machine: folders that nobody else uses, and whichever spawnd serves them.
type host struct {
	*testing.T
	dir      string
	env      []string
	programs string  // folder of those that serve
	d        *daemon // nil when none runs
}

// newHost makes the folders and writes the settings of recovery. At the end of the test nothing of it lives.
func newHost(t *testing.T, settings string) *host {
	t.Helper()
	dir, err := os.MkdirTemp("", "sp") // short: socket paths have a bound
	if err != nil {
		t.Fatal(err)
	}
	h := &host{T: t, dir: dir, programs: binaries}
	h.env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "SPAWN") }), // who tests may be in a pane
		"HOME="+dir+"/h", "XDG_CONFIG_HOME="+dir+"/c", "XDG_STATE_HOME="+dir+"/s", "XDG_RUNTIME_DIR="+dir+"/r", "SPAWND_WORKER_DIR="+dir+"/w",
		"SHELL=/bin/sh", "ENV=", "PS1=$ ")
	for _, folder := range []string{"r", "h", "c", "c/spawn"} {
		h.must(os.Mkdir(filepath.Join(dir, folder), 0o700))
	}
	t.Cleanup(h.remove)
	h.settle(settings)
	return h
}

// on are settings with which checkpoints are written, when somebody asks and no sooner.
const on = `"enabled":true,"interval_ms":3600000`

// withText keeps text besides.
const withText = on + `,"terminal_text":"plain"`

// settle writes the section of recovery.
func (h *host) settle(section string) {
	h.Helper()
	h.must(os.WriteFile(h.dir+"/c/spawn/config.hujson", []byte(`{"recovery":{`+section+`}}`), 0o600))
}

func (h *host) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// remove kills what a failed test left and takes the folders away.
func (h *host) remove() {
	if h.d != nil {
		h.kill()
	}
	for _, pid := range h.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err := os.RemoveAll(h.dir); err != nil {
		h.Error(err)
	}
}

// processes are those whose environment or arguments name this host's folder.
func (h *host) processes() (pids []int) {
	entries, err := os.ReadDir("/proc")
	h.must(err)
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
	cmd  *exec.Cmd
	log  *logBuffer
	done chan error // gets the result of Wait, once
}

// serve starts spawnd and waits until it is ready.
func (h *host) serve(before ...string) {
	h.Helper()
	h.must(h.tryServe(before...))
}

// tryServe starts spawnd, under another program if one is named.
func (h *host) tryServe(before ...string) error {
	argv := append(before, filepath.Join(h.programs, "spawnd"), "serve", "--listen", "127.0.0.1:0")
	d := &daemon{log: &logBuffer{}, done: make(chan error, 1)}
	d.cmd = exec.Command(argv[0], argv[1:]...)
	d.cmd.Env, d.cmd.Stderr = h.env, d.log
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := d.cmd.Start(); err != nil {
		return err
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	go func() {
		_, _ = io.Copy(io.Discard, out)
		d.done <- d.cmd.Wait()
	}()
	if err != nil {
		return fmt.Errorf("spawnd ended before it was ready: %w\n%s", <-d.done, d.log)
	}
	h.d = d
	return nil
}

func (h *host) kill() {
	_ = h.d.cmd.Process.Kill()
	<-h.d.done
	h.d = nil
}

// stop is SIGTERM. It returns how spawnd ended.
func (h *host) stop() error {
	h.Helper()
	_ = h.d.cmd.Process.Signal(syscall.SIGTERM)
	return h.ended()
}

func (h *host) ended() error {
	h.Helper()
	select {
	case err := <-h.d.done:
		h.d = nil
		return err
	case <-time.After(patience):
		h.Fatalf("spawnd does not end\n%s", h.d.log)
		return nil
	}
}

// reboot is what a power cut does: every process is gone at once, and so is what was in memory.
func (h *host) reboot() {
	h.Helper()
	if h.d != nil {
		h.kill()
	}
	h.await("no process is left", func() bool {
		for _, pid := range h.processes() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return len(h.processes()) == 0
	})
	h.must(os.RemoveAll(h.dir + "/r/spawn"))
	h.must(os.RemoveAll(h.dir + "/w"))
}

// await polls a fact that has no event of its own.
func (h *host) await(what string, holds func() bool) {
	h.Helper()
	deadline := time.After(patience)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-deadline:
			h.Fatalf("waited %v in vain: %s", patience, what)
		case <-look.C:
		}
	}
}

func (h *host) socket() dial.Socket {
	return dial.Socket{Path: h.dir + "/r/spawn/spawnd.sock", CheckPeer: endpoint.CheckPeer}
}

func (h *host) call(verb string, params, result any) {
	h.Helper()
	if err := h.socket().Call(context.Background(), verb, params, result); err != nil {
		h.Fatalf("%s: %v", verb, err)
	}
}

// refused calls a verb that has to fail with the code.
func (h *host) refused(code verbs.Code, verb string, params, result any) {
	h.Helper()
	err := h.socket().Call(context.Background(), verb, params, result)
	if e := (*verbs.Error)(nil); !errors.As(err, &e) || e.Code != code {
		h.Errorf("%s: %v, want %s", verb, err, code)
	}
}

// run is the command line: what it says, and its exit code.
func (h *host) run(args ...string) (string, int) {
	h.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(binaries, "spawnd"), args...)
	cmd.Env = h.env
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		h.Fatalf("run spawnd %v: %v", args, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// start starts a program in a new pane.
func (h *host) start(argv ...string) verbs.Pane {
	h.Helper()
	var r verbs.PaneResult
	h.call(verbs.PaneNew, verbs.PaneNewParams{Argv: argv, Cols: 80, Rows: 24}, &r)
	return r.Pane
}

func (h *host) panes() []verbs.Pane {
	h.Helper()
	var r verbs.PaneListResult
	h.call(verbs.PaneList, verbs.Empty{}, &r)
	return r.Panes
}

func (h *host) pane(id string) verbs.Pane {
	h.Helper()
	all := h.panes()
	i := slices.IndexFunc(all, func(p verbs.Pane) bool { return p.ID == id })
	if i < 0 {
		h.Fatalf("no pane %s in %+v", id, all)
	}
	return all[i]
}

// checkpoint writes one and returns its id.
func (h *host) checkpoint() string {
	h.Helper()
	var r verbs.CheckpointResult
	h.call(verbs.RecoveryCheckpoint, verbs.Empty{}, &r)
	return r.Checkpoint
}

func (h *host) list() []verbs.CheckpointStatus {
	h.Helper()
	var r verbs.RecoveryListResult
	h.call(verbs.RecoveryList, verbs.Empty{}, &r)
	return r.Checkpoints
}

func (h *host) status(id string) string {
	h.Helper()
	for _, c := range h.list() {
		if c.Checkpoint == id {
			return c.Status
		}
	}
	return ""
}

func (h *host) inspect(id string) (r verbs.RecoveryInspectResult) {
	h.Helper()
	h.call(verbs.RecoveryInspect, verbs.CheckpointParams{Checkpoint: id}, &r)
	return r
}

func (h *host) restore(id string) (r verbs.RecoveryRestoreResult) {
	h.Helper()
	h.call(verbs.RecoveryRestore, verbs.CheckpointParams{Checkpoint: id}, &r)
	return r
}

func (h *host) cannotRestore(code verbs.Code, id string) {
	h.Helper()
	h.refused(code, verbs.RecoveryRestore, verbs.CheckpointParams{Checkpoint: id}, &verbs.RecoveryRestoreResult{})
	if all := h.panes(); len(all) != 0 {
		h.Errorf("a refused restore left %+v", all)
	}
}

func (h *host) relaunch(pane string, argv ...string) (r verbs.PaneRelaunchResult) {
	h.Helper()
	h.call(verbs.PaneRelaunch, verbs.PaneRelaunchParams{Pane: pane, Argv: argv, AckOrphans: true}, &r)
	return r
}

// shows is what somebody who attaches to a pane is given: the replay as text, and how it ended.
func (h *host) shows(pane string) string {
	h.Helper()
	stream, _, err := h.socket().Stream(context.Background(), verbs.PaneStreamParams{Pane: pane, ReadOnly: true, History: true})
	h.must(err)
	defer stream.Close()
	return h.replay(stream)
}

// identity is that of the host's store.
func (h *host) identity() recovery.Identity {
	h.Helper()
	dir, err := filepath.EvalSymlinks(h.dir)
	h.must(err)
	return recovery.Identity{Socket: dir + "/r/spawn/spawnd.sock", UID: os.Getuid()}
}

func (h *host) store() string { return filepath.Join(h.dir, "s/spawn/recovery", h.identity().Key()) }

func (h *host) file(id string) string { return filepath.Join(h.store(), id+".json") }

// decode reads a checkpoint's file as it lies there.
func (h *host) decode(id string) recovery.Checkpoint {
	h.Helper()
	raw, err := os.ReadFile(h.file(id))
	h.must(err)
	c, format, err := recovery.Decode(raw, recovery.Reading{BytesMax: recovery.FileBytesMax, Newest: recovery.Format3})
	h.must(err)
	if format != recovery.Format3 {
		h.Errorf("it is of format %d", format)
	}
	return c
}

// plant puts a checkpoint into the store as if it had been written before.
func (h *host) plant(c recovery.Checkpoint) string {
	h.Helper()
	id := h.identity()
	c.Socket, c.UID = id.Socket, int64(id.UID)
	raw, err := recovery.Encode(c, recovery.FileBytesMax)
	h.must(err)
	h.plantRaw(c.ID, raw)
	return c.ID
}

func (h *host) plantRaw(id string, raw []byte) {
	h.Helper()
	h.must(os.MkdirAll(h.store(), 0o700))
	h.must(os.WriteFile(h.file(id), raw, 0o600))
}

// files are the names in the store.
func (h *host) files() (names []string) {
	h.Helper()
	entries, err := os.ReadDir(h.store())
	h.must(err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// doctor is what one check says.
func (h *host) doctor(check string) verbs.Finding {
	h.Helper()
	var r verbs.DoctorResult
	h.call(verbs.Doctor, verbs.DoctorParams{Checks: []string{check}}, &r)
	return r.Results[0]
}

// logBuffer keeps a log for the report of a failure.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// replay reads a stream up to its EXIT and returns what painted it.
func (h *host) replay(s *dial.Stream) string {
	h.Helper()
	var painted []byte
	for {
		kind, payload, err := s.Recv()
		h.must(err)
		switch kind {
		case wire.KindReplay:
			_, stream, err := wire.DecodeReplay(payload)
			h.must(err)
			painted = append(painted, stream...)
		case wire.KindOutput:
			painted = append(painted, payload...)
		case wire.KindExit:
			return string(painted)
		}
	}
}

// awaitShown waits until a live pane's screen has the text.
func (h *host) awaitShown(pane, text string) {
	h.Helper()
	s, _, err := h.socket().Stream(context.Background(), verbs.PaneStreamParams{Pane: pane, ReadOnly: true})
	h.must(err)
	defer s.Close()
	late := time.AfterFunc(patience, func() { _ = s.Close() })
	defer late.Stop()
	var seen []byte
	for !strings.Contains(string(seen), text) {
		kind, payload, err := s.Recv()
		if err != nil {
			h.Fatalf("%q was not shown in %v: %v", text, patience, err)
		}
		if kind == wire.KindReplay || kind == wire.KindOutput {
			seen = append(seen, payload...)
		}
	}
}

func dialCode(err error) verbs.Code {
	if e := (*verbs.Error)(nil); errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// plantAs is plant for a file of an earlier format.
func (h *host) plantAs(c recovery.Checkpoint, format string) {
	h.Helper()
	h.plant(c)
	raw, err := os.ReadFile(h.file(c.ID))
	h.must(err)
	h.plantRaw(c.ID, asFormat(raw, format))
}

// tellsNothing holds the listing of a checkpoint that is not valid to its status and its generation, 0 for unknown.
func (h *host) tellsNothing(id, status string, generation uint64) {
	h.Helper()
	want := verbs.CheckpointStatus{Checkpoint: id, Status: status, Generation: generation}
	list := h.list()
	if !slices.Contains(list, want) {
		h.Errorf("listed %+v, want %+v", list, want)
	}
}

// lies is what there is below folders of the host: of each name its kind, mode, owner, links, and what it holds.
func (h *host) lies(folders ...string) map[string]string {
	h.Helper()
	out := map[string]string{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(h.dir, folder), func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			st, err := os.Lstat(path)
			if err != nil {
				return err
			}
			sys, held := st.Sys().(*syscall.Stat_t), []byte(nil)
			switch {
			case st.Mode().IsRegular():
				held, err = os.ReadFile(path)
			case st.Mode()&fs.ModeSymlink != 0:
				var target string
				target, err = os.Readlink(path)
				held = []byte(target)
			}
			out[path] = fmt.Sprintf("%v %d %d %q", st.Mode(), sys.Uid, sys.Ino, held)
			return err
		})
		h.must(err)
	}
	return out
}

// unanswered asks for something and goes before it is told what became of that.
func (h *host) unanswered(verb string, params any) {
	h.Helper()
	request, err := json.Marshal(map[string]any{"id": 1, "verb": verb, "params": params})
	h.must(err)
	conn, err := net.Dial("unix", h.socket().Path)
	h.must(err)
	_, err = conn.Write(append(request, '\n'))
	h.must(errors.Join(err, conn.Close()))
}
