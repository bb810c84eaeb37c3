// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"errors"
	"testing"
)

func TestWhichManagerIsAsked(t *testing.T) {
	cases := []struct {
		name, runtime string
		uid           int
		cgroups       string
		want          place
	}{
		{"system service", "", 0, "0::/system.slice/spawnd.service\n", place{systemSocket, systemSlice}},
		{"root in a login session", "/run/user/0", 0, "0::/user.slice/user-0.slice/session-1.scope\n", place{systemSocket, systemSlice}},
		{"root's user service", "/run/user/0", 0, "0::/user.slice/user-0.slice/user@0.service/app.slice/spawnd.service\n", place{"/run/user/0/systemd/private", userSlice}},
		{"user service", "/run/user/7", 7, "0::/user.slice/user-7.slice/user@7.service/app.slice/spawnd.service\n", place{"/run/user/7/systemd/private", userSlice}},
		{"login session", "/run/user/7", 7, "0::/user.slice/user-7.slice/session-1.scope\n", place{"/run/user/7/systemd/private", userSlice}},
		{"no variable", "", 7, "0::/\n", place{"/run/user/7/systemd/private", userSlice}},
		{"relative variable", "x", 7, "0::/\n", place{"/run/user/7/systemd/private", userSlice}},
		{"two hierarchies", "/r", 0, "1:name=systemd:/user.slice/user-0.slice/user@0.service\n0::/\n", place{"/r/systemd/private", userSlice}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := placeOf(func(string) string { return c.runtime }, c.uid, c.cgroups)
			if got != c.want {
				t.Fatalf("placeOf = %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestInScopeWantsTheWholeName(t *testing.T) {
	for cgroups, want := range map[string]bool{
		"0::/spawn.slice/a.scope\n":                    true,
		"2:cpu:/\n1:name=systemd:/spawn.slice/a.scope": true,
		"0::/spawn.slice/ba.scope\n":                   false,
		"0::/spawn.slice/a.scope/below\n":              false,
		"0::/system.slice/spawnd.service\n":            false,
		"":                                             false,
	} {
		if got := inScope(cgroups, "a.scope"); got != want {
			t.Errorf("inScope(%q) = %v", cgroups, got)
		}
	}
}

func TestScopeNames(t *testing.T) {
	for name, ok := range map[string]bool{"spawn-worker-00000000-0000-4000-8000-000000000001.scope": true, "a.service": false, "a/b.scope": false, ".scope": false, "a b.scope": false, "": false} {
		if err := checkName(name); (err == nil) != ok {
			t.Errorf("checkName(%q) = %v", name, err)
		}
	}
}

func TestDetectSaysWhenThereIsNone(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	m, err := Detect(t.Context())
	if err != nil && !errors.Is(err, ErrUnreachable) || (m == nil) != (err != nil) {
		t.Fatalf("Detect = %v, %v", m, err)
	}
}

func TestLimitsLeaveATerminalRoomToLive(t *testing.T) {
	for _, good := range []Limits{{}, {MemoryMaxBytes: memoryLeastBytes, TasksMax: tasksLeast, CPUWeight: 1}, {CPUWeight: cpuWeightMax}} {
		if err := good.Check(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for _, bad := range []Limits{{MemoryMaxBytes: memoryLeastBytes - 1}, {TasksMax: tasksLeast - 1}, {CPUWeight: cpuWeightMax + 1}} {
		if bad.Check() == nil {
			t.Errorf("%+v is allowed", bad)
		}
	}
}
