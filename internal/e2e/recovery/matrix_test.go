// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recovery

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/events"
	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

// The acceptance matrix of the recovery specification, section 8.
func TestMatrix(t *testing.T) {
	for _, row := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"Defaults / disabled", defaults},
		{"On-demand interaction", onDemand},
		{"Clean restart", cleanRestart},
		{"Forced SIGKILL", forcedKill},
		{"Interrupted writes", interruptedWrites},
		{"Corrupt/partial state", corruptState},
		{"Version/limits", versionLimits},
		{"Format 2", format2},
		{"Format 3", format3},
		{"Topology", topologyRow},
		{"Text / expiry", textExpiry},
		{"Secret exclusion", secretExclusion},
		{"Credentials", credentials},
		{"Resume", resume},
		{"Grants", grantsRow},
		{"Vanished executable", vanishedExecutable},
		{"Duplicate launch", duplicateLaunch},
		{"Orphans / PID reuse", orphans},
		{"Filesystem security", filesystemSecurity},
		{"Retention/config", retentionConfig},
		{"Events/clients", eventsClients},
	} {
		t.Run(row.name, row.run)
	}
}

const (
	planted      = "c01234567-89ab-4cde-8fab-0123456789ab"
	plantedAgain = "c11234567-89ab-4cde-8fab-0123456789ab"
	absent       = "c99999999-9999-4999-8999-999999999999"
)

// one is a checkpoint of one running pane.
func one(id string, generation int64) recovery.Checkpoint {
	return recovery.Checkpoint{
		ID: id, Generation: generation, CapturedAt: now(), Shutdown: recovery.ShutdownOpen,
		Sessions: []recovery.Session{{ID: "s0", Name: "work"}},
		Windows:  []recovery.Window{{ID: "w0", Session: "s0", Name: "shell", Revision: 7, Nodes: []recovery.Node{leaf("p0")}}},
		Panes:    []recovery.Pane{tile("p0", "w0", "s0")},
	}
}

func now() recovery.Millis { return recovery.MillisOf(time.Now()) }

func leaf(pane string) recovery.Node { return recovery.Node{Kind: recovery.NodePane, Pane: pane} }

func split(axis string, first, second, ratio int) recovery.Node {
	return recovery.Node{Kind: recovery.NodeSplit, Axis: axis, First: first, Second: second, Ratio: ratio}
}

func tile(id, window, session string) recovery.Pane {
	return recovery.Pane{ID: id, Window: window, Session: session, Cols: 80, Rows: 24, State: recovery.StateRunning, Text: recovery.Text{Availability: recovery.TextOmitted}}
}

func float(id, window, session string, f recovery.Float) recovery.Pane {
	p := tile(id, window, session)
	p.Layer, p.Float = recovery.LayerFloat, &f
	return p
}

func plain(saved recovery.Millis, seconds int64, first string) recovery.Text {
	screen := make([]string, 24)
	screen[0] = first
	return recovery.Text{Availability: recovery.TextPlain, SavedAt: saved, ExpiresAt: saved.Plus(seconds), Screen: screen, History: []string{"before that"}}
}

// replay reads a stream up to its EXIT and returns what painted it.
func (h *host) replay(s *dial.Stream) string {
	h.Helper()
	var painted []byte
	for {
		kind, payload, err := s.Recv()
		h.must(err)
		switch kind {
		case wire.KindReplay:
			_, stream, err := wire.DecodeReplay(payload)
			h.must(err)
			painted = append(painted, stream...)
		case wire.KindOutput:
			painted = append(painted, payload...)
		case wire.KindExit:
			return string(painted)
		}
	}
}

// awaitShown waits until a live pane's screen has the text.
func (h *host) awaitShown(pane, text string) {
	h.Helper()
	s, _, err := h.socket().Stream(context.Background(), verbs.PaneStreamParams{Pane: pane, ReadOnly: true})
	h.must(err)
	defer s.Close()
	var seen []byte
	for !strings.Contains(string(seen), text) {
		kind, payload, err := s.Recv()
		h.must(err)
		if kind == wire.KindReplay || kind == wire.KindOutput {
			seen = append(seen, payload...)
		}
	}
}

