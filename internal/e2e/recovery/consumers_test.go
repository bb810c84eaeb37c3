// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recovery

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/verbs"
)

// records are archives of each kind: p0 exited with 4 and has text, of which a row is too wide; p1 was interrupted and has
// none; p2 was ended by a signal, and its text is too old.
func records() recovery.Checkpoint {
	code := 4
	c := one(planted, 1)
	c.Windows[0].Nodes = []recovery.Node{split("cols", 1, 2, 0), leaf("p0"), split("rows", 3, 4, 0), leaf("p1"), leaf("p2")}
	c.Panes = append(c.Panes, tile("p1", "w0", "s0"), tile("p2", "w0", "s0"))
	c.Panes[0].State, c.Panes[0].ExitCode = recovery.StateExited, &code
	c.Panes[0].Text = plain(now(), 3600, "first row of the screen")
	c.Panes[0].Text.Screen[1] = strings.Repeat("w", 81)
	c.Panes[0].Text.Screen[2] = "[31mnot red]0;no title"
	c.Panes[0].Text.History = listed("oldest row", "needle in the history")
	c.Panes[2].State, c.Panes[2].Signal = recovery.StateExited, "SIGHUP"
	c.Panes[2].Text = plain(now().Plus(-60), 30, "needle that is too old")
	return c
}

// Whatever reads a terminal reads an archive, and is told what it is.
func TestAnArchiveIsReadLikeATerminal(t *testing.T) {
	h := newHost(t, withText)
	h.plant(records())
	h.serve()
	h.restore(planted)
	of := func(pane, process, text string, cut uint64) verbs.Archived {
		return verbs.Archived{Checkpoint: planted, PreviousPane: pane, ProcessState: process, TextState: text, CutRows: cut}
	}
	for pane, want := range map[string]struct {
		recovery verbs.Archived
		state    verbs.PaneState
		signal   string
	}{
		"p0": {of("p0", "exited", "plain", 1), verbs.PaneExited, ""},
		"p1": {of("p1", "interrupted", "omitted", 0), verbs.PaneLost, ""},
		"p2": {of("p2", "exited", "expired", 0), verbs.PaneExited, "SIGHUP"},
	} {
		p := h.pane(pane)
		var shot verbs.PaneCaptureResult
		h.call(verbs.PaneCapture, verbs.PaneCaptureParams{Pane: pane, Part: "all"}, &shot)
		if p.Recovery != want.recovery || shot.Recovered != want.recovery || !shot.Exited || p.State != want.state || p.Signal != want.signal || (p.ExitCode != nil) != (pane == "p0") {
			t.Errorf("%s: listed %+v, captured %+v", pane, p, shot)
		}
		if shot.Cols != 80 || shot.Rows != 24 || shot.Cursor != (verbs.Cursor{Visible: true}) || shot.Modes != (verbs.Modes{}) {
			t.Errorf("%s: it is no fresh terminal: %+v", pane, shot)
		}
		if blank := strings.Join(shot.Lines, "") == ""; blank != (pane != "p0") {
			t.Errorf("%s shows %q", pane, shot.Lines)
		}
	}
	var shot verbs.PaneCaptureResult
	h.call(verbs.PaneCapture, verbs.PaneCaptureParams{Pane: "p0", Part: "all"}, &shot)
	rows := []string{"oldest row", "needle in the history", "first row of the screen", strings.Repeat("w", 80), "[31mnot red]0;no title"}
	if shot.First != -2 || len(shot.Lines) != 26 || !reflect.DeepEqual(shot.Lines[:5], rows) || shot.More {
		t.Errorf("%+v", shot)
	}
	h.call(verbs.PaneCapture, verbs.PaneCaptureParams{Pane: "p0", Part: "history", Format: "styled", Max: 1}, &shot)
	if len(shot.Lines) != 1 || !strings.Contains(shot.Lines[0], "needle") || !shot.More {
		t.Errorf("%+v", shot)
	}

	var found verbs.PaneSearchResult
	h.call(verbs.PaneSearch, verbs.PaneSearchParams{Pane: "p0", Text: "NEEDLE", IgnoreCase: true}, &found)
	if len(found.Matches) != 1 || found.Matches[0] != (verbs.Match{Row: -1, Length: 6, Line: rows[1]}) {
		t.Errorf("%+v", found)
	}
	h.call(verbs.PaneSearch, verbs.PaneSearchParams{Pane: "p2", Text: "needle"}, &found)
	if len(found.Matches) != 0 {
		t.Errorf("what is too old is found: %+v", found)
	}

	for format, want := range map[string]string{
		"plain": strings.Join(rows, "\n") + "\n", "ansi": "needle in the history", "html": "[31mnot red", "asciicast": `{"version":3,"term":{"cols":80,"rows":24}}`,
	} {
		var out verbs.PaneExportResult
		h.call(verbs.PaneExport, verbs.PaneExportParams{Pane: "p0", Format: format}, &out)
		if format == "plain" && out.Data != want || !strings.Contains(out.Data, want) || strings.ContainsAny(out.Data, "\x1b\x07") || out.Cut {
			t.Errorf("%s: %q", format, out.Data)
		}
	}

	if text := h.shows("p0"); !strings.Contains(text, "needle in the history\r\n") || !strings.Contains(text, "H[31mnot red]0;no title\x1b[") {
		t.Errorf("a viewer is shown %q", text)
	}
	if text := h.shows("p2"); strings.Contains(text, "needle") {
		t.Errorf("a viewer is shown %q", text)
	}

	h.refused(verbs.CodeLayer, verbs.PanePlace, verbs.PanePlaceParams{Pane: "p0", Float: verbs.Float{Width: "40"}}, &verbs.WindowResult{})

	// Nothing runs in it.
	h.refused(verbs.CodeEnded, verbs.PaneSend, verbs.PaneSendParams{Pane: "p0", Text: "x"}, &verbs.PaneSendResult{})
	var ended verbs.PaneWaitResult
	h.call(verbs.PaneWait, verbs.PaneWaitParams{Pane: "p0", Exit: true}, &ended)
	if ended.ExitCode == nil || *ended.ExitCode != 4 {
		t.Errorf("%+v", ended)
	}
	ended = verbs.PaneWaitResult{}
	h.call(verbs.PaneWait, verbs.PaneWaitParams{Pane: "p1", Exit: true}, &ended)
	if ended.ExitCode != nil || ended.Signal != "" {
		t.Errorf("%+v", ended)
	}
	if f := h.doctor("recovery.archives"); f.Status != "warn" || f.Message != "3 archives, 1 rows cut" {
		t.Errorf("%+v", f)
	}

	// What is off now is shown to nobody.
	h.settle(on)
	h.call(verbs.ConfigReload, verbs.Empty{}, &verbs.ConfigReloadResult{})
	h.call(verbs.PaneCapture, verbs.PaneCaptureParams{Pane: "p0", Part: "all"}, &shot)
	if text := strings.Join(shot.Lines, ""); text != "" || shot.Recovered != of("p0", "exited", "expired", 1) {
		t.Errorf("%q, %+v", text, shot.Recovered)
	}
	if _, _, err := h.socket().Stream(context.Background(), verbs.PaneStreamParams{Pane: "p9"}); dialCode(err) != verbs.CodeNoPane {
		t.Error(err)
	}
}

