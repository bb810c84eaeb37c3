// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
)

const (
	bootedFolder = "/run/systemd/system" // there exactly when systemd runs the system: sd_booted(3)
	lingerFolder = "/var/lib/systemd/linger"
)

func booted(e Env) bool {
	_, err := e.Files.Stat(bootedFolder)
	return err == nil
}

// groupOf is the control group that systemd keeps a process in, or "" when it cannot be told: in the
// hierarchy of version 2, unless everything is at its root there, else in systemd's own of version 1. A
// kernel may have both, one of them unused.
func groupOf(e Env, pid int) string {
	text, err := e.Files.Read(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return ""
	}
	unified, named := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if rest, found := strings.CutPrefix(line, "0::"); found {
			unified = rest
		} else if _, rest, found := strings.Cut(line, ":name=systemd:"); found {
			named = rest
		}
	}
	if unified == "/" && named != "" {
		return named
	}
	return cmp.Or(unified, named)
}

var (
	underUserManager = regexp.MustCompile(`/user@[0-9]+\.service/`)
	unitName         = regexp.MustCompile(`^[a-zA-Z0-9:_.@-]{1,200}\.service$`)
)

// unit asks what systemd will do to spawnd's control group when it stops the service.
func unit(ctx context.Context, e Env) Finding {
	if !booted(e) {
		return info("no systemd runs this system")
	}
	if e.Daemon == nil {
		return info("spawnd does not run")
	}
	group := groupOf(e, e.Daemon.PID)
	name := path.Base(group)
	if !unitName.MatchString(name) {
		return info("spawnd does not run as a service")
	}
	args := []string{"show", "--property=KillMode", "--value", name}
	if underUserManager.MatchString(group) {
		args = append([]string{"--user"}, args...)
	}
	said, err := e.Commands.Run(ctx, "systemctl", args...)
	if err != nil {
		return Finding{Warn, fmt.Sprintf("the KillMode of %s cannot be asked for: %v", name, err),
			"Let XDG_RUNTIME_DIR of spawnd be the one that the user's manager uses."}
	}
	switch mode := strings.TrimSpace(said); {
	case mode == "process" || mode == "none":
		return ok("%s has KillMode=%s", name, mode)
	case sharing(e, group) > 0:
		return fail("%s has KillMode=%q: a restart ends %s", name, mode, terminals(sharing(e, group)))
	default:
		return warn("%s has KillMode=%q: a terminal that gets no scope of its own ends with a restart", name, mode)
	}
}

// sharing counts the workers in that control group.
func sharing(e Env, group string) int {
	n := 0
	for _, w := range e.Daemon.Workers {
		if w.PID != 0 && group != "" && groupOf(e, w.PID) == group {
			n++
		}
	}
	return n
}

func linger(_ context.Context, e Env) Finding {
	if !booted(e) {
		return info("no systemd runs this system, so none ends terminals at logout")
	}
	pid := os.Getpid()
	if e.Daemon != nil {
		pid = e.Daemon.PID
	}
	if group := groupOf(e, pid); strings.HasPrefix(group, "/system.slice/") {
		return ok("a service of the system does not end with a login")
	}
	if e.Account.Name == "" || strings.ContainsRune(e.Account.Name, '/') {
		return warn("the account has no name to look up")
	}
	if _, err := e.Files.Stat(path.Join(lingerFolder, e.Account.Name)); err != nil {
		return warn("lingering is off for this user")
	}
	return ok("lingering is on for this user")
}

func scope(_ context.Context, e Env) Finding {
	if e.Daemon == nil {
		return info("spawnd does not run")
	}
	own := groupOf(e, e.Daemon.PID)
	workers, scoped, shared := 0, 0, 0
	for _, w := range e.Daemon.Workers {
		if w.PID == 0 {
			continue
		}
		workers++
		switch group := groupOf(e, w.PID); {
		case path.Base(group) == w.Scope:
			scoped++
		case group == own:
			shared++
		}
	}
	switch {
	case workers == 0:
		return info("no terminal runs")
	case scoped == workers:
		return ok("%s in a scope of its own", eachTerminal(workers))
	case !booted(e):
		return info("no systemd: %s in the control group of spawnd", terminals(shared))
	}
	return warn("%s without a scope of its own, %d of them in the control group of spawnd", terminals(workers-scoped), shared)
}
