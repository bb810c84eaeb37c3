// SPDX-License-Identifier: Apache-2.0

//go:build unix

package pty

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var testEnv = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "SHELL=/bin/sh", "TERM=xterm-256color"}

// start runs script under /bin/sh on a terminal and reaps it at the end of the test.
func start(t *testing.T, script string) *Terminal {
	t.Helper()
	return startOptions(t, Options{Argv: []string{"/bin/sh", "-c", script}, Env: testEnv, Cols: 80, Rows: 24})
}

func startOptions(t *testing.T, o Options) *Terminal {
	t.Helper()
	term, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		term.SignalGroup(syscall.SIGKILL)
		term.Wait()
		term.Close()
	})
	return term
}

// readAll reads to the end of the terminal and undoes the line discipline's CR LF.
func readAll(t *testing.T, term *Terminal) string {
	t.Helper()
	out, err := io.ReadAll(term)
	if err != nil {
		t.Fatalf("read terminal: %v (after %q)", err, out)
	}
	return strings.ReplaceAll(string(out), "\r\n", "\n")
}

func readUntil(t *testing.T, term *Terminal, want string) {
	t.Helper()
	var got strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(got.String(), want) {
		n, err := term.Read(buf)
		got.Write(buf[:n])
		if err != nil {
			t.Fatalf("waiting for %q, got %q: %v", want, got.String(), err)
		}
	}
}

func TestStatusIsTheProgramsOwn(t *testing.T) {
	for script, want := range map[string]Status{
		"exit 0":          {},
		"exit 7":          {Code: 7},
		"kill -TERM $$":   {Signal: "SIGTERM"},
		"kill -KILL $$":   {Signal: "SIGKILL"},
		"sleep 0; exit 3": {Code: 3},
	} {
		term := start(t, script)
		for range 2 { // a second Wait says the same
			if got, err := term.Wait(); err != nil || got != want {
				t.Errorf("%s: %+v, %v, want %+v", script, got, err, want)
			}
		}
	}
}

func TestProgramLeadsItsSessionOnItsTerminal(t *testing.T) {
	term := start(t, `read -r pid comm state ppid pgrp sid tty tpgid rest < /proc/$$/stat; echo $pid $pgrp $sid $tpgid; tty; stty size`)
	want := strings.Repeat(strconv.Itoa(term.Pid())+" ", 4)
	got := readAll(t, term)
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) != 3 || lines[0]+" " != want || !strings.HasPrefix(lines[1], "/dev/pts/") || lines[2] != "24 80" {
		t.Fatalf("got %q, want ids %q, a terminal, 24 80", lines, want)
	}
}

func TestOnlyThreeDescriptorsReachTheProgram(t *testing.T) {
	leak, err := unix.Open("/dev/null", unix.O_RDONLY, 0) // without O_CLOEXEC, as an accident would have it
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	term := start(t, `for f in /proc/$$/fd/*; do [ -e $f ] && echo ${f##*/}; done; cat /proc/$$/fdinfo/0 | grep flags`)
	got := strings.Fields(readAll(t, term))
	if len(got) != 5 || strings.Join(got[:3], " ") != "0 1 2" {
		t.Fatalf("descriptors %q", got)
	}
	if flags := got[4]; strings.HasSuffix(flags[:len(flags)-3], "4") { // octal 04000 is O_NONBLOCK
		t.Fatalf("standard input is non-blocking: %s", flags)
	}
}

func TestIgnoredSignalsAreDefaultInTheProgram(t *testing.T) {
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGINT, syscall.SIGTSTP)
	defer signal.Reset(syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGINT, syscall.SIGTSTP)
	got := readAll(t, start(t, `grep -E '^Sig(Ign|Blk)' /proc/self/status`))
	for _, line := range strings.Split(strings.TrimSpace(got), "\n") {
		if !isEmptySet(line) {
			t.Errorf("inherited %q", line)
		}
	}
}

// libcSignals are bits 32 and 33, which are the C library's own: a program that was started by its posix_spawn, as make
// starts all, has them ignored, and no program can tell.
const libcSignals = 1<<31 | 1<<32

// isEmptySet reports whether a line of /proc/PID/status, such as SigIgn, names no signal that a program could use.
func isEmptySet(line string) bool {
	_, set, _ := strings.Cut(line, "\t")
	signals, err := strconv.ParseUint(strings.TrimSpace(set), 16, 64)
	return err == nil && signals&^libcSignals == 0
}

func TestArgv0IsHandedOverAsGiven(t *testing.T) {
	for _, argv0 := range []string{"/bin/sh", "-/bin/sh", "-sh", "sh"} {
		o := Options{Argv: []string{argv0, "-c", `tr '\0' '\n' < /proc/$$/cmdline | head -1; pwd; env`}, Cwd: "/usr",
			Env: append([]string{"PATH=/nowhere"}, testEnv...), Cols: 80, Rows: 24}
		got := strings.Split(readAll(t, startOptions(t, o)), "\n")
		if got[0] != argv0 || got[1] != "/usr" {
			t.Errorf("argv[0] %q came as %q in %q", argv0, got[0], got[1])
		}
	}
}