// Without the setting nothing is written and nothing restored, and zero sessions stay zero.
func defaults(t *testing.T) {
	h := newHost(t, "")
	h.plant(one(planted, 1))
	h.serve()
	h.refused(verbs.CodeRecoveryDisabled, verbs.RecoveryCheckpoint, verbs.Empty{}, &verbs.CheckpointResult{})
	h.cannotRestore(verbs.CodeRecoveryDisabled, planted)
	if got := h.inspect(planted); got.Panes != 1 || h.status(planted) != "valid" { // what is there can be looked at
		t.Errorf("%+v", got)
	}
	h.start("sleep", "1000")
	h.must(h.stop())
	if files := h.files(); len(files) != 1 {
		t.Errorf("a disabled store got %v", files)
	}
	h.serve()
	if f := h.doctor("recovery.store"); f.Status != "info" {
		t.Errorf("doctor: %+v", f)
	}
	h.call(verbs.RecoveryForget, verbs.CheckpointParams{Checkpoint: planted}, &verbs.Empty{})
	if files := h.files(); len(files) != 0 {
		t.Errorf("forgotten, and there is %v", files)
	}
}

// No verb of recovery starts a daemon. A checkpoint on disk is no session.
func onDemand(t *testing.T) {
	h := newHost(t, on)
	h.plant(one(planted, 1))
	for _, args := range [][]string{
		{"recovery", "list"}, {"recovery", "checkpoint"}, {"recovery", "inspect", "--checkpoint", planted},
		{"recovery", "restore", "--checkpoint", planted}, {"recovery", "forget", "--checkpoint", planted},
	} {
		if out, code := h.run(args...); code != 6 {
			t.Errorf("%v: exit code %d\n%s", args, code, out)
		}
	}
	if left := h.processes(); len(left) != 0 {
		t.Errorf("processes %v", left)
	}
	h.serve()
	if all := h.panes(); len(all) != 0 {
		t.Errorf("a start restored %+v", all)
	}
}

// server.shutdown ends and reaps everything in time, and only then is the mark clean.
func cleanRestart(t *testing.T) {
	h := newHost(t, withText)
	h.serve()
	h.start("sh", "-c", "trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done")
	h.awaitShown("p0", "ready")
	done := h.start("sh", "-c", "exit 3")
	h.await("the exit is known", func() bool { return h.pane(done.ID).ExitCode != nil })
	began := time.Now()
	h.call(verbs.ServerShutdown, verbs.ServerShutdownParams{Sessions: "terminate"}, &verbs.Empty{})
	h.must(h.ended())
	if took := time.Since(began); took > 2*recovery.FinalDeadline+patience/3 {
		t.Errorf("it took %v", took)
	}
	h.await("no process is left", func() bool { return len(h.processes()) == 0 })
	h.serve()
	list := h.list()
	if len(list) != 1 || list[0].Shutdown != "clean" || list[0].Running != 0 || !list[0].Leading {
		t.Fatalf("%+v", list)
	}
	h.restore(list[0].Checkpoint)
	for id, code := range map[string]int{"p2": 5, "p3": 3} { // ids only grow while topology.json is there
		if p := h.pane(id); p.State != verbs.PaneExited || p.ExitCode == nil || *p.ExitCode != code || p.Recovery.ProcessState != "exited" || p.PID != 0 {
			t.Errorf("%+v", p)
		}
	}
	if text := h.shows("p2"); !strings.Contains(text, "ready") {
		t.Errorf("the text of what was ended is gone: %q", text)
	}
}

// The last durable generation is what there is. What ran is interrupted, never a success.
func forcedKill(t *testing.T) {
	h := newHost(t, on)
	h.serve()
	h.start("sleep", "1000")
	id := h.checkpoint()
	h.start("sleep", "1000") // is lost
	h.reboot()
	h.serve()
	r := h.restore(id)
	all := h.panes()
	if len(all) != 1 || len(r.Panes) != 1 || r.Panes[0] != (verbs.Renumbered{Previous: "p0", Current: "p0"}) {
		t.Fatalf("%+v, %+v", all, r)
	}
	if p := all[0]; p.State != verbs.PaneLost || p.ExitCode != nil || p.Signal != "" || p.Recovery.ProcessState != "interrupted" || p.Recovery.PreviousPane != "p0" || p.Recovery.Checkpoint != id {
		t.Errorf("%+v", p)
	}
	if f := h.doctor("recovery.cleanup_unverified"); f.Status != "warn" || !strings.Contains(f.Message, "cleanup_unverified") {
		t.Errorf("%+v", f)
	}
}

