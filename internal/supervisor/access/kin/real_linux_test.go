// SPDX-License-Identifier: Apache-2.0

package kin

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"spawn/internal/unmet"
)

// The test binary is also every other process of the test: KIN_ROLE says which.
func TestMain(m *testing.M) {
	switch os.Getenv("KIN_ROLE") {
	case "spawnd":
		playSpawnd()
	case "worker":
		playWorker()
	case "peer":
		playPeer()
	default:
		os.Exit(m.Run())
	}
}

func must(err error) {
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

// playSpawnd starts a worker as fleet does, and stays.
func playSpawnd() {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "KIN_ROLE=worker")
	cmd.Stdout = os.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must(cmd.Start())
	io.Copy(io.Discard, os.Stdin)
	cmd.Process.Kill()
	cmd.Wait()
}

// playWorker runs KIN_SCRIPT in a shell on a terminal, and outlives it.
func playWorker() {
	if os.Getenv("KIN_ADOPT") != "" {
		must(unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	}
	cmd := exec.Command("/bin/sh", "-c", os.Getenv("KIN_SCRIPT"))
	cmd.Env = append(os.Environ(), "KIN_ROLE=peer", "SPAWN_PANE=p0", "KIN_EXE="+os.Args[0])
	terminal, err := pty.Start(cmd)
	must(err)
	fmt.Println("started", os.Getpid(), cmd.Process.Pid)
	go io.Copy(io.Discard, terminal)
	cmd.Wait()
	fmt.Println("reaped")
	select {}
}

// playPeer connects, after its parent has ended when KIN_ORPHAN says so, and stays until it is let go.
func playPeer() {
	if os.Getenv("KIN_ORPHAN") != "" {
		awaitOrphaned()
	}
	conn, err := net.Dial("unix", os.Getenv("KIN_SOCKET"))
	must(err)
	io.Copy(io.Discard, conn)
}

// awaitOrphaned returns when the parent is none of those that the scripts let end.
func awaitOrphaned() {
	const tries = 60_000 // a minute; then the test has failed, and nobody waits for this process
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range tries {
		<-tick.C
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", os.Getppid()))
		switch strings.TrimSpace(string(name)) {
		case "sh", "dash", "bash", "setsid", "env", "nohup":
		default:
			if err == nil {
				return
			}
		}
	}
	os.Exit(1)
}

// stage is a listening socket that other users may reach too, and a copy of this binary that they may run.
type stage struct {
	t      *testing.T
	ln     *net.UnixListener
	exe    string
	socket string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	dir, err := os.MkdirTemp("", "kin")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &stage{t: t, exe: filepath.Join(dir, "kin.test"), socket: filepath.Join(dir, "s")}
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(s.exe, self, 0o755)
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err == nil {
		s.ln, err = net.ListenUnix("unix", &net.UnixAddr{Name: s.socket, Net: "unix"})
	}
	if err == nil {
		err = os.Chmod(s.socket, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.ln.Close() })
	return s
}

// pane starts a spawnd and a worker whose shell runs the script.
func (s *stage) pane(script string) (spawnd int, p Pane, words *bufio.Reader) {
	s.t.Helper()
	cmd := exec.Command(s.exe)
	cmd.Env = append(unmarkedEnviron(), "KIN_ROLE=spawnd", "KIN_SCRIPT="+script, "KIN_SOCKET="+s.socket)
	hold, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { hold.Close(); io.Copy(io.Discard, out); cmd.Wait() })
	words = bufio.NewReader(out)
	p.ID = "p0"
	line, err := words.ReadString('\n')
	if _, scanErr := fmt.Sscanf(line, "started %d %d", &p.Worker, &p.Child); scanErr != nil {
		s.t.Fatalf("the worker said %q (%v)", line, err)
	}
	return cmd.Process.Pid, p, words
}

func unmarkedEnviron() []string {
	var kept []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, paneMark) {
			kept = append(kept, entry)
		}
	}
	return kept
}

func (s *stage) accept() *net.UnixConn {
	s.t.Helper()
	s.ln.SetDeadline(time.Now().Add(time.Minute))
	conn, err := s.ln.AcceptUnix()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	return conn
}

const clean = `env -i KIN_ROLE=peer KIN_ORPHAN="$KIN_ORPHAN" KIN_SOCKET="$KIN_SOCKET" "$KIN_EXE"`

