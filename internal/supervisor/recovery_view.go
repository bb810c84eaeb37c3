// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"sync"
	"time"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/topology"
)

const (
	// textAskedMax is how many terminals may owe an answer at once. Each may take a megabyte.
	textAskedMax = 4
	// textTurnMax is how long the next terminal is not asked because the one before has not answered. A worker makes its
	// answer in a fraction of that, and while one does and spawnd reads it, a small machine has no processor left: with more
	// at once, programs wait for one, in the terminals too. A worker that does not answer holds the others up no longer.
	textTurnMax = 50 * time.Millisecond
	// colsUnknown and rowsUnknown are the size of a terminal whose worker was gone before this spawnd began.
	colsUnknown, rowsUnknown = 80, 24
	// exitCodeKept is the largest code that a checkpoint may hold.
	exitCodeKept = 255
)

// view is what there was at one moment, for a checkpoint. It implements recovery.Snapshot.
type view struct {
	at    recovery.Millis
	tree  topology.Tree
	panes []recovery.PaneFacts
	rows  map[string]recovery.Rows
}

var _ recovery.Snapshot = (*view)(nil)

// view takes the tree at one moment; ends of terminals are part of it. Sizes and text are asked for behind
// that, from everybody at once and for within at most: a terminal that does not answer has none. A
// terminal that has ended has the text of parted.
func (ps *panes) view(ctx context.Context, now time.Time, p recovery.Policy, within time.Duration, parted map[string]recovery.Rows) *view {
	ps.mu.Lock()
	v := &view{at: recovery.MillisOf(now), tree: ps.mu.tree, rows: parted}
	terminals := make(map[string]*pane, len(ps.mu.byID))
	for id, t := range ps.mu.byID {
		terminals[id] = t
	}
	ps.mu.Unlock()
	if p.KeepsText() && parted == nil {
		v.rows = gather(ctx, byNumber(v.tree, terminals), (*pane).text, p, within)
	}
	sessions := map[string]string{}
	for _, w := range v.tree.Windows {
		sessions[w.ID] = w.Session
	}
	for _, at := range v.tree.Panes {
		facts := paneFacts(at, terminals[at.ID])
		facts.Session = sessions[at.Window]
		if rows, ok := v.rows[at.ID]; ok { // its size may have changed since
			facts.Rows = len(rows.Screen)
		}
		v.panes = append(v.panes, facts)
	}
	return v
}

// texts is the text of every terminal that answers in time.
func (ps *panes) texts(ctx context.Context, now time.Time, p recovery.Policy, within time.Duration) map[string]recovery.Rows {
	return ps.view(ctx, now, p, within, nil).rows
}

// byNumber are the panes that somebody shows, by growing id.
func byNumber(tree topology.Tree, terminals map[string]*pane) []*pane {
	var out []*pane
	for _, at := range tree.Panes {
		if t := terminals[at.ID]; t != nil {
			out = append(out, t)
		}
	}
	return out
}

// paneFacts is the allowlist: what a checkpoint may know of a pane. t is nil when nobody shows it.
func paneFacts(at topology.Pane, t *pane) recovery.PaneFacts {
	f := recovery.PaneFacts{
		ID: at.ID, Window: at.Window, Cols: colsUnknown, Rows: rowsUnknown, Running: at.End == nil, Float: savedFloat(at.Float),
		Tags: mapped(at.Tags, savedTag),
	}
	if at.End != nil {
		f.ExitCode, f.Signal = savedEnd(*at.End)
		f.Lost = !at.End.Known()
	}
	if t != nil {
		if now := t.Facts(); now.Cols > 0 && now.Rows > 0 {
			f.Cols, f.Rows = int(now.Cols), int(now.Rows)
		}
	}
	if a := at.Archive; a != nil {
		f.Archive = &recovery.ArchiveFacts{ProcessState: string(a.ProcessState), TextState: string(a.TextState)}
		if t != nil && t.archive != nil {
			f.Archive.SavedAt, f.Archive.ExpiresAt = t.archive.times()
		}
	}
	return f
}

// savedTag keeps of the owner what kind of principal it was: an id is of one spawnd alone, and no checkpoint may hold it.
func savedTag(t topology.Tag) recovery.Tag {
	if t.Key == topology.OwnerKey {
		t.Value = string(access.KindOf(t.Value))
	}
	return recovery.Tag(t)
}

// savedEnd leaves out what a checkpoint has no place for: then the end is unknown.
func savedEnd(e topology.End) (code *int, signal string) {
	if e.ExitCode != nil && *e.ExitCode <= exitCodeKept {
		code = e.ExitCode
	}
	if recovery.IsSignal(e.Signal) {
		signal = e.Signal
	}
	return code, signal
}

