// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// groupsFolder is where the hierarchy of version 2 is mounted, if it is the one that systemd works with.
const groupsFolder = "/sys/fs/cgroup"

// unlimitedMax is how many terminals without their limits are named.
const unlimitedMax = 8

// bound is one limit of a terminal: the setting, and where the kernel tells what is in force.
type bound struct {
	setting string
	wanted  uint64 // 0 is none
	file    string // of the control group
	none    string // what is in it when nothing is limited
}

func boundsOf(e Env) []bound {
	t := e.Effective.Terminal
	all := []bound{
		{"terminal.memory_max_bytes", uint64(t.MemoryMaxBytes), "memory.max", "max"},
		{"terminal.tasks_max", uint64(t.TasksMax), "pids.max", "max"},
		{"terminal.cpu_weight", uint64(t.CPUWeight), "cpu.weight", "100"},
	}
	var wanted []bound
	for _, b := range all {
		if b.wanted != 0 && fmt.Sprint(b.wanted) != b.none {
			wanted = append(wanted, b)
		}
	}
	return wanted
}

// limits compares what the settings say with what the kernel does to each terminal. systemd takes a limit also where the
// controller for it was not handed to the user's manager, and then nothing limits.
func limits(_ context.Context, e Env) Finding {
	wanted := boundsOf(e)
	switch {
	case len(wanted) == 0:
		return ok("the settings limit no terminal")
	case !booted(e):
		return Finding{Warn, "the settings limit terminals, and without systemd nothing does", "Take the limits terminal.* out of the settings, or run under systemd."}
	case e.Daemon == nil:
		return info("spawnd does not run")
	}
	if _, err := e.Files.Read(path.Join(groupsFolder, "cgroup.controllers")); err != nil {
		return info("control groups of version 2 are not in %s: what limits terminals is not looked at", groupsFolder)
	}
	workers, free, untold := 0, []string{}, 0
	for _, w := range e.Daemon.Workers {
		if w.PID == 0 {
			continue
		}
		workers++
		missing, err := missingBounds(e, groupOf(e, w.PID), wanted)
		switch {
		case err != nil:
			untold++
		case len(missing) > 0:
			free = append(free, fmt.Sprintf("%s (%s)", w.Session, strings.Join(missing, ", ")))
		}
	}
	switch {
	case workers == 0:
		return info("no terminal runs")
	case len(free) > unlimitedMax:
		return warn("%d of %s without a limit of the settings, %s first", len(free), terminals(workers), strings.Join(free[:unlimitedMax], ", "))
	case len(free) > 0:
		return warn("%d of %s without a limit of the settings: %s", len(free), terminals(workers), strings.Join(free, ", "))
	case untold > 0:
		return warn("what limits %d of %s cannot be read", untold, terminals(workers))
	}
	return ok("%s limited", eachTerminal(workers))
}

// missingBounds are the settings that nothing keeps for a control group. A controller that is not at work there has no file.
func missingBounds(e Env, group string, wanted []bound) (missing []string, err error) {
	if group == "" {
		return nil, fs.ErrNotExist
	}
	for _, b := range wanted {
		text, err := e.Files.Read(path.Join(groupsFolder, group, b.file))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, b.setting+": no controller")
		case err != nil:
			return nil, err
		case strings.TrimSpace(text) == b.none:
			missing = append(missing, b.setting)
		}
	}
	return missing, nil
}
