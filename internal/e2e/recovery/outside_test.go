// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recovery

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"spawn/internal/supervisor/verbs"
	"spawn/internal/unmet"
)

// needsRoot skips what only root can bring about: other users, small file systems, chosen process numbers.
func needsRoot(t *testing.T) {
	t.Helper()
	unmet.Root(t, "bring this about")
}

// needsTracer skips what a tracer brings about or sees, where there is none.
func needsTracer(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		unmet.Skip(t, "strace is not installed")
	}
}

// sessionOf is the POSIX session of a process.
func sessionOf(pid int) (int, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	var state string
	var parent, group, session int
	_, err = fmt.Sscan(rest, &state, &parent, &group, &session)
	return session, err
}

// childOf is the only child of a process, which may still be starting it.
func (h *host) childOf(pid int) (child int) {
	h.Helper()
	h.await(fmt.Sprintf("process %d has a child", pid), func() bool {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		h.must(err)
		for _, path := range tasks {
			text, _ := os.ReadFile(path)
			if _, err := fmt.Sscan(string(text), &child); err == nil {
				return true
			}
		}
		return false
	})
	return child
}

// foreground is the process that pane p0's terminal was started with.
func (h *host) foreground() int {
	h.Helper()
	return h.childOf(h.pane("p0").PID)
}

// loseWorker kills the worker of a pane, and waits until spawnd has found out.
func (h *host) loseWorker(p verbs.Pane) {
	h.Helper()
	h.must(syscall.Kill(p.PID, syscall.SIGKILL))
	h.await("the worker is lost", func() bool { return h.pane(p.ID).State == verbs.PaneLost })
}

// reuse starts a process of somebody else's that has the number of one that is gone.
func (h *host) reuse(pid int) int {
	h.Helper()
	h.await("the number is free", func() bool { _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); return err != nil })
	for range 200 {
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0); err != nil {
			h.Fatalf("choose the number of the next process: %v", err)
		}
		cmd := exec.Command("/bin/sleep", "1000")
		h.must(cmd.Start())
		if cmd.Process.Pid == pid {
			h.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
			return pid
		}
		_ = cmd.Process.Kill() // another process was quicker
		_ = cmd.Wait()
	}
	h.Fatalf("the number %d could not be had again", pid)
	return 0
}

// stopTraced ends the spawnd that runs under a tracer.
func (h *host) stopTraced() error {
	h.Helper()
	h.must(syscall.Kill(h.childOf(h.d.cmd.Process.Pid), syscall.SIGTERM))
	return h.ended()
}

// mount puts a small file system of its own at a folder, until the test ends.
func (h *host) mount(options, folder string) {
	h.Helper()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", folder).CombinedOutput(); err != nil {
		h.Fatalf("mount a small file system: %v\n%s", err, out)
	}
	h.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", folder).CombinedOutput(); err != nil {
			h.Errorf("%v\n%s", err, out)
		}
	})
}

// A file that spawnd has looked at is another one by the time that it is asked for: by a link, by one that others may write to,
// or by one of ours with something else in it. What was seen before counts for nothing.
func replacedFile(t *testing.T) {
	for name, test := range map[string]struct {
		replace func(h *host, path string) error
		status  string
		code    verbs.Code
	}{
		"by a link": {func(h *host, path string) error { return os.Symlink(h.file(plantedAgain), path) }, "unsafe", verbs.CodeRecoveryIO},
		"by others'": {func(h *host, path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o660))
		}, "unsafe", verbs.CodeRecoveryIO},
		"by a second": {func(h *host, path string) error { return os.Link(h.file(plantedAgain), path) }, "unsafe", verbs.CodeRecoveryIO},
		"by another": {func(h *host, path string) error {
			raw, err := os.ReadFile(h.file(plantedAgain))
			return errors.Join(err, os.WriteFile(path, raw, 0o600))
		}, "corrupt", verbs.CodeCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, on)
			h.plant(one(planted, 1))
			h.plant(one(plantedAgain, 2))
			h.serve()
			if h.status(planted) != "valid" {
				t.Fatalf("%+v", h.list())
			}
			h.must(os.Rename(h.file(planted), h.dir+"/first"))
			h.must(test.replace(h, h.file(planted)))
			before := h.lies("s/spawn/recovery")
			h.cannotRestore(test.code, planted) // before anything else looks
			h.tellsNothing(planted, test.status, 0)
			if test.status == "unsafe" {
				h.refused(verbs.CodeRecoveryIO, verbs.RecoveryForget, verbs.CheckpointParams{Checkpoint: planted}, &verbs.Empty{})
			}
			if after := h.lies("s/spawn/recovery"); !maps.Equal(before, after) {
				t.Errorf("it was changed:\n%v, was\n%v", after, before)
			}
		})
	}
}

