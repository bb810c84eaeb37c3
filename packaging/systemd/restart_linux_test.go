// SPDX-License-Identifier: Apache-2.0

package systemd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"spawn/internal/strictjson"
	"spawn/packaging/systemd"
)

const program = "/usr/local/bin/spawnd"

// service is a spawnd that one of the managers runs, for one user.
type service struct {
	*booted
	systemctl []string // with the words that name the manager
	as        []string // the words that make a command the user's
}

// install builds both programs and puts them inside.
func install(b *booted) {
	b.t.Helper()
	out := b.t.TempDir()
	build := exec.Command("go", "build", "-o", out+"/", "./cmd/spawnd", "./cmd/spawn-worker")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		b.t.Fatalf("%v: %s", err, said)
	}
	for _, name := range []string{"spawnd", "spawn-worker"} {
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			b.t.Fatal(err)
		}
		b.write(filepath.Join(filepath.Dir(program), name), string(text), 0o755)
	}
}

func unitOf(t *testing.T) string {
	t.Helper()
	unit, err := systemd.Unit(program)
	if err != nil {
		t.Fatal(err)
	}
	return unit
}

// userService runs the unit as it is meant to be run: by the manager of an ordinary user.
func userService(b *booted, name, runtime string) *service {
	b.t.Helper()
	b.run("useradd", "--create-home", "--shell", "/bin/bash", name)
	uid := b.run("id", "-u", name)
	b.write("/etc/systemd/user/"+systemd.UnitName, unitOf(b.t), 0o644)
	own := "/run/user/" + uid
	if runtime != "" {
		b.write("/etc/systemd/user/"+systemd.UnitName+".d/runtime.conf", "[Service]\nEnvironment=XDG_RUNTIME_DIR=%t/"+runtime+"\n", 0o644)
	}
	b.run("systemctl", "start", "user@"+uid+".service")
	user := func(runtime string) []string {
		return []string{"setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", "env", "-i", "HOME=/home/" + name, "USER=" + name,
			"PATH=/usr/local/bin:/usr/bin:/bin", "XDG_RUNTIME_DIR=" + runtime}
	}
	if runtime != "" {
		b.run(append(user(own), "mkdir", "-m", "0700", filepath.Join(own, runtime))...)
	}
	return &service{b, append(user(own), "systemctl", "--user"), user(filepath.Join(own, runtime))}
}

// systemService runs it as root, by the system's manager.
func systemService(b *booted) *service {
	b.t.Helper()
	b.write("/etc/systemd/system/"+systemd.UnitName, unitOf(b.t), 0o644)
	b.write("/etc/systemd/system/"+systemd.UnitName+".d/runtime.conf", "[Service]\nEnvironment=HOME=/root XDG_RUNTIME_DIR=/run\n", 0o644)
	b.run("systemctl", "daemon-reload")
	return &service{b, []string{"systemctl"}, []string{"env", "-i", "HOME=/root", "PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=/run"}}
}

func (s *service) control(args ...string) string {
	s.t.Helper()
	return s.run(append(slices.Clone(s.systemctl), args...)...)
}

func (s *service) spawnd(args ...string) string {
	s.t.Helper()
	return s.run(append(append(slices.Clone(s.as), program), args...)...)
}

func (s *service) mainPID() int {
	s.t.Helper()
	pid, err := strconv.Atoi(s.control("show", "--property", "MainPID", "--value", systemd.UnitName))
	if err != nil || pid == 0 {
		s.t.Fatalf("spawnd's pid is %d, %v", pid, err)
	}
	return pid
}

type row struct {
	ID        string `json:"id"`
	SessionID string `json:"session_id"`
	State     string `json:"state"`
}

// list reads the members that matter here of each terminal.
func (s *service) list() []row {
	s.t.Helper()
	var members []map[string]any
	if err := strictjson.Unmarshal([]byte(s.spawnd("list", "--json")), &members); err != nil {
		s.t.Fatal(err)
	}
	rows := make([]row, 0, len(members))
	for _, m := range members {
		text := func(name string) string { value, _ := m[name].(string); return value }
		rows = append(rows, row{text("id"), text("session_id"), text("state")})
	}
	return rows
}

// terminal starts one and returns its row and its worker.
func (s *service) terminal(command ...string) (row, process) {
	s.t.Helper()
	id := s.spawnd(append([]string{"new", "--"}, command...)...)
	rows := s.list()
	at := slices.IndexFunc(rows, func(r row) bool { return r.ID == id })
	if at < 0 || rows[at].State != "running" {
		s.t.Fatalf("terminal %s is not in %+v", id, rows)
	}
	workers := s.processes(rows[at].SessionID)
	if len(workers) != 1 {
		s.t.Fatalf("workers of %s: %+v", id, workers)
	}
	return rows[at], workers[0]
}

