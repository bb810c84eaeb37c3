// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
	"spawn/internal/supervisor/verbs"
)

const (
	slowPeers   = 5000
	slowPace    = time.Second     // between two bytes; slower than this nobody is told apart from it
	slowGrowth  = 64 << 20        // of spawnd, in bytes
	slowOpenMax = 1024 + 256 + 64 // connections that spawnd holds at once, of both ways in, and its own files
	// slowEnd is when the last of them must be gone: the longest deadline of a request, 10 s, and as much again for
	// a busy machine.
	slowEnd = 20 * time.Second
)

// greetings are beginnings of what each way in waits for, from which a peer then goes on by single bytes.
var greetings = []struct {
	control bool
	text    string
}{
	{false, "G"},
	{false, "GET /api/signal HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nSec-WebSocket-Key: "},
	{false, ""},
	{true, `{"id":1,"verb":"`},
}

// F19, T14: thousands of peers send a byte now and then on every way in. Local callers are answered, spawnd holds
// few of them and little memory, and all are dropped in time.
func TestF19SlowPeers(t *testing.T) {
	c := rig.Begin(t, "F19 slow peers")
	h := rig.NewHost(t)
	d := h.Serve()
	page, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	memory, open := d.Resident(), d.Descriptors()
	began := time.Now()
	var peers sync.WaitGroup
	var left atomic.Int64
	for i := range slowPeers {
		g := greetings[i%len(greetings)]
		network, address := "tcp", page.Host
		if g.control {
			network, address = "unix", h.Socket().Path
		}
		conn, err := (&net.Dialer{}).DialContext(t.Context(), network, address)
		if err != nil {
			t.Fatalf("peer %d: %v", i, err)
		}
		left.Add(1)
		c.Faults++
		peers.Go(func() {
			defer left.Add(-1)
			defer conn.Close()
			dribble(t.Context(), conn, g.text)
		})
	}
	var took rig.Times
	most, held := memory, open
	for left.Load() > 0 && time.Since(began) < slowEnd {
		if took = append(took, h.TimeList()); len(took)%10 == 0 {
			most, held = max(most, d.Resident()), max(held, d.Descriptors())
		}
		c.Runs++
		<-time.After(5 * time.Millisecond)
	}
	t.Logf("%d peers; gone after %v; spawnd grew by %d KiB and held %d files more",
		slowPeers, time.Since(began), (most-memory)>>10, held-open)
	if n := left.Load(); n > 0 {
		t.Errorf("%d peers are still held after %v", n, slowEnd)
	}
	took.Require(t, "a list beside slow peers", 99, listPromise)
	if most-memory > slowGrowth || held-open > slowOpenMax {
		t.Errorf("spawnd grew by %d bytes and held %d files more", most-memory, held-open)
	}
	peers.Wait()
	page.Fragment = ""
	resp, err := http.Get(page.String())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("afterwards the page is %s, %v", resp.Status, err)
	}
	h.Type(h.NewPane(verbs.PaneNewParams{Argv: []string{"cat"}}).ID, "x")
	http.DefaultClient.CloseIdleConnections()
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}

// dribble says the text, then a byte at a time, until the other side has enough or the test ends.
func dribble(ctx context.Context, conn net.Conn, text string) {
	if _, err := io.WriteString(conn, text); err != nil {
		return
	}
	for one := make([]byte, 1); ctx.Err() == nil; {
		_ = conn.SetReadDeadline(time.Now().Add(slowPace))
		if _, err := conn.Read(one); err != nil && !isTimeout(err) {
			return
		}
		if text == "" {
			continue // it says nothing at all
		}
		if _, err := conn.Write([]byte("x")); err != nil {
			return
		}
	}
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}
