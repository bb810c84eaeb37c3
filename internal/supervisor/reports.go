// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/control"
	"spawn/internal/supervisor/events"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/page"
	"spawn/internal/supervisor/topology"
)

const (
	toldRunesMax = 1024 // of one text that a program chose: at most 4 KiB
	nameRunesMax = 64   // of a viewer's name
)

// vitals are what readers of events know of a pane beside what the tree keeps.
type vitals struct {
	cwd        string
	controller string // viewer; "" for none
	generation int64
	viewers    map[string]bool // by id; whether it only watches
}

// reported tells what a hub reports. It is called under the hub's lock, so mu comes after that one.
func (ps *panes) reported(id string, r fanout.Report) {
	if asksForAttention(r) {
		ps.board.Ring(id)
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	c := ps.told
	if c == nil {
		return
	}
	above, there := ps.mu.tree.Ancestors(id)
	if !there {
		return // it was closed
	}
	v := c.vitals[id]
	if v == nil {
		v = &vitals{viewers: map[string]bool{}}
		c.vitals[id] = v
	}
	e, told := v.take(r)
	if !told {
		return
	}
	e.Resource, e.Above = "pane:"+id, []string{"window:" + above[2], "session:" + above[1], topology.Root}
	switch r.(type) {
	case fanout.Noticed, fanout.Active:
		c.commit(nil, []events.Change{e})
	default:
		c.commit([]events.Change{e}, nil)
	}
}

func asksForAttention(r fanout.Report) bool {
	n, ok := r.(fanout.Noticed)
	return ok && (n.Kind == wire.NoticeBell || n.Kind == wire.NoticeNotification)
}

// take keeps what lasts of a report and returns what is told of it; false when that is nothing.
func (v *vitals) take(r fanout.Report) (events.Change, bool) {
	switch r := r.(type) {
	case fanout.Active:
		return events.Change{Type: events.PaneActivity}, true
	case fanout.Noticed:
		return v.notice(r.Notice)
	case fanout.Joined:
		v.viewers[viewerID(r.Viewer)] = r.ReadOnly
		return events.Change{Type: events.ViewerAttached, Data: map[string]any{
			"viewer": viewerID(r.Viewer), "name": page.Plain(r.Name, nameRunesMax), "read_only": r.ReadOnly,
		}}, true
	case fanout.Left:
		delete(v.viewers, viewerID(r.Viewer))
		return events.Change{Type: events.ViewerDetached, Data: map[string]any{"viewer": viewerID(r.Viewer)}}, true
	case fanout.Steered:
		v.controller, v.generation = "", int64(r.Generation)
		d := map[string]any{"generation": v.generation}
		if r.Controller != 0 {
			v.controller = viewerID(r.Controller)
			d["viewer"], d["name"] = v.controller, page.Plain(r.Name, nameRunesMax)
		}
		return events.Change{Type: events.ControlChanged, Data: d}, true
	}
	return events.Change{}, false
}

// notice tells what a program did. Its title is told with the tree, which keeps it.
func (v *vitals) notice(n wire.Notice) (events.Change, bool) {
	text := page.Plain(n.Text, toldRunesMax)
	switch n.Kind {
	case wire.NoticeCwd:
		news := v.cwd != text
		v.cwd = text
		return events.Change{Type: events.PaneCwd, Data: map[string]any{"cwd": text}}, news
	case wire.NoticeBell:
		return events.Change{Type: events.PaneBell}, true
	case wire.NoticeNotification:
		return events.Change{Type: events.PaneNotification, Data: map[string]any{"text": text}}, true
	case wire.NoticeMark:
		return marked(n.Text)
	}
	return events.Change{}, false
}

// marked tells of a mark of OSC 133: C begins a command, D ends it, and may say how.
func marked(mark string) (events.Change, bool) {
	kind, rest, _ := strings.Cut(mark, ";")
	switch kind {
	case "C":
		return events.Change{Type: events.CommandStarted}, true
	case "D":
		status, _, _ := strings.Cut(rest, ";")
		if code, err := strconv.ParseInt(status, 10, 32); err == nil {
			return events.Change{Type: events.CommandFinished, Data: map[string]any{"exit_code": code}}, true
		}
		return events.Change{Type: events.CommandFinished}, true
	}
	return events.Change{}, false
}

func viewerID(id control.ViewerID) string { return strconv.FormatUint(uint64(id), 10) }

// state takes everything there is for a reader, while nothing of it can change.
func (ps *panes) state(use func([]events.Entity)) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	tree := ps.mu.tree
	all := make([]events.Entity, 0, len(tree.Sessions)+len(tree.Windows)+len(tree.Panes))
	for i, s := range tree.Sessions {
		all = append(all, events.Entity{
			Resource: "session:" + s.ID, Above: []string{topology.Root},
			Data: map[string]any{"index": int64(i)}, Content: map[string]any{"name": s.Name},
		})
	}
	places := tree.Places()
	for _, w := range tree.Windows {
		d := map[string]any{
			"session": w.Session, "index": int64(places[w.ID].Index), "revision": int64(w.Revision), "nodes": raw(w.Nodes), "active": w.Active,
		}
		all = append(all, events.Entity{
			Resource: "window:" + w.ID, Above: []string{"session:" + w.Session, topology.Root},
			Data: given(d, "zoomed", w.Zoomed), Content: map[string]any{"name": w.Name},
		})
	}
	presets := ps.inForce.floatPresets()
	for _, p := range tree.Panes {
		all = append(all, paneEntity(p, places[p.Window], ps.told.vitals[p.ID], presets))
	}
	use(all)
}

func paneEntity(p topology.Pane, at topology.Place, v *vitals, presets topology.Presets) events.Entity {
	e := events.Entity{
		Resource: "pane:" + p.ID, Above: []string{"window:" + at.Window, "session:" + at.Session, topology.Root},
		Data:    layered(ending(map[string]any{"window": p.Window, "exited": p.End != nil}, p.End), p),
		Content: floating(map[string]any{"name": p.Name, "title": p.Title}, p, presets),
	}
	if len(p.Tags) > 0 {
		e.Content["tags"] = tagTexts(p.Tags)
	}
	if p.Archive != nil {
		e.Content["recovery"] = raw(p.Archive)
	}
	if v == nil {
		v = &vitals{}
	}
	given(e.Content, "argv0", p.Argv0)
	given(e.Content, "cwd", v.cwd)
	e.Data["generation"] = v.generation
	e.Data["viewers"] = slices.Sorted(maps.Keys(v.viewers))
	given(e.Data, "controller", v.controller)
	return e
}
