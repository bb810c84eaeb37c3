// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recovery

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/supervisor/verbs"
)

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

// cutAt is a limit that each checkpoint is longer than, in bytes.
const cutAt = 100

// limitFiles cuts off what is written behind so many bytes of a file: the kernel takes the part of a write that fits, and
// then no more. With nothing else to do, spawnd writes no file but a checkpoint.
func (h *host) limitFiles(bytes uint64) (over func()) {
	h.Helper()
	var was unix.Rlimit
	h.must(unix.Prlimit(h.d.cmd.Process.Pid, unix.RLIMIT_FSIZE, nil, &was))
	limit := unix.Rlimit{Cur: bytes, Max: was.Max}
	h.must(unix.Prlimit(h.d.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil))
	return func() { h.must(unix.Prlimit(h.d.cmd.Process.Pid, unix.RLIMIT_FSIZE, &was, nil)) }
}

// fileLimit is such a limit, of which doctor tells, and which leaves nothing behind.
func fileLimit(bytes uint64) fault {
	return func(h *host) func() {
		h.Helper()
		over := h.limitFiles(bytes)
		return func() {
			over()
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

// endOnASlowDisk is an end with all terminals while the folder of checkpoints takes for ever to sync. It takes until spawnd says
// how it ended: its process is there as long as the kernel is at work for it, here a tracer.
func endOnASlowDisk(t *testing.T, settings string) (took time.Duration, err error) {
	needsTracer(t)
	h := newHost(t, settings)
	h.serve()
	h.start("sleep", "1000")
	over := h.inject("fsync:delay_enter=60000000", "-P", h.store()) // microseconds
	log, began := h.d.log, time.Now()
	h.call(verbs.ServerShutdown, verbs.ServerShutdownParams{Sessions: "terminate"}, &verbs.Empty{})
	h.await("it says that it has ended", func() bool { return strings.Contains(log.String(), "spawnd has ended") })
	took = time.Since(began)
	over()
	return took, h.ended()
}

// On the real file system, calls of publishing and pruning, of forgetting, and of switching text off fail with what a disk says.
// A success is told only of what is done, settings that failed are not in force, and behind a reboot there is what was there
// before, what was asked for, or a step between that has all that was to stay.
func TestTheStoreUnderFailingCalls(t *testing.T) {
	needsTracer(t)
	reload := func(h *host) error {
		h.settle(on + `,"max_checkpoints":2`)
		return h.socket().Call(context.Background(), verbs.ConfigReload, verbs.Empty{}, &verbs.ConfigReloadResult{})
	}
	for name, op := range map[string]struct {
		do      func(h *host) error
		makes   bool // one more checkpoint
		removes bool // must the older one be gone behind a success
	}{
		"publish": {do: func(h *host) error {
			return h.socket().Call(context.Background(), verbs.RecoveryCheckpoint, verbs.Empty{}, &verbs.CheckpointResult{})
		}, makes: true},
		"forget": {do: func(h *host) error {
			return h.socket().Call(context.Background(), verbs.RecoveryForget, verbs.CheckpointParams{Checkpoint: planted}, &verbs.Empty{})
		}, removes: true},
		"text off": {do: reload, removes: true},
	} {
		for _, what := range []string{
			"unlinkat:error=EIO", "unlinkat:error=ENOSPC", "unlinkat:error=EROFS", "unlinkat:error=EIO:when=1", "fsync:error=EIO", "fsync:error=ENOSPC",
			"fsync:error=EROFS", "openat:error=EIO", "openat:error=EMFILE", "openat:error=EIO:when=1", "getdents64:error=EIO",
		} {
			if name == "forget" && strings.HasPrefix(what, "getdents64") {
				continue // it looks at one file alone
			}
			t.Run(name+", "+what, func(t *testing.T) {
				h := newHost(t, withText+`,"max_checkpoints":2`)
				c := one(planted, 1)
				c.CapturedAt = now().Plus(-3600) // so that the newer one is no remnant of it
				c.Panes[0].Text = plain(c.CapturedAt, 7200, "canary")
				h.plant(c)
				h.plant(one(plantedAgain, 2))
				h.serve()
				h.start("sleep", "1000")
				over := atFolder(what)(h)
				err := op.do(h)
				over()
				if trace, err := os.ReadFile(h.dir + "/trace"); err != nil || !strings.Contains(string(trace), "INJECTED") {
					t.Errorf("no call failed: %v", err)
				}
				if err != nil && dialCode(err) == verbs.CodeInternal {
					t.Errorf("it fails with %v", err)
				}
				if f := h.doctor("recovery.store"); name == "text off" && strings.Contains(f.Message, "text plain") != (err != nil) {
					t.Errorf("told %v, and in force is %s", err, f.Message)
				}
				h.reboot()
				files := h.files()
				older, newer := slices.Contains(files, planted+".json"), slices.Contains(files, plantedAgain+".json")
				fresh := slices.ContainsFunc(files, func(f string) bool {
					return strings.HasPrefix(f, "c") && f != planted+".json" && f != plantedAgain+".json"
				})
				if !newer || fresh && !op.makes || err == nil && (fresh != op.makes || op.removes && older) || !older && op.makes && !fresh {
					t.Errorf("told %v, and there is %v", err, files)
				}
				h.serve()
				for _, c := range h.list() {
					if c.Status != "valid" {
						t.Errorf("%+v", c)
					}
				}
				h.restore(plantedAgain)
			})
		}
	}
}

// Where there is no folder for checkpoints there are none, and terminals are to be had. That is an error while checkpoints are
// wanted, and settings that want them are not in force before they can be had.
func TestAStoreThatCannotBeHadCostsNoTerminals(t *testing.T) {
	for name, test := range map[string]struct{ settings, status string }{"disabled": {"", "info"}, "enabled": {on, "error"}, "with text": {withText, "error"}} {
		t.Run(name, func(t *testing.T) {
			needsRoot(t)
			h := newHost(t, test.settings)
			folder := h.dir + "/s/spawn/recovery"
			h.must(os.MkdirAll(folder, 0o700))
			h.mount("size=64k,mode=0700,ro", folder)
			h.serve()
			h.start("sleep", "1000")
			if f := h.doctor("recovery.store"); f.Status != test.status || !strings.Contains(f.Message, "the folder failed with unavailable.recovery_io") {
				t.Errorf("doctor: %+v", f)
			}
			h.refused(verbs.CodeRecoveryIO, verbs.RecoveryList, verbs.Empty{}, &verbs.RecoveryListResult{})
			h.refused(verbs.CodeRecoveryIO, verbs.RecoveryInspect, verbs.CheckpointParams{Checkpoint: planted}, &verbs.RecoveryInspectResult{})
			h.settle(on + `,"max_checkpoints":7`)
			if out, code := h.run("config", "reload"); code == 0 {
				t.Errorf("reload says %s", out)
			}
			if out, err := exec.Command("mount", "-o", "remount,rw", folder).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			h.call(verbs.ConfigReload, verbs.Empty{}, &verbs.ConfigReloadResult{})
			if id := h.checkpoint(); h.status(id) != "valid" {
				t.Errorf("%+v", h.list())
			}
		})
	}
	for name, test := range map[string]struct {
		settings string
		starts   bool
	}{"open to others, with text": {withText, true}, "open to others, disabled, with text": {`"terminal_text":"plain"`, true}, "open to others, without": {"", false}} {
		t.Run(name, func(t *testing.T) { // text that may lie there is what a start fails for
			h := newHost(t, test.settings)
			h.plant(one(planted, 1))
			h.must(os.Chmod(h.store(), 0o750))
			if err := h.tryServe(); (err == nil) != test.starts {
				t.Fatalf("a start: %v", err)
			}
			if test.starts {
				h.start("sleep", "1000")
				h.refused(verbs.CodeRecoveryIO, verbs.RecoveryList, verbs.Empty{}, &verbs.RecoveryListResult{})
			}
		})
	}
}

// restoreWhileItEnds asks for a restore over and over while spawnd is told to end. One is done at most, and whole; whatever comes
// of it, spawnd ends, the checkpoint is there, and the next spawnd starts with nothing.
func restoreWhileItEnds(t *testing.T) {
	h := newHost(t, on)
	h.plant(one(planted, 1))
	for range 5 {
		h.serve()
		asked := make(chan error, 1)
		go func() {
			for {
				err := h.socket().Call(context.Background(), verbs.RecoveryRestore, verbs.CheckpointParams{Checkpoint: planted}, &verbs.RecoveryRestoreResult{})
				if code := dialCode(err); code != "" && code != verbs.CodeNotEmpty {
					asked <- err
					return
				}
			}
		}()
		h.call(verbs.ServerShutdown, verbs.ServerShutdownParams{Sessions: "terminate"}, &verbs.Empty{})
		h.must(h.ended())
		if err := <-asked; dialCode(err) != verbs.CodeNoDaemon {
			t.Errorf("the end is told as %v", err)
		}
		h.serve()
		if all := h.panes(); len(all) != 0 || h.status(planted) != "valid" {
			t.Errorf("the next spawnd has %+v, and it is %s", all, h.status(planted))
		}
		h.kill()
	}
}