// What is damaged is refused as a whole, and nothing else is taken in its place.
func corruptState(t *testing.T) {
	h := newHost(t, on)
	h.plant(one(planted, 1))
	raw, err := os.ReadFile(h.file(planted))
	h.must(err)
	text := string(raw)
	for name, damaged := range map[string]string{
		"truncation":     text[:len(text)/2],
		"checksum":       strings.Replace(text, `\"cols\":80`, `\"cols\":81`, 1),
		"duplicate key":  strings.Replace(text, `{"format":3,`, `{"format":3,"format":3,`, 1),
		"trailing data":  text + "{}",
		"not UTF-8":      strings.Replace(text, "shell", "sh\xffll", 1),
		"invalid tree":   resealed(text, `\"kind\":\"pane\",\"pane\":\"p0\"`, `\"kind\":\"pane\",\"pane\":\"p5\"`),
		"duplicate id":   resealed(text, `{\"session\":\"s0\",\"name\":\"work\"}`, `{\"session\":\"s0\",\"name\":\"work\"},{\"session\":\"s0\",\"name\":\"work\"}`),
		"unknown member": resealed(text, `\"cols\":80`, `\"cols\":80,\"argv\":\"x\"`),
		"another's name": strings.ReplaceAll(text, planted, absent),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, on)
			h.plant(one(planted, 1))
			h.plantRaw(plantedAgain, []byte(strings.ReplaceAll(strings.ReplaceAll(damaged, planted, plantedAgain), `\"generation\":1`, `\"generation\":2`)))
			h.serve()
			if got := h.status(plantedAgain); got != "corrupt" {
				t.Errorf("it is %s", got)
			}
			h.cannotRestore(verbs.CodeCorrupt, plantedAgain)
			h.restore(planted) // by name alone
		})
	}
	twin := one(plantedAgain, 1)
	h.plant(twin)
	h.serve()
	for _, id := range []string{planted, plantedAgain} {
		if got := h.status(id); got != "corrupt" {
			t.Errorf("a twin is %s", got)
		}
		h.cannotRestore(verbs.CodeCorrupt, id)
	}
	h.refused(verbs.CodeNoCheckpoint, verbs.RecoveryInspect, verbs.CheckpointParams{Checkpoint: absent}, &verbs.RecoveryInspectResult{})
	h.refused(verbs.CodeCheckpointID, verbs.RecoveryInspect, verbs.CheckpointParams{Checkpoint: "../" + planted}, &verbs.RecoveryInspectResult{})
}

// resealed changes the payload and gives it the digest that it then has.
func resealed(file, old, by string) string {
	changed := strings.Replace(file, old, by, 1)
	at := strings.Index(changed, `,"sha256":"`)
	payload := strings.TrimPrefix(changed[:at], `{"format":3,"payload":`)
	return changed[:at] + `,"sha256":"` + hex.EncodeToString(digest(payload)) + "\"}\n"
}

// asFormat writes another digit into the envelope, which the digest does not cover.
func asFormat(raw []byte, format string) []byte {
	return []byte(strings.Replace(string(raw), `{"format":3`, `{"format":`+format, 1))
}

// Versions and sizes that are none of ours are refused by what they say of themselves.
func versionLimits(t *testing.T) {
	h := newHost(t, on+`,"max_checkpoint_bytes":65536`)
	h.plant(one(planted, 1))
	raw, err := os.ReadFile(h.file(planted))
	h.must(err)
	future := one(plantedAgain, 2)
	future.CapturedAt = now().Plus(3600)
	h.plant(future)
	ids := map[string]string{}
	for i, format := range []string{"0", "4", "-1", "9007199254740991"} {
		ids[format] = fmt.Sprintf("c%d1234567-89ab-4cde-8fab-0123456789ab", i+2)
		h.plantRaw(ids[format], asFormat(raw, format))
	}
	const large, deep = "c81234567-89ab-4cde-8fab-0123456789ab", "c91234567-89ab-4cde-8fab-0123456789ab"
	h.plantRaw(large, append(slices.Clone(raw), make([]byte, 1<<16)...))
	nested := strings.Repeat("[", 40) + strings.Repeat("]", 40)
	h.plantRaw(deep, []byte(resealed(strings.Replace(string(raw), planted, deep, 1), `\"sessions\":[`, `\"sessions\":[`+nested+`,`)))
	h.serve()
	for format, id := range ids {
		if got := h.status(id); got != "incompatible" {
			t.Errorf("format %s is %s", format, got)
		}
		h.cannotRestore(verbs.CodeCheckpointFormat, id)
	}
	h.cannotRestore(verbs.CodeCheckpointSize, large)
	h.cannotRestore(verbs.CodeCheckpointSize, deep)
	if got := h.status(plantedAgain); got != "future" {
		t.Errorf("one of the future is %s", got)
	}
	h.cannotRestore(verbs.CodeExpired, plantedAgain)
	for _, id := range []string{large, plantedAgain, ids["4"]} { // and can be got rid of
		h.call(verbs.RecoveryForget, verbs.CheckpointParams{Checkpoint: id}, &verbs.Empty{})
	}
	h.restore(planted)
}

