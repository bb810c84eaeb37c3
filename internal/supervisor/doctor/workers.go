// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"slices"

	"spawn/internal/sessiond/wire"
)

// lockedMin is the least that a worker may lock, in bytes: its key and the pages beside it.
const lockedMin = 64 << 10

func key(_ context.Context, e Env) Finding {
	soft, _, err := e.Limits.Limit(LockedMemory)
	small := err == nil && soft < lockedMin
	workers, unlocked := 0, 0
	if e.Daemon != nil {
		for _, w := range e.Daemon.Workers {
			if w.PID == 0 {
				continue
			}
			if workers++; !slices.Contains(w.Capabilities, wire.CapLockedKey) {
				unlocked++
			}
		}
	}
	switch {
	case unlocked > 0:
		return warn("%d of %s could not lock the key in memory", unlocked, terminals(workers))
	case small:
		return warn("only %d bytes may be locked in memory", soft)
	case workers > 0:
		return ok("%s with its key locked in memory", eachTerminal(workers))
	case err != nil:
		return info("this system does not tell how much may be locked in memory")
	}
	return ok("enough memory may be locked for the keys of logs")
}

func version(ctx context.Context, e Env) Finding {
	if e.Daemon == nil {
		return info("spawnd does not run")
	}
	var living []Worker
	var refused []string
	for _, w := range e.Daemon.Workers {
		switch {
		case w.Refused != "":
			refused = append(refused, w.Session+" ("+w.Refused+")")
		case w.PID != 0:
			living = append(living, w)
		}
	}
	switch {
	case len(refused) > 0:
		return warn("not adopted, and left alone: %v", refused)
	case len(living) == 0:
		return info("no terminal runs")
	}
	newest, err := e.Canary.Capabilities(ctx)
	if err != nil {
		return fail("what a worker of this build can do is not known: %v", err)
	}
	older := slices.DeleteFunc(slices.Clone(living), func(w Worker) bool { return !lacks(w.Capabilities, newest) })
	if len(older) > 0 {
		return info("%d of %s on an older worker, without what is new, %s first", len(older), terminals(len(living)), older[0].Session)
	}
	return ok("%s, able to do all that this build can", terminals(len(living)))
}

func terminals(n int) string {
	if n == 1 {
		return "1 terminal"
	}
	return fmt.Sprintf("%d terminals", n)
}

// eachTerminal is followed by what is true of every one.
func eachTerminal(n int) string {
	if n == 1 {
		return "1 terminal"
	}
	return fmt.Sprintf("%d terminals, each", n)
}

// lacks reports whether a worker can do less than one of this build. That its key is not locked is another
// check's matter.
func lacks(has, newest []string) bool {
	return slices.ContainsFunc(newest, func(c string) bool { return c != wire.CapLockedKey && !slices.Contains(has, c) })
}

func canary(ctx context.Context, e Env) Finding {
	if err := e.Canary.Survive(ctx); err != nil {
		return fail("a terminal did not outlive its supervisor: %v", err)
	}
	return ok("a terminal outlived its supervisor, was adopted, heard a word and repeated it")
}