// What a program in a pane may do to look like one outside. Whatever it does, it never is.
func TestNoProcessOfAPaneIsOutside(t *testing.T) {
	cases := []struct {
		name, script string
		reaped       bool // wait until the shell is gone
		want         []Verdict
	}{
		{"plain", `"$KIN_EXE"`, false, []Verdict{Inside}},
		{"exec of the shell itself", `exec "$KIN_EXE"`, false, []Verdict{Inside}},
		{"clean environment", clean, false, []Verdict{Inside}},
		{"nohup in the background", `nohup "$KIN_EXE" >/dev/null & wait`, false, []Verdict{Inside}},
		{"nohup that outlives the shell", `trap "" HUP; KIN_ORPHAN=1 nohup "$KIN_EXE" >/dev/null & exit`, true, []Verdict{Unsure}},
		{"setsid", `setsid -w "$KIN_EXE"`, false, []Verdict{Inside}},
		{"setsid, clean", `setsid -w ` + clean, false, []Verdict{Inside}},
		{"double fork in the session", `export KIN_ORPHAN=1; ("$KIN_EXE" &); read x`, false, []Verdict{Inside}},
		{"double fork, setsid", `export KIN_ORPHAN=1; (setsid "$KIN_EXE" &); read x`, false, []Verdict{Unsure}},
		{"double fork, setsid, clean", `export KIN_ORPHAN=1; (setsid ` + clean + ` &); read x`, false, []Verdict{Unsure}},
		{"setsid twice, clean, the shell gone", `trap "" HUP; export KIN_ORPHAN=1; (setsid setsid -f ` + clean + ` &); exit`, true, []Verdict{Unsure}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			spawnd, pane, words := s.pane(c.script)
			conn := s.accept()
			if c.reaped {
				if line, err := words.ReadString('\n'); line != "reaped\n" {
					t.Fatalf("the worker said %q (%v)", line, err)
				}
			}
			got := Recognise(conn, Options{Panes: []Pane{pane}, Self: spawnd})
			ok := false
			for _, want := range c.want {
				ok = ok || got.Verdict == want
			}
			if !ok || got.Verdict == Inside && got.Pane != "p0" {
				t.Errorf("it is %v %q by row %c, want %v", got.Verdict, got.Pane, got.Row, c.want)
			}
			// Nor is it when nobody told us of the pane yet, as long as it leads back to us.
			if got := Recognise(conn, Options{Self: spawnd}); got.Verdict != Unsure {
				t.Errorf("without the pane it is %v by row %c", got.Verdict, got.Row)
			}
		})
	}
}

// Under a worker that adopts orphans a process is in its pane whatever it does, for as long as the worker lives.
func TestNothingLeavesAWorkerThatAdopts(t *testing.T) {
	t.Setenv("KIN_ADOPT", "yes")
	for name, script := range map[string]string{
		"setsid, clean":                   `setsid -w ` + clean,
		"double fork, setsid":             `export KIN_ORPHAN=1; (setsid "$KIN_EXE" &); read x`,
		"double fork, setsid, clean":      `export KIN_ORPHAN=1; (setsid ` + clean + ` &); read x`,
		"nohup that outlives the shell":   `trap "" HUP; KIN_ORPHAN=1 nohup "$KIN_EXE" >/dev/null & exit`,
		"setsid twice, clean, shell gone": `trap "" HUP; export KIN_ORPHAN=1; (setsid setsid -f ` + clean + ` &); exit`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			spawnd, pane, _ := s.pane(script)
			conn := s.accept()
			for _, child := range []int{pane.Child, 0} {
				pane.Child = child
				got := Recognise(conn, Options{Panes: []Pane{pane}, Self: spawnd, Adopting: true})
				if got.Verdict != Inside || got.Pane != "p0" {
					t.Errorf("it is %v %q by row %c", got.Verdict, got.Pane, got.Row)
				}
			}
		})
	}
}

// Where all workers adopt, whoever was started elsewhere is outside, however far from any login it has gone.
func TestAnOrphanOfNoWorkerIsOutside(t *testing.T) {
	t.Setenv("KIN_ADOPT", "yes")
	s := newStage(t)
	spawnd, pane, _ := s.pane("read x")
	s.peer("/bin/sh", "-c", `export KIN_ORPHAN=1 KIN_SOCKET KIN_ROLE; (setsid "$0" &)`, s.exe)
	conn := s.accept()
	if got := Recognise(conn, Options{Panes: []Pane{pane}, Self: spawnd, Adopting: true}); got.Verdict != Outside {
		t.Errorf("it is %v by row %c", got.Verdict, got.Row)
	}
	if got := Recognise(conn, Options{Panes: []Pane{pane}, Self: spawnd}); got.Verdict == Inside {
		t.Errorf("it is %v by row %c", got.Verdict, got.Row)
	}
}

func (s *stage) peer(argv ...string) {
	s.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(unmarkedEnviron(), "KIN_ROLE=peer", "KIN_SOCKET="+s.socket)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
}