func TestStartRefuses(t *testing.T) {
	good := Options{Argv: []string{"/bin/sh"}, Cwd: "/", Env: testEnv, Cols: 80, Rows: 24}
	plain := t.TempDir() + "/plain"
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Options)
		want   error
	}{
		"no argv":         {func(o *Options) { o.Argv = nil }, ErrArgs},
		"a lone dash":     {func(o *Options) { o.Argv = []string{"-"} }, ErrArgs},
		"relative path":   {func(o *Options) { o.Argv = []string{"./sh"} }, ErrArgs},
		"NUL in argument": {func(o *Options) { o.Argv = []string{"/bin/sh", "a\x00b"} }, ErrArgs},
		"NUL in env":      {func(o *Options) { o.Env = []string{"A=\x00"} }, ErrArgs},
		"relative cwd":    {func(o *Options) { o.Cwd = "tmp" }, ErrArgs},
		"no columns":      {func(o *Options) { o.Cols = 0 }, ErrArgs},
		"no rows":         {func(o *Options) { o.Rows = 0 }, ErrArgs},
		"missing cwd":     {func(o *Options) { o.Cwd = plain + "-missing" }, syscall.ENOTDIR},
		"missing program": {func(o *Options) { o.Argv = []string{plain + "-missing"} }, syscall.ENOENT},
		"not in PATH":     {func(o *Options) { o.Argv = []string{"spawn-no-such-program"} }, syscall.ENOENT},
		"a folder":        {func(o *Options) { o.Argv = []string{"/usr"} }, syscall.EACCES},
		"not executable":  {func(o *Options) { o.Argv = []string{plain} }, syscall.EACCES},
	} {
		o := good
		c.change(&o)
		if _, err := Start(o); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// A program's last words must not get lost because it ended before we read them.
func TestOutputSurvivesTheProgramsEnd(t *testing.T) {
	for range 20 {
		term := start(t, `printf '%03000d' 5`)
		if _, err := term.Wait(); err != nil {
			t.Fatal(err)
		}
		if got := readAll(t, term); len(got) != 3000 || got[2999] != '5' {
			t.Fatalf("%d of 3000 bytes left after the end", len(got))
		}
	}
}

func TestLargeOutputIsWhole(t *testing.T) {
	got := readAll(t, start(t, `seq 1 50000`))
	if lines := strings.Split(strings.TrimSpace(got), "\n"); len(lines) != 50000 || lines[49999] != "50000" {
		t.Fatalf("%d lines of 50000", len(lines))
	}
}

func TestInputReachesTheProgramAndIsErasedByCharacters(t *testing.T) {
	term := start(t, `read -r line; printf '<%s>\n' "$line"`)
	if _, err := term.Write([]byte("aé\x7fb\r")); err != nil {
		t.Fatal(err)
	}
	readUntil(t, term, "<ab>")
}

func TestResizeReachesTheProgram(t *testing.T) {
	term := start(t, `trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done`)
	readUntil(t, term, "ready")
	if err := term.Resize(132, 43); err != nil {
		t.Fatal(err)
	}
	readUntil(t, term, "43 132")
}

func TestForegroundGroupFollowsTheShell(t *testing.T) {
	term := startOptions(t, Options{Argv: []string{"/bin/sh", "-i"}, Env: append([]string{"PS1=ready>"}, testEnv...), Cols: 80, Rows: 24})
	readUntil(t, term, "ready>")
	if pgid, err := term.ForegroundGroup(); err != nil || pgid != term.Pid() {
		t.Fatalf("at the prompt: group %d, %v, want %d", pgid, err, term.Pid())
	}
	if _, err := term.Write([]byte("sh -c 'echo inner-$((1+1)); read x'\r")); err != nil {
		t.Fatal(err)
	}
	readUntil(t, term, "inner-2")
	if pgid, err := term.ForegroundGroup(); err != nil || pgid == term.Pid() {
		t.Fatalf("in a command: group %d, %v, want not %d", pgid, err, term.Pid())
	}
}

func TestSignalGroupReachesChildrenAndNeverAReapedProgram(t *testing.T) {
	term := start(t, `sleep 1000 & echo ready; wait`)
	readUntil(t, term, "ready")
	if err := term.SignalGroup(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got, err := term.Wait(); err != nil || got.Signal != "SIGTERM" {
		t.Fatalf("%+v, %v", got, err)
	}
	readAll(t, term) // ends only when the sleeper, which holds the terminal, is dead too
	for range 100 {
		if err := term.SignalGroup(syscall.SIGKILL); !errors.Is(err, ErrGone) {
			t.Fatalf("signal after reaping: %v", err)
		}
	}
}

func TestCloseWakesReaderAndWriter(t *testing.T) {
	term := start(t, `stty raw -echo; echo ready; sleep 1000`)
	readUntil(t, term, "ready")
	ended := make(chan error, 2)
	go func() {
		_, err := term.Read(make([]byte, 1))
		ended <- err
	}()
	go func() {
		for {
			if _, err := term.Write(make([]byte, 4096)); err != nil {
				ended <- err
				return
			}
		}
	}()
	if err := term.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		select {
		case err := <-ended:
			if err == nil {
				t.Fatal("no error after Close")
			}
		case <-time.After(10 * time.Second):
			t.Fatal("Close woke nobody")
		}
	}
}

func TestReadTakesWhatIsThereAndWaitsForNoMore(t *testing.T) {
	term := start(t, `stty raw -echo; echo ready; read -r x; head -c 12000 /dev/zero | tr '\0' x; read -r x`)
	readUntil(t, term, "ready")
	if _, err := term.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 16<<10)
	for got := 0; got < 12000; { // the last Read would wait for ever if it wanted to fill buf
		n, err := term.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Trim(string(buf[:n]), "x") != "" {
			t.Fatalf("read %q", buf[:n])
		}
		got += n
	}
}

func TestReadAllocatesNothing(t *testing.T) {
	term := start(t, `exec cat /dev/zero`)
	buf := make([]byte, 16<<10)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := term.Read(buf); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations for each Read", n)
	}
	term.SignalGroup(syscall.SIGKILL)
	readAll(t, term)
}
