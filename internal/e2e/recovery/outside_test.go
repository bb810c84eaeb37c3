// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recovery

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/recovery"
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

// digest is that of the text that a JSON string holds.
func digest(quoted string) []byte {
	var payload string
	if err := strictjson.Unmarshal([]byte(quoted), &payload); err != nil {
		panic(err)
	}
	sum := sha256.Sum256([]byte(payload))
	return sum[:]
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

// What is not a regular file of ours alone is never opened further, never changed and never in the way of the rest.
func filesystemSecurity(t *testing.T) {
	const bad = plantedAgain
	for name, spoil := range map[string]func(h *host){
		"other uid": func(h *host) {
			out, err := exec.Command("chown", "12345", h.file(bad)).CombinedOutput()
			if err != nil {
				h.Fatalf("%v: %s", err, out)
			}
		},
		"symlink": func(h *host) {
			h.must(os.Rename(h.file(bad), h.dir+"/elsewhere"))
			h.must(os.Symlink(h.dir+"/elsewhere", h.file(bad)))
		},
		"hard link":        func(h *host) { h.must(os.Link(h.file(bad), h.dir+"/elsewhere")) },
		"readable":         func(h *host) { h.must(os.Chmod(h.file(bad), 0o644)) },
		"pipe":             func(h *host) { h.must(os.Remove(h.file(bad))); h.must(syscall.Mkfifo(h.file(bad), 0o600)) },
		"folder":           func(h *host) { h.must(os.Remove(h.file(bad))); h.must(os.Mkdir(h.file(bad), 0o700)) },
		"replaced file":    func(h *host) { h.must(os.Remove(h.file(bad))); h.must(os.WriteFile(h.file(bad), nil, 0o660)) },
		"link to a secret": func(h *host) { h.must(os.Remove(h.file(bad))); h.must(os.Symlink("/etc/passwd", h.file(bad))) },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "other uid" {
				needsRoot(t)
			}
			h := newHost(t, withText)
			h.plant(one(planted, 1))
			h.plant(one(bad, 2))
			spoil(h)
			before, err := os.Lstat(h.file(bad))
			h.must(err)
			h.serve()
			if got := h.status(bad); got != "unsafe" {
				t.Errorf("it is %s", got)
			}
			h.cannotRestore(verbs.CodeRecoveryIO, bad)
			h.refused(verbs.CodeRecoveryIO, verbs.RecoveryForget, verbs.CheckpointParams{Checkpoint: bad}, &verbs.Empty{})
			if f := h.doctor("recovery.store"); f.Status != "error" || strings.Contains(f.Message, h.dir) {
				t.Errorf("%+v", f)
			}
			after, err := os.Lstat(h.file(bad))
			h.must(err)
			if !os.SameFile(before, after) || before.Mode() != after.Mode() {
				t.Errorf("it was changed: %v, %v", before.Mode(), after.Mode())
			}
			h.restore(planted)
		})
	}
	for name, spoil := range map[string]func(h *host) error{
		"permissive store": func(h *host) error { return os.Chmod(h.store(), 0o750) },
		"linked store": func(h *host) error {
			if err := os.Rename(h.store(), h.dir+"/elsewhere"); err != nil {
				return err
			}
			return os.Symlink(h.dir+"/elsewhere", h.store())
		},
		"another's store": func(h *host) error { return os.Chown(h.store(), 12345, -1) },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "another's store" {
				needsRoot(t)
			}
			h := newHost(t, on)
			h.plant(one(planted, 1))
			h.must(spoil(h))
			if err := h.tryServe(); err == nil {
				t.Error("it starts")
			}
			h.must(filepath.WalkDir(h.dir+"/s/spawn/recovery", func(_ string, _ fs.DirEntry, err error) error { return err }))
		})
	}
	t.Run("disk full", diskFull)
	t.Run("another user", anotherUser)
}

