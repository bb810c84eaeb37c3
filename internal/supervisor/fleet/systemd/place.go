// SPDX-License-Identifier: Apache-2.0

// Package systemd gives a process a scope of its own, so that a stop, a limit or an OOM kill of the
// service that started it does not reach it.
package systemd

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// ErrUnreachable means that no service manager answers to this process. Processes then stay where they
// were started, and the unit's KillMode=process is what keeps them over a restart.
var ErrUnreachable = errors.New("no service manager can be reached")

const (
	systemSocket = "/run/systemd/private"
	// The slices are parents of our own, so that one line of configuration limits all terminals together.
	systemSlice = "spawn.slice"
	userSlice   = "app-spawn.slice"
)

// Limits bound what the processes of one scope use together. Zero is no limit.
type Limits struct {
	MemoryMaxBytes uint64 // MemoryMax=
	TasksMax       uint64 // TasksMax=, processes and threads
	CPUWeight      uint64 // CPUWeight=, 1 to 10000
}

// place is which manager to ask, and under which slice our scopes go.
type place struct{ socket, slice string }

// underUserManager matches the control group of all that a `systemd --user` started.
var underUserManager = regexp.MustCompile(`(?m)/user@[0-9]+\.service(/|$)`)

// placeOf decides from the control groups of this process, as /proc/self/cgroup shows them. A process of
// a user manager belongs to it, root's too. Of the others, root asks the system's manager; anybody else
// asks their own, which may be there although this process began in a login session.
func placeOf(getenv func(string) string, uid int, cgroups string) place {
	if uid == 0 && !underUserManager.MatchString(cgroups) {
		return place{systemSocket, systemSlice}
	}
	runtime := getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(runtime) {
		runtime = filepath.Join("/run/user", strconv.Itoa(uid))
	}
	return place{filepath.Join(runtime, "systemd/private"), userSlice}
}

// inScope reports whether the control groups, as /proc/PID/cgroup shows them, end in the scope.
func inScope(cgroups, scope string) bool {
	for line := range strings.Lines(cgroups) {
		if strings.HasSuffix(strings.TrimSuffix(line, "\n"), "/"+scope) {
			return true
		}
	}
	return false
}

var scopeName = regexp.MustCompile(`^[a-zA-Z0-9:_.-]{1,200}\.scope$`)

func checkName(name string) error {
	if !scopeName.MatchString(name) {
		return fmt.Errorf("check scope name %q: not a unit name", name)
	}
	return nil
}
