// SPDX-License-Identifier: Apache-2.0

package systemd_test

import (
	"strings"
	"testing"

	"spawn/packaging/systemd"
)

// lingerFile stands for `loginctl enable-linger`, whose logind is not in the boot.
const lingerFile = "/var/lib/systemd/linger/"

// checked are those that a systemd decides.
var checked = []string{"systemd.unit", "systemd.linger", "worker.scope", "worker.canary"}

// findings runs the doctor for people and returns its lines by check, each from its status on.
func (s *service) findings() map[string]string {
	s.t.Helper()
	args := []string{"doctor"}
	for _, name := range checked {
		args = append(args, "--checks", name)
	}
	said := s.spawnd(args...)
	s.t.Logf("\n%s", said)
	lines := map[string]string{}
	for line := range strings.Lines(said) {
		if words := strings.Fields(line); len(words) > 2 && strings.Contains(words[1], ".") {
			lines[words[1]] = words[0] + " " + strings.Join(words[2:], " ")
		}
	}
	return lines
}

// finds wants what each check says to hold a text.
func (s *service) finds(when string, want map[string]string) {
	s.t.Helper()
	got := s.findings()
	for check, text := range want {
		if !strings.HasPrefix(got[check], text) {
			s.t.Errorf("%s, %s says %q, want %q", when, check, got[check], text)
		}
	}
}

const survived = "ok a terminal outlived its supervisor"

// The doctor tells of a real systemd what is true of it, and leaves no scope of its canary behind.
func TestTheDoctorKnowsSystemd(t *testing.T) {
	b := boot(t)
	install(b)
	for _, part := range []struct {
		name string
		run  func(*booted)
	}{{"a user's service", doctorOfAUser}, {"without scopes", doctorWithoutScopes}, {"the system's service", doctorOfTheSystem}} {
		t.Run(part.name, func(t *testing.T) {
			inner := *b
			inner.t = t
			part.run(&inner)
		})
	}
}

func doctorOfAUser(b *booted) {
	s := userService(b, "cyn", "")
	s.finds("before there is a spawnd", map[string]string{
		"systemd.unit": "info spawnd does not run", "systemd.linger": "warn lingering is off", "worker.scope": "info spawnd does not run", "worker.canary": survived,
	})
	s.control("start", systemd.UnitName)
	defer s.control("stop", systemd.UnitName)
	s.finds("without a terminal", map[string]string{
		"systemd.unit": "ok spawnd.service has KillMode=process", "systemd.linger": "warn lingering is off", "worker.scope": "info no terminal runs", "worker.canary": survived,
	})
	shell, _ := s.terminal("/bin/sh", "-c", "exec sleep infinity")
	b.write(lingerFile+"cyn", "", 0o644)
	b.write("/etc/systemd/user/"+systemd.UnitName+".d/kill.conf", "[Service]\nKillMode=control-group\n", 0o644)
	s.control("daemon-reload")
	s.finds("with a terminal, lingering and another KillMode", map[string]string{
		"systemd.unit": `warn spawnd.service has KillMode="control-group"`, "systemd.linger": "ok lingering is on", "worker.scope": "ok 1 terminal in a scope of its own", "worker.canary": survived,
	})
	var left string
	alone := func() bool { // systemd takes a moment to see that a scope is empty
		left = s.control("list-units", "--plain", "--no-legend", "--all", "spawn-worker-*")
		return !strings.Contains(left, "\n") && strings.Contains(left, shell.SessionID)
	}
	if !s.await(stepMax, alone) {
		s.t.Errorf("scopes there are: %s", left)
	}
	s.run("rm", "-r", "/etc/systemd/user/"+systemd.UnitName+".d")
	s.control("daemon-reload")

	s.spawnd("server", "shutdown", "--sessions", "terminate")
	if !s.await(stepMax, func() bool { return s.control("show", "--property", "SubState", "--value", systemd.UnitName) == "dead" }) {
		s.t.Errorf("systemd does not take the end for one: %s", s.control("show", "--property", "SubState,Result", systemd.UnitName))
	}
	if found := s.processes(shell.SessionID); len(found) > 0 {
		s.t.Errorf("after server.shutdown there is %+v", found)
	}
}

func doctorWithoutScopes(b *booted) {
	s := userService(b, "dan", "elsewhere")
	s.control("start", systemd.UnitName)
	defer s.control("stop", systemd.UnitName)
	s.terminal("/bin/sh", "-c", "exec sleep infinity")
	s.finds("where no manager answers", map[string]string{
		"systemd.unit": "ok spawnd.service has KillMode=process", "worker.scope": "warn 1 terminal without a scope of its own, 1 of them in the control group of spawnd", "worker.canary": survived,
	})
}

func doctorOfTheSystem(b *booted) {
	s := systemService(b)
	s.control("start", systemd.UnitName)
	defer s.control("stop", systemd.UnitName)
	s.terminal("/bin/sh", "-c", "exec sleep infinity")
	s.finds("of the system", map[string]string{
		"systemd.unit": "ok spawnd.service has KillMode=process", "systemd.linger": "ok a service of the system does not end with a login", "worker.scope": "ok 1 terminal in a scope of its own", "worker.canary": survived,
	})
}
