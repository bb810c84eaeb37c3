// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"spawn/internal/sessiond/emulator"
	"spawn/internal/supervisor/topology"
)

// Counters are the numbers that the daemon gives out next, and the highest order of a float so far.
type Counters struct {
	Session int64
	Window  int64
	Pane    int64
	Z       int64
}

// Mapping tells what became of an id of the checkpoint.
type Mapping struct {
	Previous string `json:"previous"`
	Current  string `json:"current"`
}

// Archive is a pane as it is restored: what was known of it, and no process. Nothing in it can be executed.
type Archive struct {
	Pane      string // its new id, as are Window and Session
	Window    string
	Session   string
	Cols      int
	Rows      int
	ExitCode  *int   // nil, as is the signal, unless an exit was recorded
	Signal    string // of history; never sent
	Float     *Float // with its new order; nil when tiled
	Tags      []Tag
	Text      Rows   // empty unless Recovery.TextState is TextPlain
	SavedAt   Millis // of the text; 0 when there is none
	ExpiresAt Millis
	Recovery  Recovery
}

// Recovery is what readers of a pane are told when it is an archive.
type Recovery struct {
	Checkpoint   string `json:"checkpoint"`
	PreviousPane string `json:"previous_pane"`
	ProcessState string `json:"process_state"` // ProcessExited or ProcessInterrupted
	TextState    string `json:"text_state"`    // TextOmitted, TextExpired or TextPlain
	// CutRows is the number of saved rows of which some is missing on the restored screen or in its
	// history. It outlives the text and is not part of a checkpoint.
	CutRows int64 `json:"cut_rows"`
}

// Plan is a whole restore before any of it is done. Lists are in the order in which resources begin: by the
// number that they had, sessions before windows before panes.
type Plan struct {
	Checkpoint string
	Sessions   []Session // under new ids, as is all below
	Windows    []Window  // revision 1
	Archives   []Archive
	SessionMap []Mapping
	WindowMap  []Mapping
	PaneMap    []Mapping
	Next       Counters // what is free behind it
}

// PlanRestore maps a checkpoint, as Read returned it, to new resources. It decides nothing that the daemon's present
// state decides: whether the tree is empty, who owns what, and how a float's wishes are met. A pane that has
// no owner tag gets owner, who restores, as one. ErrCorrupt when counters are used up.
func PlanRestore(c Checkpoint, next Counters, owner string) (Plan, error) {
	plan := Plan{Checkpoint: c.ID}
	sessions, windows, panes := map[string]string{}, map[string]string{}, map[string]string{}
	for _, s := range c.Sessions {
		plan.SessionMap = append(plan.SessionMap, rename(sessions, 's', s.ID, &next.Session))
		plan.Sessions = append(plan.Sessions, Session{sessions[s.ID], s.Name})
	}
	for _, w := range c.Windows {
		plan.WindowMap = append(plan.WindowMap, rename(windows, 'w', w.ID, &next.Window))
	}
	for _, p := range c.Panes {
		plan.PaneMap = append(plan.PaneMap, rename(panes, 'p', p.ID, &next.Pane))
	}
	for _, w := range c.Windows {
		nodes := slices.Clone(w.Nodes)
		for i := range nodes {
			if nodes[i].Kind == NodePane {
				nodes[i].Pane = panes[nodes[i].Pane]
			}
		}
		plan.Windows = append(plan.Windows, Window{windows[w.ID], sessions[w.Session], w.Name, 1, nodes})
	}
	orders := stacking(c.Panes, &next.Z)
	for _, p := range c.Panes {
		a := archive(c.ID, p, owner)
		a.Pane, a.Window, a.Session = panes[p.ID], windows[p.Window], sessions[p.Session]
		if p.Float != nil {
			float := *p.Float
			float.Z = orders[p.ID]
			a.Float = &float
		}
		plan.Archives = append(plan.Archives, a)
	}
	if plan.Next = next; max(next.Session, next.Window, next.Pane) > safeInteger+1 || next.Z > safeInteger {
		return Plan{}, corrupt("ids are used up")
	}
	return plan, nil
}

// rename gives an id its successor.
func rename(current map[string]string, letter byte, previous string, next *int64) Mapping {
	id := string(letter) + strconv.FormatInt(*next, 10)
	*next++
	current[previous] = id
	return Mapping{previous, id}
}

// stacking gives the floats new orders above z: as they lay, and of two that lay at one order the lower number first.
func stacking(panes []Pane, z *int64) map[string]int64 {
	var floats []Pane
	for _, p := range panes {
		if p.Float != nil {
			floats = append(floats, p)
		}
	}
	slices.SortStableFunc(floats, func(a, b Pane) int { return cmp.Compare(a.Float.Z, b.Float.Z) })
	orders := map[string]int64{}
	for _, p := range floats {
		*z++
		orders[p.ID] = *z
	}
	return orders
}

// archive is what a record says, without its place.
func archive(checkpoint string, p Pane, owner string) Archive {
	a := Archive{Cols: p.Cols, Rows: p.Rows, Tags: withOwner(p.Tags, owner),
		Recovery: Recovery{Checkpoint: checkpoint, PreviousPane: p.ID, ProcessState: ProcessInterrupted, TextState: p.Text.Availability}}
	if p.State == StateExited {
		a.Recovery.ProcessState = cmp.Or(p.PreviousState, ProcessExited)
	}
	if a.Recovery.ProcessState == ProcessExited {
		a.ExitCode, a.Signal = p.ExitCode, p.Signal
	}
	if p.Text.Availability == TextPlain {
		a.Text = Rows{Screen: p.Text.Screen, History: p.Text.History}
		a.SavedAt, a.ExpiresAt = p.Text.SavedAt, p.Text.ExpiresAt
	}
	return a
}

// withOwner adds the owner tag where there is none. A record that is full without one keeps what it has.
func withOwner(tags []Tag, owner string) []Tag {
	at, found := slices.BinarySearchFunc(tags, topology.OwnerKey, func(t Tag, key string) int { return strings.Compare(t.Key, key) })
	if found || len(tags) >= topology.TagsMax {
		return slices.Clone(tags)
	}
	return slices.Insert(slices.Clone(tags), at, Tag{topology.OwnerKey, owner})
}

// Hydrate makes a reset terminal of the archive's size that shows its text, and counts the rows of which some is missing.
// Saved rows become cells, whatever they say: no parser sees them, so they cannot ask, ring or set anything.
// History goes to the sink.
func (a *Archive) Hydrate(sink emulator.Sink) (*emulator.Terminal, error) {
	t, cut, err := emulator.Hydrate(a.Cols, a.Rows, emulator.Plain{Screen: a.Text.Screen, History: a.Text.History.Rows()}, sink)
	if err != nil {
		return nil, corrupt("a text cannot be shown")
	}
	a.Recovery.CutRows = int64(cut)
	return t, nil
}

// ExpireText drops the archive's text once it may no longer be kept, and tells whether it did. The count of
// cut rows stays.
func (a *Archive) ExpireText(now Millis, p Policy) bool {
	t := Text{Availability: a.Recovery.TextState, SavedAt: a.SavedAt, ExpiresAt: a.ExpiresAt}
	if t.Availability != TextPlain || textAlive(t, now, p) {
		return false
	}
	a.Text, a.SavedAt, a.ExpiresAt, a.Recovery.TextState = Rows{}, 0, 0, TextExpired
	return true
}
