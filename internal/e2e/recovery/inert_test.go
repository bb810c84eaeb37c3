// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recovery

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/verbs"
)

// confined in the environment makes this test's own program run what its arguments name, under a filter by which the
// kernel kills whoever starts a process or another program.
const confined = "CONFINE_THIS"

// confine does not return.
func confine() {
	if err := startConfined(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "confine:", err)
	}
	os.Exit(1)
}

// startConfined takes the filter and becomes the program. The one execve that the filter lets pass is this one: it is known by
// the address of the path that it names, in memory that nothing of another program's is ever in.
func startConfined(argv []string) error {
	runtime.LockOSThread()
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("take memory: %w", err)
	}
	copy(page, argv[0])
	args, err := syscall.SlicePtrFromStrings(argv)
	if err != nil {
		return err
	}
	env, err := syscall.SlicePtrFromStrings(os.Environ())
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new rights: %w", err)
	}
	filter := noNewProcess(uint64(uintptr(unsafe.Pointer(&page[0]))))
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return fmt.Errorf("set the filter: %w", errno)
	}
	_, _, errno := unix.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(&page[0])), uintptr(unsafe.Pointer(&args[0])), uintptr(unsafe.Pointer(&env[0])))
	return fmt.Errorf("become %s: %w", argv[0], errno)
}

// noNewProcess is the filter. Threads are clones that say so; clone3, whose flags are in memory, does not exist by it.
func noNewProcess(path uint64) []unix.SockFilter {
	const number, low, high = 0, 16, 20 // in seccomp_data: the call, and the halves of its first argument
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	same := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	end := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	return []unix.SockFilter{
		0:  load(number),
		1:  same(unix.SYS_EXECVEAT, 10, 0),
		2:  same(unix.SYS_EXECVE, 3, 0),
		3:  same(unix.SYS_CLONE, 6, 0),
		4:  same(unix.SYS_CLONE3, 0, 8),
		5:  end(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)),
		6:  load(low),
		7:  same(uint32(path), 0, 4),
		8:  load(high),
		9:  same(uint32(path>>32), 3, 2),
		10: load(low),
		11: {Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_THREAD, Jt: 1, Jf: 0},
		12: end(unix.SECCOMP_RET_KILL_PROCESS),
		13: end(unix.SECCOMP_RET_ALLOW),
	}
}

// serveConfined starts spawnd under the filter.
func (h *host) serveConfined() {
	h.Helper()
	self, err := os.Executable()
	h.must(err)
	h.env = append(h.env, confined+"=1")
	h.serve(self)
	h.env = h.env[:len(h.env)-1]
}

// hostile are checkpoints that would like to be run.
func hostile() map[string]func(*recovery.Checkpoint) {
	return map[string]func(*recovery.Checkpoint){
		"names": func(c *recovery.Checkpoint) {
			c.Sessions[0].Name, c.Windows[0].Name = "$(touch pwned)", "`touch pwned`; touch pwned #"
			c.Panes[0].Tags = []recovery.Tag{{Key: "argv", Value: "/bin/sh -c 'touch pwned'"}, {Key: "owner", Value: "owner"}, {Key: "shell", Value: "/tmp/evil.sh"}}
		},
		"float": func(c *recovery.Checkpoint) {
			title := "|touch pwned"
			c.Windows[0].Nodes, c.Panes[0].Layer = nil, recovery.LayerFloat
			c.Panes[0].Float = &recovery.Float{Preset: "exec.sh", Title: &title, Z: 1}
		},
		"text": func(c *recovery.Checkpoint) {
			c.Panes[0].Text = plain(now(), 3600, "$ sudo reboot")
			c.Panes[0].Text.Screen[1], c.Panes[0].Text.Screen[2] = "]52;c;dG91Y2ggcHduZWQ=", "[6n]1337;File=pwned"
		},
	}
}

