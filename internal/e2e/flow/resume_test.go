// SPDX-License-Identifier: Apache-2.0

//go:build linux

package flow

import (
	"strings"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

// view is what a viewer has of a pane.
type view struct {
	verbs.Resume
	live    string // output since the last snapshot, and of before it came back
	replays int
}

// until reads frames until the live bytes end in text.
func (v *view) until(t *testing.T, s *dial.Stream, text string) {
	t.Helper()
	overdue := time.AfterFunc(rig.Patience, func() { _ = s.Close() })
	defer overdue.Stop()
	for !strings.HasSuffix(v.live, text) {
		kind, p, err := s.Recv()
		if err != nil {
			t.Fatalf("after %q: %v", v.live, err)
		}
		switch kind {
		case wire.KindReplay:
			v.Position, _, err = wire.DecodeReplay(p)
			v.live, v.replays = "", v.replays+1
		case wire.KindOutput:
			v.live, v.Position = v.live+string(p), v.Position+uint64(len(p))
		case wire.KindHistory:
			var h wire.History
			h, err = wire.DecodeHistory(p)
			v.Epoch, v.Offset = h.Epoch, h.Offset+uint64(len(h.Text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A viewer whose connection broke goes on where it was, without a replay; one that comes with the name of
// another stream is seeded.
func TestViewerThatComesBackGoesOnWithoutAReplay(t *testing.T) {
	h := newHost(t)
	pane := h.start("cat")
	attach := func(r verbs.Resume) (*dial.Stream, verbs.PaneStreamResult) {
		t.Helper()
		s, result, err := h.Socket().Stream(t.Context(), verbs.PaneStreamParams{Pane: pane, History: true, Take: true, Resume: r})
		if err != nil {
			t.Fatal(err)
		}
		return s, result
	}
	press := func(s *dial.Stream, text string) {
		t.Helper()
		if err := s.Input([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	var v view
	s, result := attach(verbs.Resume{})
	v.Stream = result.Stream
	press(s, "one")
	v.until(t, s, "one")
	_ = s.Close()

	var other view
	s, _ = attach(verbs.Resume{})
	press(s, "two") // while the first is away
	other.until(t, s, "two")
	_ = s.Close()

	s, result = attach(v.Resume)
	press(s, "three")
	v.until(t, s, "three")
	if !result.Resumed || result.Stream != v.Stream || !strings.HasSuffix(v.live, "onetwothree") || v.replays > 1 {
		t.Errorf("%+v, has %q after %d replays", result, v.live, v.replays)
	}
	_ = s.Close()

	v.Stream = "another"
	s, result = attach(v.Resume)
	defer s.Close()
	press(s, "four")
	v.until(t, s, "four")
	if result.Resumed || v.replays < 1 || v.live != "four" {
		t.Errorf("%+v, has %q after %d replays", result, v.live, v.replays)
	}
	if got := h.Viewers(pane); got.Resumes != 1 {
		t.Errorf("%+v", got)
	}
}
