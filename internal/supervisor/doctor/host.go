// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

const (
	filesMin     = 4096 // descriptors for some hundred terminals with viewers
	tasksMin     = 256  // processes that should still fit
	watchesMin   = 8192 // of inotify; a middling source tree
	instancesMin = 128
	ptysMin      = 32 // PTYs that should still fit

	// clockDrift is how far wall clock and running time may part before it is worth a word. Time asleep
	// counts for one and not for the other.
	clockDrift = time.Minute
)

// built is before any time at which this program can run.
var built = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

func openFiles(_ context.Context, e Env) Finding {
	soft, hard, err := e.Limits.Limit(OpenFiles)
	switch {
	case err != nil:
		return info("this system does not tell the limit")
	case hard < filesMin:
		return warn("at most %d open files", hard)
	case soft == hard:
		return ok("%s open files", count(soft))
	}
	return ok("%s open files, %s if a program asks", count(soft), count(hard))
}

func count(n uint64) string {
	if n == Unlimited {
		return "any number of"
	}
	return strconv.FormatUint(n, 10)
}

func tasks(_ context.Context, e Env) Finding {
	if left, found := tasksLeft(e); found && left < tasksMin {
		return warn("only %d more tasks fit into the control group", left)
	}
	soft, _, err := e.Limits.Limit(Processes)
	switch {
	case err != nil:
		return info("this system does not tell the limit")
	case soft < tasksMin && e.Account.UID != 0: // root is not bound by it
		return warn("at most %d processes of this user", soft)
	}
	return ok("room for %s processes", count(soft))
}

// tasksLeft is the least that still fits into spawnd's control group and those above it.
func tasksLeft(e Env) (uint64, bool) {
	pid := os.Getpid()
	if e.Daemon != nil {
		pid = e.Daemon.PID
	}
	text, err := e.Files.Read("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return 0, false
	}
	least, found := Unlimited, false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		root, group := "", ""
		if rest, is := strings.CutPrefix(line, "0::"); is {
			root, group = "/sys/fs/cgroup", rest
		} else if _, rest, is := strings.Cut(line, ":pids:"); is {
			root, group = "/sys/fs/cgroup/pids", rest
		} else {
			continue
		}
		for ; group != "/" && group != "." && group != ""; group = path.Dir(group) {
			most, known := number(e, root+group+"/pids.max") // "max" is no number, and no limit
			now, counted := number(e, root+group+"/pids.current")
			if known && counted {
				least, found = min(least, most-min(most, now)), true
			}
		}
	}
	return least, found
}

func number(e Env, file string) (uint64, bool) {
	text, err := e.Files.Read(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	return n, err == nil
}

func inotify(_ context.Context, e Env) Finding {
	watches, one := number(e, "/proc/sys/fs/inotify/max_user_watches")
	instances, two := number(e, "/proc/sys/fs/inotify/max_user_instances")
	switch {
	case !one || !two:
		return info("this system has no inotify")
	case watches < watchesMin || instances < instancesMin:
		return warn("%d watches and %d instances for each user", watches, instances)
	}
	return ok("%d watches and %d instances for each user", watches, instances)
}

func pty(_ context.Context, e Env) Finding {
	if err := e.Files.Open("/dev/ptmx"); err != nil {
		return fail("no terminal can be made: %v", err)
	}
	most, one := number(e, "/proc/sys/kernel/pty/max")
	now, two := number(e, "/proc/sys/kernel/pty/nr")
	if one && two && most-min(most, now) < ptysMin {
		return warn("%d of %d are taken", now, most)
	}
	return ok("terminals can be made")
}

func shell(_ context.Context, e Env) Finding {
	program := e.Account.Shell
	if len(e.Effective.Shell.Command) > 0 {
		program = e.Effective.Shell.Command[0]
	}
	st, err := e.Files.Stat(program)
	switch {
	case err != nil:
		return fail("%v", err)
	case !st.Mode.IsRegular() || st.Mode.Perm()&0o111 == 0:
		return fail("%s is no program", program)
	}
	return ok("%s is there", program)
}

func clock(_ context.Context, e Env) Finding {
	now := e.Clock.Now()
	if now.Before(built) {
		return fail("it is %s, before this program was made", now.Format(time.DateOnly))
	}
	if e.Daemon == nil {
		return ok("it is %s UTC", now.UTC().Format(time.DateTime))
	}
	passed := now.Round(0).Sub(e.Daemon.Started.Round(0))
	switch drift := (passed - e.Clock.Running()).Round(time.Second); {
	case drift < -clockDrift:
		return warn("the clock was set back by %v since spawnd started: what expires lives longer", -drift)
	case drift > clockDrift:
		return info("the clock is %v ahead of the running time: the machine slept, or the clock was set", drift)
	}
	return ok("it is %s UTC, and the clock was not set since spawnd started", now.UTC().Format(time.DateTime))
}