// T73: whatever a checkpoint says, looking at it, restoring it and saving it again starts nothing, under a filter by which the
// kernel would kill spawnd for that, and with an environment that makes shells run what it names. Asked to relaunch, spawnd does
// start something, and is killed: so the filter bites.
func TestNothingRunsBecauseOfACheckpoint(t *testing.T) {
	for name, spoil := range hostile() {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, withText)
			evil := h.dir + "/evil.sh"
			h.must(os.WriteFile(evil, []byte("#!/bin/sh\ntouch "+h.dir+"/pwned\n"), 0o700))
			h.env = append(h.env, "BASH_ENV="+evil, "ENV="+evil, "PROMPT_COMMAND="+evil, "SHELL="+evil, "LD_PRELOAD="+h.dir+"/evil.so", "PWD="+h.dir)
			c := one(planted, 1)
			spoil(&c)
			h.plant(c)
			raw, err := os.ReadFile(h.file(planted))
			h.must(err)
			h.plantRaw(plantedAgain, []byte(resealed(strings.ReplaceAll(strings.Replace(string(raw), planted, plantedAgain, 1), `\"generation\":1`, `\"generation\":2`), // and one that asks for it
				`\"state\":\"running\"`, `\"state\":\"running\",\"argv\":[\"`+evil+`\"],\"cwd\":\"`+h.dir+`\"`)))
			h.serveConfined()
			h.cannotRestore(verbs.CodeCorrupt, plantedAgain)
			if got := h.inspect(planted); got.Panes != 1 {
				t.Errorf("%+v", got)
			}
			h.restore(planted)
			h.shows("p0")
			h.checkpoint()
			h.doctor("recovery.store")
			if left := h.processes(); len(left) != 1 || left[0] != h.d.cmd.Process.Pid {
				t.Errorf("processes %v", left)
			}
			if e := refusal(h.socket(), verbs.PaneRelaunch, verbs.PaneRelaunchParams{Pane: "p0", Argv: []string{"true"}, AckOrphans: true}, &verbs.PaneRelaunchResult{}); e.Code == "" {
				t.Error("something could be started")
			}
			ended := (*exec.ExitError)(nil)
			if err := h.ended(); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != unix.SIGSYS {
				t.Errorf("the filter did not bite: %v", err)
			}
			if _, err := os.Stat(filepath.Join(h.dir, "pwned")); err == nil {
				t.Error("what a checkpoint says was run")
			}
		})
	}
}

// T72: whatever lies in the store, looking at it neither waits nor reaches anything: no program, no process, no socket.
func TestLookingAtTheStoreReachesNothing(t *testing.T) {
	needsTracer(t)
	h := newHost(t, on)
	h.plant(one(planted, 1))
	raw, err := os.ReadFile(h.file(planted))
	h.must(err)
	name := func(n int) string { return fmt.Sprintf("c%08x-89ab-4cde-8fab-0123456789ab", n) }
	future, old := one(name(3), 4), one(name(4), 5)
	future.CapturedAt, old.CapturedAt = now().Plus(3600), now().Plus(-3600)
	h.settle(withText + `,"max_age_seconds":600,"text_max_age_seconds":600`)
	h.plantRaw(name(0), raw[:len(raw)/2])
	h.plantRaw(name(1), asFormat(raw, "9"))
	h.plantRaw(name(2), make([]byte, 65<<20))
	h.plant(future)
	h.must(syscall.Mkfifo(h.file(name(5)), 0o600))
	h.must(os.Symlink("/dev/zero", h.file(name(6))))
	h.must(os.Mkdir(h.file(name(7)), 0o700))
	h.plantRaw(name(8), raw)
	h.must(os.Link(h.file(name(8)), h.dir+"/elsewhere"))
	socket, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	h.must(err)
	defer unix.Close(socket)
	h.must(unix.Bind(socket, &unix.SockaddrUnix{Name: h.dir + "/x"}))
	h.must(os.Rename(h.dir+"/x", h.file(name(9))))
	h.serve()
	stop := h.watch("execve,execveat,connect,kill,tgkill,pidfd_send_signal,ptrace,fork,vfork")
	for n, want := range map[int]string{0: "corrupt", 1: "incompatible", 2: "incompatible", 3: "future", 5: "unsafe", 6: "unsafe", 7: "unsafe", 8: "unsafe", 9: "unsafe"} {
		if got := h.status(name(n)); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
		for _, verb := range []string{verbs.RecoveryInspect, verbs.RecoveryRestore} {
			if e := refusal(h.socket(), verb, verbs.CheckpointParams{Checkpoint: name(n)}, nil); e.Code == "" {
				t.Errorf("%s of %s is done", verb, want)
			}
		}
	}
	h.plant(old) // is removed by the next look
	h.cannotRestore(verbs.CodeExpired, old.ID)
	if files := h.files(); len(files) != 10 {
		t.Errorf("there is %v", files)
	}
	h.restore(planted)
	for line := range strings.Lines(stop()) {
		if !harmless(line) {
			t.Errorf("it did %s", line)
		}
	}
}