// A full disk costs the new checkpoint alone: older ones and terminals do not notice, and it is over when there is room again.
func diskFull(t *testing.T) {
	needsRoot(t)
	fillAndFree(t, func(h *host) { h.mount("size=64k,mode=0700", h.store()) }, func(h *host) (free func()) {
		h.must(os.WriteFile(h.store()+"/filler", make([]byte, 48<<10), 0o600))
		_ = os.WriteFile(h.store()+"/rest", make([]byte, 56<<10), 0o600) // as much as goes
		return func() {
			h.must(os.Remove(h.store() + "/filler"))
			h.must(os.Remove(h.store() + "/rest"))
		}
	})
}

// A limit of what spawnd may write to a file is as good as a full disk.
func fileLimited(t *testing.T) {
	fillAndFree(t, func(*host) {}, func(h *host) (free func()) { return h.limitFiles(cutAt) })
}

// fillAndFree has a full disk and then one with room, many times over (F9). prepare comes before spawnd.
func fillAndFree(t *testing.T, prepare func(*host), fill func(*host) (free func())) {
	t.Helper()
	const cycles = 20
	h := newHost(t, on)
	h.must(os.MkdirAll(h.store(), 0o700))
	prepare(h)
	h.serve()
	p := h.start("cat")
	typist, _, err := h.socket().Stream(t.Context(), verbs.PaneStreamParams{Pane: p.ID, Take: true})
	h.must(err)
	defer typist.Close()
	for cycle := range cycles {
		before := h.checkpoint()
		free := fill(h)
		h.refused(verbs.CodeRecoveryIO, verbs.RecoveryCheckpoint, verbs.Empty{}, &verbs.CheckpointResult{})
		if got := h.status(before); got != "valid" {
			t.Errorf("the one before is %s", got)
		}
		if files := h.files(); slices.ContainsFunc(files, func(name string) bool { return strings.HasPrefix(name, ".tmp-") }) {
			t.Errorf("cycle %d leaves %v", cycle, files)
		}
		if f := h.doctor("recovery.store"); f.Status != "error" || !strings.Contains(f.Message, string(verbs.CodeRecoveryIO)) {
			t.Errorf("%+v", f)
		}
		word := fmt.Sprintf("word-%d.\n", cycle) // on a row of its own
		h.must(typist.Input([]byte(word)))
		h.awaitShown(p.ID, strings.TrimSpace(word))
		free()
		h.checkpoint() // at once
		if f := h.doctor("recovery.store"); f.Status != "ok" {
			t.Errorf("%+v", f)
		}
	}
	for _, c := range h.list() {
		if c.Status != "valid" {
			t.Errorf("%+v", c)
		}
	}
}

// What was published stands when an older file cannot be removed; doctor says so until one could.
func pruneFailure(t *testing.T) {
	h := newHost(t, on+`,"max_checkpoints":1`)
	h.serve()
	h.start("sleep", "1000")
	before := h.checkpoint()
	over := injected("unlinkat:error=EIO")(h)
	made := h.checkpoint()
	f := h.doctor("recovery.store")
	over()
	if files := h.files(); f.Status != "error" || !strings.Contains(f.Message, "the last removal failed with unavailable.recovery_io") || !slices.Contains(files, before+".json") {
		t.Errorf("doctor: %+v, and there is %v", f, files)
	}
	if f := h.doctor("recovery.store"); f.Status != "ok" || h.status(before) != "" || h.status(made) != "valid" {
		t.Errorf("doctor: %+v; %+v", f, h.list())
	}
}

// Somebody else can neither look at checkpoints nor ask for them.
func anotherUser(t *testing.T) {
	needsRoot(t)
	h := newHost(t, on)
	h.plant(one(planted, 1))
	h.serve()
	h.must(os.Chmod(h.dir, 0o755))
	h.must(os.Chmod(binaries, 0o755))
	for _, argv := range [][]string{
		{"cat", h.file(planted)}, {"ls", h.store()}, {filepath.Join(binaries, "spawnd"), "recovery", "list"},
	} {
		cmd := exec.Command("setpriv", append([]string{"--reuid", "12345", "--clear-groups", "--"}, argv...)...)
		cmd.Env = h.env
		if out, err := cmd.CombinedOutput(); err == nil || strings.Contains(string(out), "s0") {
			t.Errorf("%v: %v\n%s", argv, err, out)
		}
	}
}
