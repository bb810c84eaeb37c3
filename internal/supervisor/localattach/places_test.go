// SPDX-License-Identifier: Apache-2.0

package localattach

import (
	"errors"
	"testing"

	"spawn/internal/supervisor/verbs"
)

// somewhere is two sessions: three windows in the first, of which nothing runs in w1 any more and w2 has
// three panes, and one window in the second. A third has no windows that run.
func somewhere() Map {
	pane := func(id, session, window string, state verbs.PaneState, used int64) verbs.Pane {
		return verbs.Pane{ID: id, Session: session, Window: window, State: state, UsedAt: used}
	}
	return Map{
		Windows: []verbs.Window{
			{Window: "w0", Session: "s0", Active: "p0"}, {Window: "w1", Session: "s0", Active: "p1"}, {Window: "w2", Session: "s0", Active: "p4"},
			{Window: "w3", Session: "s2", Active: "p6"}, {Window: "w5", Session: "s1", Active: "p7"}, {Window: "w4", Session: "s1", Active: "p9"},
		},
		Panes: []verbs.Pane{
			pane("p0", "s0", "w0", verbs.PaneRunning, 7), pane("p1", "s0", "w1", verbs.PaneExited, 99),
			pane("p3", "s0", "w2", verbs.PaneRunning, 0), pane("p4", "s0", "w2", verbs.PaneRunning, 8), pane("p5", "s0", "w2", verbs.PaneLost, 0),
			pane("p10", "s0", "w2", verbs.PaneRunning, 8), pane("p6", "s2", "w3", verbs.PaneExited, 0),
			pane("p7", "s1", "w5", verbs.PaneExited, 0), pane("p8", "s1", "w5", verbs.PaneRunning, 0), pane("p9", "s1", "w4", verbs.PaneRunning, 0),
		},
	}
}

func TestWhereCommandsLead(t *testing.T) {
	m := somewhere()
	for _, c := range []struct {
		at, does string
		want     string // "" for nowhere
	}{
		{"p0", "n", "p4"}, {"p0", "p", "p4"}, {"p3", "n", "p0"}, {"p10", "p", "p0"},
		{"p0", "0", "p0"}, {"p0", "1", ""}, {"p0", "2", "p4"}, {"p0", "3", ""}, {"p8", "0", "p8"}, {"p8", "1", "p9"},
		{"p0", "o", ""}, {"p3", "o", "p4"}, {"p4", "o", "p10"}, {"p10", "o", "p3"}, {"p1", "o", ""}, {"p5", "o", "p3"},
		{"p0", ")", "p8"}, {"p0", "(", "p8"}, {"p9", ")", "p0"}, {"p9", "(", "p0"},
		{"p1", "n", "p4"}, {"p1", "p", "p0"},
	} {
		got, err := m.find(command(c.does[0]), stand{pane: c.at, session: m.session(c.at)})
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s at %s leads to %q, %v, want %q", c.does, c.at, got, err, c.want)
		}
	}
	back, err := m.find(nextSession, stand{pane: "p0", session: "s0", last: map[string]string{"s1": "p9", "s2": "p6"}})
	if back != "p9" || err != nil {
		t.Errorf("back in the session at %q, %v", back, err)
	}
	gone, err := m.find(nextWindow, stand{pane: "p77", session: "s1"})
	if gone != "p8" || err != nil {
		t.Errorf("from a pane that is gone to %q, %v", gone, err)
	}
}

// A pane is itself; a window or a session is its active pane, or another that runs.
func TestWhatAnIDOpens(t *testing.T) {
	m := somewhere()
	for id, want := range map[string]string{"": "", "p77": "p77", "w0": "p0", "w2": "p4", "w5": "p8", "s0": "p0", "s1": "p8"} {
		if got, err := m.entrance(id); got != want || err != nil {
			t.Errorf("%q opens %q, %v, want %q", id, got, err, want)
		}
	}
	for id, want := range map[string]verbs.Code{
		"w9": verbs.CodeNoWindow, "w1": verbs.CodeEnded, "s9": verbs.CodeNoSession, "s2": verbs.CodeEnded,
	} {
		var told *verbs.Error
		if got, err := m.entrance(id); got != "" || !errors.As(err, &told) || told.Code != want {
			t.Errorf("%q opens %q, %v, want %s", id, got, err, want)
		}
	}
}

func TestWhereTheEndOfAPaneLeads(t *testing.T) {
	m := somewhere()
	for at, want := range map[string]string{"p0": "p3", "p1": "p3", "p10": "p0", "p9": "p8", "p6": ""} {
		got, err := m.onward(stand{pane: at, session: m.session(at)})
		if got != want || (err == nil) != (want != "") {
			t.Errorf("after %s comes %q, %v, want %q", at, got, err, want)
		}
	}
	if got, err := m.onward(stand{pane: "p99", session: "s1"}); got != "p8" || err != nil {
		t.Errorf("after one that is gone comes %q, %v", got, err)
	}
}

func TestTheLatestIsWhatWasUsedLastAndRuns(t *testing.T) {
	m := somewhere()
	if got := m.latest(); got != "p10" { // p1 has ended; of two the newer one
		t.Errorf("latest %q", got)
	}
	if got := (Map{}).latest(); got != "" {
		t.Errorf("latest of nothing %q", got)
	}
}

func TestAFootFitsAndDoesNoHarm(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"all well", 80, "all well"}, {"all well", 3, "all"}, {"all well", -1, ""}, {"a\x1b[31mb\u202ec\r\n", 80, "a?[31mb?c??"}, {"über 端末", 80, "über ??"},
	} {
		if got := plainText(c.text, c.most); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.most, got, c.want)
		}
	}
	if help := helpLine(Keys{}); plainText(help, 78) != help {
		t.Errorf("%q does not fit 80 columns", help)
	}
}

func TestCommandsAreFound(t *testing.T) {
	other, _ := ParseKeys("ctrl-a n")
	for name, c := range map[string]struct {
		keys  Keys
		typed []string
		want  string // what is sent, and commands in brackets
	}{
		"each in turn":      {Keys{}, []string{"a\x1cnb\x1cpc\x1c0\x1c9d\x1c(\x1c)\x1co\x1cc\x1c?e"}, "a[n]b[p]c[0][9]d[(][)][o][c][?]e"},
		"in two reads":      {Keys{}, []string{"a\x1c", "n", "b"}, "a[n]b"},
		"twice":             {Keys{}, []string{"\x1c\x1cn"}, "\x1cn"},
		"no command":        {Keys{}, []string{"\x1cx"}, "\x1cx"},
		"kitty protocol":    {Keys{}, []string{"\x1b[92;5u", "\x1b[110u", "\x1b[92;5u\x1b[40;2u"}, "[n][(]"},
		"detach ends":       {Keys{}, []string{"\x1cn\x1cd"}, "[n][d]"},
		"detach goes first": {other, []string{"\x01n\x01p"}, "[d][p]"},
	} {
		s, got := newScanner(c.keys, true), ""
		for _, typed := range c.typed {
			for p := []byte(typed); len(p) > 0; {
				send, does, rest := s.scan(p)
				if got += string(send); does != 0 {
					got += "[" + string(rune(does)) + "]"
				}
				p = rest
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
