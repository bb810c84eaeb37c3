// SPDX-License-Identifier: Apache-2.0

//go:build linux

package flow

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

const (
	dozersCount = 14 // half of them take nothing, half a byte a second
	burstsCount = 6
	holdsMax    = 4 << 20 // bytes that wait for one viewer, snapshots apart
	memoryMax   = 8 << 20 // of spawnd, for each viewer
	floodsCount = 5
	quietCount  = 45
	// echoPromise is how long one echo in a hundred may take beside floods.
	echoPromise = 100 * time.Millisecond
	// sharePromise is what share of its speed beside the healthy viewer alone a program keeps beside the others, and shareGate
	// how much of it the gate insists on, where the machine may be busy with anything from one second to the next.
	sharePromise = 0.95
	shareGate    = 0.2
)

// speed is how many bytes a second the program gets rid of, as seen by who reads everything.
func (h *host) speed(r *reader, span time.Duration, look func()) float64 {
	h.T.Helper()
	began, from := time.Now(), r.position.Load()
	rig.During(span, look)
	return float64(r.position.Load()-from) / time.Since(began).Seconds()
}

// Twenty viewers that take nothing, a byte a second or a gulp now and then cost bounded memory and nobody
// else's time, and whoever reads again is exact.
func TestF17ViewersThatDoNotReadAreNobodyElsesTrouble(t *testing.T) {
	c := rig.Begin(t, "F17 viewers that do not read")
	h := newHost(t)
	pane := h.start("yes", word)
	healthy := h.read(t.Context(), pane, "healthy", 0, 0)
	rig.Await(h.T, "the flood", func() bool { return healthy.taken.Load() > 1<<20 })
	memory := h.daemon.Resident()
	var shares []float64
	for range rig.Size(1, 5) { // by turns, as the machine may change meanwhile
		shares = append(shares, h.beset(c, pane, healthy, memory))
	}
	slices.Sort(shares)
	share, want := shares[len(shares)/2], shareGate
	if rig.Long() {
		want = sharePromise
	}
	if share < want {
		t.Errorf("the program keeps %.0f %% of its speed beside them, want %.0f", 100*share, 100*want)
	}
	if len(healthy.done) > 0 {
		t.Errorf("the healthy viewer has ended: %v", <-healthy.done)
	}
}

// beset has the twenty beside the healthy one for a while, holds what they cost against the bounds, and returns what share
// of its speed the program keeps.
func (h *host) beset(c *rig.Class, pane string, healthy *reader, memory int64) (share float64) {
	h.T.Helper()
	aloneSpan := time.Duration(rig.Size(1, 60)) * time.Second
	alone := h.speed(healthy, aloneSpan, func() {})
	ctx, detach := context.WithCancel(h.T.Context())
	defer detach()
	for i := range dozersCount {
		h.doze(ctx, pane, fmt.Sprint("dozer ", i), i%4 == 0, time.Duration(i%2)*time.Second)
	}
	var gulpers []*reader
	for i := range burstsCount {
		gulpers = append(gulpers, h.read(ctx, pane, fmt.Sprint("gulper ", i), 32, time.Second))
	}
	c.Faults += dozersCount + burstsCount
	most, held, from := memory, 0, healthy.taken.Load()
	together := h.speed(healthy, time.Duration(rig.Size(3, 720))*time.Second, func() {
		most = max(most, h.daemon.Resident())
		for _, v := range h.Viewers(pane).Viewers {
			held = max(held, v.Waiting)
		}
	})
	if healthy.taken.Load() == from {
		h.T.Error("the healthy viewer stood still")
	}
	now := healthy.position.Load()
	for i, g := range gulpers {
		g.run()
		rig.Await(h.T, "a viewer catches up", func() bool { return g.position.Load() > now || len(g.done) > 0 })
		if len(g.done) > 0 {
			h.T.Errorf("gulper %d has ended: %v", i, <-g.done)
		}
		c.Runs++
	}
	list := h.Viewers(pane)
	detach()
	rig.Await(h.T, "the others leave", func() bool { return len(h.Viewers(pane).Viewers) == 1 })
	alone = (alone + h.speed(healthy, aloneSpan, func() {})) / 2

	h.T.Logf("%.1f MB/s alone, %.1f MB/s with %d others: %.0f %%; spawnd grew by %.1f MiB; at most %d KiB waited for one; %d drops, %d snapshots",
		alone/1e6, together/1e6, dozersCount+burstsCount, 100*together/alone, float64(most-memory)/(1<<20), held>>10, list.Drops, list.Snapshots)
	for _, v := range list.Viewers {
		h.T.Logf("%-10s %9d KiB taken, %5d KiB wait, %5d KiB may, %d drops", v.Name, v.Bytes>>10, v.Waiting>>10, v.Bound>>10, v.Drops)
	}
	if held > holdsMax {
		h.T.Errorf("%d bytes waited for one viewer", held)
	}
	if grown := most - memory; grown > (dozersCount+burstsCount)*memoryMax {
		h.T.Errorf("spawnd grew by %d bytes", grown)
	}
	if list.Drops == 0 {
		h.T.Error("nobody was dropped: the flood was none")
	}
	return together / alone
}

// A terminal that floods does not keep another from answering.
func TestF18QuietTerminalsAnswerBesideFloods(t *testing.T) {
	c := rig.Begin(t, "F18 quiet beside floods")
	c.Faults = floodsCount
	h := newHost(t)
	var floods []*reader
	for range floodsCount {
		pane := h.start("yes", word)
		floods = append(floods, h.read(t.Context(), pane, "floods", 0, 0))
	}
	var quiet []*dial.Stream
	for range quietCount {
		s, _, err := h.Socket().Stream(t.Context(), verbs.PaneStreamParams{Pane: h.start("cat"), Take: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		quiet = append(quiet, s)
	}
	var took rig.Times
	for round := range rig.Size(10, 2000) {
		for _, s := range quiet {
			began := time.Now()
			if err := echo(s, fmt.Sprintf("round %d;", round)); err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(began))
			c.Runs++
		}
	}
	took.Require(t, "an echo beside floods", 99, echoPromise)
	for _, f := range floods {
		if len(f.done) > 0 {
			t.Errorf("the viewer of a flood has ended: %v", <-f.done)
		}
	}
	for _, p := range h.Panes() {
		if p.State != verbs.PaneRunning || p.Viewers != 1 {
			t.Errorf("a terminal has become %+v", p)
		}
	}
}

// echo types text and waits until the terminal shows it.
func echo(s *dial.Stream, text string) error {
	if err := s.Input([]byte(text)); err != nil {
		return err
	}
	return until(s, text)
}

// until reads until the terminal shows the text.
func until(s *dial.Stream, text string) error {
	var seen []byte
	overdue := time.AfterFunc(rig.Patience, func() { _ = s.Close() })
	defer overdue.Stop()
	for !bytes.Contains(seen, []byte(text)) {
		kind, p, err := s.Recv()
		if err != nil {
			return fmt.Errorf("%q did not come: %w", text, err)
		}
		if kind == wire.KindOutput || kind == wire.KindReplay {
			seen = append(seen[max(0, len(seen)-len(text)):], p...)
		}
	}
	return nil
}
