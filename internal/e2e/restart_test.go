// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"spawn/internal/e2e/rig"
	"spawn/internal/supervisor/verbs"
)

// A restart is TERM, and KILL for who does not care, of the program or of its worker; then the same program is there
// anew, in the same pane, and nothing is left of the one before.
func TestARestartEscalates(t *testing.T) {
	h := rig.NewHost(t)
	d := h.Serve()
	for name, c := range map[string]struct {
		script string
		signal syscall.Signal // to the worker, before
	}{
		"a program that ends":      {"echo up-$$; read x", 0},
		"one that ignores TERM":    {"trap '' TERM; echo up-$$; while :; do read x; done", 0},
		"a worker that is stopped": {"echo up-$$; read x", syscall.SIGSTOP},
		"a worker that is gone":    {"echo up-$$; read x", syscall.SIGKILL},
	} {
		was := h.NewPane(verbs.PaneNewParams{Argv: []string{"/bin/sh", "-c", c.script}, Cwd: h.Dir, Name: "build", Cols: 91, Rows: 17})
		awaitText(h, was.ID, "up-")
		if c.signal != 0 {
			if err := syscall.Kill(was.PID, c.signal); err != nil {
				t.Fatal(err)
			}
		}
		var made verbs.PaneResult
		h.Call(verbs.PaneRestart, verbs.PaneRestartParams{Pane: was.ID}, &made)
		is := made.Pane
		if is.ID != was.ID || is.Name != was.Name || is.State != verbs.PaneRunning || is.Cols != 91 || is.Rows != 17 {
			t.Errorf("%s: before %+v, after %+v", name, was, is)
		}
		if is.SessionID == was.SessionID || is.PID == was.PID {
			t.Errorf("%s: the worker is the one before: %+v", name, is)
		}
		awaitText(h, is.ID, "up-")
		if len(h.Workers()) != 1 || len(h.Leftovers()) > 0 {
			t.Errorf("%s: workers %v, files %v", name, h.Workers(), h.Leftovers())
		}
		h.KillPane(is.ID)
	}
	d.Stop()
	h.AwaitNothingLeft()
}

// awaitText waits until the terminal shows a text.
func awaitText(h *rig.Host, pane, text string) {
	h.T.Helper()
	h.Call(verbs.PaneWait, verbs.PaneWaitParams{Pane: pane, Text: text}, &verbs.PaneWaitResult{})
}

// Nothing is ended for a program that nobody knows: one that an earlier spawnd started has to be named.
func TestARestartOfAnAdoptedTerminalSaysWhatToRun(t *testing.T) {
	h := rig.NewHost(t)
	d := h.Serve()
	was := h.NewPane(verbs.PaneNewParams{Argv: []string{"cat"}})
	d.Kill()
	d = h.Serve()
	err := h.Socket().Call(t.Context(), verbs.PaneRestart, verbs.PaneRestartParams{Pane: was.ID}, &verbs.PaneResult{})
	if refusal := (*verbs.Error)(nil); !errors.As(err, &refusal) || refusal.Code != verbs.CodeNoCommand {
		t.Errorf("error %v", err)
	}
	if now := h.Pane(was.ID); now.PID != was.PID || now.State != verbs.PaneRunning {
		t.Errorf("it has become %+v", now)
	}
	h.Call(verbs.PaneRestart, verbs.PaneRestartParams{Pane: was.ID, Argv: []string{"/bin/sh", "-c", "echo anew; read x"}}, &verbs.PaneResult{})
	awaitText(h, was.ID, "anew")

	// Killed at any moment from here on, the next one finds the worker in its pane.
	was = h.Pane(was.ID)
	d.Kill()
	d = h.Serve()
	if now := h.Panes(); len(now) != 1 || now[0].ID != was.ID || now[0].PID != was.PID {
		t.Errorf("before %+v, after %+v", was, now)
	}
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}

// A program that cannot be started leaves the pane, and says so.
func TestARestartThatFailsKeepsThePane(t *testing.T) {
	h := rig.NewHost(t)
	d := h.Serve()
	was := h.NewPane(verbs.PaneNewParams{Argv: []string{"cat"}})
	said, code := h.Run("pane", "restart", "--pane", was.ID, "--", "/missing/program")
	if code != rig.ExitUnavailable || !strings.Contains(said, "no such program") {
		t.Errorf("exit code %d, %q", code, said)
	}
	if now := h.Pane(was.ID); now.State != verbs.PaneLost || now.ExitCode != nil || now.Signal != "" {
		t.Errorf("it has become %+v", now)
	}
	h.Call(verbs.PaneRestart, verbs.PaneRestartParams{Pane: was.ID, Argv: []string{"cat"}}, &verbs.PaneResult{})
	if now := h.Pane(was.ID); now.State != verbs.PaneRunning {
		t.Errorf("it has become %+v", now)
	}
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}