func TestAProcessBesideSpawndIsOutside(t *testing.T) {
	s := newStage(t)
	spawnd, pane, _ := s.pane("read x")
	s.peer(s.exe)
	if got := Recognise(s.accept(), Options{Panes: []Pane{pane}, Self: spawnd}); got.Verdict != Outside {
		t.Errorf("it is %v by row %c", got.Verdict, got.Row)
	}
}

func TestAProcessThatSaysItIsInAPaneIsNotOutside(t *testing.T) {
	s := newStage(t)
	spawnd, pane, _ := s.pane("read x")
	s.peer("/usr/bin/env", "SPAWN_PANE=p0", s.exe)
	if got := Recognise(s.accept(), Options{Panes: []Pane{pane}, Self: spawnd}); got.Verdict != Unsure || got.Row != 'H' {
		t.Errorf("it is %v by row %c, want unsure by H: an environment can be made up", got.Verdict, got.Row)
	}
}

func TestAnotherUsersProcessIsNobody(t *testing.T) {
	unmet.Root(t, "start a process as another user")
	s := newStage(t)
	spawnd, pane, _ := s.pane("read x")
	s.peer("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", s.exe)
	if got := Recognise(s.accept(), Options{Panes: []Pane{pane}, Self: spawnd}); got != (Place{Row: 'A'}) {
		t.Errorf("it is %v by row %c", got.Verdict, got.Row)
	}
}

func TestAPeerThatHasEndedIsNobody(t *testing.T) {
	s := newStage(t)
	spawnd, pane, _ := s.pane("read x")
	cmd := exec.Command(s.exe)
	cmd.Env = append(unmarkedEnviron(), "KIN_ROLE=peer", "KIN_SOCKET="+s.socket)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn := s.accept()
	cmd.Process.Kill()
	cmd.Wait()
	if got := Recognise(conn, Options{Panes: []Pane{pane}, Self: spawnd}); got != (Place{Row: 'A'}) {
		t.Errorf("it is %v by row %c", got.Verdict, got.Row)
	}
}

// fatal is a host on which a process ends while it is looked at.
type fatal struct {
	proc
	end func()
}

func (f fatal) marked(pid int) bool {
	f.end()
	return false
}

func TestAPeerThatEndsMeanwhileIsNobody(t *testing.T) {
	s := newStage(t)
	spawnd, pane, _ := s.pane("read x")
	cmd := exec.Command(s.exe)
	cmd.Env = append(unmarkedEnviron(), "KIN_ROLE=peer", "KIN_SOCKET="+s.socket)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pidfd, err := peerHandle(s.accept())
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pidfd)
	look := situation{host: proc{}, panes: []Pane{pane}, self: spawnd, uid: os.Getuid()}
	if got := look.recognise(pidfd); got.Verdict != Outside {
		t.Fatalf("while it lives it is %v by row %c", got.Verdict, got.Row)
	}
	look.host = fatal{end: func() { cmd.Process.Kill(); cmd.Wait() }}
	if got := look.recognise(pidfd); got != (Place{Row: 'A'}) {
		t.Errorf("it is %v by row %c", got.Verdict, got.Row)
	}
}

func TestStatLines(t *testing.T) {
	const rest = " 0 0 0 0 0 0 0 0 0 0 20 0 1 0 85837 0 0\n"
	p, err := parseStat([]byte("42 (a) (b\n) S 7 8 9 0 -1" + rest))
	if want := (process{pid: 42, parent: 7, session: 9, name: "a) (b\n"}); err != nil || p.pid != want.pid || p.parent != want.parent || p.session != want.session || p.name != want.name {
		t.Errorf("%+v (%v)", p, err)
	}
	for name, bad := range map[string]string{
		"being forgotten": "42 (a) R 0 -1 -1 0 -1" + rest, "dead": "42 (a) X 0 0 0 0 -1" + rest, "cut": "42 (a) S 7 8 9\n", "no name": "42 S 7 8 9 0 -1" + rest, "empty": "",
		"no number": "42 (a) S x 8 9 0 -1" + rest,
	} {
		if p, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// A name may hold what separates the fields.
func TestANameCannotForgeFields(t *testing.T) {
	dir := t.TempDir()
	forged := filepath.Join(dir, "x) S 1 1 1")
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(forged, self, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t)
	s.peer(forged)
	conn := s.accept()
	pidfd, err := peerHandle(conn)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pidfd)
	pid, err := pidOf(pidfd)
	if err != nil {
		t.Fatal(err)
	}
	p, err := proc{}.process(pid)
	if err != nil || p.parent != os.Getpid() || p.name != "x) S 1 1 1" || p.uid != os.Getuid() {
		t.Errorf("read %+v (%v)", p, err)
	}
}
