// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recovery

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/failpoint"
	"spawn/internal/supervisor/verbs"
)

// spawnd is killed at, or fails in, each step of a write. The generation before stands, no temporary file is taken for
// one, and nobody is told of a success that was none.
func interruptedWrites(t *testing.T) {
	for _, step := range []struct {
		name  string
		fault fault
		named bool // the new one has its name, and may be there
	}{
		{"before the write", fileLimit(0), false},
		{"short write", fileLimit(100), false},
		{"killed at the write", injected("write:signal=KILL"), false},
		{"sync", injected("fsync:error=EIO"), false},
		{"rename", injected("renameat,renameat2:error=EIO"), false},
		{"killed at the rename", injected("renameat,renameat2:signal=KILL"), false},
		{"killed at the sync", injected("fsync:signal=KILL"), false},
		{"folder's sync", atFolder("fsync:error=EIO"), true},
		{"killed at the folder's sync", atFolder("fsync:signal=KILL"), true},
	} {
		t.Run(step.name, func(t *testing.T) {
			h := newHost(t, on)
			h.serve()
			h.start("sleep", "1000")
			before := h.checkpoint()
			over := step.fault(h)
			var r verbs.CheckpointResult
			err := h.socket().Call(context.Background(), verbs.RecoveryCheckpoint, verbs.Empty{}, &r)
			if err == nil {
				t.Errorf("it was told that %+v is durable", r)
			}
			over()
			h.reboot()
			h.serve()
			if got := h.status(before); got != "valid" {
				t.Errorf("the one before is %s", got)
			}
			if files := h.files(); slices.ContainsFunc(files, func(f string) bool { return !strings.HasPrefix(f, "c") }) || (len(files) > 1) != step.named {
				t.Errorf("there is %v", files)
			}
			h.restore(before)
		})
	}
}

// Who asks while a checkpoint is being written is told so, and one is written.
func TestOneCheckpointIsWrittenAtATime(t *testing.T) {
	needsTracer(t)
	h := newHost(t, on)
	h.serve()
	h.start("sleep", "1000")
	over := h.inject("fsync:delay_enter=2000000:when=1") // microseconds
	first := make(chan error, 1)
	go func() {
		first <- h.socket().Call(context.Background(), verbs.RecoveryCheckpoint, verbs.Empty{}, &verbs.CheckpointResult{})
	}()
	h.await("it is being written", func() bool {
		return slices.ContainsFunc(h.files(), func(name string) bool { return strings.HasPrefix(name, ".tmp-") })
	})
	h.refused(verbs.CodeRecoveryBusy, verbs.RecoveryCheckpoint, verbs.Empty{}, &verbs.CheckpointResult{})
	h.must(<-first)
	over()
	if list := h.list(); len(list) != 1 || list[0].Generation != 1 {
		t.Errorf("%+v", list)
	}
	h.checkpoint()
}

// An end whose last checkpoint may not be there is no success.
func TestALastCheckpointThatFailsIsTold(t *testing.T) {
	for name, end := range map[string]func(*host){
		"a signal": func(h *host) { h.must(h.d.cmd.Process.Signal(syscall.SIGTERM)) },
		"the verb": func(h *host) {
			h.call(verbs.ServerShutdown, verbs.ServerShutdownParams{Sessions: "terminate"}, &verbs.Empty{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, on)
			h.serve()
			h.start("sleep", "1000")
			before := h.checkpoint()
			over := atFolder("fsync:error=EIO")(h)
			log := h.d.log
			end(h)
			if err := h.ended(); err == nil {
				t.Error("it ended with success")
			}
			over()
			if !strings.Contains(log.String(), "the last checkpoint") {
				t.Errorf("it says\n%s", log)
			}
			h.serve()
			if h.status(before) != "valid" {
				t.Errorf("%+v", h.list())
			}
		})
	}
}

// A fault befalls the running spawnd until what it returns is called.
type fault func(*host) (over func())

// fileLimit cuts off what is written behind so many bytes of a file: the kernel takes the part of a write that fits, and
// then no more. With nothing else to do, spawnd writes no file but a checkpoint, which is longer.
func fileLimit(bytes uint64) fault {
	return func(h *host) func() {
		h.Helper()
		var was unix.Rlimit
		h.must(unix.Prlimit(h.d.cmd.Process.Pid, unix.RLIMIT_FSIZE, nil, &was))
		limit := unix.Rlimit{Cur: bytes, Max: was.Max}
		h.must(unix.Prlimit(h.d.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil))
		return func() {
			h.must(unix.Prlimit(h.d.cmd.Process.Pid, unix.RLIMIT_FSIZE, &was, nil))
			if f := h.doctor("recovery.store"); f.Status != "error" || !strings.Contains(f.Message, string(verbs.CodeRecoveryIO)) {
				h.Errorf("%+v", f)
			}
			if files := h.files(); len(files) != 1 {
				h.Errorf("there is %v", files)
			}
		}
	}
}

