// SPDX-License-Identifier: Apache-2.0

//go:build unix

package localattach

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/verbs"
)

// town is places with a fake pane for each, all in windows of their own.
type town struct {
	mu    sync.Mutex
	order []string
	panes map[string]*pane
	ended []string
	spare []string // ids of panes that New makes
	asked []string // sessions and sizes that New was asked for
	turns []string // panes that the user turned to
}

// newTown has panes of those ids, of which the last ones are still to be made.
func newTown(spare int, ids ...string) *town {
	w := &town{panes: map[string]*pane{}, order: ids[:len(ids)-spare], spare: ids[len(ids)-spare:]}
	for _, id := range ids {
		w.panes[id] = newPane()
	}
	return w
}

func (w *town) Map(context.Context) (Map, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var m Map
	for _, id := range w.order {
		window := strings.Replace(id, "p", "w", 1)
		state := verbs.PaneRunning
		if slices.Contains(w.ended, id) {
			state = verbs.PaneExited
		}
		m.Windows = append(m.Windows, verbs.Window{Window: window, Session: "s0", Active: id})
		m.Panes = append(m.Panes, verbs.Pane{ID: id, Window: window, Session: "s0", State: state})
	}
	return m, nil
}

func (w *town) New(_ context.Context, session string, cols, rows uint16) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.spare) == 0 {
		return "", errors.New("there is no \x1b[31mroom")
	}
	id := w.spare[0]
	w.spare, w.asked = w.spare[1:], append(w.asked, fmt.Sprintf("%s %dx%d", session, cols, rows))
	w.order = append(slices.Clip(w.order), id)
	return id, nil
}

func (w *town) Turned(_ context.Context, pane string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turns = append(w.turns, pane)
	return errors.New("denied")
}

func (w *town) dial(_ context.Context, id string, cols, rows uint16) (Remote, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.panes[id]
	if p == nil {
		return nil, fmt.Errorf("there is no pane %s", id)
	}
	p.did <- fmt.Sprintf("attach %dx%d", cols, rows)
	return p, nil
}

// end is the end of a pane's shell.
func (w *town) end(id string) {
	w.mu.Lock()
	w.ended = append(w.ended, id)
	p := w.panes[id]
	w.mu.Unlock()
	code := 3
	p.say(wire.AppendExit(nil, wire.Exit{ExitCode: &code}))
}

func (d *desk) visit(w *town, o Options) {
	o.In, o.Out, o.Dial, o.Places = d.tty, d.tty, w.dial, w
	go func() {
		var r result
		defer func() { r.panic = recover(); d.ended <- r }()
		r.outcome, r.err = Run(d.Context(), o)
	}()
}

// arrives waits until the pane is attached to and shows it. Of the first alone the history is asked for.
func (d *desk) arrives(w *town, id string, first bool) *pane {
	d.Helper()
	p := w.panes[id]
	d.did(p, "attach 100x30")
	p.say(wire.AppendReplay(nil, 0, []byte(screenMark+"this is "+id)))
	d.sees("this is " + id)
	if first {
		d.did(p, askHistory)
	}
	return p
}

func (d *desk) since(mark string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, text, _ := strings.Cut(d.seen.String(), mark)
	return text
}

