// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"net"
	"path/filepath"
	"testing"

	"spawn/internal/e2e/rig"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/verbs"
)

const (
	peersThatStay = 200
	// peersFiles is how many more files a worker may have open beside all of them: a connection that is just taken over.
	peersFiles = 2
)

// T33: two hundred peers connect to a worker, say nothing, or half a header, or ask for everything and read nothing, and
// stay. Lists are answered while they come and while they are there, their terminal types on, another one never
// notices, and the worker holds none of them.
func TestPeersThatStayHoldUpNobody(t *testing.T) {
	h := rig.NewHost(t)
	d := h.Serve()
	pane := h.NewPane(verbs.PaneNewParams{Argv: []string{"cat"}})
	other := h.Follow(h.StartLoad(1, rig.LinesPerSecond), rig.History)
	requireEcho(h, pane.ID, "before")
	files := rig.Descriptors(t, pane.PID)
	ask, err := wire.AppendReplayReq(nil, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	for i := range peersThatStay {
		c, err := net.Dial("unix", filepath.Join(h.WorkerDir(), pane.SessionID+".sock"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close() // after all that follows
		says := [][]byte{nil, ask[:3], ask}[i%3]
		_, _ = c.Write(says) // the next one may have its place already
		if i%20 == 0 {
			requireRunning(h)
		}
	}
	requireRunning(h)
	requireEcho(h, pane.ID, "after")
	rig.Await(t, "the worker holds none of the peers", func() bool { return rig.Descriptors(t, pane.PID) <= files+peersFiles })
	if now := h.Pane(pane.ID); now.PID != pane.PID || now.State != verbs.PaneRunning {
		t.Errorf("before %+v, after %+v", pane, now)
	}
	_ = other.Close()
	if checked, err := other.Wait(); err != nil || checked == 0 {
		t.Errorf("the other terminal: %d bytes compared, %v", checked, err)
	}
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}

func requireRunning(h *rig.Host) {
	h.T.Helper()
	for _, p := range h.Panes() {
		if p.State != verbs.PaneRunning {
			h.T.Fatalf("a terminal has become %+v", p)
		}
	}
}

// requireEcho types a word until the terminal shows it: spawnd may have to come back to the worker first.
func requireEcho(h *rig.Host, pane, word string) {
	h.T.Helper()
	rig.Await(h.T, "an echo of "+word, func() bool {
		s, _, err := h.Socket().Stream(h.T.Context(), verbs.PaneStreamParams{Pane: pane, Take: true})
		if err != nil {
			return false
		}
		defer s.Close()
		if s.Input([]byte(word+"\r")) != nil {
			return false
		}
		var found verbs.PaneWaitResult
		return h.Socket().Call(h.T.Context(), verbs.PaneWait, verbs.PaneWaitParams{Pane: pane, Text: word, TimeoutMS: 2000}, &found) == nil
	})
}
