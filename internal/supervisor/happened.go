// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/events"
	"spawn/internal/supervisor/topology"
)

// reasonNotStarted is why a pane is gone that was told as created: its place is made before its program is started, since
// the program is told it.
const reasonNotStarted = "not_started"

// stopPatience is how long the end of spawnd waits for readers to take the last event.
const stopPatience = time.Second

// chronicle tells what happens to the tree: to readers of the log, and to the Authority what is gone.
type chronicle struct {
	log  *events.Log
	slog *slog.Logger
	kick chan struct{} // 1 slot: something is gone, or lies elsewhere

	pacing chan struct{} // closed when the log's Run has ended
	cancel func()        // ends that

	// Guarded by panes.mu.
	//
	// gone is what was removed and the Authority was not told of yet: it may not be asked under that lock. No
	// id ever comes again, so being late gives nobody anything.
	gone   []access.Resource
	vitals map[string]*vitals // of panes by id
	// unstarted are panes that are being taken back because their programs could not be started.
	unstarted map[string]bool
	// readers counts those of the log on the control socket. idle is closed when the last one leaves; nil while
	// nobody waits for that.
	readers int
	idle    chan struct{}
}

// newChronicle begins a log of what happens to the panes.
func newChronicle(ps *panes, source string, log *slog.Logger) *chronicle {
	c := &chronicle{slog: log, kick: make(chan struct{}, 1), vitals: map[string]*vitals{}, unstarted: map[string]bool{}, pacing: make(chan struct{})}
	c.log = events.NewLog(events.Options{Source: source, State: ps.state})
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go func() {
		defer close(c.pacing)
		c.log.Run(ctx)
	}()
	return c
}

// Close tells what waited for its turn and then nothing more.
func (c *chronicle) Close() error {
	c.cancel()
	<-c.pacing
	c.log.Close()
	return nil
}

// stop tells readers that this spawnd ends and lets them take that, though not for long.
func (ps *panes) stop() {
	c := ps.told
	c.cancel()
	<-c.pacing
	ps.happened(events.Change{Type: events.ServerStopping, Resource: topology.Root})
	c.log.Close()
	ps.mu.Lock()
	idle := make(chan struct{})
	if c.idle = idle; c.readers == 0 {
		close(idle)
	}
	ps.mu.Unlock()
	patience := time.NewTimer(stopPatience)
	defer patience.Stop()
	select {
	case <-idle:
	case <-patience.C:
	}
}

// reads counts a reader until its context ends.
func (ps *panes) reads(ctx context.Context) {
	ps.mu.Lock()
	ps.told.readers++
	ps.mu.Unlock()
	context.AfterFunc(ctx, func() {
		ps.mu.Lock()
		defer ps.mu.Unlock()
		if ps.told.readers--; ps.told.readers == 0 && ps.told.idle != nil {
			close(ps.told.idle)
			ps.told.idle = make(chan struct{}) // for one that comes even now
		}
	})
}

// happened tells of what is no change of the tree.
func (ps *panes) happened(changes ...events.Change) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.told != nil {
		ps.told.commit(changes, nil)
	}
}

// An aside is what a mutation did beside changing the tree: before that, and behind it. The zero value is nothing.
type aside struct{ before, behind []events.Change }

// commitLocked tells what a mutation made of the tree, all of it under one cursor, together with what else
// the mutation did. The caller holds mu, has checked the new tree and puts it in force before it lets go.
func (ps *panes) commitLocked(before, after topology.Tree, also aside) {
	c := ps.told
	if c == nil {
		return
	}
	t := telling{after: after, unstarted: c.unstarted, presets: ps.inForce.floatPresets()}
	for _, change := range topology.Diff(before, after) {
		t.add(change)
	}
	c.commit(slices.Concat(also.before, t.committed, also.behind), t.paced)
	for _, r := range t.gone {
		delete(c.vitals, r.ID())
	}
	c.gone = append(c.gone, t.gone...)
	if len(t.gone) > 0 || t.moved {
		c.unsettle()
	}
}

// unsettle has rights looked at again.
func (c *chronicle) unsettle() {
	select {
	case c.kick <- struct{}{}:
	default: // it is on its way
	}
}

// commit tells of changes at once and of paced ones when their turn has come. The caller holds panes.mu.
// What the catalogue refuses is a mistake of ours; after the end there is nobody to tell.
func (c *chronicle) commit(changes, paced []events.Change) {
	var errs []error
	if len(changes) > 0 {
		errs = append(errs, c.log.Commit(changes...))
	}
	for _, change := range paced {
		errs = append(errs, c.log.Note(change))
	}
	if err := errors.Join(errs...); err != nil && !errors.Is(err, events.ErrClosed) {
		c.slog.Error("what happened could not be told", "error", err)
	}
}

// telling turns the differences of two trees into events.
// An id leads to the later tree, but for what is gone, of which only the place is told.
type telling struct {
	after            topology.Tree
	places           map[string]topology.Place // of the windows of after; nil until it is needed
	committed, paced []events.Change
	gone             []access.Resource
	moved            bool // something lies elsewhere, under other rights
	unstarted        map[string]bool
	presets          topology.Presets
}

