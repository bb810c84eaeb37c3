// SPDX-License-Identifier: Apache-2.0

package systemd_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"spawn/internal/unmet"
	"spawn/packaging/systemd"
)

func shipped(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(systemd.UnitName)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// directives are the settings of a unit, by section and name. A setting that stands twice is an error.
func directives(t *testing.T, unit string) map[string]string {
	t.Helper()
	found := map[string]string{}
	section := ""
	for line := range strings.Lines(unit) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		case !ok || found[section+"."+name] != "":
			t.Fatalf("line %q", line)
		default:
			found[section+"."+name] = value
		}
	}
	return found
}

func TestTheUnitLetsTerminalsOutliveTheService(t *testing.T) {
	got := directives(t, shipped(t))
	for name, want := range map[string]string{
		"Service.Type": "notify", "Service.ExecStart": "/usr/bin/spawnd serve", "Service.KillMode": "process", "Service.Restart": "on-failure",
		"Service.OOMPolicy": "continue", "Service.LimitCORE": "0:infinity", "Service.LimitNOFILE": "1024:524288", "Install.WantedBy": "default.target",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	// Each of these would reach into living shells, or take something away from under them.
	for _, harmful := range []string{
		"RuntimeDirectory", "PrivateTmp", "NoNewPrivileges", "UMask", "ProtectSystem", "ProtectHome", "PrivateDevices", "DynamicUser", "WatchdogSec",
		"SystemCallFilter", "RestrictNamespaces", "MemoryDenyWriteExecute", "TasksMax", "MemoryMax", "CPUQuota", "ExecStop", "ExecStopPost",
	} {
		if value, there := got["Service."+harmful]; there {
			t.Errorf("%s is set, to %q", harmful, value)
		}
	}
}

// analyze runs systemd-analyze verify, whose exit code says nothing about misspelt values: only its
// silence does.
func analyze(t *testing.T, unit string, scope ...string) string {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		unmet.Skip(t, "systemd-analyze is not installed")
	}
	path := filepath.Join(t.TempDir(), systemd.UnitName)
	if err := os.WriteFile(path, []byte(unit), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("systemd-analyze", append(append([]string{"verify"}, scope...), path)...)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		return err.Error() + ": " + string(out)
	}
	return string(out)
}

func TestSystemdUnderstandsTheUnit(t *testing.T) {
	for _, folder := range []string{"plain", "with a space", "50%h"} {
		program := filepath.Join(t.TempDir(), folder, "spawnd")
		if err := errors.Join(os.Mkdir(filepath.Dir(program), 0o755), os.WriteFile(program, []byte("#!/bin/true\n"), 0o755)); err != nil {
			t.Fatal(err)
		}
		unit, err := systemd.Unit(program)
		if err != nil {
			t.Fatal(err)
		}
		for _, scope := range [][]string{{"--user"}, nil} {
			if said := analyze(t, unit, scope...); said != "" {
				t.Errorf("%s %v: %s", folder, scope, said)
			}
		}
		if said := analyze(t, strings.Replace(unit, "KillMode=process", "KillMode=proces", 1)); said == "" {
			t.Fatal("a misspelt value goes unnoticed: this test tests nothing")
		}
	}
}

func TestUnitNamesTheProgram(t *testing.T) {
	for path, want := range map[string]string{
		"/opt/spawn/spawnd": "ExecStart=/opt/spawn/spawnd serve\n",
		"/home/a b/spawnd":  "ExecStart=\"/home/a b/spawnd\" serve\n",
		"/home/50%/spawnd":  "ExecStart=/home/50%%/spawnd serve\n",
	} {
		got, err := systemd.Unit(path)
		if err != nil || !strings.Contains(got, want) || strings.Contains(got, "/usr/bin/spawnd") {
			t.Errorf("Unit(%q) has no %q: %v", path, want, err)
		}
	}
	for _, bad := range []string{"", "spawnd", "./spawnd", "/a/../spawnd", "/a\nExecStart=/bin/sh", "/a\"b", "/a'b", "/$HOME/spawnd", "/a\\b", "/a\x1b", "/\xff"} {
		if got, err := systemd.Unit(bad); !errors.Is(err, systemd.ErrPath) {
			t.Errorf("Unit(%q) = %d bytes, %v", bad, len(got), err)
		}
	}
}
