// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"spawn/internal/e2e/rig"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/unmet"
)

var update = flag.Bool("update", false, "write testdata/paths.golden anew: each new line needs a test with hostile objects at that path")

// traced are the calls by which a program makes, opens, names and removes things, and those by which it becomes more programs.
const traced = "open,openat,?openat2,creat,bind,?chmod,fchmod,fchmodat,?fchmodat2,?mkdir,mkdirat,?mknod,mknodat,?unlink,unlinkat,?rmdir," +
	"?rename,renameat,renameat2,?link,linkat,?symlink,symlinkat,truncate,?fork,?vfork,clone,clone3,execve"

// All paths that spawnd and its workers touch in a run in which they do all that they do are known, by shape: whoever plants
// something at one of them is met by a test of the package that owns it. A new path fails here until somebody has thought of
// that. And no socket is given another mode once it has a name: there is no moment at which it is open to others.
func TestEveryPathIsKnown(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		unmet.Skip(t, "no strace")
	}
	h := rig.NewHost(t)
	folder := traceSpawnd(t, h, strace)
	if said, err := exec.Command(strace, "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		unmet.Skip(t, "this system lets nobody trace: %s", said)
	}
	liveFully(t, h)
	calls := readTraces(t, h, folder)
	requireModesAtBind(t, calls)
	shapes := map[string]bool{}
	for _, c := range calls {
		if s := c.shape(h); s != "" {
			shapes[s] = true
		}
	}
	requireGolden(t, slices.Sorted(maps.Keys(shapes)))
}