func (t *telling) add(c topology.Change) {
	kind := events.Type(c.Kind)
	if c.Kind == topology.PaneTitled {
		kind = events.PaneTitle
	}
	e := events.Change{Type: kind, Above: []string{topology.Root}}
	switch {
	case c.Pane != "":
		e.Resource, e.Above = "pane:"+c.Pane, []string{"window:" + c.Window, "session:" + c.Session, topology.Root}
		e.Data = t.pane(c)
	case c.Window != "":
		e.Resource, e.Above = "window:"+c.Window, []string{"session:" + c.Session, topology.Root}
		e.Data = t.window(c)
	default:
		e.Resource = "session:" + c.Session
		e.Data = t.session(c)
	}
	switch c.Kind {
	case topology.PaneTitled:
		t.paced = append(t.paced, e)
		return
	case topology.PaneMoved, topology.WindowMoved:
		t.moved = true
	case topology.PaneRemoved, topology.WindowClosed, topology.SessionClosed:
		t.gone = append(t.gone, access.Resource(e.Resource))
	}
	t.committed = append(t.committed, e)
}

func (t *telling) session(c topology.Change) map[string]any {
	s, _ := t.after.Session(c.Session)
	switch c.Kind {
	case topology.SessionCreated, topology.SessionRenamed:
		return map[string]any{"name": s.Name}
	case topology.SessionMoved:
		for i, at := range t.after.Sessions {
			if at.ID == c.Session {
				return map[string]any{"index": int64(i)}
			}
		}
	}
	return nil
}

func (t *telling) window(c topology.Change) map[string]any {
	w, _ := t.after.Window(c.Window)
	switch c.Kind {
	case topology.WindowCreated:
		return map[string]any{"session": w.Session, "name": w.Name, "nodes": raw(w.Nodes)}
	case topology.WindowRenamed:
		return map[string]any{"name": w.Name}
	case topology.WindowLayoutChanged:
		d := map[string]any{"revision": int64(w.Revision), "nodes": raw(w.Nodes)}
		return given(d, "zoomed", w.Zoomed)
	case topology.WindowActivated:
		return map[string]any{"pane": w.Active}
	case topology.WindowMoved:
		if t.places == nil {
			t.places = t.after.Places()
		}
		return map[string]any{"session": w.Session, "index": int64(t.places[c.Window].Index)}
	}
	return nil
}

func (t *telling) pane(c topology.Change) map[string]any {
	p, _ := t.after.Pane(c.Pane)
	switch c.Kind {
	case topology.PaneCreated:
		d := layered(floating(map[string]any{"window": p.Window, "name": p.Name}, p, t.presets), p)
		if len(p.Tags) > 0 {
			d["tags"] = tagTexts(p.Tags)
		}
		if p.Archive != nil {
			d["recovery"] = raw(p.Archive)
		}
		return given(d, "argv0", p.Argv0)
	case topology.PaneRemoved:
		if t.unstarted[c.Pane] {
			return map[string]any{"reason": reasonNotStarted}
		}
	case topology.PaneRenamed:
		return map[string]any{"name": p.Name}
	case topology.PaneTitled:
		return map[string]any{"title": p.Title}
	case topology.PaneMoved:
		return layered(floating(map[string]any{"window": p.Window}, p, t.presets), p)
	case topology.PaneTagged:
		return map[string]any{"tags": tagTexts(p.Tags)}
	case topology.PaneExited:
		return ending(map[string]any{}, p.End)
	case topology.PaneArchive:
		return map[string]any{"recovery": raw(p.Archive)}
	}
	return nil
}

// given sets a text that is there.
func given(d map[string]any, name, text string) map[string]any {
	if text != "" {
		d[name] = text
	}
	return d
}

// floating says how a float is drawn, as window.list does: its title is a person's or a program's words.
func floating(d map[string]any, p topology.Pane, presets topology.Presets) map[string]any {
	if p.Float != nil {
		d["float"] = raw(placed(p.ID, *p.Float, presets))
	}
	return d
}

// layered says that a pane floats; a tile is what all others are.
func layered(d map[string]any, p topology.Pane) map[string]any {
	if p.Float != nil {
		d["layer"] = string(topology.LayerFloat)
	}
	return d
}

// ending says how a program ended, and nothing when nobody knows.
func ending(d map[string]any, e *topology.End) map[string]any {
	if e == nil {
		return d
	}
	if e.ExitCode != nil {
		d["exit_code"] = int64(*e.ExitCode)
	}
	return given(d, "signal", e.Signal)
}

func tagTexts(tags []topology.Tag) []string {
	return mapped(tags, func(t topology.Tag) string { return t.Key + "=" + t.Value })
}

// raw is a value of the tree as it travels. All of its texts were checked when they came into the tree, so
// it always has a form; an empty one would be refused by the catalogue, and logged.
func raw(value any) events.Raw {
	text, err := strictjson.Marshal(value)
	if err != nil {
		return nil
	}
	return text
}