// Floats and tags come back as they were asked for, the floats in their order; files before them are read under their
// own rules.
func format2(t *testing.T) {
	h := newHost(t, on)
	c := one(planted, 1)
	x, title := -1, "build log"
	c.Panes[0].Tags = []recovery.Tag{{Key: "group", Value: "g"}, {Key: "owner", Value: "venom"}}
	c.Panes = append(c.Panes,
		float("p2", "w0", "s0", recovery.Float{Preset: "venom.settings", Z: 9}),
		float("p5", "w0", "s0", recovery.Float{Width: "60%", Height: "12", Anchor: "bottom_right", X: &x, Border: "single", Title: &title, Z: 4}))
	h.plant(c)
	h.serve()
	h.restore(planted)
	if f := h.doctor("recovery.archives"); f.Status != "warn" || !strings.Contains(f.Message, "1 floats laid out by floats.default") || strings.Contains(f.Message, "venom") {
		t.Errorf("a preset that is not there: %+v", f)
	}
	again := h.decode(h.checkpoint())
	if len(again.Panes) != 3 || again.Panes[1].Float.Preset != "venom.settings" || again.Panes[1].Float.Z <= again.Panes[2].Float.Z || again.Panes[2].Float.Z < 1 {
		t.Fatalf("%+v", again.Panes)
	}
	if f := again.Panes[2].Float; f.Width != "60%" || f.Height != "12" || f.Anchor != "bottom_right" || *f.X != -1 || f.Y != nil || f.Border != "single" || *f.Title != title {
		t.Errorf("%+v", f)
	}
	if tags := again.Panes[0].Tags; !slices.Equal(tags, c.Panes[0].Tags) {
		t.Errorf("tags %v", tags)
	}
	if tags := again.Panes[1].Tags; !slices.Equal(tags, []recovery.Tag{{Key: "owner", Value: "owner"}}) {
		t.Errorf("tags %v", tags)
	}

	old := newHost(t, on)
	old.plant(one(planted, 1))
	raw, err := os.ReadFile(old.file(planted))
	old.must(err)
	old.plantRaw(planted, asFormat(raw, "1"))
	c.ID = plantedAgain
	c.Generation = 2
	old.plant(c)
	raw, err = os.ReadFile(old.file(plantedAgain))
	old.must(err)
	old.plantRaw(plantedAgain, asFormat(raw, "1"))
	old.serve()
	old.cannotRestore(verbs.CodeCorrupt, plantedAgain) // floats in format 1
	old.restore(planted)
	if tags := old.decode(old.checkpoint()).Panes[0].Tags; !slices.Equal(tags, []recovery.Tag{{Key: "owner", Value: "owner"}}) {
		t.Errorf("tags %v", tags)
	}
}

// Shares of splits come back; files from before they were kept are equal splits.
func format3(t *testing.T) {
	wide := func(id string, generation int64, ratio int) recovery.Checkpoint {
		c := one(id, generation)
		c.Windows[0].Nodes = []recovery.Node{split("cols", 1, 2, ratio), leaf("p0"), split("rows", 3, 4, 0), leaf("p1"), leaf("p2")}
		c.Panes = []recovery.Pane{tile("p0", "w0", "s0"), tile("p1", "w0", "s0"), tile("p2", "w0", "s0")}
		return c
	}
	for name, old := range map[string]struct {
		ratio  int
		format string
		want   int
	}{"ratio": {6250, "3", 6250}, "equal": {0, "3", 0}, "format 2": {0, "2", 0}, "format 1": {0, "1", 0}} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, on)
			h.plant(wide(planted, 1, old.ratio))
			raw, err := os.ReadFile(h.file(planted))
			h.must(err)
			h.plantRaw(planted, asFormat(raw, old.format))
			h.plant(wide(plantedAgain, 2, 6250))
			raw, err = os.ReadFile(h.file(plantedAgain))
			h.must(err)
			h.plantRaw(plantedAgain, asFormat(raw, "2"))
			h.serve()
			h.cannotRestore(verbs.CodeCorrupt, plantedAgain) // a share in format 2
			h.restore(planted)
			w := h.decode(h.checkpoint()).Windows[0]
			if w.Nodes[0].Ratio != old.want || w.Nodes[2].Ratio != 0 || w.Revision != 1 {
				t.Errorf("%+v", w)
			}
		})
	}
}