// stillThere wants the same worker process, in the same control group, listed as the same terminal.
func (s *service) stillThere(after string, want row, worker process, group string) {
	s.t.Helper()
	if found := s.processes(want.SessionID); !slices.Equal(found, []process{worker}) {
		s.t.Fatalf("after %s the workers are %+v, not %+v", after, found, worker)
	}
	if got := s.cgroup(worker); got != group {
		s.t.Errorf("after %s the worker is in %s, not %s", after, got, group)
	}
	if rows := s.list(); !slices.Contains(rows, want) {
		s.t.Fatalf("after %s the terminals are %+v, want %+v", after, rows, want)
	}
}

// awaitNext waits until systemd has started another spawnd in the place of one that was killed.
func (s *service) awaitNext(killed int) {
	s.t.Helper()
	back := s.await(stepMax, func() bool {
		state, _ := s.command(append(slices.Clone(s.systemctl), "show", "--property", "ActiveState,MainPID", systemd.UnitName)...).Output()
		return strings.Contains(string(state), "ActiveState=active") && !strings.Contains(string(state), "MainPID="+strconv.Itoa(killed)+"\n")
	})
	if !back {
		s.t.Fatal("systemd did not start a killed spawnd again")
	}
}

// outlive ends the service in every way there is and wants the terminal to be the same after each.
func (s *service) outlive(want row, worker process, group string) {
	s.t.Helper()
	first := s.mainPID()
	s.control("restart", systemd.UnitName)
	if s.mainPID() == first {
		s.t.Fatal("restart did nothing")
	}
	s.stillThere("a restart", want, worker, group)

	second := s.mainPID()
	s.run("kill", "-KILL", strconv.Itoa(second))
	s.awaitNext(second)
	s.stillThere("SIGKILL", want, worker, group)

	s.control("stop", systemd.UnitName)
	if found := s.processes(want.SessionID); !slices.Equal(found, []process{worker}) {
		s.t.Fatalf("after a stop the workers are %+v, not %+v", found, worker)
	}
	s.control("start", systemd.UnitName)
	s.stillThere("a stop and a start", want, worker, group)
}

// One boot serves all: every service is stopped when its part is done, and its terminals stay.
func TestTerminalsOutliveTheirService(t *testing.T) {
	b := boot(t)
	install(b)
	for _, part := range []struct {
		name string
		run  func(*booted)
	}{{"of a user", ofAUser}, {"but not their control group", killedByGroup}, {"of the system", ofTheSystem}, {"without scopes", withoutScopes}} {
		t.Run(part.name, func(t *testing.T) {
			inner := *b
			inner.t = t
			part.run(&inner)
		})
	}
}

func ofAUser(b *booted) {
	s := userService(b, "ada", "")
	s.control("start", systemd.UnitName)
	defer s.control("stop", systemd.UnitName)
	shell, worker := s.terminal("/bin/bash")
	group := s.cgroup(worker)
	if want := "/app.slice/app-spawn.slice/spawn-worker-" + shell.SessionID + ".scope"; !strings.HasSuffix(group, want) {
		s.t.Fatalf("the worker is in %s, want …%s", group, want)
	}
	_, other := s.terminal("/bin/sh", "-c", "env > ~/given; umask >> ~/given; exec sleep infinity")
	if s.cgroup(other) == group {
		s.t.Error("two terminals share a control group")
	}
	if own := s.run("cat", "/sys/fs/cgroup"+s.control("show", "--property", "ControlGroup", "--value", systemd.UnitName)+"/cgroup.procs"); own != strconv.Itoa(s.mainPID()) {
		s.t.Errorf("the service's control group holds %q, want spawnd alone", own)
	}
	s.outlive(shell, worker, group)
	s.gaveNothingAway()

	s.spawnd("kill", shell.ID)
	if !s.await(stepMax, func() bool { return len(s.processes(shell.SessionID)) == 0 }) {
		s.t.Error("a killed terminal's worker stays")
	}
	if !s.await(stepMax, func() bool { _, err := os.Stat(s.inside("/sys/fs/cgroup" + group)); return err != nil }) {
		s.t.Error("a killed terminal's scope stays")
	}
}

// gaveNothingAway reads what the second terminal's shell was given.
func (s *service) gaveNothingAway() {
	s.t.Helper()
	given := s.run("cat", "/home/ada/given")
	for _, systemds := range []string{"NOTIFY_SOCKET=", "INVOCATION_ID=", "JOURNAL_STREAM=", "SYSTEMD_EXEC_PID=", "LISTEN_"} {
		if strings.Contains(given, systemds) {
			s.t.Errorf("a shell was given %s", systemds)
		}
	}
	if !strings.HasSuffix(given, "\n0022") {
		s.t.Errorf("a shell's umask is not the user's: %s", given)
	}
}

