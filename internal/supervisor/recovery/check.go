// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"path/filepath"

	"spawn/internal/supervisor/topology"
)

// check holds every rule of a payload in the given format. It visits each record once and never
// recurses, so its cost is bounded by the counts that were checked before.
func (c *Checkpoint) check(format int) error {
	if n := len(c.Sessions) + len(c.Windows) + len(c.Panes); n > ResourcesMax {
		return oversize("too many sessions, windows, panes and nodes")
	}
	if err := c.checkHead(); err != nil {
		return err
	}
	sessions, err := checkSessions(c.Sessions)
	if err != nil {
		return err
	}
	t := membership{sessions: sessions, windows: map[string]string{}, panes: make(map[string]*Pane, len(c.Panes))}
	for i := range c.Panes {
		t.panes[c.Panes[i].ID] = &c.Panes[i]
	}
	if err := t.checkWindows(c, format); err != nil {
		return err
	}
	return t.checkPanes(c, format)
}

func (c *Checkpoint) checkHead() error {
	if _, err := ParseID(c.ID); err != nil {
		return corrupt("its id is malformed")
	}
	switch {
	case c.Generation < 1 || c.Generation > safeInteger:
		return corrupt("generation is out of range")
	case !filepath.IsAbs(c.Socket) || len(c.Socket) > socketMax:
		return corrupt("socket is not an absolute path")
	case c.UID < 0 || c.UID > uidMax:
		return corrupt("uid is out of range")
	case !c.CapturedAt.valid():
		return corrupt("time of capture is out of range")
	case c.Shutdown != ShutdownOpen && c.Shutdown != ShutdownClean:
		return corrupt("shutdown has no such value")
	}
	return nil
}

func checkSessions(list []Session) (map[string]bool, error) {
	known := make(map[string]bool, len(list))
	last := int64(-1)
	for _, s := range list {
		n, ok := number('s', s.ID)
		if !ok || n <= last {
			return nil, corrupt("sessions are not sorted by id")
		}
		if !topology.IsSessionName(s.Name) {
			return nil, corrupt("name of a session is malformed")
		}
		last, known[s.ID] = n, true
	}
	return known, nil
}

// membership is who belongs where.
type membership struct {
	sessions map[string]bool
	windows  map[string]string // the session of each window
	panes    map[string]*Pane  // a leaf takes its pane out
}

func (t *membership) checkWindows(c *Checkpoint, format int) error {
	last, count := int64(-1), len(c.Sessions)+len(c.Windows)+len(c.Panes)
	for _, w := range c.Windows {
		n, ok := number('w', w.ID)
		if !ok || n <= last {
			return corrupt("windows are not sorted by id")
		}
		switch {
		case !t.sessions[w.Session]:
			return corrupt("a window is in no session")
		case !topology.IsName(w.Name):
			return corrupt("name of a window is malformed")
		case w.Revision < 1 || w.Revision > safeInteger:
			return corrupt("revision of a window is out of range")
		}
		if count += len(w.Nodes); count > ResourcesMax {
			return oversize("too many sessions, windows, panes and nodes")
		}
		last, t.windows[w.ID] = n, w.Session
		if err := t.checkTree(w, format); err != nil {
			return err
		}
	}
	return nil
}

// checkTree walks a tree in preorder: the first child follows its split, and after a leaf comes the
// second child of the innermost split that still waits for one.
func (t *membership) checkTree(w Window, format int) error {
	var waiting []int
	for i, node := range w.Nodes {
		switch node.Kind {
		case NodeSplit:
			if err := checkSplit(node, i, len(w.Nodes), format); err != nil {
				return err
			}
			waiting = append(waiting, node.Second)
		case NodePane:
			if node.Axis != "" || node.First != 0 || node.Second != 0 || node.Ratio != 0 {
				return corrupt("a leaf has fields of a split")
			}
			if err := t.place(node.Pane, w); err != nil {
				return err
			}
			next := len(w.Nodes)
			if n := len(waiting); n > 0 {
				next, waiting = waiting[n-1], waiting[:n-1]
			}
			if next != i+1 {
				return corrupt("nodes are not in preorder")
			}
		default:
			return corrupt("a node has no such kind")
		}
	}
	if len(waiting) > 0 {
		return corrupt("a split lacks a child")
	}
	return nil
}

func checkSplit(node Node, i, nodes, format int) error {
	switch {
	case node.Pane != "":
		return corrupt("a split has a pane")
	case node.Axis != AxisRows && node.Axis != AxisCols:
		return corrupt("a split has no such axis")
	case node.First != i+1 || node.Second <= node.First || node.Second >= nodes:
		return corrupt("nodes are not in preorder")
	case node.Ratio != 0 && format < Format3:
		return corrupt("a split has a field of a later format")
	case node.Ratio != 0 && (node.Ratio < ratioMin || node.Ratio > topology.RatioMax):
		return corrupt("ratio of a split is out of range")
	}
	return nil
}

// place takes a tiled pane to its leaf; a second leaf no longer finds it.
func (t *membership) place(id string, w Window) error {
	p := t.panes[id]
	if p == nil || p.Window != w.ID || p.Layer != "" {
		return corrupt("a leaf has no tiled pane of its window, or another leaf has it too")
	}
	delete(t.panes, id)
	return nil
}

func (t *membership) checkPanes(c *Checkpoint, format int) error {
	last := int64(-1)
	for i := range c.Panes {
		p := &c.Panes[i]
		n, ok := number('p', p.ID)
		if !ok || n <= last {
			return corrupt("panes are not sorted by id")
		}
		last = n
		if session, ok := t.windows[p.Window]; !ok || session != p.Session {
			return corrupt("a pane is in no window of its session")
		}
		if _, unplaced := t.panes[p.ID]; unplaced && p.Layer == "" {
			return corrupt("a tiled pane is in no tree")
		}
		if err := p.check(format); err != nil {
			return err
		}
		if c.Shutdown == ShutdownClean && p.State == StateRunning {
			return corrupt("a pane runs after a clean shutdown")
		}
	}
	return nil
}
