// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
// stay. Each takes the place of the one before. Lists are answered while they come and as fast as ever when they are there,
// their terminal types on, another one never notices, and the worker holds none of them.
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
	requireQuickLists(h)
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

// T33 at spawnd's own socket: two hundred viewers at once that say nothing, or half a header, or ask for everything and read
// nothing. Nobody ends them: they may be stopped and go on one day. They cost a place each, and no list a moment.
func TestViewersThatStayHoldUpNobody(t *testing.T) {
	const panes = 4 // a pane has room for 64 viewers
	h := rig.NewHost(t)
	d := h.Serve()
	ask, err := wire.AppendReplayReq(nil, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for range panes {
		ids = append(ids, h.NewPane(verbs.PaneNewParams{Argv: []string{"cat"}}).ID)
	}
	for i := range peersThatStay {
		c, err := net.Dial("unix", h.Socket().Path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close() // after all that follows
		fmt.Fprintf(c, `{"id":1,"verb":"pane.stream","params":{"pane":%q,"history":true}}`+"\n", ids[i%panes])
		if answer, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.HasPrefix(answer, `{"id":1,"ok"`) {
			t.Fatalf("viewer %d: %q, %v", i, answer, err)
		}
		if _, err := c.Write([][]byte{nil, ask[:3], ask}[i%3]); err != nil {
			t.Fatal(err)
		}
	}
	requireQuickLists(h)
	for i, id := range ids {
		requireEcho(h, id, fmt.Sprint("word-", i))
		if there := len(h.Viewers(id).Viewers); there < peersThatStay/panes {
			t.Errorf("%s has %d viewers left", id, there)
		}
	}
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}

// requireQuickLists takes a hundred lists and wants 99 of them within what T33 promises; where other tests run beside, ten times
// that.
func requireQuickLists(h *rig.Host) {
	h.T.Helper()
	promised := 100 * time.Millisecond * time.Duration(rig.Size(10, 1))
	var took []time.Duration
	for range 100 {
		begin := time.Now()
		requireRunning(h)
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	h.T.Logf("a hundred lists: median %v, 99 of them within %v", took[50], took[98])
	if took[98] > promised {
		h.T.Errorf("99 of 100 lists took up to %v, want %v", took[98], promised)
	}
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