// Everything has its place again, under fresh ids.
func topologyRow(t *testing.T) {
	h := newHost(t, on)
	code := 4
	c := recovery.Checkpoint{
		ID: planted, Generation: 3, CapturedAt: now(), Shutdown: recovery.ShutdownOpen,
		Sessions: []recovery.Session{{ID: "s1", Name: "work"}, {ID: "s4", Name: "empty"}},
		Windows: []recovery.Window{
			{ID: "w2", Session: "s1", Name: "nested", Revision: 9, Nodes: []recovery.Node{
				split("cols", 1, 4, 2500), split("rows", 2, 3, 0), leaf("p9"), leaf("p3"), leaf("p4"),
			}},
			{ID: "w7", Session: "s1", Name: "bare", Revision: 2},
		},
		Panes: []recovery.Pane{tile("p3", "w2", "s1"), tile("p4", "w2", "s1"), tile("p9", "w2", "s1")},
	}
	c.Panes[1].State, c.Panes[1].ExitCode = recovery.StateExited, &code
	h.plant(c)
	h.serve()
	for range 3 { // ids that were given out are used up
		p := h.start("true")
		h.call(verbs.PaneClose, verbs.PaneCloseParams{Pane: p.ID}, &verbs.Empty{})
	}
	r := h.restore(planted)
	want := verbs.RecoveryRestoreResult{
		Checkpoint: planted,
		Sessions:   []verbs.Renumbered{{Previous: "s1", Current: "s3"}, {Previous: "s4", Current: "s4"}},
		Windows:    []verbs.Renumbered{{Previous: "w2", Current: "w3"}, {Previous: "w7", Current: "w4"}},
		Panes:      []verbs.Renumbered{{Previous: "p3", Current: "p3"}, {Previous: "p4", Current: "p4"}, {Previous: "p9", Current: "p5"}},
	}
	if fmt.Sprint(r) != fmt.Sprint(want) {
		t.Errorf("%+v", r)
	}
	again := h.decode(h.checkpoint())
	nodes := []recovery.Node{split("cols", 1, 4, 2500), split("rows", 2, 3, 0), leaf("p5"), leaf("p3"), leaf("p4")}
	if len(again.Sessions) != 2 || again.Sessions[1].Name != "empty" || len(again.Windows) != 2 || !slices.Equal(again.Windows[0].Nodes, nodes) ||
		again.Windows[0].Revision != 1 || len(again.Windows[1].Nodes) != 0 {
		t.Errorf("%+v", again)
	}
	if p := again.Panes[1]; *p.ExitCode != 4 || p.PreviousState != "exited" || again.Panes[0].PreviousState != "interrupted" || again.Panes[0].ExitCode != nil {
		t.Errorf("%+v", again.Panes)
	}
	h.refused(verbs.CodeNotEmpty, verbs.RecoveryRestore, verbs.CheckpointParams{Checkpoint: planted}, &verbs.RecoveryRestoreResult{})
	if got := len(h.panes()); got != 3 {
		t.Errorf("%d panes", got)
	}
}

