// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recovery

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/verbs"
)

// brisk writes every second, which is as often as may be.
const brisk = `"enabled":true,"interval_ms":1000`

// while waits for a span in which something must not happen.
func (h *host) while(span time.Duration, holds func() error) {
	h.Helper()
	over := time.After(span)
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		if err := holds(); err != nil {
			h.Fatal(err)
		}
		select {
		case <-over:
			return
		case <-look.C:
		}
	}
}

// A host goes down: the terminals die first, then spawnd is told. What it would save then is not what the person had.
func TestAHostThatGoesDownSavesWhatThereWas(t *testing.T) {
	h := newHost(t, brisk)
	h.serve()
	for range 4 {
		h.start("sleep", "1000")
	}
	good := h.checkpoint()
	for _, p := range h.panes() {
		h.must(syscall.Kill(h.childOf(p.PID), syscall.SIGKILL))
	}
	h.await("the ends are known", func() bool {
		for _, p := range h.panes() {
			if p.State == verbs.PaneRunning {
				return false
			}
		}
		return true
	})
	h.while(2500*time.Millisecond, func() error { // more than two intervals
		if list := h.list(); list[len(list)-1].Running != 4 {
			return fmt.Errorf("what was left is saved: %+v", list)
		}
		return nil
	})
	h.must(h.stop())
	h.reboot()
	h.serve()
	list := h.list()
	lead := list[len(list)-1]
	if !lead.Leading || lead.Running != 4 || h.status(good) == "" {
		t.Errorf("the person is led to %+v", list)
	}
	h.restore(lead.Checkpoint)
	if got := len(h.panes()); got != 4 {
		t.Errorf("%d panes", got)
	}
}

// Closing everything on purpose is another matter.
func TestWhatIsClosedOnPurposeIsSavedAsClosed(t *testing.T) {
	h := newHost(t, brisk)
	h.serve()
	p := h.start("sleep", "1000")
	h.checkpoint()
	h.call(verbs.PaneClose, verbs.PaneCloseParams{Pane: p.ID}, &verbs.Empty{})
	h.await("nothing is saved", func() bool { list := h.list(); return list[len(list)-1].Panes == 0 })
}

// Somebody starts spawnd to see what there is. That must not push out what they came for.
func TestAnIdleStartEvictsNothing(t *testing.T) {
	h := newHost(t, brisk+`,"max_checkpoints":1`)
	h.plant(one(planted, 1))
	for range 2 {
		h.serve()
		h.while(2500*time.Millisecond, func() error {
			if files := h.files(); len(files) != 1 || files[0] != planted+".json" {
				return fmt.Errorf("there is %v", files)
			}
			return nil
		})
		h.must(h.stop())
		if files := h.files(); len(files) != 1 || files[0] != planted+".json" {
			t.Fatalf("the end left %v", files)
		}
	}
	h.settle(brisk + `,"max_checkpoints":2`)
	h.serve()
	h.start("sleep", "1000") // work goes on before anybody looked
	h.await("two are written", func() bool { list := h.list(); return list[len(list)-1].Generation >= 3 })
	if h.status(planted) != "valid" {
		t.Errorf("what was inherited is gone: %v", h.files())
	}
}