func ofTheSystem(b *booted) {
	s := systemService(b)
	b.write("/root/.config/spawn/config.hujson", `{"terminal": {"memory_max_bytes": 268435456, "tasks_max": 512, "cpu_weight": 50}}`, 0o600)
	s.control("start", systemd.UnitName)
	defer s.control("stop", systemd.UnitName)
	shell, worker := s.terminal("/bin/bash")
	s.requireLimits("spawn-worker-"+shell.SessionID+".scope", worker)
	group := s.cgroup(worker)
	if want := "/spawn.slice/spawn-worker-" + shell.SessionID + ".scope"; group != want {
		s.t.Fatalf("the worker is in %s, want %s", group, want)
	}
	s.outlive(shell, worker, group)
}

// requireLimits: limits are properties of the scope, and where the manager has the controller the kernel has the
// numbers.
func (s *service) requireLimits(scope string, worker process) {
	controllers := s.run("cat", "/sys/fs/cgroup/cgroup.controllers")
	var absent []string
	for _, limit := range []struct{ property, controller, file, want string }{
		{"MemoryMax", "memory", "memory.max", "268435456"}, {"TasksMax", "pids", "pids.max", "512"}, {"CPUWeight", "cpu", "cpu.weight", "50"},
	} {
		if got := s.control("show", "--property", limit.property, "--value", scope); got != limit.want {
			s.t.Errorf("%s of a terminal is %s, want %s", limit.property, got, limit.want)
		}
		if !slices.Contains(strings.Fields(controllers), limit.controller) {
			absent = append(absent, limit.controller)
			continue
		}
		if got := s.run("cat", "/sys/fs/cgroup"+s.cgroup(worker)+"/"+limit.file); got != limit.want {
			s.t.Errorf("%s of a terminal is %s, want %s", limit.file, got, limit.want)
		}
	}
	if len(absent) > 0 {
		// The host's kernel or its own manager decides that, so it is no failure even where everything is wanted.
		s.t.Logf("this host's unified hierarchy has no %v: of these only the unit's property was read", absent)
	}
}

// Where no manager answers there is no scope, and KillMode=process is what keeps the terminal.
func withoutScopes(b *booted) {
	s := userService(b, "bea", "elsewhere")
	s.control("start", systemd.UnitName)
	defer s.control("stop", systemd.UnitName)
	shell, worker := s.terminal("/bin/bash")
	group := s.cgroup(worker)
	if !strings.HasSuffix(group, "/"+systemd.UnitName) {
		s.t.Fatalf("the worker is in %s", group)
	}
	s.outlive(shell, worker, group)
}

// groupPanes is how many terminals die at once.
const groupPanes = 3

// F4: whoever kills a control group kills spawnd and every terminal in it at once. The next spawnd says of each that it is lost,
// nothing of it is left, and terminals can be had; so they can of a spawnd that lives, when only theirs is killed.
func killedByGroup(b *booted) {
	s := userService(b, "eve", "")
	s.control("start", systemd.UnitName)
	defer s.control("stop", systemd.UnitName)
	// The service and the slice of the terminals are side by side in one slice.
	all := filepath.Dir(s.control("show", "--property", "ControlGroup", "--value", systemd.UnitName))
	first := s.mainPID()
	s.requireLost(s.killGroup(all, func() { s.awaitNext(first) }))
	second := s.mainPID()
	s.requireLost(s.killGroup(all+"/app-spawn.slice", func() {}))
	if s.mainPID() != second {
		s.t.Error("spawnd has ended with its terminals")
	}
	s.terminal("/bin/sh", "-c", "exec sleep infinity")
}

// killGroup starts terminals, each with a child in the background, and kills a control group that they are in.
func (s *service) killGroup(group string, after func()) (killed []row) {
	s.t.Helper()
	for range groupPanes {
		terminal, worker := s.terminal("/bin/sh", "-c", "setsid sleep infinity & exec sleep infinity")
		if got := s.cgroup(worker); !strings.HasPrefix(got, group+"/") {
			s.t.Fatalf("the worker is in %s, not below %s", got, group)
		}
		killed = append(killed, terminal)
	}
	s.run("sh", "-c", "echo 1 > /sys/fs/cgroup"+group+"/cgroup.kill")
	after()
	return killed
}

// requireLost wants the terminals listed as lost, and takes them away.
func (s *service) requireLost(killed []row) {
	s.t.Helper()
	for _, r := range killed {
		lost := r
		lost.State = "lost"
		if !s.await(stepMax, func() bool { return slices.Contains(s.list(), lost) }) {
			s.t.Fatalf("the terminals are %+v, want %+v", s.list(), lost)
		}
		if found := s.processes(r.SessionID); len(found) > 0 {
			s.t.Errorf("of a lost terminal there is %+v", found)
		}
		if left := s.run("find", "/run/user", "-name", "*"+r.SessionID+"*"); left != "" {
			s.t.Errorf("of a lost terminal there is %s", left)
		}
		s.spawnd("kill", r.ID)
	}
	if rows := s.list(); len(rows) > 0 {
		s.t.Errorf("after all were closed there are %+v", rows)
	}
}