// Text is kept when somebody asked for it, as cells, for as long as was said, and no longer for being saved again.
func textExpiry(t *testing.T) {
	t.Run("off", func(t *testing.T) {
		h := newHost(t, on)
		h.serve()
		h.start("sh", "-c", "echo canary-on-screen; sleep 1000")
		h.awaitShown("p0", "canary-on-screen")
		raw, err := os.ReadFile(h.file(h.checkpoint()))
		h.must(err)
		if strings.Contains(string(raw), "canary") {
			t.Error("text is in a checkpoint, and off")
		}
	})
	t.Run("plain", func(t *testing.T) {
		h := newHost(t, withText+`,"text_max_rows":40`)
		h.serve()
		h.start("sh", "-c", `for i in $(seq 100); do echo line $i; done; printf 'h\303\251llo \342\230\203 \033[31mred\033[0m\033]0;title\007'; sleep 1000`)
		h.awaitShown("p0", "red")
		saved := h.decode(h.checkpoint())
		text := saved.Panes[0].Text
		if rows := len(text.Screen) + len(text.History); rows != 40 || text.History[0] != "line 62" || text.Screen[23] != "héllo ☃ red" {
			t.Errorf("%d rows; %+v", rows, text)
		}
		h.reboot()
		h.serve()
		h.restore(saved.ID)
		shown := h.shows("p0")
		if !strings.Contains(shown, "héllo ☃ red") || !strings.Contains(shown, "line 62\r\n") || strings.Contains(shown, "line 61\r\n") || strings.Contains(shown, "[31m") {
			t.Errorf("%q", shown)
		}
		if p := h.pane("p0"); p.Recovery.TextState != "plain" || p.Recovery.CutRows != 0 || p.Title != "" {
			t.Errorf("%+v", p)
		}
		again := h.decode(h.checkpoint()).Panes[0]
		if again.Text.SavedAt != text.SavedAt || again.Text.ExpiresAt != text.ExpiresAt || again.PreviousState != "interrupted" || again.Text.Screen[23] != "héllo ☃ red" {
			t.Errorf("saved again: %+v", again)
		}
	})
	t.Run("expired", func(t *testing.T) {
		h := newHost(t, withText)
		c := one(planted, 1)
		c.Panes[0].Text = plain(now().Plus(-60), 30, "too old")
		h.plant(c)
		c = one(plantedAgain, 2)
		c.Panes[0].Text = plain(now().Plus(3600), 60, "of the future") // the clock went back
		c.CapturedAt = now()
		h.plant(c)
		h.serve()
		if r := h.inspect(planted); r.TextPanes != 0 || r.ExpiredTextPanes != 1 {
			t.Errorf("%+v", r)
		}
		if r := h.inspect(plantedAgain); r.TextPanes != 0 || r.ExpiredTextPanes != 1 {
			t.Errorf("%+v", r)
		}
		h.restore(planted)
		if p := h.pane("p0"); p.Recovery.TextState != "expired" || strings.Contains(h.shows("p0"), "too old") {
			t.Errorf("%+v", p)
		}
	})
	t.Run("while it is shown", func(t *testing.T) {
		h := newHost(t, withText)
		c := one(planted, 1)
		c.Panes[0].Text = plain(now(), 4, "soon gone")
		c.Panes[0].Text.Screen[1] = strings.Repeat("x", 81)
		h.plant(c)
		h.serve()
		h.restore(planted)
		s, _, err := h.socket().Stream(context.Background(), verbs.PaneStreamParams{Pane: "p0", ReadOnly: true, History: true})
		h.must(err)
		defer s.Close()
		if text := h.replay(s); !strings.Contains(text, "soon gone") {
			t.Errorf("%q", text)
		}
		for wiped, cleared := false, false; !wiped || !cleared; {
			kind, payload, err := s.Recv()
			h.must(err)
			wiped = wiped || kind == wire.KindHistoryWipe
			cleared = cleared || kind == wire.KindOutput && strings.Contains(string(payload), "\x1b[2J")
		}
		if strings.Contains(h.shows("p0"), "soon gone") {
			t.Error("it is shown to who comes later")
		}
		h.await("the list says so", func() bool { return h.pane("p0").Recovery.TextState == "expired" })
		if p := h.pane("p0"); p.Recovery.CutRows != 1 {
			t.Errorf("%+v", p)
		}
		if f := h.doctor("recovery.archives"); f.Status != "warn" || !strings.Contains(f.Message, "1 rows cut") {
			t.Errorf("%+v", f)
		}
		if text := h.decode(h.checkpoint()).Panes[0].Text; text.Availability != recovery.TextExpired {
			t.Errorf("%+v", text)
		}
	})
	t.Run("off afterwards", func(t *testing.T) {
		h := newHost(t, withText)
		c := one(planted, 1)
		c.Panes[0].Text = plain(now(), 3600, "not for long")
		h.plant(c)
		h.serve()
		h.restore(planted)
		h.settle(on)
		h.call(verbs.ConfigReload, verbs.Empty{}, &verbs.ConfigReloadResult{})
		if p := h.pane("p0"); p.Recovery.TextState != "expired" || strings.Contains(h.shows("p0"), "not for long") {
			t.Errorf("%+v", p)
		}
		if files := h.files(); len(files) != 0 {
			t.Errorf("text is still in %v", files)
		}
	})
}