func TestKeysLeadToAnotherPane(t *testing.T) {
	d, w := sit(t), newTown(0, "p0", "p1", "p2")
	d.visit(w, Options{Pane: "p0"})
	first := d.arrives(w, "p0", true)
	first.say(wire.AppendOutput(nil, []byte("\x1b[?1000h\x1b[?2004h\x1b]0;a title that does not en")))
	d.sees("2004h")
	d.types("before\x1cnafter\x1c2x") // all at once: what is behind a command is the next pane's
	d.did(first, "input before")
	<-first.closed
	second := w.panes["p1"]
	d.did(second, "attach 100x30")
	d.did(second, "input after")
	<-second.closed
	third := d.arrives(w, "p2", false)
	d.did(third, "input x")
	reset := d.since("does not en")
	for _, want := range []string{abort, "1000;", "2004;", wipe, "this is p2"} {
		at := strings.Index(reset, want)
		if at < 0 {
			t.Fatalf("no %q in %q", want, reset)
		}
		reset = reset[at+len(want):]
	}
	if len(third.did) > 0 {
		t.Errorf("it was asked for %q: histories are not mixed", <-third.did)
	}
	d.types("\x1c7")
	d.did(third, "replay 0")
	third.say(wire.AppendReplay(nil, 0, []byte(screenMark+"with a foot")))
	d.sees("no such window")
	d.types("k") // and the foot goes with the next key
	d.did(third, "replay 0")
	d.did(third, "input k")
	third.say(wire.AppendReplay(nil, 0, []byte(screenMark+"CLEAN")))
	d.sees("CLEAN")
	if s := d.since("CLEAN"); strings.Contains(s, "no such window") {
		t.Errorf("the foot stays: %q", s)
	}
	d.types("\x1cd")
	if r := d.result(); r.err != nil || r.outcome.How != Detached || r.outcome.Pane != "p2" {
		t.Errorf("%+v", r)
	}
	if want := []string{"p0", "p1", "p2"}; !slices.Equal(w.turns, want) {
		t.Errorf("the user turned to %v, want %v", w.turns, want)
	}
}

// Where the end of a pane leads nobody has turned to.
func TestAnEndedPaneLeadsToTheNext(t *testing.T) {
	d, w := sit(t), newTown(0, "p0", "p1")
	d.visit(w, Options{Pane: "w1"})
	d.arrives(w, "p1", true)
	w.end("p1")
	d.arrives(w, "p0", false)
	d.sees("p1 has ended; this is p0")
	w.end("p0") // and none is left
	if r := d.result(); r.err != nil || r.outcome.How != Exited || *r.outcome.Exit.ExitCode != 3 || r.outcome.Pane != "p0" {
		t.Errorf("%+v", r)
	}
	if want := []string{"p1"}; !slices.Equal(w.turns, want) {
		t.Errorf("the user turned to %v, want %v", w.turns, want)
	}
}

func TestOneEndsWithItsPane(t *testing.T) {
	d, w := sit(t), newTown(0, "p0", "p1")
	d.visit(w, Options{Pane: "p0", One: true})
	d.arrives(w, "p0", true)
	w.end("p0")
	if r := d.result(); r.outcome.How != Exited || r.outcome.Pane != "p0" {
		t.Errorf("%+v", r)
	}
}

func TestANewWindowIsOpened(t *testing.T) {
	d, w := sit(t), newTown(1, "p0", "p1")
	d.visit(w, Options{Pane: "p0"})
	first := d.arrives(w, "p0", true)
	d.types("\x1cc")
	<-first.closed
	p := d.arrives(w, "p1", false)
	d.types("\x1cc") // for which there is no room
	d.did(p, "replay 0")
	p.say(wire.AppendReplay(nil, 0, []byte(screenMark+"AGAIN")))
	d.sees("there is no ?[31mroom")
	d.types("\x1cd")
	if r := d.result(); r.outcome.How != Detached || !slices.Equal(w.asked, []string{"s0 100x30"}) {
		t.Errorf("%+v, asked %v", r, w.asked)
	}
}

func TestWithoutAPaneTheLatestIsShownOrANewOne(t *testing.T) {
	for name, w := range map[string]*town{"latest": newTown(0, "p0", "p1"), "new": newTown(1, "p1")} {
		t.Run(name, func(t *testing.T) {
			d := sit(t)
			d.visit(w, Options{})
			p := d.arrives(w, "p1", true)
			d.types("\x1c?")
			d.did(p, "replay 0")
			p.say(wire.AppendReplay(nil, 0, []byte(screenMark+"HELP")))
			d.sees(`ctrl-\ then: d detach`)
			d.types("\x1cd")
			d.result()
		})
	}
}
