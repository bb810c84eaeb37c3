// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recovery

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
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

// No verb of recovery starts a daemon. A checkpoint on disk is no session. spawnd has no life on demand: of the other halves
// of this row there is the race of a restore with the end, and how long that may take.
func onDemand(t *testing.T) {
	t.Run("nothing is started", nothingIsStarted)
	t.Run("restore while it ends", restoreWhileItEnds)
	t.Run("budget, enabled", func(t *testing.T) {
		took, err := endOnASlowDisk(t, on)
		if err == nil || took < recovery.FinalDeadline || took > endMax {
			t.Errorf("it ended after %v with %v", took, err)
		}
	})
	t.Run("budget, disabled", func(t *testing.T) {
		if took, err := endOnASlowDisk(t, ""); err != nil || took > endMax-recovery.FinalDeadline {
			t.Errorf("it ended after %v with %v", took, err)
		}
	})
}

func nothingIsStarted(t *testing.T) {
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

// endMax is the most that an end with all terminals may take: what docs/recovery.md adds up, and systemd gives it.
const endMax = 10 * time.Second

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
	if took := time.Since(began); took > endMax {
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

// spawnd is killed at, or fails in, each step of a write. The generation before stands, no temporary file is taken for
// one, and nobody is told of a success that was none.
func interruptedWrites(t *testing.T) {
	for _, step := range []struct {
		name  string
		fault fault
		named bool // the new one has its name, and may be there
	}{
		{"before the write", fileLimit(0), false},
		{"short write", fileLimit(cutAt), false},
		{"killed at the write", injected("write:signal=KILL"), false},
		{"sync", injected("fsync:error=EIO"), false},
		{"rename", injected("renameat,renameat2:error=EIO"), false},
		{"killed at the rename", injected("renameat,renameat2:signal=KILL"), false},
		{"killed at the sync", injected("fsync:signal=KILL"), false},
		{"folder's sync", atFolder("fsync:error=EIO"), true},
		{"killed at the folder's sync", atFolder("fsync:signal=KILL"), true},
	} {
		t.Run(step.name, func(t *testing.T) {
			h := newHost(t, on)
			h.serve()
			h.start("sleep", "1000")
			before := h.checkpoint()
			over := step.fault(h)
			var r verbs.CheckpointResult
			err := h.socket().Call(context.Background(), verbs.RecoveryCheckpoint, verbs.Empty{}, &r)
			if err == nil {
				t.Errorf("it was told that %+v is durable", r)
			}
			over()
			h.reboot()
			h.serve()
			if got := h.status(before); got != "valid" {
				t.Errorf("the one before is %s", got)
			}
			if files := h.files(); slices.ContainsFunc(files, func(f string) bool { return !strings.HasPrefix(f, "c") }) || (len(files) > 1) != step.named {
				t.Errorf("there is %v", files)
			}
			h.restore(before)
		})
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
			h.tellsNothing(plantedAgain, "corrupt", 0)
			h.cannotRestore(verbs.CodeCorrupt, plantedAgain)
			h.restore(planted) // by name alone
		})
	}
	twin := one(plantedAgain, 1)
	h.plant(twin)
	h.serve()
	for _, id := range []string{planted, plantedAgain} {
		h.tellsNothing(id, "corrupt", 1)
		h.cannotRestore(verbs.CodeCorrupt, id)
	}
	h.refused(verbs.CodeNoCheckpoint, verbs.RecoveryInspect, verbs.CheckpointParams{Checkpoint: absent}, &verbs.RecoveryInspectResult{})
	h.refused(verbs.CodeCheckpointID, verbs.RecoveryInspect, verbs.CheckpointParams{Checkpoint: "../" + planted}, &verbs.RecoveryInspectResult{})
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
	for _, id := range ids {
		h.tellsNothing(id, "incompatible", 0)
		h.cannotRestore(verbs.CodeCheckpointFormat, id)
	}
	for _, id := range []string{large, deep} {
		h.tellsNothing(id, "incompatible", 0)
		h.cannotRestore(verbs.CodeCheckpointSize, id)
	}
	h.tellsNothing(plantedAgain, "future", 2)
	h.cannotRestore(verbs.CodeExpired, plantedAgain)
	for _, id := range []string{large, plantedAgain, ids["4"]} { // and can be got rid of
		h.call(verbs.RecoveryForget, verbs.CheckpointParams{Checkpoint: id}, &verbs.Empty{})
	}
	h.restore(planted)

	many := newHost(t, on) // which reads files that are large enough
	many.plant(one(planted, 1))
	raw, err = os.ReadFile(many.file(planted))
	h.must(err)
	sessions := strings.Repeat(`{\"session\":\"s1\",\"name\":\"x\"},`, 100_000)
	many.plantRaw(planted, []byte(resealed(string(raw), `\"sessions\":[`, `\"sessions\":[`+sessions)))
	many.serve()
	many.tellsNothing(planted, "incompatible", 0)
	many.cannotRestore(verbs.CodeCheckpointSize, planted)
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

	// The same file as it was written before shares were kept, and one from before floats and tags.
	for format, want := range map[string]struct {
		floats int
		tags   []recovery.Tag
	}{"2": {2, c.Panes[0].Tags}, "1": {0, []recovery.Tag{{Key: "owner", Value: "owner"}}}} {
		t.Run("format "+format, func(t *testing.T) {
			h := newHost(t, on)
			c := c
			if format == "1" {
				c = one(planted, 1)
			}
			h.plantAs(c, format)
			h.serve()
			h.restore(planted)
			again := h.decode(h.checkpoint())
			if len(again.Panes) != 1+want.floats || !slices.Equal(again.Panes[0].Tags, want.tags) {
				t.Fatalf("%+v", again.Panes)
			}
			if want.floats > 0 && (again.Panes[1].Float.Preset != "venom.settings" || again.Panes[1].Float.Z <= again.Panes[2].Float.Z || *again.Panes[2].Float.X != -1) {
				t.Errorf("%+v", again.Panes)
			}
		})
	}
	t.Run("broken rules", func(t *testing.T) { brokenFloats(t, c) })
	t.Run("of a daemon that runs", floatsOfADaemonThatRuns)
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
	t.Run("resized", resizedSplit)
	t.Run("broken rules", func(t *testing.T) {
		h := newHost(t, on)
		h.plant(wide(planted, 1, 6250))
		raw, err := os.ReadFile(h.file(planted))
		h.must(err)
		h.serve()
		for name, change := range map[string][2]string{
			"0":             {`\"ratio\":6250`, `\"ratio\":0`},
			"10000":         {`\"ratio\":6250`, `\"ratio\":10000`},
			"negative":      {`\"ratio\":6250`, `\"ratio\":-1`},
			"fraction":      {`\"ratio\":6250`, `\"ratio\":62.5`},
			"text":          {`\"ratio\":6250`, `\"ratio\":\"6250\"`},
			"on a pane":     {`\"kind\":\"pane\",`, `\"kind\":\"pane\",\"ratio\":5000,`},
			"behind a pane": {`\"pane\":\"p0\"}`, `\"pane\":\"p0\",\"ratio\":5000}`},
		} {
			h.plantRaw(planted, []byte(resealed(string(raw), change[0], change[1])))
			h.tellsNothing(planted, "corrupt", 0)
			if e := refusal(h.socket(), verbs.RecoveryRestore, verbs.CheckpointParams{Checkpoint: planted}, nil); e.Code != verbs.CodeCorrupt {
				t.Errorf("%s: %+v", name, e)
			}
		}
	})
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
	t.Run("removed leaves", removedLeaves)
	t.Run("more than there may be", moreThanThereMayBe)
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
		if rows := len(text.Screen) + text.History.Len(); rows != 40 || text.History.Rows()[0] != "line 62" || text.Screen[23] != "héllo ☃ red" {
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

// What a checkpoint must not hold is put into every place it could come from. What a pane was started with may be known by its
// name, to whoever may see the pane, and nowhere else; that no more than 255 bytes of it are is topology's
// TestArgv0IsTheNameAlone, since no program's name is longer.
func secretExclusion(t *testing.T) {
	h := newHost(t, on)
	h.env = append(h.env, "SECRET=canary-environment")
	h.must(os.Mkdir(h.dir+"/canary-folder", 0o700))
	h.must(os.Symlink("/bin/sh", h.dir+"/canary-folder/namely"))
	h.serve()
	follower := h.follow(h.socket(), verbs.EventsSubscribeParams{})
	follower.next()
	var made verbs.PaneResult
	h.call(verbs.PaneNew, verbs.PaneNewParams{
		Argv: []string{h.dir + "/canary-folder/namely", "-c", `printf '\033]0;said-title\007\033]7;file://h/said-folder\007\033]52;c;Y2FuYXJ5\007shown'; sleep 1000 # canary-argument`},
		Cwd:  h.dir + "/canary-folder",
	}, &made)
	h.awaitShown("p0", "shown")
	agent := h.agent("pane:p0", "read")
	secrets := []string{"canary", "Y2FuYXJ5", agent.Token}
	for _, token := range []string{h.ownerToken(), agent.Token} {
		bytes, err := base64.RawURLEncoding.DecodeString(token)
		h.must(err)
		hash := sha256.Sum256(bytes)
		secrets = append(secrets, token, hex.EncodeToString(hash[:]), base64.RawURLEncoding.EncodeToString(hash[:]))
	}
	hidden := []string{"namely", "said-title", "said-folder"} // its name, and what it says of itself: for who may read the pane, while it is there
	id := h.checkpoint()

	// While it runs.
	before, b := follower.until(events.GrantIssued)
	list, _ := h.run("pane", "list", "--json")
	report, _ := h.run("doctor", "--json")
	h.hides(secrets, "pane.list", list)
	h.hides(secrets, "what is told", fmt.Sprint(append(before, b)))
	h.hides(append(secrets, hidden...), "doctor", findingsOf(report))
	if p := h.pane("p0"); p.Argv0 != "namely" || !slices.ContainsFunc(before, func(b events.Batch) bool {
		return slices.ContainsFunc(b.Events, func(e events.Event) bool { return e.Type == "pane.created" && e.Data["argv0"] == "namely" })
	}) {
		t.Errorf("listed %+v, told %+v", p, before)
	}
	raw, err := os.ReadFile(h.file(id))
	h.must(err)
	h.hides(append(append(secrets, hidden...), "PATH", "/bin/sh", fmt.Sprint(made.Pane.PID), made.Pane.SessionID, agent.Grant), "a checkpoint", string(raw))

	h.reboot()
	h.serve()
	follower = h.follow(h.socket(), verbs.EventsSubscribeParams{})
	follower.next()
	h.restore(id)
	before, b = follower.until(events.RecoveryRestored)
	h.hides(append(secrets, hidden...), "a restore", fmt.Sprint(append(before, b)))
	list, _ = h.run("pane", "list", "--json")
	h.hides(append(secrets, hidden...), "a list of archives", list)
	said, code := h.run("pane", "relaunch", "--pane", "p0", "--ack-orphans", "--json", "--", "/missing/canary-program", "canary-argument")
	plain, _ := h.run("pane", "relaunch", "--pane", "p0", "--ack-orphans", "--", "/missing/canary-program", "canary-argument")
	report, _ = h.run("doctor", "--json")
	if code != 6 {
		t.Errorf("exit code %d\n%s", code, said)
	}
	h.hides(secrets, "a relaunch that fails", said+plain)
	h.hides(append(secrets, hidden...), "doctor", findingsOf(report))
	if log := h.d.log.String(); strings.Contains(log, "canary") {
		t.Errorf("the log has %s", log)
	}
}

// Nothing that anybody could show to the spawnd before means anything to this one, and nothing that a checkpoint says gives
// anybody a right.
func credentials(t *testing.T) {
	h := newHost(t, on)
	h.serve()
	owner := h.ownerToken()
	agent := h.agent("server:root", "read", "write", "spawn", "admin")
	var made verbs.PaneResult
	h.must(h.as(agent.Token).Call(context.Background(), verbs.PaneNew, verbs.PaneNewParams{Argv: []string{"sleep", "1000"}}, &made))
	// A descendant leaves its terminal, and outlives it.
	orphan := h.start("sh", "-c", "setsid sh -c 'until [ -e "+h.dir+"/go ]; do sleep 0.05; done\n"+h.script("orphan",
		"pane list", "pane new", "recovery list", "pane rename --pane $SPAWN_PANE --name x", "pane relaunch --pane $SPAWN_PANE --ack-orphans -- true",
	)+"' >/dev/null 2>&1 & touch "+h.dir+"/left; exec sleep 1000")
	h.call(verbs.GrantIssue, verbs.GrantIssueParams{Principal: "pane:" + orphan.ID, Scopes: []verbs.Scope{{Resource: "server:root", Rights: []string{"spawn"}}}}, &verbs.GrantIssueResult{})
	h.await("the descendant is on its own", func() bool { _, err := os.Stat(h.dir + "/left"); return err == nil })
	id := h.checkpoint()
	saved := h.decode(id)
	workers := []int{h.pane(made.Pane.ID).PID, orphan.PID}
	h.kill()
	for _, pid := range workers {
		h.must(syscall.Kill(pid, syscall.SIGKILL))
	}
	h.must(os.RemoveAll(h.dir + "/r/spawn"))
	h.must(os.RemoveAll(h.dir + "/w"))
	h.serve()
	if h.ownerToken() == owner {
		t.Error("the owner's token is the old one")
	}
	for name, token := range map[string]string{"owner": owner, "agent": agent.Token, "made up": strings.Repeat("A", len(owner))} {
		for _, verb := range []string{verbs.PaneList, verbs.RecoveryList} { // never as somebody who may look
			if e := refusal(h.as(token), verb, verbs.Empty{}, nil); e.Code != verbs.CodeToken {
				t.Errorf("%s with the token of the former %s: %+v", verb, name, e)
			}
		}
	}
	h.restore(id)
	if grants := h.grants(); len(grants) != 0 {
		t.Errorf("there are %+v", grants)
	}
	if tags := h.pane("p0").Tags; !slices.Equal(tags, []verbs.Tag{{Key: "owner", Value: "agent"}}) || saved.Panes[0].Tags[0].Value != "agent" {
		t.Errorf("the label is %+v", tags)
	}
	if e := refusal(h.socket(), verbs.GrantIssue, verbs.GrantIssueParams{ // who is named by a label is nobody
		Principal: agent.Principal, Scopes: []verbs.Scope{{Resource: "pane:p0", Rights: []string{"read"}}},
	}, &verbs.GrantIssueResult{}); e.Code != verbs.CodeNoGrant {
		t.Errorf("%+v", e)
	}
	h.must(os.WriteFile(h.dir+"/go", nil, 0o600))
	if got := h.codes("orphan"); got != "0 4 4 4 4" {
		t.Errorf("a descendant of an old terminal: %s", got)
	}
	fresh := h.relaunch("p1", "sh", "-c", h.script("child", "pane rename --pane $SPAWN_PANE --name mine", "pane new", "pane rename --pane p0 --name x", "recovery list")+"sleep 1000")
	if fresh.Principal != "pane:"+fresh.Pane || fresh.Pane == "p1" {
		t.Errorf("%+v", fresh)
	}
	if got := h.codes("child"); got != "0 4 4 4" {
		t.Errorf("the new terminal: %s", got)
	}
	if p := h.pane(fresh.Pane); !slices.Equal(p.Tags, []verbs.Tag{{Key: "owner", Value: "owner"}}) || p.Name != "mine" {
		t.Errorf("%+v", p)
	}
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

// The verbs of recovery are the owner's. A relaunch needs two rights, and gives away no more than there is.
func grantsRow(t *testing.T) {
	h := newHost(t, on)
	c := one(planted, 1)
	c.Sessions = append(c.Sessions, recovery.Session{ID: "s1", Name: "other"})
	c.Windows = append(c.Windows, recovery.Window{ID: "w1", Session: "s1", Revision: 1, Nodes: []recovery.Node{leaf("p1")}})
	c.Panes = append(c.Panes, tile("p1", "w1", "s1"))
	h.plant(c)
	h.serve()
	scoped := h.agent("server:root", "read", "write", "spawn")
	for name, s := range map[string]dial.Socket{"agent": h.as(scoped.Token), "reader": h.as(h.agent("server:root", "read").Token)} {
		for _, verb := range []string{verbs.RecoveryCheckpoint, verbs.RecoveryList, verbs.RecoveryInspect, verbs.RecoveryRestore, verbs.RecoveryForget} {
			var told []*verbs.Error
			for _, id := range []string{planted, absent} {
				params := any(verbs.CheckpointParams{Checkpoint: id})
				if verb == verbs.RecoveryCheckpoint || verb == verbs.RecoveryList {
					params = verbs.Empty{}
				}
				told = append(told, refusal(s, verb, params, nil))
			}
			if told[0].Code != "denied.admin" || told[0].Code.Exit() != 4 || !reflect.DeepEqual(told[0], told[1]) || told[0].Data["right"] != "admin" || told[0].Data["resource"] != "server:root" {
				t.Errorf("%s of %s: %+v, %+v", verb, name, told[0], told[1])
			}
		}
	}
	h.env = append(h.env, "SPAWN_PANE=p0") // of which nothing else can be shown
	for _, args := range [][]string{{"list"}, {"checkpoint"}, {"inspect", "--checkpoint", planted}, {"restore", "--checkpoint", planted}, {"forget", "--checkpoint", planted}} {
		if out, code := h.run(append([]string{"recovery"}, args...)...); code != 4 {
			t.Errorf("unknown, %v: exit code %d\n%s", args, code, out)
		}
	}
	h.env = h.env[:len(h.env)-1]
	if files := h.files(); len(files) != 1 || len(h.panes()) != 0 {
		t.Fatalf("a refusal left %v, %+v", files, h.panes())
	}

	h.restore(planted)
	before := h.panes()
	marks := h.dir + "/marks"
	ask := func(given ...verbs.Scope) verbs.PaneRelaunchParams {
		return verbs.PaneRelaunchParams{Pane: "p0", Argv: []string{"sh", "-c", "echo x >>" + marks + "; sleep 1000"}, AckOrphans: true, Grants: given}
	}
	both := h.agent("session:s0", "spawn", "write")
	for name, test := range map[string]struct {
		s    dial.Socket
		p    verbs.PaneRelaunchParams
		want verbs.Code
	}{
		"spawn alone":        {h.as(h.agent("session:s0", "spawn").Token), ask(), "denied.write"},
		"write alone":        {h.as(h.agent("session:s0", "write").Token), ask(), "denied.spawn"},
		"both, elsewhere":    {h.as(h.agent("session:s1", "spawn", "write").Token), ask(), "denied.spawn"},
		"none":               {h.as(h.agent("session:s0", "read").Token), ask(), "denied.spawn"},
		"more than it has":   {h.as(both.Token), ask(verbs.Scope{Resource: "session:s0", Rights: []string{"spawn", "admin"}}), "denied.admin"},
		"wider than it has":  {h.as(both.Token), ask(verbs.Scope{Resource: "server:root", Rights: []string{"spawn"}}), "denied.spawn"},
		"what it cannot see": {h.as(both.Token), ask(verbs.Scope{Resource: "session:s9", Rights: []string{"write"}}), "denied.write"},
		"what is not there":  {h.socket(), ask(verbs.Scope{Resource: "session:s9", Rights: []string{"write"}}), verbs.CodeNoSession},
		"no right":           {h.socket(), ask(verbs.Scope{Resource: "session:s0", Rights: []string{"all"}}), verbs.CodeInvalidParams},
	} {
		e := refusal(test.s, verbs.PaneRelaunch, test.p, &verbs.PaneRelaunchResult{})
		if e.Code != test.want || strings.HasPrefix(string(e.Code), "denied.") && e.Data["right"] != strings.TrimPrefix(string(e.Code), "denied.") {
			t.Errorf("%s: %+v", name, e)
		}
	}
	had := h.grants()
	h.refused(verbs.CodeSpawn, verbs.PaneRelaunch, verbs.PaneRelaunchParams{ // what was given goes with who was to have it
		Pane: "p0", Argv: []string{"/missing"}, AckOrphans: true, Grants: []verbs.Scope{{Resource: "session:s0", Rights: []string{"spawn"}}},
	}, &verbs.PaneRelaunchResult{})
	if _, err := os.Stat(marks); err == nil || !reflect.DeepEqual(h.panes(), before) || !reflect.DeepEqual(h.grants(), had) {
		t.Errorf("a refusal started something, or left %+v, %+v", h.panes(), h.grants())
	}

	// What is given is given to the new pane, by who asked, and to no other.
	program := func(file string) []string {
		return []string{"sh", "-c", h.script(file, "pane split --pane $SPAWN_PANE --axis cols -- sleep 1000", "pane new -- sleep 1000") + "sleep 1000"}
	}
	p := ask(verbs.Scope{Resource: "session:s0", Rights: []string{"spawn"}})
	p.Argv = program("given")
	var made verbs.PaneRelaunchResult
	h.must(h.as(both.Token).Call(context.Background(), verbs.PaneRelaunch, p, &made))
	if got := h.codes("given"); got != "0 4" {
		t.Errorf("with spawn on its session: %s", got)
	}
	if tags := h.pane(made.Pane).Tags; !slices.Equal(tags, []verbs.Tag{{Key: "owner", Value: both.Principal}}) {
		t.Errorf("it is of %+v", tags)
	}
	listed := slices.IndexFunc(h.grants(), func(g verbs.Grant) bool { return g.Principal == made.Principal })
	if listed < 0 || h.grants()[listed].By != both.Principal {
		t.Errorf("%+v", h.grants())
	}
	h.relaunch("p1", program("bare")...)
	if got := h.codes("bare"); got != "4 4" {
		t.Errorf("without anything given: %s", got)
	}
	h.call(verbs.GrantRevoke, verbs.GrantRevokeParams{Grant: both.Grant}, &verbs.Empty{})
	if slices.ContainsFunc(h.grants(), func(g verbs.Grant) bool { return g.Principal == made.Principal }) {
		t.Error("what was given outlives who gave it")
	}
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
	if restored[0] != "" || restored[1] != verbs.CodeNotEmpty || restored[asked-1] != verbs.CodeNotEmpty || len(h.panes()) != 1 {
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
	t.Run("lost answers", lostAnswers)
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
	if f := h.doctor("recovery.cleanup_unverified"); f.Status != "warn" || !strings.Contains(f.Message, "whether its processes ended is not known") {
		t.Errorf("doctor: %+v", f)
	}
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

// What is not a regular file of ours alone is never opened further, never changed and never in the way of the rest.
func filesystemSecurity(t *testing.T) {
	const bad = plantedAgain
	for name, spoil := range map[string]func(h *host){
		"other uid": func(h *host) {
			out, err := exec.Command("chown", "12345", h.file(bad)).CombinedOutput()
			if err != nil {
				h.Fatalf("%v: %s", err, out)
			}
		},
		"symlink": func(h *host) {
			h.must(os.Rename(h.file(bad), h.dir+"/elsewhere"))
			h.must(os.Symlink(h.dir+"/elsewhere", h.file(bad)))
		},
		"hard link":        func(h *host) { h.must(os.Link(h.file(bad), h.dir+"/elsewhere")) },
		"readable":         func(h *host) { h.must(os.Chmod(h.file(bad), 0o644)) },
		"pipe":             func(h *host) { h.must(os.Remove(h.file(bad))); h.must(syscall.Mkfifo(h.file(bad), 0o600)) },
		"folder":           func(h *host) { h.must(os.Remove(h.file(bad))); h.must(os.Mkdir(h.file(bad), 0o700)) },
		"writable":         func(h *host) { h.must(os.Chmod(h.file(bad), 0o660)) },
		"link to a secret": func(h *host) { h.must(os.Remove(h.file(bad))); h.must(os.Symlink("/etc/passwd", h.file(bad))) },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "other uid" {
				needsRoot(t)
			}
			h := newHost(t, withText)
			h.plant(one(planted, 1))
			h.plant(one(bad, 2))
			spoil(h)
			before, err := os.Lstat(h.file(bad))
			h.must(err)
			h.serve()
			if got := h.status(bad); got != "unsafe" {
				t.Errorf("it is %s", got)
			}
			h.cannotRestore(verbs.CodeRecoveryIO, bad)
			h.refused(verbs.CodeRecoveryIO, verbs.RecoveryForget, verbs.CheckpointParams{Checkpoint: bad}, &verbs.Empty{})
			if f := h.doctor("recovery.store"); f.Status != "error" || strings.Contains(f.Message, h.dir) {
				t.Errorf("%+v", f)
			}
			after, err := os.Lstat(h.file(bad))
			h.must(err)
			if !os.SameFile(before, after) || before.Mode() != after.Mode() {
				t.Errorf("it was changed: %v, %v", before.Mode(), after.Mode())
			}
			h.restore(planted)
		})
	}
	for name, spoil := range map[string]func(h *host) error{
		"permissive store": func(h *host) error { return os.Chmod(h.store(), 0o750) },
		"linked store": func(h *host) error {
			if err := os.Rename(h.store(), h.dir+"/elsewhere"); err != nil {
				return err
			}
			return os.Symlink(h.dir+"/elsewhere", h.store())
		},
		"another's store": func(h *host) error { return os.Chown(h.store(), 12345, -1) },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "another's store" {
				needsRoot(t)
			}
			h := newHost(t, on)
			h.plant(one(planted, 1))
			h.must(spoil(h))
			before := h.lies("s/spawn/recovery", "elsewhere")
			if err := h.tryServe(); err == nil {
				t.Error("it starts")
			}
			if after := h.lies("s/spawn/recovery", "elsewhere"); !maps.Equal(before, after) {
				t.Errorf("a store that is refused was changed:\n%v, was\n%v", after, before)
			}
		})
	}
	t.Run("replaced file", replacedFile)
	t.Run("disk full", diskFull)
	t.Run("a limit of files", fileLimited)
	t.Run("prune failure", pruneFailure)
	t.Run("another user", anotherUser)
}

// Numbers and ages are bounds; what new settings do not allow is gone before they are in force, or they are not.
func retentionConfig(t *testing.T) {
	t.Run("count", func(t *testing.T) {
		h := newHost(t, on+`,"max_checkpoints":2`)
		h.serve()
		h.start("sleep", "1000")
		var last string
		for range 4 {
			last = h.checkpoint()
		}
		list := h.list()
		if len(list) != 2 || list[1].Checkpoint != last || list[0].Generation != 3 {
			t.Errorf("%+v", list)
		}
		h.settle(on + `,"max_checkpoints":1`)
		h.call(verbs.ConfigReload, verbs.Empty{}, &verbs.ConfigReloadResult{})
		if files := h.files(); len(files) != 1 || files[0] != last+".json" {
			t.Errorf("%v", files)
		}
		h.settle(`"enabled":false`)
		h.call(verbs.ConfigReload, verbs.Empty{}, &verbs.ConfigReloadResult{})
		h.refused(verbs.CodeRecoveryDisabled, verbs.RecoveryCheckpoint, verbs.Empty{}, &verbs.CheckpointResult{})
		if files := h.files(); len(files) != 1 {
			t.Errorf("switched off, and there is %v", files)
		}
	})
	t.Run("age", func(t *testing.T) {
		h := newHost(t, `"enabled":true,"interval_ms":1000,"max_age_seconds":3,"text_max_age_seconds":3`)
		c := one(planted, 1)
		c.CapturedAt = now().Plus(-2)
		h.plant(c)
		h.serve()
		h.await("it has expired on disk", func() bool { return len(h.files()) == 0 })
		h.cannotRestore(verbs.CodeNoCheckpoint, planted)
	})
	t.Run("off removes text", func(t *testing.T) {
		h := newHost(t, withText)
		c := one(planted, 1)
		c.Panes[0].Text = plain(now(), 3600, "canary")
		h.plant(c)
		h.plant(one(plantedAgain, 2))
		h.serve()
		unsafe := h.dir + "/elsewhere"
		h.must(os.Link(h.file(planted), unsafe)) // so it cannot be known, nor removed
		h.settle(on)
		out, code := h.run("config", "reload")
		if code == 0 {
			t.Errorf("reload says %s", out)
		}
		h.start("sh", "-c", "echo canary-two; sleep 1000")
		h.awaitShown("p0", "canary-two")
		if text := h.decode(h.checkpoint()).Panes[0].Text; text.Availability != recovery.TextPlain {
			t.Errorf("the settings that failed are in force: %+v", text)
		}
		h.must(os.Remove(unsafe))
		h.call(verbs.ConfigReload, verbs.Empty{}, &verbs.ConfigReloadResult{})
		if files := h.files(); len(files) != 1 || files[0] != plantedAgain+".json" {
			t.Errorf("%v", files)
		}
	})
	t.Run("start", func(t *testing.T) {
		h := newHost(t, on)
		c := one(planted, 1)
		c.Panes[0].Text = plain(now(), 3600, "canary")
		h.plant(c)
		h.must(os.Link(h.file(planted), h.dir+"/elsewhere"))
		if err := h.tryServe(); err == nil {
			t.Error("it starts with text that it may not keep")
		}
		h.must(os.Remove(h.dir + "/elsewhere"))
		h.serve()
		if files := h.files(); len(files) != 0 {
			t.Errorf("%v", files)
		}
	})
	t.Run("periodic", func(t *testing.T) {
		h := newHost(t, `"enabled":true,"interval_ms":1000`)
		h.serve()
		h.start("sleep", "1000")
		h.await("one is written unasked", func() bool { return len(h.files()) > 0 })
		began := time.Now()
		h.must(h.stop())
		if took := time.Since(began); took > endMax {
			t.Errorf("the end took %v", took)
		}
		h.serve()
		list := h.list()
		if last := list[len(list)-1]; last.Shutdown != "open" || last.Running != 1 {
			t.Errorf("%+v", list)
		}
	})
}

// Who follows sees a restore as one step or not at all, hears nothing of what a text looks like, and nothing of what it may not
// see. A relaunch ends the streams of the archive, and they lead nowhere.
func eventsClients(t *testing.T) {
	t.Run("all or none", allOrNone)
	t.Run("restore and relaunch", restoreAndRelaunch)
}
