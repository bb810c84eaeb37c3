// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/supervisor/fleet"
)

// Both panes are lost, but of a worker that holds its lock nobody may say that it has ended.
func TestALostPaneSaysWhetherItsWorkerMayLive(t *testing.T) {
	dir, err := os.MkdirTemp("", "se") // short: socket paths have a bound
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	folder, err := endpoint.OpenFolder(dir + "/w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(folder.Close)
	holder := endpoint.NewSessionID()
	held, err := folder.Reserve(holder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = held.Release() })
	const pid = 7
	for worker, want := range map[endpoint.SessionID]struct {
		says string
		pid  int
	}{
		endpoint.NewSessionID(): {"its worker ended without a word", 0}, // the number may be another's by now
		holder:                  {"not_listening", pid},
	} {
		says := want.says
		var said bytes.Buffer
		p := newPane("p0", worker, fleet.New(fleet.Options{Folder: folder}), slog.New(slog.NewTextHandler(&said, nil)))
		p.mu.facts.PID = pid
		if h := p.regain(t.Context()); h != nil {
			t.Fatal("a worker was found")
		}
		if got := p.Facts().PID; got != want.pid {
			t.Errorf("the pid of its worker is %d, want %d", got, want.pid)
		}
		if p.Facts().State != StateLost || !strings.Contains(said.String(), says) {
			t.Errorf("state %s, log %q, want %q in it", p.Facts().State, said.String(), says)
		}
		if says == "not_listening" && strings.Contains(said.String(), "ended") {
			t.Errorf("a worker that holds its lock is said to have ended: %q", said.String())
		}
	}
}
