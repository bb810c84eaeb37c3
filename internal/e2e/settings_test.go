// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spawn/internal/supervisor/verbs"
)

// configure writes the settings file.
func (h *host) configure(src string) {
	h.t.Helper()
	folder := filepath.Join(h.dir, "c", "spawn")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		h.t.Fatal(err)
	}
	// As an editor does it: a new file, and a rename.
	if err := os.WriteFile(folder+"/new", []byte(src), 0o644); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Rename(folder+"/new", folder+"/config.hujson"); err != nil {
		h.t.Fatal(err)
	}
}

func TestFlagsWinOverTheFile(t *testing.T) {
	h := newHost(t)
	h.configure(`{"serve": {"listen": "127.9.9.9:0"}}`)
	d := h.serve() // with --listen
	if !strings.HasPrefix(d.url, "http://127.0.0.1:") {
		t.Errorf("address %s with the flag", d.url)
	}
	d.stop()
	d = h.serve("--listen", "") // as if it were not there
	if !strings.HasPrefix(d.url, "http://127.9.9.9:") {
		t.Errorf("address %s without", d.url)
	}
	d.stop()
}

func TestFaultySettingsAreNotServed(t *testing.T) {
	h := newHost(t)
	h.configure("{\n  \"serve\": {\"listen\": \"0.0.0.0:1\"},\n  \"viewers\": {\"max\": 65}\n}\n")
	said, code := h.run("serve")
	if code != 2 || !strings.Contains(said, "line 2, column 23: serve.listen") || !strings.Contains(said, "line 3, column 22: viewers.max") {
		t.Fatalf("exit %d: %s", code, said)
	}
	if left := h.processes(); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestChangedSettingsCountForTheNextTerminal(t *testing.T) {
	h := newHost(t)
	d := h.serve()
	h.configure(`{"terminal": {"cols": 111, "rows": 22}, "shell": {"command": ["/bin/sh", "-c", "exit 9"]}}`)
	await(t, "the change is in force", func() bool { return strings.Contains(d.log.String(), "terminal.cols") })
	pane := h.newPane(verbs.PaneNewParams{})
	if pane.Cols != 111 || pane.Rows != 22 {
		t.Errorf("size %dx%d", pane.Cols, pane.Rows)
	}
	await(t, "the command of the settings has ended", func() bool { p := h.panes()[0]; return p.ExitCode != nil && *p.ExitCode == 9 })

	h.configure(`{"terminal": {"cols": 0}}`)
	await(t, "the fault is told", func() bool { return strings.Contains(d.log.String(), "terminal.cols: out of range") })
	if again := h.newPane(verbs.PaneNewParams{}); again.Cols != 111 {
		t.Errorf("a faulty file changed the size to %d", again.Cols)
	}
	for _, p := range h.panes() {
		h.call(verbs.PaneClose, verbs.PaneCloseParams{Pane: p.ID}, &verbs.Empty{})
	}
	d.stop()
	h.awaitNothingLeft()
}

// With shutdown.sessions = "terminate" SIGTERM leaves no worker, also of a shell that ignores TERM, and no
// pane; killed, spawnd leaves all as ever.
func TestShutdownMayEndTerminals(t *testing.T) {
	h := newHost(t)
	h.configure(`{"shutdown": {"sessions": "terminate"}}`)
	d := h.serve()
	h.newPane(verbs.PaneNewParams{Argv: []string{"/bin/sh", "-c", "sleep 1000"}})
	h.newPane(verbs.PaneNewParams{Argv: []string{"/bin/sh", "-c", "trap '' TERM HUP; while :; do sleep 1000; done"}})
	d.kill()
	d = h.serve()
	if panes := h.panes(); len(panes) != 2 || panes[0].State != verbs.PaneRunning || panes[1].State != verbs.PaneRunning {
		t.Fatalf("after SIGKILL: %+v", panes)
	}
	h.newPane(verbs.PaneNewParams{Argv: []string{"/bin/sh", "-c", "sleep 1000"}}) // one of its own beside adopted ones
	d.stop()
	h.awaitNothingLeft()
	d = h.serve()
	if panes := h.panes(); len(panes) != 0 {
		t.Errorf("panes came back: %+v", panes)
	}
	d.stop()
}