// A full disk costs the new checkpoint alone.
func diskFull(t *testing.T) {
	needsRoot(t)
	h := newHost(t, on)
	h.must(os.MkdirAll(h.store(), 0o700))
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs", h.store()).CombinedOutput(); err != nil {
		t.Fatalf("mount a small file system: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", h.store()).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	h.serve()
	h.start("sleep", "1000")
	before := h.checkpoint()
	h.must(os.WriteFile(h.store()+"/filler", make([]byte, 56<<10), 0o600))
	_ = os.WriteFile(h.store()+"/rest", make([]byte, 56<<10), 0o600) // as much as goes
	h.refused(verbs.CodeRecoveryIO, verbs.RecoveryCheckpoint, verbs.Empty{}, &verbs.CheckpointResult{})
	if got := h.status(before); got != "valid" {
		t.Errorf("the one before is %s", got)
	}
	if f := h.doctor("recovery.store"); f.Status != "error" || !strings.Contains(f.Message, string(verbs.CodeRecoveryIO)) {
		t.Errorf("%+v", f)
	}
	h.must(os.Remove(h.store() + "/filler"))
	h.must(os.Remove(h.store() + "/rest"))
	h.checkpoint()
	if f := h.doctor("recovery.store"); f.Status != "ok" {
		t.Errorf("%+v", f)
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

// Numbers and ages are bounds; what new settings do not allow is gone before they are in force, or they are not.
func retentionConfig(t *testing.T) {
	t.Run("count", func(t *testing.T) {
		h := newHost(t, on+`,"max_checkpoints":2`)
		h.serve()
		h.start("sleep", "1000")
		var last string
		for range 4 {
			last = h.checkpoint()
		}
		list := h.list()
		if len(list) != 2 || list[1].Checkpoint != last || list[0].Generation != 3 {
			t.Errorf("%+v", list)
		}
		h.settle(on + `,"max_checkpoints":1`)
		h.call(verbs.ConfigReload, verbs.Empty{}, &verbs.ConfigReloadResult{})
		if files := h.files(); len(files) != 1 || files[0] != last+".json" {
			t.Errorf("%v", files)
		}
		h.settle(`"enabled":false`)
		h.call(verbs.ConfigReload, verbs.Empty{}, &verbs.ConfigReloadResult{})
		h.refused(verbs.CodeRecoveryDisabled, verbs.RecoveryCheckpoint, verbs.Empty{}, &verbs.CheckpointResult{})
		if files := h.files(); len(files) != 1 {
			t.Errorf("switched off, and there is %v", files)
		}
	})
	t.Run("age", func(t *testing.T) {
		h := newHost(t, `"enabled":true,"interval_ms":1000,"max_age_seconds":3,"text_max_age_seconds":3`)
		c := one(planted, 1)
		c.CapturedAt = now().Plus(-2)
		h.plant(c)
		h.serve()
		h.await("it has expired on disk", func() bool { return len(h.files()) == 0 })
		h.cannotRestore(verbs.CodeNoCheckpoint, planted)
	})
	t.Run("off removes text", func(t *testing.T) {
		h := newHost(t, withText)
		c := one(planted, 1)
		c.Panes[0].Text = plain(now(), 3600, "canary")
		h.plant(c)
		h.plant(one(plantedAgain, 2))
		h.serve()
		unsafe := h.dir + "/elsewhere"
		h.must(os.Link(h.file(planted), unsafe)) // so it cannot be known, nor removed
		h.settle(on)
		out, code := h.run("config", "reload")
		if code == 0 {
			t.Errorf("reload says %s", out)
		}
		h.start("sh", "-c", "echo canary-two; sleep 1000")
		h.awaitShown("p0", "canary-two")
		if text := h.decode(h.checkpoint()).Panes[0].Text; text.Availability != recovery.TextPlain {
			t.Errorf("the settings that failed are in force: %+v", text)
		}
		h.must(os.Remove(unsafe))
		h.call(verbs.ConfigReload, verbs.Empty{}, &verbs.ConfigReloadResult{})
		if files := h.files(); len(files) != 1 || files[0] != plantedAgain+".json" {
			t.Errorf("%v", files)
		}
	})
	t.Run("start", func(t *testing.T) {
		h := newHost(t, on)
		c := one(planted, 1)
		c.Panes[0].Text = plain(now(), 3600, "canary")
		h.plant(c)
		h.must(os.Link(h.file(planted), h.dir+"/elsewhere"))
		if err := h.tryServe(); err == nil {
			t.Error("it starts with text that it may not keep")
		}
		h.must(os.Remove(h.dir + "/elsewhere"))
		h.serve()
		if files := h.files(); len(files) != 0 {
			t.Errorf("%v", files)
		}
	})
	t.Run("periodic", func(t *testing.T) {
		h := newHost(t, `"enabled":true,"interval_ms":1000`)
		h.serve()
		h.start("sleep", "1000")
		h.await("one is written unasked", func() bool { return len(h.files()) > 0 })
		began := time.Now()
		h.must(h.stop())
		if took := time.Since(began); took > patience {
			t.Errorf("the end took %v", took)
		}
		h.serve()
		list := h.list()
		if last := list[len(list)-1]; last.Shutdown != "open" || last.Running != 1 {
			t.Errorf("%+v", list)
		}
	})
}
