// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recovery

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/recovery"
)

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
	return recovery.Text{Availability: recovery.TextPlain, SavedAt: saved, ExpiresAt: saved.Plus(seconds), Screen: screen, History: listed("before that")}
}

// listed is a history of rows that are known to be plain.
func listed(rows ...string) recovery.List {
	l, err := recovery.ListOf(rows)
	if err != nil {
		panic(err)
	}
	return l
}

// crowd is a checkpoint of two sessions: p0, which exited with 4, p1 and the float p2 in s0; p3, with text that looks like
// what programs say to a terminal, in s1.
func crowd() recovery.Checkpoint {
	code := 4
	c := one(planted, 1)
	c.Sessions = append(c.Sessions, recovery.Session{ID: "s1", Name: "other"})
	c.Windows[0].Nodes = []recovery.Node{split("cols", 1, 2, 0), leaf("p0"), leaf("p1")}
	c.Windows = append(c.Windows, recovery.Window{ID: "w1", Session: "s1", Revision: 1, Nodes: []recovery.Node{leaf("p3")}})
	c.Panes = append(c.Panes, tile("p1", "w0", "s0"), float("p2", "w0", "s0", recovery.Float{Width: "40", Z: 3}), tile("p3", "w1", "s1"))
	c.Panes[0].State, c.Panes[0].ExitCode = recovery.StateExited, &code
	c.Panes[3].Text = plain(now(), 3600, "]0;canary-title")
	c.Panes[3].Text.Screen[1], c.Panes[3].Text.Screen[2] = "]133;C", "[31m]7;file://h/canary"
	return c
}

// resealed changes the payload and gives it the digest that it then has.
func resealed(file, old, by string) string {
	changed := strings.Replace(file, old, by, 1)
	at := strings.Index(changed, `,"sha256":"`)
	payload := changed[len(`{"format":3,"payload":`):at] // whatever its format
	return changed[:at] + `,"sha256":"` + hex.EncodeToString(digest(payload)) + "\"}\n"
}

// asFormat writes another digit into the envelope, which the digest does not cover.
func asFormat(raw []byte, format string) []byte {
	return []byte(strings.Replace(string(raw), `{"format":3`, `{"format":`+format, 1))
}

// digest is that of the text that a JSON string holds.
func digest(quoted string) []byte {
	var payload string
	if err := strictjson.Unmarshal([]byte(quoted), &payload); err != nil {
		panic(err)
	}
	sum := sha256.Sum256([]byte(payload))
	return sum[:]
}