// A terminal whose worker was lost had no exit that anybody saw. That is what a checkpoint says of it, and the next one, too.
func TestALostTerminalIsSavedAsInterrupted(t *testing.T) {
	h := newHost(t, on)
	h.serve()
	p := h.start("sleep", "1000")
	h.start("sleep", "1000")
	h.loseWorker(p)
	for range 2 {
		id := h.checkpoint()
		if saved := h.decode(id).Panes[0]; saved.State != recovery.StateExited || saved.PreviousState != recovery.ProcessInterrupted || saved.ExitCode != nil || saved.Signal != "" {
			t.Errorf("%+v", saved)
		}
		h.reboot()
		h.serve()
		h.restore(id)
		if p := h.pane("p0"); p.State != verbs.PaneLost || p.Recovery.ProcessState != "interrupted" {
			t.Errorf("%+v", p)
		}
	}
}

// Who looks at a terminal that is closed is told how it ended, and that its pane is gone.
func TestAPaneThatIsClosedSaysSo(t *testing.T) {
	h := newHost(t, on)
	h.serve()
	p := h.start("sleep", "1000")
	h.start("sleep", "1000")
	s, _, err := h.socket().Stream(t.Context(), verbs.PaneStreamParams{Pane: p.ID, ReadOnly: true})
	h.must(err)
	defer s.Close()
	h.call(verbs.PaneClose, verbs.PaneCloseParams{Pane: p.ID}, &verbs.Empty{})
	h.replay(s) // up to EXIT
	if got := h.farewell(s); got != verbs.DetachedRemoved {
		t.Errorf("the stream ends with %q", got)
	}
	other := h.pane("p1")
	s, _, err = h.socket().Stream(t.Context(), verbs.PaneStreamParams{Pane: other.ID, ReadOnly: true})
	h.must(err)
	defer s.Close()
	h.loseWorker(other)
	if got := h.farewell(s); got != verbs.DetachedLost { // its pane is there still
		t.Errorf("the stream ends with %q", got)
	}
}