// injected makes calls fail or kills at them. With nothing else to do, spawnd syncs and renames nothing but a checkpoint.
func injected(what string) fault {
	return func(h *host) func() {
		needsTracer(h.T)
		return h.inject(what)
	}
}

// atFolder is injected for calls on the store's own folder alone.
func atFolder(what string) fault {
	return func(h *host) func() {
		needsTracer(h.T)
		return h.inject(what, "-P", h.store())
	}
}

// inject makes calls of the running spawnd fail, until what it returns is called.
func (h *host) inject(what string, only ...string) (stop func()) {
	h.Helper()
	tracer := h.trace(append(only, "-e", "trace="+strings.SplitN(what, ":", 2)[0], "-e", "inject="+what)...)
	return func() {
		_ = tracer.Process.Kill() // it lets go of who it holds
		_ = tracer.Wait()
	}
}

// watch has the calls of the running spawnd written down, until what it returns is called, which returns them.
func (h *host) watch(calls string) (stop func() string) {
	h.Helper()
	tracer := h.trace("-e", "trace="+calls)
	return func() string {
		h.must(tracer.Process.Signal(syscall.SIGINT)) // it writes the rest, and lets go
		late := time.AfterFunc(patience, func() { _ = tracer.Process.Kill() })
		defer late.Stop()
		if err := tracer.Wait(); tracer.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
			h.Fatalf("the tracer does not end: %v", err)
		}
		text, err := os.ReadFile(h.dir + "/trace")
		h.must(err)
		return string(text)
	}
}

// trace holds the running spawnd by a tracer.
func (h *host) trace(what ...string) *exec.Cmd {
	h.Helper()
	cmd := exec.Command("strace", append([]string{"-f", "-qq", "-o", h.dir + "/trace", "-p", strconv.Itoa(h.d.cmd.Process.Pid)}, what...)...)
	h.must(cmd.Start())
	h.await("the tracer holds spawnd", func() bool {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.d.cmd.Process.Pid))
		_, rest, _ := strings.Cut(string(status), "TracerPid:")
		return strings.HasPrefix(strings.TrimSpace(rest), strconv.Itoa(cmd.Process.Pid)+"\n")
	})
	return cmd
}

// harmless are lines of a trace that tell of the tracer itself, or of the Go runtime, which interrupts its own threads.
func harmless(line string) bool {
	return strings.Contains(line, "tgkill(") && strings.Contains(line, "SIGURG") || strings.Contains(line, "<... tgkill resumed>") ||
		strings.Contains(line, "+++") || strings.Contains(line, "---")
}

// The worker of a relaunch dies without a word, before its program runs or right behind that: the relaunch fails in time, the
// archive is there still, and the next relaunch does what was asked.
func TestARelaunchOutlivesItsWorker(t *testing.T) {
	programs := t.TempDir()
	worker := filepath.Join(programs, "spawn-worker")
	for _, err := range []error{
		compile(programs, "-tags", "failpoints"), os.Rename(worker, worker+".real"),
		os.WriteFile(worker, []byte("#!/bin/sh\nexec env $(cat \"$0.armed\" 2>/dev/null) \"$0.real\" \"$@\"\n"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, point := range []failpoint.Point{failpoint.Began, failpoint.BeforeHello, failpoint.StartRead, failpoint.BeforeFork} {
		t.Run(string(point), func(t *testing.T) {
			h := newHost(t, withText)
			c := one(planted, 1)
			c.Panes[0].Text = plain(now(), 3600, "still here")
			h.plant(c)
			h.programs = programs
			h.serve()
			h.restore(planted)
			before := h.panes()
			h.must(os.WriteFile(worker+".armed", []byte("SPAWN_FAILPOINT="+string(point)), 0o600))
			for range 2 { // one that fails is in nobody's way
				h.refused(verbs.CodeSpawn, verbs.PaneRelaunch, verbs.PaneRelaunchParams{
					Pane: "p0", Argv: []string{"sleep", "1000"}, AckOrphans: true, Grants: []verbs.Scope{{Resource: "session:s0", Rights: []string{"spawn"}}},
				}, &verbs.PaneRelaunchResult{})
			}
			if !reflect.DeepEqual(h.panes(), before) || !strings.Contains(h.shows("p0"), "still here") || len(h.grants()) != 0 {
				t.Errorf("%+v, %+v", h.panes(), h.grants())
			}
			h.await("nothing but spawnd runs", func() bool { return len(h.processes()) == 1 })
			h.must(os.Remove(worker + ".armed"))
			h.relaunch("p0", "sleep", "1000")
		})
	}
}
