// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"

	"spawn/internal/strictjson"
)

// Version 1 knew windows with one pane each, in a session's own list. Nothing of it may change any more.

type envelopeV1 struct {
	Version int    `json:"version"`
	Tree    treeV1 `json:"tree"`
}

type treeV1 struct {
	Next     Next        `json:"next"`
	Sessions []sessionV1 `json:"sessions"`
	Panes    []paneV1    `json:"panes"`
}

type sessionV1 struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Windows []windowV1 `json:"windows"`
}

type windowV1 struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Pane string `json:"pane"`
}

type paneV1 struct {
	ID        string `json:"id"`
	SessionID string `json:"session_id"`
	Name      string `json:"name"`
	Title     string `json:"title"`
	End       *End   `json:"end"`
}

// readV1 makes each pane the only, tiled one of its window. It has no tags, so no owner either.
func readV1(src []byte) (Tree, error) {
	var e envelopeV1
	if err := strictjson.Unmarshal(src, &e); err != nil {
		return Tree{}, err
	}
	t := Tree{Next: e.Tree.Next}
	windows := map[string]string{} // by the pane that they show
	for _, s := range e.Tree.Sessions {
		t.Sessions = append(t.Sessions, Session{ID: s.ID, Name: s.Name})
		for _, w := range s.Windows {
			if other, shown := windows[w.Pane]; shown {
				return Tree{}, fmt.Errorf("pane %q is in windows %s and %s", w.Pane, other, w.ID)
			}
			windows[w.Pane] = w.ID
			t.Windows = append(t.Windows, Window{
				ID: w.ID, Session: s.ID, Name: w.Name, Revision: 1, Active: w.Pane, Nodes: []Node{{Kind: NodePane, Pane: w.Pane}},
			})
		}
	}
	for _, p := range e.Tree.Panes {
		t.Panes = append(t.Panes, Pane{ID: p.ID, Window: windows[p.ID], SessionID: p.SessionID, Name: p.Name, Title: p.Title, End: p.End})
	}
	return t, nil
}
