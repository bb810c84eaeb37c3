// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
	"spawn/internal/unmet"
)

const (
	knockers = 20
	// restSpan is how long a process that can accept nobody is watched, and restShare how much of a processor it may use then.
	restSpan  = 2 * time.Second
	restShare = 0.05
	// descriptorsKept are those that neither viewers nor pages may take of spawnd.
	descriptorsKept = 64
	// viewersRoom is how many descriptors are left for viewers before those.
	viewersRoom = 12
)

// T38: while there is no descriptor for whoever knocks, spawnd does not spin, says so once, and shows the viewers that it has what
// comes; when there are some again, everybody who waited is served.
func TestSpawndWithoutADescriptorRestsAndComesBack(t *testing.T) {
	h := rig.NewHost(t)
	d := h.Serve()
	pane := h.NewPane(verbs.PaneNewParams{Argv: []string{"cat"}})
	viewer := view(h, pane.ID)
	requireTyped(t, viewer, "before;")
	pid := d.Cmd.Process.Pid
	raise := limitDescriptors(t, pid, lowestFree(t, pid))
	waiting := make([]net.Conn, knockers)
	for i := range waiting {
		waiting[i] = knock(t, h.Socket().Path)
		if _, err := waiting[i].Write([]byte(`{"id":1,"verb":"` + verbs.ServerInfo + `"}` + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	const words = "connections to the control socket cannot be accepted"
	rig.Await(t, "spawnd can accept nobody", func() bool { return strings.Contains(d.Log.String(), words) })
	requireRest(t, pid)
	requireTyped(t, viewer, "meanwhile;")
	if n := strings.Count(d.Log.String(), words); n != 1 {
		t.Errorf("the log says %d times that connections cannot be accepted", n)
	}
	raise()
	for _, c := range waiting {
		if err := c.SetReadDeadline(time.Now().Add(rig.Patience)); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.HasPrefix(line, `{"id":1,"`) {
			t.Errorf("who waited hears %q, %v", line, err)
		}
	}
	requireTyped(t, viewer, "after;")
	_ = viewer.Close()
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}

// The same of a worker: its terminal goes on meanwhile, and then whoever knocked is greeted, one after the other.
func TestAWorkerWithoutADescriptorRestsAndComesBack(t *testing.T) {
	unmet.Root(t, "see the descriptors of a worker")
	h := rig.NewHost(t)
	d := h.Serve()
	pane := h.NewPane(verbs.PaneNewParams{Argv: []string{"cat"}})
	viewer := view(h, pane.ID)
	requireTyped(t, viewer, "before;")
	raise := limitDescriptors(t, pane.PID, lowestFree(t, pane.PID))
	waiting := make([]net.Conn, knockers)
	for i := range waiting {
		waiting[i] = knock(t, filepath.Join(h.WorkerDir(), pane.SessionID+".sock"))
	}
	requireRest(t, pane.PID)
	requireTyped(t, viewer, "meanwhile;")
	raise()
	for i, c := range waiting {
		if err := c.SetReadDeadline(time.Now().Add(rig.Patience)); err != nil {
			t.Fatal(err)
		}
		if kind, _, err := wire.NewReader(c, wire.FromWorker).Next(); err != nil || kind != wire.KindHello {
			t.Errorf("number %d of those who waited is greeted with %v, %v", i, kind, err)
		}
		_ = c.Close()
	}
	_ = viewer.Close()
	requireEcho(h, pane.ID, "after")
	if now := h.Pane(pane.ID); now.PID != pane.PID || now.State != verbs.PaneRunning {
		t.Errorf("before %+v, after %+v", pane, now)
	}
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}

// Viewers, pages and new terminals leave spawnd its last descriptors, and with those whoever is at the host goes on working: lists,
// names, closes. Peers that say nothing do not use them up either.
func TestSpawndKeepsItsLastDescriptors(t *testing.T) {
	h := rig.NewHost(t)
	d := h.Serve()
	pane := h.NewPane(verbs.PaneNewParams{Argv: []string{"cat"}})
	spare := h.NewPane(verbs.PaneNewParams{Argv: []string{"cat"}})
	requireEcho(h, pane.ID, "before")
	pid := d.Cmd.Process.Pid
	most := uint64(0)
	for taken, room := numbers(t, pid), viewersRoom; room > 0; most++ {
		if !taken[most] {
			room--
		}
	}
	most += descriptorsKept
	raise := limitDescriptors(t, pid, most)

	var viewers []*dial.Stream
	var refused error
	for refused == nil {
		s, _, err := h.Socket().Stream(t.Context(), verbs.PaneStreamParams{Pane: pane.ID, Take: true})
		if refused = err; err == nil {
			viewers = append(viewers, s)
		}
	}
	if told := (*verbs.Error)(nil); !errors.As(refused, &told) || told.Code != verbs.CodeBusy {
		t.Fatalf("after %d viewers the next one is told %v", len(viewers), refused)
	}
	if len(viewers) < viewersRoom/2 || len(viewers) > 2*viewersRoom { // some more may have become free meanwhile
		t.Errorf("there was room for %d viewers, want some %d", len(viewers), viewersRoom)
	}
	requireKept := func(kept int) {
		t.Helper()
		rig.Await(t, "spawnd has its last descriptors", func() bool {
			free := int(most)
			for n := range numbers(t, pid) {
				if n < most {
					free--
				}
			}
			return free >= kept
		})
	}
	requireKept(descriptorsKept)

	requireTyped(t, viewers[len(viewers)-1], "meanwhile;")
	requireRunning(h)
	h.Call(verbs.PaneRename, verbs.PaneRenameParams{Pane: spare.ID, Name: "renamed"}, &verbs.PaneResult{})
	if out, code := h.Run("list"); code != 0 || !strings.Contains(out, "renamed") {
		t.Errorf("spawnd list: %d, %s", code, out)
	}
	var started verbs.PaneResult
	err := h.Socket().Call(t.Context(), verbs.PaneNew, verbs.PaneNewParams{Argv: []string{"cat"}}, &started)
	if told := (*verbs.Error)(nil); !errors.As(err, &told) || told.Code != verbs.CodeStart {
		t.Errorf("a new terminal: %+v, %v", started, err)
	}
	if code, err := get(t, d.URL); err == nil {
		t.Errorf("a page was answered: %d", code)
	}
	for range 2 * descriptorsKept {
		knock(t, h.Socket().Path)
	}
	requireRunning(h)
	requireKept(descriptorsKept / 2)

	for _, s := range viewers {
		_ = s.Close()
	}
	h.KillPane(spare.ID)
	raise()
	if code, err := get(t, d.URL); err != nil || code != http.StatusOK {
		t.Errorf("with descriptors again, a page: %d, %v", code, err)
	}
	again := h.NewPane(verbs.PaneNewParams{Argv: []string{"cat"}})
	requireEcho(h, again.ID, "after")
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}

// knock connects, and stays until the test ends.
func knock(t *testing.T, path string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// requireRest wants a process to leave the processor alone for a while.
func requireRest(t *testing.T, pid int) {
	t.Helper()
	before, began := processorTime(t, pid), time.Now()
	<-time.After(restSpan)
	if used, of := processorTime(t, pid)-before, time.Since(began); float64(used) > restShare*float64(of) {
		t.Errorf("while it can accept nobody it used %v of %v", used, of)
	}
}

// view attaches a viewer that controls.
func view(h *rig.Host, pane string) *dial.Stream {
	h.T.Helper()
	s, _, err := h.Socket().Stream(h.T.Context(), verbs.PaneStreamParams{Pane: pane, Take: true})
	if err != nil {
		h.T.Fatal(err)
	}
	return s
}

// requireTyped types text as a viewer that controls, and waits until the terminal shows it.
func requireTyped(t *testing.T, s *dial.Stream, text string) time.Duration {
	t.Helper()
	began := time.Now()
	if err := s.Input([]byte(text)); err != nil {
		t.Fatal(err)
	}
	overdue := time.AfterFunc(rig.Patience, func() { _ = s.Close() })
	defer overdue.Stop()
	for seen := ""; !strings.Contains(seen, text); {
		kind, p, err := s.Recv()
		if err != nil {
			t.Fatalf("no echo of %q: %v", text, err)
		}
		if kind == wire.KindOutput {
			seen += string(p)
		}
	}
	return time.Since(began)
}

// get asks for the page on a connection of its own.
func get(t *testing.T, url string) (int, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
	defer cancel()
	url, _, _ = strings.Cut(url, "#")
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	alone := &http.Transport{DisableKeepAlives: true}
	defer alone.CloseIdleConnections()
	answer, err := alone.RoundTrip(ask)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}
