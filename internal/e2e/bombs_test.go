// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/e2e/rig"
	"spawn/internal/sessiond/endpoint"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
	"spawn/internal/unmet"
)

const (
	contained = "SPAWN_TEST_CONTAINED"
	// echoMost is what one echo in a hundred may take beside a bomb on a machine that does nothing else.
	echoMost = 200 * time.Millisecond
	// busyFactor is how much longer it may take at the gate, where the machine may be busy with anything.
	busyFactor   = 5
	echoesEach   = 200
	echoPause    = 10 * time.Millisecond
	bombTasks    = 100
	bombMemory   = 256 << 20
	terminalsMax = 32 // of the container
	logMost      = 8 << 20
)

// bomb is what a program may do to everybody, in a terminal that has its limits.
type bomb struct {
	name, script string // in the script, WORD is the path that bombed has
	// lit reports whether it has reached what limits it.
	lit func(b *bombed) bool
	// after is what must hold beside what must always; nil for nothing.
	after func(b *bombed)
}

// bombed is a host with a bomb in one terminal.
type bombed struct {
	*rig.Host
	pane  verbs.Pane
	group group
	word  string // path of a file with which the bomb says that it can do no more
}

var bombs = []bomb{
	{name: "processes", script: `b() { b | b & }; while :; do b; done 2>/dev/null`, lit: func(b *bombed) bool { return b.group.refusedTasks() > 0 }},
	{name: "memory", script: `while :; do tail /dev/zero; done`, lit: func(b *bombed) bool { return b.group.killed() > 0 }},
	{name: "files", script: `ulimit -n $(ulimit -Hn); open() { while exec {fd}</dev/null; do :; done; : > WORD; exec sleep 1000; }
		open 2>/dev/null & open 2>/dev/null & open 2>/dev/null`, lit: said},
	{name: "output", script: `yes "a log of a few megabytes is written again and again"`, lit: func(b *bombed) bool { return b.logged() > logMost/8 },
		after: func(b *bombed) {
			if n := b.logged(); n > logMost {
				b.T.Errorf("the log has %d bytes", n)
			}
		}},
	{name: "terminals", script: `while exec {fd}<>/dev/ptmx; do :; done 2>/dev/null; : > WORD; exec sleep 1000`, lit: said,
		after: func(b *bombed) {
			var more verbs.PaneResult
			err := b.Socket().Call(b.T.Context(), verbs.PaneNew, verbs.PaneNewParams{Argv: []string{"cat"}}, &more)
			if told := (*verbs.Error)(nil); !errors.As(err, &told) || told.Code != verbs.CodeStart {
				b.T.Errorf("a terminal where no PTY is left: %+v, %v", more, err)
			}
		}},
}

func said(b *bombed) bool { _, err := os.Stat(b.word); return err == nil }

// T38: whatever one terminal does to processes, memory, files, its log or PTYs, the ones beside it echo as ever and spawnd answers. The
// bomb's own terminal, limited as its scope would limit it, is there all the time, and ends when it is closed with all that it began.
func TestABombHurtsItsOwnTerminalAlone(t *testing.T) {
	if os.Getenv(contained) == "" {
		runContained(t)
		return
	}
	contain(t)
	h := rig.NewHost(t)
	d := h.Serve()
	neighbour := h.NewPane(verbs.PaneNewParams{Argv: []string{"cat"}, Cwd: h.Dir})
	viewer := view(h, neighbour.ID)
	requireTyped(t, viewer, "before;")
	for _, one := range bombs {
		t.Run(one.name, func(t *testing.T) { one.explode(t, h, viewer) })
	}
	again := h.NewPane(verbs.PaneNewParams{Argv: []string{"cat"}})
	requireEcho(h, again.ID, "after")
	_ = viewer.Close()
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}

func (one bomb) explode(t *testing.T, h *rig.Host, viewer *dial.Stream) {
	b := &bombed{Host: h, group: newGroup(t), word: filepath.Join(h.Dir, "word-"+one.name)}
	defer func(t *testing.T) { h.T = t }(h.T)
	h.T = t
	script := "stty -echo; read -r go; " + strings.ReplaceAll(one.script, "WORD", b.word)
	b.pane = h.NewPane(verbs.PaneNewParams{Cwd: h.Dir, Argv: []string{"bash", "-c", script}})
	rig.Await(t, "the program", func() bool { return h.Pane(b.pane.ID).Foreground == "bash" && len(below(t, []int{b.pane.PID})) == 1 })
	b.group.take(b.pane.PID)
	for _, pid := range below(t, []int{b.pane.PID}) {
		b.group.take(pid)
	}
	h.Type(b.pane.ID, "\r")
	rig.Await(t, "the bomb has reached its limit", func() bool { return one.lit(b) })

	var took, listed []time.Duration
	pause := time.NewTicker(echoPause)
	defer pause.Stop()
	for i := range echoesEach {
		took = append(took, requireTyped(t, viewer, fmt.Sprintf("%d;", i)))
		if i%20 == 0 {
			began := time.Now()
			requireRunning(h)
			listed = append(listed, time.Since(began))
		}
		<-pause.C
	}
	slices.Sort(took)
	slices.Sort(listed)
	t.Logf("echo beside it: median %v, p99 %v, longest %v; list: longest %v", took[len(took)/2], took[len(took)*99/100], took[len(took)-1], listed[len(listed)-1])
	most := echoMost
	if !rig.Long() {
		most *= busyFactor
	}
	if p99 := took[len(took)*99/100]; p99 > most {
		t.Errorf("one echo in a hundred took %v", p99)
	}
	if now := h.Pane(b.pane.ID); now.State != verbs.PaneRunning || now.PID != b.pane.PID {
		t.Errorf("the bomb's terminal has become %+v", now)
	}
	if one.after != nil {
		one.after(b)
	}
	h.KillPane(b.pane.ID)
	rig.Await(t, "the bomb is gone", func() bool { return len(b.group.members()) == 0 })
}

