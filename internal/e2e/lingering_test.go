// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
	"spawn/internal/procmem"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
	"spawn/internal/unmet"
)

// resumeSpan is how long spawnd keeps the latest output of a terminal that nobody looks at any more, and a little more.
const resumeSpan = 65 * time.Second

// What a terminal showed, and what was typed into it, is not in spawnd's memory once nobody can ask spawnd for it: when its pane is
// closed, and, which only a long run waits for, a minute after its last viewer has left. On the way it goes through every queue: to a
// viewer with history and one without, to those that read nothing, in replays. Neither marker is in the script, because arguments
// stay. A signal has the kernel save what is just being copied where nobody wipes it. This spawnd gets none of its runtime, and none
// of a child's end, since it has adopted the worker.
func TestTextDoesNotLingerInSpawnd(t *testing.T) {
	unmet.Root(t, "read spawnd's memory")
	const written, typed = "LINGERING-TEXT-OF-A-PROGRAM", "LINGERING-TEXT-OF-A-TYPIST"
	const script = `stty -echo; m=$(printf %s LINGER ING-TEXT- OF-A-PROGRAM); echo ready
		while read -r what rest; do seq 1 3000 | sed "s/^/$m /"; echo "$what-done"; done`
	h := rig.NewHost(t)
	first := h.Serve()
	pane := h.NewPane(verbs.PaneNewParams{Argv: []string{"/bin/sh", "-c", script}})
	first.Kill()
	d, err := h.TryServe([]string{"GODEBUG=asyncpreemptoff=1"})
	if err != nil {
		t.Fatal(err)
	}
	attach := func(p verbs.PaneStreamParams) *dial.Stream {
		t.Helper()
		p.Pane = pane.ID
		s, _, err := h.Socket().Stream(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	viewers := []*dial.Stream{
		attach(verbs.PaneStreamParams{Take: true, History: true}),
		attach(verbs.PaneStreamParams{History: true}), attach(verbs.PaneStreamParams{}), attach(verbs.PaneStreamParams{ReadOnly: true}),
	}
	viewer := viewers[0] // the others read nothing
	for round := range 4 {
		if err := viewer.Input([]byte(fmt.Sprintf("round%d ", round) + strings.Repeat(typed+" ", 20) + "\r")); err != nil {
			t.Fatal(err)
		}
		readTo(t, viewer, fmt.Sprintf("round%d-done", round))
		for _, most := range []uint32{1 << 30, 0} {
			if err := viewer.RequestReplay(most); err != nil {
				t.Fatal(err)
			}
			readTo(t, viewer, written)
		}
	}
	pid := d.Cmd.Process.Pid
	if procmem.Copies(procmem.Of(t, pid), []byte(written)) == 0 {
		t.Fatal("what is kept for viewers is not found in the memory: this test could find nothing")
	}
	for _, s := range viewers {
		_ = s.Close()
	}
	rig.Await(t, "nobody looks on", func() bool { return h.Pane(pane.ID).Viewers == 0 })
	if rig.Long() {
		<-time.After(resumeSpan)
		requireForgotten(t, pid, "a minute after the last viewer has left", written, typed)
	}
	h.KillPane(pane.ID)
	requireForgotten(t, pid, "after the pane was closed", written, typed)
	d.Stop()
	h.AwaitNothingLeft()
}

// readTo reads until a frame of output or a replay has the text. Output may be cut anywhere, so what was read last is kept.
func readTo(t *testing.T, s *dial.Stream, text string) {
	t.Helper()
	overdue := time.AfterFunc(rig.Patience, func() { _ = s.Close() })
	defer overdue.Stop()
	var last []byte
	for {
		kind, p, err := s.Recv()
		if err != nil {
			t.Fatalf("before %q: %v", text, err)
		}
		if kind != wire.KindOutput && kind != wire.KindReplay {
			continue
		}
		if last = append(last, p...); bytes.Contains(last, []byte(text)) {
			return
		}
		last = last[max(0, len(last)-len(text)):]
	}
}

// requireForgotten waits until the process has no copy of any of the texts: queues end with goroutines of their own.
func requireForgotten(t *testing.T, pid int, when string, texts ...string) {
	t.Helper()
	var left map[string]int
	deadline := time.Now().Add(rig.Patience / 3)
	for look := time.NewTicker(100 * time.Millisecond); ; <-look.C {
		left = map[string]int{}
		for _, text := range texts {
			if n := procmem.Copies(procmem.Of(t, pid), []byte(text)); n > 0 {
				left[text] = n
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s spawnd has copies in its memory: %v", when, left)
			return
		}
	}
}
