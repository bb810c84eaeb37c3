// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spawn/internal/e2e/rig"
	"spawn/internal/supervisor/verbs"
)

// configure writes the settings file.
func configure(h *rig.Host, src string) {
	h.T.Helper()
	folder := filepath.Join(h.Dir, "c", "spawn")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		h.T.Fatal(err)
	}
	// As an editor does it: a new file, and a rename.
	if err := os.WriteFile(folder+"/new", []byte(src), 0o644); err != nil {
		h.T.Fatal(err)
	}
	if err := os.Rename(folder+"/new", folder+"/config.hujson"); err != nil {
		h.T.Fatal(err)
	}
}

func TestFlagsWinOverTheFile(t *testing.T) {
	h := rig.NewHost(t)
	configure(h, `{"serve": {"listen": "127.9.9.9:0"}}`)
	d := h.Serve() // with --listen
	if !strings.HasPrefix(d.URL, "http://127.0.0.1:") {
		t.Errorf("address %s with the flag", d.URL)
	}
	d.Stop()
	d = h.Serve("--listen", "") // as if it were not there
	if !strings.HasPrefix(d.URL, "http://127.9.9.9:") {
		t.Errorf("address %s without", d.URL)
	}
	d.Stop()
}

func TestFaultySettingsAreNotServed(t *testing.T) {
	h := rig.NewHost(t)
	configure(h, "{\n  \"serve\": {\"listen\": \"0.0.0.0:1\"},\n  \"viewers\": {\"max\": 65}\n}\n")
	said, code := h.Run("serve")
	if code != 2 || !strings.Contains(said, "line 2, column 23: serve.listen") || !strings.Contains(said, "line 3, column 22: viewers.max") {
		t.Fatalf("exit %d: %s", code, said)
	}
	if left := h.Processes(); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestChangedSettingsCountForTheNextTerminal(t *testing.T) {
	h := rig.NewHost(t)
	d := h.Serve()
	configure(h, `{"terminal": {"cols": 111, "rows": 22}, "shell": {"command": ["/bin/sh", "-c", "exit 9"]}}`)
	rig.Await(t, "the change is in force", func() bool { return strings.Contains(d.Log.String(), "terminal.cols") })
	pane := h.NewPane(verbs.PaneNewParams{})
	if pane.Cols != 111 || pane.Rows != 22 {
		t.Errorf("size %dx%d", pane.Cols, pane.Rows)
	}
	rig.Await(t, "the command of the settings has ended", func() bool { p := h.Panes()[0]; return p.ExitCode != nil && *p.ExitCode == 9 })

	configure(h, `{"terminal": {"cols": 0}}`)
	rig.Await(t, "the fault is told", func() bool { return strings.Contains(d.Log.String(), "terminal.cols: out of range") })
	if again := h.NewPane(verbs.PaneNewParams{}); again.Cols != 111 {
		t.Errorf("a faulty file changed the size to %d", again.Cols)
	}
	for _, p := range h.Panes() {
		h.Call(verbs.PaneClose, verbs.PaneCloseParams{Pane: p.ID}, &verbs.Empty{})
	}
	d.Stop()
	h.AwaitNothingLeft()
}

// With shutdown.sessions = "terminate" SIGTERM leaves no worker, also of a shell that ignores TERM, and no
// pane; killed, spawnd leaves all as ever.
func TestShutdownMayEndTerminals(t *testing.T) {
	h := rig.NewHost(t)
	configure(h, `{"shutdown": {"sessions": "terminate"}}`)
	d := h.Serve()
	h.NewPane(verbs.PaneNewParams{Argv: []string{"/bin/sh", "-c", "sleep 1000"}})
	h.NewPane(verbs.PaneNewParams{Argv: []string{"/bin/sh", "-c", "trap '' TERM HUP; while :; do sleep 1000; done"}})
	d.Kill()
	d = h.Serve()
	if panes := h.Panes(); len(panes) != 2 || panes[0].State != verbs.PaneRunning || panes[1].State != verbs.PaneRunning {
		t.Fatalf("after SIGKILL: %+v", panes)
	}
	h.NewPane(verbs.PaneNewParams{Argv: []string{"/bin/sh", "-c", "sleep 1000"}}) // one of its own beside adopted ones
	d.Stop()
	h.AwaitNothingLeft()
	d = h.Serve()
	if panes := h.Panes(); len(panes) != 0 {
		t.Errorf("panes came back: %+v", panes)
	}
	d.Stop()
}
