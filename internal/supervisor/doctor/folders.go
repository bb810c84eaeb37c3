// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

const (
	// spaceWarn is the room below which a terminal's log, 8 MiB at most, soon does not fit any more;
	// spaceFail that in which nothing can be relied on.
	spaceWarn = 128 << 20
	spaceFail = 4 << 20
)

func settingsFile(_ context.Context, e Env) Finding {
	found, err := e.Settings.Check()
	if err != nil {
		return fail("%v", err)
	}
	if !found.OK {
		return fail("%s: %v", found.File, found.Problems)
	}
	if live, is := e.Settings.(reloaded); is {
		switch out := live.LastOutcome(); {
		case !out.OK:
			return Finding{Error, "the last reload failed: " + outcomeText(out.Error, out.Problems.Error()), "Reload again; spawnd goes on with what it has."}
		case len(out.NeedsRestart) > 0:
			return info("waits for the next start of spawnd: %v", out.NeedsRestart)
		}
	}
	return ok("%s is fine", found.File)
}

func outcomeText(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return "unknown"
}

// folder checks that a folder is private to the user and, where it should be, in memory.
func folder(of func(Env) string, memory bool) func(context.Context, Env) Finding {
	return func(_ context.Context, e Env) Finding {
		path := of(e)
		st, err := e.Files.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return info("%s is not there yet; spawnd makes it", path)
		}
		if err == nil {
			err = private(e, path, st)
		}
		if err != nil {
			return fail("%s: %v", path, err)
		}
		if !memory {
			return ok("%s is yours alone", path)
		}
		at, err := e.Files.Space(path)
		switch {
		case err != nil:
			return fail("%s: %v", path, err)
		case !at.Memory:
			return Finding{Warn, path + " is yours alone, but on a disk", "Name a folder in memory, such as one below /run/user: XDG_RUNTIME_DIR for both, SPAWND_WORKER_DIR for workers."}
		}
		return ok("%s is yours alone, in memory", path)
	}
}

// private says why a folder is not one to trust.
func private(e Env, path string, st FileStat) error {
	switch {
	case st.Mode&fs.ModeSymlink != 0:
		return errors.New("it is a link")
	case !st.Mode.IsDir():
		return errors.New("it is not a folder")
	case st.UID != e.Account.UID:
		return fmt.Errorf("it belongs to uid %d, not %d", st.UID, e.Account.UID)
	case st.Mode.Perm()&0o077 != 0:
		return fmt.Errorf("its mode %04o lets others in", st.Mode.Perm())
	}
	above, err := e.Files.Stat(filepath.Dir(path))
	switch {
	case err != nil:
		return err
	case above.UID != 0 && above.UID != e.Account.UID:
		return fmt.Errorf("the folder above belongs to uid %d, who may swap it", above.UID)
	case above.Mode&fs.ModeSticky != 0:
	case above.Mode.Perm()&0o002 != 0:
		return errors.New("anybody may swap it: the folder above lets everyone write and is not sticky")
	case above.Mode.Perm()&0o020 != 0 && above.GID != above.UID: // a group of the user's own number has no other member
		return fmt.Errorf("group %d may swap it: the folder above lets it write and is not sticky", above.GID)
	}
	return nil
}

func space(of func(Env) string) func(context.Context, Env) Finding {
	return func(_ context.Context, e Env) Finding {
		path := of(e)
		at, err := e.Files.Space(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return info("%s is not there yet", path)
		case err != nil:
			return fail("%s: %v", path, err)
		case at.Free < spaceFail:
			return fail("%s free at %s", amount(at.Free), path)
		case at.Free < spaceWarn:
			return warn("%s free at %s", amount(at.Free), path)
		}
		return ok("%s free at %s", amount(at.Free), path)
	}
}

func amount(bytes uint64) string {
	if bytes >= 10<<30 {
		return fmt.Sprintf("%d GiB", bytes>>30)
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}
