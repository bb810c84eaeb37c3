// SPDX-License-Identifier: Apache-2.0

package supervisor_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/supervisor"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

// host is a spawnd in this process, with real workers.
type host struct {
	*testing.T
	s      *supervisor.Supervisor
	socket dial.Socket
	signal context.CancelFunc // as SIGTERM does
	served chan error
}

func start(t *testing.T, o supervisor.Options) *host {
	t.Helper()
	s, err := supervisor.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	h := &host{t, s, dial.Socket{Path: o.Getenv("XDG_RUNTIME_DIR") + "/spawn/spawnd.sock", CheckPeer: endpoint.CheckPeer}, cancel, make(chan error, 1)}
	go func() { h.served <- s.Serve(ctx) }()
	return h
}

func (h *host) call(verb string, params, result any) {
	h.Helper()
	if err := h.socket.Call(h.Context(), verb, params, result); err != nil {
		h.Fatal(err)
	}
}

// terminal starts one whose shell runs the script, and returns its worker's session when it does: a worker
// that is ended before its program runs knows of no end.
func (h *host) terminal(script string) string {
	h.Helper()
	runs := filepath.Join(h.TempDir(), "runs")
	var made verbs.PaneResult
	h.call(verbs.PaneNew, verbs.PaneNewParams{Argv: []string{"/bin/sh", "-c", "echo > " + runs + "; " + script}}, &made)
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		if _, err := os.Lstat(runs); err == nil {
			return made.Pane.SessionID
		}
		select {
		case <-look.C:
		case <-h.Context().Done():
			h.Fatal("the program does not start")
		}
	}
}

// ended waits for the end of Serve, closes, and returns what Serve said.
func (h *host) ended() error {
	h.Helper()
	err := <-h.served
	if closed := h.s.Close(); closed != nil {
		h.Fatal(closed)
	}
	return err
}

// alive reports whether a process has the text in its command line.
func alive(t *testing.T, text string) bool {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		if line, err := os.ReadFile(path); err == nil && strings.Contains(string(line), text) {
			return true
		}
	}
	return false
}

// filesIn are the names in a folder.
func filesIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// One that ignores TERM is killed behind killedAfter. endMax is what systemd gives the whole.
const killedAfter, endMax = 2 * time.Second, 10 * time.Second

// Whoever wants the terminals to end: they have ended, each end is known, and then nothing of them is left.
func TestTheEndOfAllTerminals(t *testing.T) {
	lost := errors.New("a checkpoint could not be written")
	for _, way := range []struct {
		name     string
		settings string
		end      func(*host)
		word     error
	}{
		{"asked to", ``, func(h *host) {
			h.call(verbs.ServerShutdown, verbs.ServerShutdownParams{Sessions: "terminate"}, &verbs.Empty{})
		}, nil},
		{"asked, as the settings say", `{"shutdown": {"sessions": "terminate"}}`, func(h *host) {
			h.call(verbs.ServerShutdown, verbs.ServerShutdownParams{}, &verbs.Empty{})
		}, nil},
		{"a signal, as the settings say", `{"shutdown": {"sessions": "terminate"}}`, func(h *host) { h.signal() }, nil},
		{"the last word fails", ``, func(h *host) {
			h.call(verbs.ServerShutdown, verbs.ServerShutdownParams{Sessions: "terminate"}, &verbs.Empty{})
		}, lost},
	} {
		t.Run(way.name, func(t *testing.T) {
			o := options(t)
			if way.settings != "" {
				folder := o.Getenv("XDG_CONFIG_HOME") + "/spawn"
				if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(folder+"/config.hujson", []byte(way.settings), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			h := start(t, o)
			var heard []supervisor.Row
			h.s.SetLastWord(func(_ context.Context, whole bool) error {
				if !whole {
					t.Error("something may still run")
				}
				heard = h.s.Rows()
				for _, row := range heard {
					if !h.s.EndKnown(row.ID) {
						t.Errorf("how %s ended is not in the tree", row.ID)
					}
				}
				return way.word
			})
			sessions := []string{h.terminal("exec sleep 1000"), h.terminal("trap '' TERM; while :; do sleep 1; done"), h.terminal("trap 'exit 3' TERM; while :; do sleep 0.1; done")}
			began := time.Now()
			way.end(h)
			if err := h.ended(); !errors.Is(err, way.word) || (err == nil) != (way.word == nil) {
				t.Errorf("Serve = %v, want %v", err, way.word)
			}
			if took := time.Since(began); took < killedAfter || took > endMax {
				t.Errorf("it took %v", took)
			}
			if len(heard) != len(sessions) {
				t.Fatalf("the last word is on %d panes", len(heard))
			}
			for _, row := range heard {
				if row.State != supervisor.StateExited {
					t.Errorf("%s is %+v", row.ID, row.Facts)
				}
			}
			for _, session := range sessions {
				if alive(t, session) {
					t.Errorf("the worker of %s lives", session)
				}
			}
			if left := filesIn(t, o.Getenv("SPAWND_WORKER_DIR")); len(left) != 1 || left[0] != "spawnd.lock" {
				t.Errorf("left of the workers: %v", left)
			}
			if _, err := os.Lstat(h.socket.Path); err == nil {
				t.Error("the control socket is left")
			}

			again := start(t, o) // at once
			if rows := again.s.Rows(); len(rows) != 0 {
				t.Errorf("the next spawnd has %+v", rows)
			}
			again.signal()
			if err := again.ended(); err != nil {
				t.Error(err)
			}
		})
	}
}

// keep is what a signal does by default, and wins over the settings.
func TestTerminalsAreKept(t *testing.T) {
	o := options(t)
	folder := o.Getenv("XDG_CONFIG_HOME") + "/spawn"
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(folder+"/config.hujson", []byte(`{"shutdown": {"sessions": "terminate"}}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	h := start(t, o)
	h.s.SetLastWord(func(context.Context, bool) error { t.Error("terminals were ended"); return nil })
	session := h.terminal("exec sleep 1000")
	h.call(verbs.ServerShutdown, verbs.ServerShutdownParams{Sessions: "keep"}, &verbs.Empty{})
	if err := h.ended(); err != nil {
		t.Fatal(err)
	}
	again := start(t, o)
	rows := again.s.Rows()
	if len(rows) != 1 || rows[0].State != supervisor.StateRunning || string(rows[0].Worker) != session {
		t.Errorf("the next spawnd has %+v", rows)
	}
	again.signal() // the settings end them now
	if err := again.ended(); err != nil {
		t.Fatal(err)
	}
	if alive(t, session) {
		t.Error("the worker lives")
	}
}