// traceSpawnd puts a script before the host's spawnd with which it, and all that it starts, is traced. The tracer is a grandchild, so
// who starts spawnd has spawnd. It lives as long as the terminals and keeps standard error open, so that is a file. It
// returns the folder with a file for each thread.
func traceSpawnd(t *testing.T, h *rig.Host, strace string) string {
	t.Helper()
	programs, folder := t.TempDir(), t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nexec %s -D -ff -y -ttt -s 4096 --seccomp-bpf -e trace='%s' -e signal=none -o %s/trace %s/spawnd \"$@\" 2>>%s/said\n",
		strace, traced, folder, h.Programs, folder)
	if err := os.WriteFile(filepath.Join(programs, "spawnd"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	h.Programs = programs
	return folder
}

// liveFully is a life in which spawnd starts, is killed, starts on what is left, and ends.
func liveFully(t *testing.T, h *rig.Host) {
	t.Helper()
	settings := filepath.Join(h.Dir, "c", "spawn", "config.hujson")
	if err := os.MkdirAll(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte(`{"recovery":{"enabled":true,"interval_ms":3600000,"max_checkpoints":1,"terminal_text":"plain"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	d := h.Serve()
	load := h.StartLoad(1, rig.LinesPerSecond)
	shell := h.NewPane(verbs.PaneNewParams{Cwd: h.Dir, Cols: 80, Rows: 24}) // the login shell, with its marks
	h.Type(shell.ID, "seq 1 3000; printf '\\033[3J'\r")
	h.Call(verbs.PaneRestart, verbs.PaneRestartParams{Pane: shell.ID, Argv: []string{"cat"}}, &verbs.PaneResult{})
	for range 2 {
		h.Call(verbs.RecoveryCheckpoint, verbs.Empty{}, &verbs.CheckpointResult{})
	}
	for _, command := range [][]string{{"pair", "new"}, {"config", "set", "--path", "terminal.cols", "--value", "90"}, {"pane", "list"}} {
		if said, code := h.Run(command...); code != 0 {
			t.Errorf("spawnd %v: %d, %s", command, code, said)
		}
	}
	h.Run("doctor") // whatever it finds
	d.Kill()
	if err := os.Mkdir(filepath.Join(h.WorkerDir(), "3b241101-e2bb-4255-8caf-4136c566a962.reply"), 0o700); err != nil {
		t.Fatal(err)
	}
	d = h.Serve()
	h.KillPane(shell.ID)
	h.Settle(load)
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}

// call is one system call of spawnd or of a worker.
type call struct {
	at      float64
	program string
	name    string
	args    string
}

var (
	callLine = regexp.MustCompile(`^(\d+\.\d+) (\w+)\((.*)\) += (-?\d+)`)
	cutLine  = regexp.MustCompile(`^(\d+\.\d+) (?:(?:\w+|\?{3})\(.* <unfinished \.\.\.>|<\.\.\. \w+ resumed>.*|\w+\(.*\) += \?.*|\+\+\+ .*|--- .*)$`)
)

// thread is what the file of one says.
type thread struct {
	parent int // the one that began it, 0 for the first
	since  float64
	execs  []call // programs that it became
	calls  []call
}

// readTraces returns the calls of our programs in the order of time.
func readTraces(t *testing.T, h *rig.Host, folder string) (all []call) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "trace.*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	threads := map[int]*thread{}
	of := func(tid int) *thread {
		if threads[tid] == nil {
			threads[tid] = &thread{}
		}
		return threads[tid]
	}
	for _, path := range paths {
		tid, err := strconv.Atoi(strings.TrimPrefix(filepath.Ext(path), "."))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			m := callLine.FindStringSubmatch(line)
			if m == nil {
				if !cutLine.MatchString(line) {
					t.Fatalf("strace says %q", line)
				}
				continue
			}
			at, _ := strconv.ParseFloat(m[1], 64)
			result, _ := strconv.Atoi(m[4])
			c := call{at: at, name: m[2], args: m[3]}
			switch c.name {
			case "clone", "clone3", "fork", "vfork":
				if result > 0 {
					of(result).parent, of(result).since = tid, at
				}
			case "execve":
				if result == 0 {
					c.program = filepath.Base(c.names()[0])
					of(tid).execs = append(of(tid).execs, c)
				}
			default:
				of(tid).calls = append(of(tid).calls, c)
			}
		}
	}
	// The program that a thread runs at a moment.
	var running func(tid int, at float64) string
	running = func(tid int, at float64) string {
		th := threads[tid]
		if th == nil {
			return ""
		}
		for _, e := range slices.Backward(th.execs) {
			if e.at < at {
				return e.program
			}
		}
		return running(th.parent, th.since)
	}
	for tid, th := range threads {
		for _, c := range th.calls {
			if c.program = running(tid, c.at); c.program == "spawnd" || c.program == "spawn-worker" {
				all = append(all, c)
			}
		}
	}
	slices.SortFunc(all, func(a, b call) int { return int((a.at - b.at) * 1e6) })
	return all
}

var (
	quoted = regexp.MustCompile(`(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"`)
	held   = regexp.MustCompile(`^\d+<([^>]*)>`)
	inode  = regexp.MustCompile(`^\d+<(socket:\[\d+\])>`)
)

// names are the paths in the arguments, each below the folder that it is relative to.
func (c call) names() (paths []string) {
	for _, m := range quoted.FindAllStringSubmatch(c.args, -1) {
		if !filepath.IsAbs(m[2]) && m[1] != "" {
			m[2] = filepath.Join(m[1], m[2])
		}
		paths = append(paths, m[2])
	}
	return paths
}

// requireModesAtBind wants no socket's mode to change once it is bound, by its descriptor or by its name.
func requireModesAtBind(t *testing.T, calls []call) {
	t.Helper()
	bound, set := map[string]bool{}, 0
	for _, c := range calls {
		isUnix := strings.Contains(c.args, "sun_path=")
		switch c.name {
		case "bind":
			if m := inode.FindStringSubmatch(c.args); m != nil && isUnix {
				bound[m[1]] = true
				bound[c.names()[0]] = true
			}
		case "fchmod":
			if m := inode.FindStringSubmatch(c.args); m != nil {
				if set++; bound[m[1]] {
					t.Errorf("%s gives a socket another mode when it has a name: %s(%s)", c.program, c.name, c.args)
				}
			}
		case "chmod", "fchmodat", "fchmodat2":
			for _, path := range c.names() {
				if bound[path] || strings.HasSuffix(path, ".sock") {
					t.Errorf("%s gives a socket another mode by its name: %s(%s)", c.program, c.name, c.args)
				}
			}
		}
	}
	if set == 0 || len(bound) < 6 {
		t.Errorf("%d modes of sockets and %d names: nothing was seen", set, len(bound))
	}
}

// What is different in each run, and what stands for it.
var particulars = []struct {
	what  *regexp.Regexp
	shape string
}{
	{regexp.MustCompile(`^/proc/self/fd/\d+/`), "$$HELD/"},
	{regexp.MustCompile(`^\$RUNTIME/canary-\d+`), "$$WORKERS"}, // the doctor's own
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<id>"},
	{regexp.MustCompile(`[0-9a-f]{64}`), "<key>"},
	{regexp.MustCompile(`[A-Z2-7]{26}`), "<random>"},
	{regexp.MustCompile(`[0-9a-f]{8,32}`), "<number>"},
	{regexp.MustCompile(`\d+`), "<number>"},
}

// elsewhere are the places of the system, where reading is nobody's matter.
var elsewhere = []string{"/dev", "/etc", "/home", "/lib", "/lib64", "/proc", "/root", "/run", "/sys", "/usr", "/var", filepath.Clean(os.TempDir())}

// shape is what a call does to what kind of path; "" when it only reads what the system has.
func (c call) shape(h *rig.Host) string {
	does := strings.TrimSuffix(strings.TrimSuffix(c.name, "at"), "2")
	switch {
	case c.name == "bind" && !strings.Contains(c.args, `sun_path="`):
		return ""
	case strings.HasPrefix(c.name, "open") && strings.Contains(c.args, "O_CREAT"):
		does = "create"
		if strings.Contains(c.args, "O_EXCL") {
			does = "create new"
		}
	case strings.HasPrefix(c.name, "open") && (strings.Contains(c.args, "O_WRONLY") || strings.Contains(c.args, "O_RDWR")):
		does = "open to write"
	case strings.HasPrefix(c.name, "open"):
		does = "open to read"
	case c.name == "fchmod":
		m := held.FindStringSubmatch(c.args)
		if m == nil || strings.HasPrefix(m[1], "socket:") {
			return ""
		}
		return c.program + " chmod " + shapeOf(h, m[1])
	}
	var shapes []string
	for _, path := range c.names() {
		shape := shapeOf(h, path)
		if does == "open to read" && slices.ContainsFunc(elsewhere, func(at string) bool { return shape == at || strings.HasPrefix(shape, at+"/") }) {
			return ""
		}
		shapes = append(shapes, shape)
	}
	return c.program + " " + does + " " + strings.Join(shapes, " to ")
}

func shapeOf(h *rig.Host, path string) string {
	for _, place := range [][2]string{
		{h.Dir + "/r/spawn", "$RUNTIME"}, {h.Dir + "/c/spawn", "$CONFIG"}, {h.Dir + "/s/spawn", "$STATE"}, {h.WorkerDir(), "$WORKERS"}, {h.Dir, "$HOST"},
	} {
		if rest, below := strings.CutPrefix(path, place[0]); below && (rest == "" || rest[0] == '/') {
			path = place[1] + rest
			break
		}
	}
	for _, p := range particulars {
		path = p.what.ReplaceAllString(path, p.shape)
	}
	return path
}

// mayBe is before a known shape that a run need not have: who removes what, a worker or spawnd, can be chance.
const mayBe = "? "

func requireGolden(t *testing.T, shapes []string) {
	t.Helper()
	const path = "testdata/paths.golden"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, s := range shapes {
		if !slices.Contains(known, s) && !slices.Contains(known, mayBe+s) {
			t.Errorf("new: %s\nis something hostile at that path met by a test? Then add it: go test ./internal/e2e -run TestEveryPathIsKnown -update", s)
		}
	}
	for _, s := range known {
		if !strings.HasPrefix(s, mayBe) && !slices.Contains(shapes, s) {
			t.Errorf("gone: %s", s)
		}
	}
	if *update {
		lines := slices.DeleteFunc(slices.Clone(known), func(s string) bool { return !strings.HasPrefix(s, mayBe) })
		for _, s := range shapes {
			if !slices.Contains(lines, mayBe+s) {
				lines = append(lines, s)
			}
		}
		slices.Sort(lines)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