// What a checkpoint must not hold is put into every place it could come from.
func secretExclusion(t *testing.T) {
	h := newHost(t, on)
	h.env = append(h.env, "SECRET=canary-environment")
	h.must(os.Mkdir(h.dir+"/canary-folder", 0o700))
	h.must(os.Symlink("/bin/sh", h.dir+"/canary-folder/prog"))
	h.serve()
	var made verbs.PaneResult
	h.call(verbs.PaneNew, verbs.PaneNewParams{
		Argv: []string{h.dir + "/canary-folder/prog", "-c", `printf '\033]0;canary-title\007\033]7;file://h/canary-cwd\007\033]52;c;Y2FuYXJ5\007shown'; sleep 1000 # canary-argument`},
		Cwd:  h.dir + "/canary-folder",
	}, &made)
	h.awaitShown("p0", "shown")
	agent := h.agent("pane:p0", "read")
	id := h.checkpoint()
	raw, err := os.ReadFile(h.file(id))
	h.must(err)
	secrets := []string{"canary", "Y2FuYXJ5", "PATH", "/bin/sh", fmt.Sprint(made.Pane.PID), made.Pane.SessionID, agent.Grant}
	for _, token := range []string{h.ownerToken(), agent.Token} {
		bytes, err := base64.RawURLEncoding.DecodeString(token)
		h.must(err)
		hash := sha256.Sum256(bytes)
		secrets = append(secrets, token, hex.EncodeToString(hash[:]), base64.RawURLEncoding.EncodeToString(hash[:]))
	}
	for _, secret := range secrets {
		if secret == "" || strings.Contains(string(raw), secret) {
			t.Errorf("a checkpoint holds %q", secret)
		}
	}
	h.reboot()
	h.serve()
	follower := h.follow(h.socket(), verbs.EventsSubscribeParams{})
	follower.next()
	h.restore(id)
	if _, b := follower.until(events.RecoveryRestored); strings.Contains(fmt.Sprint(b), "canary") {
		t.Errorf("a restore tells %+v", b)
	}
	list, _ := h.run("pane", "list", "--json")
	_, code := h.run("pane", "relaunch", "--pane", "p0", "--ack-orphans", "--", "/missing/canary-program")
	said, _ := h.run("pane", "relaunch", "--pane", "p0", "--ack-orphans", "--json", "--", "/missing/canary-program")
	report, _ := h.run("doctor", "--json")
	if code != 6 || strings.Contains(said+list, "canary") || strings.Contains(findingsOf(report), "canary-") {
		t.Errorf("exit code %d\n%s\n%s\n%s", code, list, said, report)
	}
}

// findingsOf leaves out the checks of other rooms, which name folders.
func findingsOf(report string) string {
	_, after, _ := strings.Cut(report, `"recovery.store"`)
	return after
}

// Who comes back with the place of an earlier spawnd, in a stream or in the events, is given what there is from the
// beginning.
func resume(t *testing.T) {
	h := newHost(t, withText)
	h.serve()
	was := h.follow(h.socket(), verbs.EventsSubscribeParams{}).next()
	h.start("sh", "-c", "echo before; sleep 1000")
	h.awaitShown("p0", "before")
	s, first, err := h.socket().Stream(context.Background(), verbs.PaneStreamParams{Pane: "p0", ReadOnly: true})
	h.must(err)
	h.must(s.Close())
	id := h.checkpoint()
	h.reboot()
	h.serve()
	h.restore(id)
	now := h.follow(h.socket(), verbs.EventsSubscribeParams{Source: was.Source, Cursor: was.Cursor}).next()
	if now.Source == was.Source || now.Snapshot == nil || now.Snapshot.Reason != events.SourceChanged || !slices.Equal(resources(now.Snapshot), []string{"pane:p0", "session:s0", "window:w0"}) {
		t.Errorf("%+v after %+v", now, was)
	}
	s, again, err := h.socket().Stream(context.Background(), verbs.PaneStreamParams{
		Pane: "p0", ReadOnly: true, Resume: verbs.Resume{Stream: first.Stream, Position: 8},
	})
	h.must(err)
	defer s.Close()
	if again.Resumed || again.Stream == first.Stream {
		t.Errorf("%+v after %+v", again, first)
	}
	if text := h.replay(s); !strings.Contains(text, "before") {
		t.Errorf("%q", text)
	}
	if _, _, err := h.socket().Stream(context.Background(), verbs.PaneStreamParams{Pane: "p7"}); dialCode(err) != verbs.CodeNoPane {
		t.Error(err)
	}
}