// logged is how many bytes the terminal's log has on its disk.
func (b *bombed) logged() (total int64) {
	id, err := endpoint.ParseSessionID(b.pane.SessionID)
	if err != nil {
		b.T.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(b.WorkerDir(), endpoint.ScrollbackName(id)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.T.Fatal(err)
	}
	for _, e := range entries {
		if st, err := e.Info(); err == nil { // else it has just made room
			total += st.Size()
		}
	}
	return total
}

// runContained runs this test again, alone, in namespaces of its own: when it ends, so does all that it started, and what it takes of
// PTYs nobody else misses.
func runContained(t *testing.T) {
	t.Helper()
	unmet.Root(t, "make namespaces and control groups")
	if _, err := exec.LookPath("bash"); err != nil {
		unmet.Skip(t, "bash is not installed")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), contained+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Setsid: true}
	said, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, syscall.EPERM):
		unmet.Skip(t, "no namespaces are allowed here")
	case err != nil:
		t.Fatalf("%v: %s", err, said)
	case strings.Contains(string(said), "--- SKIP: "+t.Name()):
		unmet.Skip(t, "%s", said)
	}
	t.Logf("%s", said)
}

// contain gives the namespaces a /proc and PTYs of their own.
func contain(t *testing.T) {
	t.Helper()
	for _, m := range []struct {
		what, at, kind string
		flags          uintptr
		options        string
	}{
		{"", "/", "", unix.MS_REC | unix.MS_PRIVATE, ""},
		{"proc", "/proc", "proc", 0, ""},
		{"devpts", "/dev/pts", "devpts", 0, fmt.Sprintf("newinstance,ptmxmode=0666,max=%d", terminalsMax)},
		{"/dev/pts/ptmx", "/dev/ptmx", "", unix.MS_BIND, ""},
	} {
		if err := unix.Mount(m.what, m.at, m.kind, m.flags, m.options); err != nil {
			unmet.Skip(t, "mount on %s: %v", m.at, err)
		}
	}
}

// group is a control group with limits of tasks and memory, as a terminal's scope has them: one folder in a hierarchy of version 2, or one
// in each of two of version 1.
type group struct {
	t             *testing.T
	tasks, memory string // folders; the same in version 2
	unified       bool
}

const groups = "/sys/fs/cgroup"

func newGroup(t *testing.T) group {
	t.Helper()
	name := fmt.Sprintf("spawn-bomb-%d-%d", os.Getpid(), time.Now().UnixNano())
	g := group{t: t, tasks: filepath.Join(groups, "pids", name), memory: filepath.Join(groups, "memory", name)}
	if controllers, err := os.ReadFile(filepath.Join(groups, "cgroup.controllers")); err == nil {
		if !strings.Contains(string(controllers), "memory") || !strings.Contains(string(controllers), "pids") {
			unmet.Skip(t, "this system's control groups have no memory and pids: %s", controllers)
		}
		g = group{t: t, tasks: filepath.Join(groups, name), memory: filepath.Join(groups, name), unified: true}
		_ = os.WriteFile(filepath.Join(groups, "cgroup.subtree_control"), []byte("+pids +memory"), 0) // mostly they are there already
	}
	limit := map[bool]string{true: "memory.max", false: "memory.limit_in_bytes"}[g.unified]
	for _, folder := range slices.Compact([]string{g.tasks, g.memory}) {
		if err := os.Mkdir(folder, 0o755); err != nil {
			unmet.Skip(t, "no control group can be made: %v", err)
		}
		t.Cleanup(func() {
			rig.Await(t, "the control group is empty", func() bool {
				for _, pid := range g.members() {
					_ = unix.Kill(pid, unix.SIGKILL)
				}
				return os.Remove(folder) == nil
			})
		})
	}
	g.put(filepath.Join(g.tasks, "pids.max"), bombTasks)
	g.put(filepath.Join(g.memory, limit), bombMemory)
	return g
}

func (g group) put(file string, value int) {
	g.t.Helper()
	if err := os.WriteFile(file, []byte(strconv.Itoa(value)), 0); err != nil {
		g.t.Fatal(err)
	}
}

// take moves a process into the group, unless it has ended: what it starts from now on is born there.
func (g group) take(pid int) {
	g.t.Helper()
	for _, folder := range slices.Compact([]string{g.tasks, g.memory}) {
		err := os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			g.t.Fatal(err)
		}
	}
}

func (g group) members() (pids []int) {
	for _, folder := range slices.Compact([]string{g.tasks, g.memory}) {
		text, _ := os.ReadFile(filepath.Join(folder, "cgroup.procs")) // it may be removed already
		for line := range strings.Lines(string(text)) {
			if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// refusedTasks and killed are how often a process could not be made, and was killed for memory.
func (g group) refusedTasks() int { return g.count(filepath.Join(g.tasks, "pids.events"), "max") }

func (g group) killed() int {
	file := map[bool]string{true: "memory.events", false: "memory.oom_control"}[g.unified]
	return g.count(filepath.Join(g.memory, file), "oom_kill")
}

func (g group) count(file, name string) int {
	g.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		g.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == name {
			n, err := strconv.Atoi(fields[1])
			if err != nil {
				g.t.Fatal(err)
			}
			return n
		}
	}
	g.t.Fatalf("%s has no %s", file, name)
	return 0
}
