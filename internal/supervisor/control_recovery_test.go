// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/topology"
	"spawn/internal/supervisor/verbs"
)

// What is told of a checkpoint before it is restored is what a restore makes of it, and nothing else that is in the file: no
// row of a text, no tag, no socket.
func TestAnOutlineTellsPlacesAndEndsAlone(t *testing.T) {
	code, title, x := 3, "log", -1
	history, err := recovery.ListOf([]string{"secret"})
	if err != nil {
		t.Fatal(err)
	}
	text := recovery.Text{Availability: recovery.TextPlain, SavedAt: 1, ExpiresAt: 2, Screen: []string{"secret"}, History: history}
	c := recovery.Checkpoint{
		ID: "c01234567-89ab-4cde-8fab-0123456789ab", Generation: 7, Socket: "/run/secret.sock", CapturedAt: 1, Shutdown: recovery.ShutdownOpen,
		Sessions: []recovery.Session{{ID: "s2", Name: "work"}, {ID: "s3"}},
		Windows: []recovery.Window{{ID: "w5", Session: "s2", Name: "build", Revision: 9, Nodes: []recovery.Node{
			{Kind: recovery.NodeSplit, Axis: recovery.AxisCols, First: 1, Second: 2, Ratio: 6250},
			{Kind: recovery.NodePane, Pane: "p7"}, {Kind: recovery.NodePane, Pane: "p8"},
		}}},
		Panes: []recovery.Pane{
			{ID: "p7", Window: "w5", Session: "s2", Cols: 80, Rows: 1, State: recovery.StateRunning, Text: text,
				Tags: []recovery.Tag{{Key: "note", Value: "secret"}}},
			{ID: "p8", Window: "w5", Session: "s2", Cols: 40, Rows: 1, State: recovery.StateExited, ExitCode: &code,
				Text: recovery.Text{Availability: recovery.TextExpired}},
			{ID: "p9", Window: "w5", Session: "s2", Cols: 60, Rows: 12, State: recovery.StateExited, PreviousState: recovery.ProcessInterrupted,
				Layer: recovery.LayerFloat, Float: &recovery.Float{Title: &title, X: &x, Z: 4}, Text: recovery.Text{Availability: recovery.TextOmitted}},
		},
	}
	told, err := outline(c)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"sessions":[{"session":"s2","name":"work"},{"session":"s3","name":""}],` +
		`"windows":[{"window":"w5","session":"s2","name":"build","nodes":[{"kind":"split","axis":"cols","first":1,"second":2,"ratio":6250},{"kind":"pane","pane":"p7"},{"kind":"pane","pane":"p8"}]}],` +
		`"panes":[{"pane":"p7","window":"w5","cols":80,"rows":1,"process_state":"interrupted","exit_code":null,"signal":"","text_state":"plain"},` +
		`{"pane":"p8","window":"w5","cols":40,"rows":1,"process_state":"exited","exit_code":3,"signal":"","text_state":"expired"},` +
		`{"pane":"p9","window":"w5","title":"log","cols":60,"rows":12,"process_state":"interrupted","exit_code":null,"signal":"","text_state":"omitted"}]}`
	if got, err := strictjson.Marshal(told); err != nil || string(got) != want {
		t.Errorf("%v\n%s\n%s", err, got, want)
	}
}

// Of a checkpoint without anything the outline is empty, and there.
func TestAnOutlineOfNothingIsThere(t *testing.T) {
	told, err := outline(recovery.Checkpoint{})
	got, marshal := strictjson.Marshal(verbs.RecoveryInspectResult{Topology: told})
	const want = `{"checkpoint":"","generation":0,"shutdown":"","sessions":0,"windows":0,"panes":0,"text_panes":0,"expired_text_panes":0,` +
		`"topology":{"sessions":[],"windows":[],"panes":[]}}`
	if err := errors.Join(err, marshal); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

// The largest that may be restored fits an answer with the longest names; one more of anything is refused, as its restore is.
func TestAnOutlineIsBoundedAsARestoreIs(t *testing.T) {
	name, title := strings.Repeat("\U0010FFFD", topology.NameRunesMax), strings.Repeat(`"`, topology.FloatTitleMax)
	full := recovery.Checkpoint{}
	for i := range topology.PanesMax {
		session, window, pane := fmt.Sprintf("s%d", 1<<52+i), fmt.Sprintf("w%d", 1<<52+i), fmt.Sprintf("p%d", 1<<52+i)
		full.Sessions = append(full.Sessions, recovery.Session{ID: session, Name: name})
		full.Windows = append(full.Windows, recovery.Window{ID: window, Session: session, Name: name, Nodes: []recovery.Node{
			{Kind: recovery.NodeSplit, Axis: recovery.AxisRows, First: 1 << 15, Second: 1 << 15, Ratio: 9999}, {Kind: recovery.NodePane, Pane: pane},
		}})
		full.Panes = append(full.Panes, recovery.Pane{ID: pane, Window: window, Cols: 65535, Rows: 65535, State: recovery.StateExited,
			PreviousState: recovery.ProcessExited, Signal: "SIGABCDEFGHIJKLMNOPQRSTUVWXYZ012",
			Layer: recovery.LayerFloat, Float: &recovery.Float{Title: &title, Z: 1}, Text: recovery.Text{Availability: recovery.TextOmitted}})
	}
	told, err := outline(full)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := strictjson.Marshal(told); err != nil || len(got) > verbs.AnswerBytesMax-4096 { // what surrounds it is less
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for name, more := range map[string]func(*recovery.Checkpoint){
		"sessions": func(c *recovery.Checkpoint) { c.Sessions = append(c.Sessions, recovery.Session{ID: "s0"}) },
		"windows":  func(c *recovery.Checkpoint) { c.Windows = append(c.Windows, recovery.Window{ID: "w0", Session: "s0"}) },
		"panes":    func(c *recovery.Checkpoint) { c.Panes = append(c.Panes, recovery.Pane{ID: "p0", Window: "w0"}) },
	} {
		c := full
		more(&c)
		if _, err := outline(c); !errors.Is(err, recovery.ErrSize) {
			t.Errorf("one more of %s: %v", name, err)
		}
	}
}