func savedFloat(f *topology.Float) *recovery.Float {
	if f == nil {
		return nil
	}
	saved := &recovery.Float{
		Width: string(f.Width), Height: string(f.Height), Anchor: string(f.Anchor), X: f.X, Y: f.Y,
		MinCols: f.MinCols, MinRows: f.MinRows, Border: string(f.Border), Z: int64(f.Z), Preset: f.Preset,
	}
	if f.Title != "" {
		saved.Title = &f.Title
	}
	return saved
}

// CapturedAt implements recovery.Snapshot.
func (v *view) CapturedAt() recovery.Millis { return v.at }

// Sessions implements recovery.Snapshot.
func (v *view) Sessions() []recovery.Session {
	return mapped(v.tree.Sessions, func(s topology.Session) recovery.Session { return recovery.Session{ID: s.ID, Name: s.Name} })
}

// Windows implements recovery.Snapshot.
func (v *view) Windows() []recovery.Window {
	return mapped(v.tree.Windows, func(w topology.Window) recovery.Window {
		return recovery.Window{
			ID: w.ID, Session: w.Session, Name: w.Name, Revision: int64(w.Revision),
			Nodes: mapped(w.Nodes, func(n topology.Node) recovery.Node {
				return recovery.Node{Kind: string(n.Kind), Pane: n.Pane, Axis: string(n.Axis), First: n.First, Second: n.Second, Ratio: n.Ratio}
			}),
		}
	})
}

// Panes implements recovery.Snapshot.
func (v *view) Panes() []recovery.PaneFacts { return v.panes }

// Rows implements recovery.Snapshot.
func (v *view) Rows(pane string) (recovery.Rows, bool) {
	rows, ok := v.rows[pane]
	return rows, ok
}

// asker is how a pane is asked for its text. False says that it has none, or does not answer.
type asker func(p *pane, ctx context.Context, policy recovery.Policy) (recovery.Rows, bool)

// gather asks the panes for their text, by turns. It stops where the rest would not fit a checkpoint:
// what does not fit is left out from the highest number down.
func gather(ctx context.Context, all []*pane, ask asker, p recovery.Policy, within time.Duration) map[string]recovery.Rows {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var (
		mu     sync.Mutex
		out    = map[string]recovery.Rows{}
		budget = p.MaxBytes
		asking sync.WaitGroup
	)
	next := func() *pane {
		mu.Lock()
		defer mu.Unlock()
		if len(all) == 0 || budget < 0 || ctx.Err() != nil {
			return nil
		}
		t := all[0]
		all = all[1:]
		return t
	}
	turns := make(turn, 1)
	one := func() (more bool) {
		pass := turns.take()
		defer pass()
		t := next()
		if t == nil {
			return false
		}
		if rows, ok := ask(t, ctx, p); ok {
			mu.Lock()
			defer mu.Unlock()
			out[t.id] = rows
			budget -= rows.Len()
		}
		return true
	}
	for range min(textAskedMax, len(all)) {
		asking.Go(func() {
			for one() {
			}
		})
	}
	asking.Wait()
	return out
}

// turn is one's at a time, but nobody's for longer than textTurnMax.
type turn chan struct{} // 1 slot: somebody's

// take waits for the turn. pass ends it.
func (t turn) take() (pass func()) {
	t <- struct{}{}
	end := sync.OnceFunc(func() { <-t })
	late := time.AfterFunc(textTurnMax, end)
	return func() {
		late.Stop()
		end()
	}
}

// text is what the pane's primary screen shows and its history, as far as the policy takes them.
func (p *pane) text(ctx context.Context, policy recovery.Policy) (recovery.Rows, bool) {
	if p.archive != nil {
		return p.archive.rows(policy)
	}
	p.mu.Lock()
	hub := p.mu.hub
	p.mu.Unlock()
	if hub == nil {
		return recovery.Rows{}, false
	}
	shot, err := hub.Capture(ctx, wire.CaptureReq{What: wire.CaptureAll, MaxRows: uint32(policy.TextMaxRows), MaxBytes: uint32(policy.TextMaxBytes)})
	if err != nil || shot.Oversize || len(shot.Screen) == 0 {
		return recovery.Rows{}, false
	}
	history, err := recovery.ListOf(shot.History)
	return recovery.Rows{Screen: shot.Screen, History: history}, err == nil
}

// runningCount is how many terminals run.
func (ps *panes) runningCount() int {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return runningIn(ps.mu.tree)
}

func runningIn(tree topology.Tree) (n int) {
	for _, p := range tree.Panes {
		if p.End == nil {
			n++
		}
	}
	return n
}