// A restore whose answer got lost is not done again, and outlives spawnd with its text.
func TestARestoreIsThereOnce(t *testing.T) {
	h := newHost(t, withText)
	c := one(planted, 1)
	c.Panes[0].Text = plain(now(), 3600, "kept text")
	h.plant(c)
	h.serve()
	h.restore(planted)
	before := h.panes()
	for range 2 {
		h.kill()
		h.serve()
		h.refused(verbs.CodeNotEmpty, verbs.RecoveryRestore, verbs.CheckpointParams{Checkpoint: planted}, &verbs.RecoveryRestoreResult{})
		if after := h.panes(); len(after) != 1 || !reflect.DeepEqual(after, before) || !strings.Contains(h.shows("p0"), "kept text") {
			t.Errorf("%+v after %+v", after, before)
		}
	}
	h.call(verbs.RecoveryForget, verbs.CheckpointParams{Checkpoint: planted}, &verbs.Empty{})
	h.kill()
	h.serve()
	if p := h.pane("p0"); p.Recovery.TextState != "expired" || strings.Contains(h.shows("p0"), "kept text") {
		t.Errorf("its text is gone with the checkpoint, and it says %+v", p)
	}
	h.call(verbs.PaneClose, verbs.PaneCloseParams{Pane: "p0"}, &verbs.Empty{})
	if all := h.panes(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

// As long as an archive is shown the checkpoint that has its text keeps its place, however many are written.
func TestAnArchiveKeepsItsTextWhileOthersAreWritten(t *testing.T) {
	h := newHost(t, brisk+`,"terminal_text":"plain","max_checkpoints":2`)
	c := one(planted, 1)
	c.CapturedAt = now().Plus(-3600) // long ago, so that it is not the one to look at first for what it has
	c.Panes[0].Cols, c.Panes[0].Text = 40, plain(c.CapturedAt, 7200, "kept text")
	h.plant(c)
	h.serve()
	h.restore(planted)
	h.start("sleep", "1000")
	h.await("four more are written", func() bool { list := h.list(); return list[len(list)-1].Generation >= 5 })
	h.kill()
	h.serve()
	if p := h.pane("p0"); p.Recovery.TextState != "plain" || p.Cols != 40 || !strings.Contains(h.shows("p0"), "kept text") || h.status(planted) != "valid" {
		t.Errorf("%+v of %+v", p, h.list())
	}
	h.call(verbs.PaneClose, verbs.PaneCloseParams{Pane: "p0"}, &verbs.Empty{}) // nobody looks at it any more
	h.await("it has given up its place", func() bool { return h.status(planted) == "" })
}

// With room for one checkpoint the newest has that place, and the text of archives with it: the next spawnd shows them without
// their text, and a restore of that checkpoint with it.
func TestWithRoomForOneTheTextOfArchivesIsInTheNewest(t *testing.T) {
	h := newHost(t, withText+`,"max_checkpoints":1`)
	c := one(planted, 1)
	c.Panes[0].Text = plain(now(), 3600, "kept text")
	h.plant(c)
	h.serve()
	h.restore(planted)
	made := h.checkpoint()
	if h.status(planted) != "" || !strings.Contains(h.shows("p0"), "kept text") {
		t.Errorf("%+v, p0 shows %q", h.list(), h.shows("p0"))
	}
	h.kill()
	h.serve()
	if p := h.pane("p0"); p.Recovery.TextState != "expired" || p.Recovery.Checkpoint != planted || strings.Contains(h.shows("p0"), "kept text") {
		t.Errorf("%+v shows %q", p, h.shows("p0"))
	}
	h.call(verbs.PaneClose, verbs.PaneCloseParams{Pane: "p0"}, &verbs.Empty{})
	again := h.restore(made).Panes[0].Current
	if p := h.pane(again); p.Recovery.TextState != "plain" || p.Recovery.ProcessState != "interrupted" || !strings.Contains(h.shows(again), "kept text") {
		t.Errorf("%+v shows %q", p, h.shows(again))
	}
}

// Whatever lies in the store, terminals are to be had.
func TestNoCheckpointKeepsSpawndFromStarting(t *testing.T) {
	h := newHost(t, withText)
	for i := range 40 {
		h.plantRaw(fmt.Sprintf("c%08d-89ab-4cde-8fab-0123456789ab", i), []byte(strings.Repeat("{", 1+i*1000)))
	}
	h.must(syscall.Mkfifo(h.file(planted), 0o600))
	h.serve()
	if got := len(h.list()); got != 41 {
		t.Errorf("%d are listed", got)
	}
	h.start("true")
	h.refused(verbs.CodeRecoveryIO, verbs.RecoveryInspect, verbs.CheckpointParams{Checkpoint: planted}, &verbs.RecoveryInspectResult{})
	if id := h.checkpoint(); h.status(id) != "valid" {
		t.Error("nothing can be saved beside them")
	}
}

// Who looks at an archive is sent away when it is replaced, and its id leads nowhere.
func TestARelaunchEndsTheArchive(t *testing.T) {
	h := newHost(t, on)
	c := one(planted, 1)
	c.Panes = append(c.Panes, float("p1", "w0", "s0", recovery.Float{Width: "40", Z: 3}))
	h.plant(c)
	h.serve()
	h.restore(planted)
	s, viewer, err := h.socket().Stream(t.Context(), verbs.PaneStreamParams{Pane: "p0", Cols: 200, Rows: 50, Take: true})
	h.must(err)
	defer s.Close()
	h.replay(s)
	h.must(s.Input([]byte("x"))) // goes nowhere
	h.must(s.Resize(100, 30))    // nor does this
	if p := h.pane("p0"); p.Cols != 80 || p.Rows != 24 || p.Viewers != 1 {
		t.Errorf("%+v", p)
	}
	made := h.relaunch("p0", "sh", "-c", `read line; echo "got $line in $SPAWN_PANE"; sleep 1000`)
	for {
		if _, _, err := s.Recv(); err != nil {
			break
		}
	}
	_, _, err = h.socket().Stream(t.Context(), verbs.PaneStreamParams{Pane: "p0", Resume: verbs.Resume{Stream: viewer.Stream, Position: 1}})
	if dialCode(err) != verbs.CodeNoPane {
		t.Errorf("the archive is there still: %v", err)
	}
	typist, now, err := h.socket().Stream(t.Context(), verbs.PaneStreamParams{Pane: made.Pane, Resume: verbs.Resume{Stream: viewer.Stream, Position: 1}})
	h.must(err)
	defer typist.Close()
	if now.Resumed {
		t.Error("a viewer of the archive goes on in its successor")
	}
	h.must(typist.Input([]byte("hello\n")))
	h.awaitShown(made.Pane, "got hello in "+made.Pane)
	raised := h.relaunch("p1", "sleep", "1000")
	saved := h.decode(h.checkpoint())
	if len(saved.Panes) != 2 || saved.Panes[1].ID != raised.Pane || saved.Panes[1].Float.Width != "40" || saved.Windows[0].Nodes[0].Pane != made.Pane || saved.Windows[0].Revision != 2 {
		t.Errorf("%+v %+v", saved.Windows, saved.Panes)
	}
	if p := saved.Panes[0]; p.State != recovery.StateRunning || p.PreviousState != "" {
		t.Errorf("%+v", p)
	}
}

// Everything of the host is told to end at once, as a service manager does: terminals, workers and spawnd in any order. The
// person is led to what there was, with its text.
func TestAHostThatEndsEverythingAtOnceSavesWhatThereWas(t *testing.T) {
	for round := range 3 {
		h := newHost(t, brisk+`,"terminal_text":"plain"`)
		h.serve()
		const panes = 6
		var victims []int
		for i := range panes {
			p := h.start("sh", "-c", fmt.Sprintf("echo kept-%d; exec sleep 1000", i))
			h.awaitShown(p.ID, fmt.Sprintf("kept-%d", i))
			victims = append(victims, p.PID, h.childOf(p.PID))
		}
		h.checkpoint()
		rand.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
		before := round * len(victims) / 2 // that spawnd is told, too
		for _, pid := range victims[:before] {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone with its worker
		}
		h.must(h.d.cmd.Process.Signal(syscall.SIGTERM))
		for _, pid := range victims[before:] {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		h.must(h.ended())
		h.reboot()
		h.serve()
		list := h.list()
		i := slices.IndexFunc(list, func(c verbs.CheckpointStatus) bool { return c.Leading })
		if i < 0 || list[i].Panes != panes || 2*list[i].TextPanes < panes || 2*list[i].Running < panes {
			t.Fatalf("round %d: the person is led to %+v", round, list)
		}
		h.restore(list[i].Checkpoint)
		if got := len(h.panes()); got != panes {
			t.Errorf("round %d: %d panes", round, got)
		}
	}
}

// A second spawnd for the same socket ends before it touches the store.
func TestASecondSpawndLeavesTheStoreAlone(t *testing.T) {
	h := newHost(t, on)
	h.serve()
	h.start("sleep", "1000")
	id := h.checkpoint()
	h.plantRaw(".tmp-01234567-89ab-4cde-8fab-0123456789ab", nil) // a start would remove it
	left := h.store() + "/.tmp-01234567-89ab-4cde-8fab-0123456789ab"
	h.must(os.Rename(left+".json", left))
	first := h.d
	if err := h.tryServe(); err == nil {
		t.Fatal("two serve one socket")
	}
	h.d = first
	if _, err := os.Stat(left); err != nil || h.status(id) != "valid" {
		t.Errorf("the store was touched: %v", h.files())
	}
	h.kill()
	h.serve()
	if _, err := os.Stat(left); err == nil {
		t.Error("a start leaves what a crash has left")
	}
}