func dialCode(err error) verbs.Code {
	if e := (*verbs.Error)(nil); errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// A program that is not there costs nothing: not the restore, not the archive, no process.
func vanishedExecutable(t *testing.T) {
	h := newHost(t, withText)
	c := one(planted, 1)
	c.Panes[0].Text = plain(now(), 3600, "still here")
	h.plant(c)
	h.serve()
	h.restore(planted)
	before := h.pane("p0")
	h.refused(verbs.CodeSpawn, verbs.PaneRelaunch, verbs.PaneRelaunchParams{Pane: "p0", Argv: []string{"/missing/program"}, AckOrphans: true}, &verbs.PaneRelaunchResult{})
	h.refused(verbs.CodeInvalidParams, verbs.PaneRelaunch, verbs.PaneRelaunchParams{Pane: "p0", Argv: []string{""}, AckOrphans: true}, &verbs.PaneRelaunchResult{})
	h.refused(verbs.CodeAckOrphans, verbs.PaneRelaunch, verbs.PaneRelaunchParams{Pane: "p0", Argv: []string{"sh"}}, &verbs.PaneRelaunchResult{})
	if after := h.pane("p0"); len(h.panes()) != 1 || !reflect.DeepEqual(after, before) || !strings.Contains(h.shows("p0"), "still here") {
		t.Errorf("%+v after %+v", after, before)
	}
	h.await("nothing but spawnd runs", func() bool { return len(h.processes()) == 1 })
	r := h.relaunch("p0", "sh", "-c", "echo anew; sleep 1000")
	if p := h.pane(r.Pane); p.State != verbs.PaneRunning || p.Recovery != (verbs.Archived{}) || r.Window != "w0" || r.Session != "s0" {
		t.Errorf("%+v: %+v", r, p)
	}
	h.awaitShown(r.Pane, "anew")
	h.refused(verbs.CodeNotArchive, verbs.PaneRelaunch, verbs.PaneRelaunchParams{Pane: r.Pane, Argv: []string{"sh"}, AckOrphans: true}, &verbs.PaneRelaunchResult{})
}

// However often it is asked for, a restore happens once, and so does a relaunch.
func duplicateLaunch(t *testing.T) {
	h := newHost(t, on)
	h.plant(one(planted, 1))
	h.serve()
	const asked = 8
	at := func(do func() error) (codes []verbs.Code) {
		var all sync.WaitGroup
		var mu sync.Mutex
		for range asked {
			all.Go(func() {
				err := do()
				mu.Lock()
				defer mu.Unlock()
				codes = append(codes, dialCode(err))
			})
		}
		all.Wait()
		slices.Sort(codes)
		return codes
	}
	restored := at(func() error {
		return h.socket().Call(context.Background(), verbs.RecoveryRestore, verbs.CheckpointParams{Checkpoint: planted}, &verbs.RecoveryRestoreResult{})
	})
	if restored[0] != "" || restored[1] != verbs.CodeNotEmpty || len(h.panes()) != 1 {
		t.Errorf("%v", restored)
	}
	marks := h.dir + "/marks"
	argv := []string{"sh", "-c", "echo x >>" + marks + "; exit 0"} // gone at once
	launched := at(func() error {
		return h.socket().Call(context.Background(), verbs.PaneRelaunch, verbs.PaneRelaunchParams{Pane: "p0", Argv: argv, AckOrphans: true}, &verbs.PaneRelaunchResult{})
	})
	if launched[0] != "" || launched[1] != verbs.CodeNoPane || launched[asked-1] != verbs.CodeNoPane {
		t.Errorf("%v", launched)
	}
	h.refused(verbs.CodeNoPane, verbs.PaneRelaunch, verbs.PaneRelaunchParams{Pane: "p0", Argv: argv, AckOrphans: true}, &verbs.PaneRelaunchResult{})
	h.await("the program has run", func() bool { text, _ := os.ReadFile(marks); return len(text) > 0 })
	if text, err := os.ReadFile(marks); err != nil || string(text) != "x\n" {
		t.Errorf("it ran %d times, %v", len(text)/2, err)
	}
}

// A number that a process had means nothing: whoever has it now is left alone, and no restore starts anything.
func orphans(t *testing.T) {
	needsRoot(t)
	needsTracer(t)
	h := newHost(t, on)
	h.serve()
	h.start("sh", "-c", "setsid sleep 1000 & exec sleep 1000")
	shell, old := h.foreground(), 0
	h.await("a descendant has left the terminal", func() bool {
		for _, pid := range h.processes() {
			args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if sid, _ := sessionOf(pid); string(args) == "sleep\x001000\x00" && sid == pid && pid != shell {
				old = pid
			}
		}
		return old != 0
	})
	id := h.checkpoint()
	h.kill()
	for _, pid := range h.processes() { // all but the orphan
		if pid != old {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	h.await("only the orphan is left", func() bool { left := h.processes(); return len(left) == 1 && left[0] == old })
	h.must(os.RemoveAll(h.dir + "/r/spawn"))
	h.must(os.RemoveAll(h.dir + "/w"))
	stranger := h.reuse(shell)
	h.serve("strace", "-f", "-qq", "-o", h.dir+"/trace", "-e", "trace=execve,execveat,kill,tgkill,pidfd_send_signal,ptrace,fork,vfork,process_vm_writev")
	h.restore(id)
	h.must(h.stopTraced())
	trace, err := os.ReadFile(h.dir + "/trace")
	h.must(err)
	for line := range strings.Lines(string(trace)) {
		if own := strings.Contains(line, "execve(") && strings.Contains(line, `"serve"`); !own && !harmless(line) {
			t.Errorf("a start, a restore and an end did %s", line)
		}
	}
	for _, pid := range []int{old, stranger} {
		if err := syscall.Kill(pid, 0); err != nil {
			t.Errorf("process %d was touched: %v", pid, err)
		}
	}
}
