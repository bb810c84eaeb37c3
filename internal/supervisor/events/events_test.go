// SPDX-License-Identifier: Apache-2.0

package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"spawn/internal/strictjson"
)

// top is above what lies nowhere else.
var top = []string{root}

// poll is a context that has ended: Next then returns what there is, and waits for nothing.
func poll() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// reader is one subscription with what it has made of it.
type reader struct {
	who    int
	filter Filter
	sub    *Subscription
	view   folded
	at     From
}

func (w *world) reader(who int, from From, filter Filter) *reader {
	w.t.Helper()
	sub, err := w.log.Subscribe(from, filter, w.may(who))
	if err != nil {
		w.t.Fatal(err)
	}
	return &reader{who: who, filter: filter, sub: sub, view: folded{}, at: from}
}

// step takes one batch, if there is one.
func (r *reader) step() bool {
	b, err := r.sub.Next(poll())
	if err != nil {
		return false
	}
	r.view = r.view.take(b)
	r.at = From{b.Source, b.Cursor}
	return true
}

var views = [][]scope{
	{{"admin", root}}, {{"read", root}}, nil, {{"read", "session:s0"}}, {{"write", "session:s0"}},
	{{"read", "pane:p2"}}, {{"write", root}}, {{"spawn", "window:w1"}, {"read", "session:s3"}},
}

// Whatever happens, in whatever order it is read, forgotten and resumed, and whoever gains or loses which
// right: in the end each reader's own picture is the truth, as far as that reader may know it.
func TestEveryReaderEndsWithTheTruth(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.log.eventsMax = rapid.IntRange(1, 80).Draw(rt, "log")
		var readers []*reader
		for i, scopes := range views {
			w.rights[i] = scopes
			readers = append(readers, w.reader(i, From{}, Filter{}))
		}
		readers = append(readers, w.reader(0, From{}, Filter{Resources: []string{"session:s0", "pane:p2"}}))
		for range rapid.IntRange(5, 120).Draw(rt, "steps") {
			r := rapid.SampledFrom(readers).Draw(rt, "reader")
			switch k := rapid.IntRange(0, 19).Draw(rt, "step"); {
			case k < 10:
				w.act(k, rapid.IntRange(0, 99).Draw(rt, "which"))
			case k < 15:
				r.step()
			case k == 15: // its connection breaks and comes back
				sub, err := w.log.Subscribe(r.at, r.filter, w.may(r.who))
				if err != nil {
					rt.Fatal(err)
				}
				r.sub = sub
			case k == 16:
				w.grant(r.who, rapid.SampledFrom(views).Draw(rt, "rights")...)
			case k == 17:
				w.now = w.now.Add(400 * time.Millisecond)
				w.log.flush(false)
			default:
				for r.step() {
				}
			}
		}
		w.log.flush(true)
		for i, r := range readers {
			for r.step() {
			}
			if truth := w.truth(r.who, r.filter); !same(r.view, truth) {
				rt.Fatalf("reader %d (%v) sees\n%v\nand the truth is\n%v", i, w.rights[r.who], r.view, truth)
			}
		}
	})
}

// The same with real goroutines, of which some dawdle, and a log too short for those.
func TestReadersAtOnce(t *testing.T) {
	w := newWorld(t)
	w.log.eventsMax = 40
	w.now = time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	var running, reading sync.WaitGroup
	running.Go(func() { w.log.Run(ctx) })
	got := make([]folded, len(views))
	reasons := make([]map[Reason]int, len(views))
	for i, scopes := range views {
		w.rightsMu.Lock() // earlier readers run already
		w.rights[i] = scopes
		w.rightsMu.Unlock()
		reader := w.reader(i, From{}, Filter{})
		reasons[i] = map[Reason]int{}
		reading.Go(func() {
			for {
				b, err := reader.sub.Next(t.Context())
				if errors.Is(err, ErrClosed) {
					got[i] = reader.view
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				if b.Snapshot != nil {
					reasons[i][b.Snapshot.Reason]++
				}
				reader.view = reader.view.take(b)
				if torn := reader.view.torn(); torn != "" && i < 2 {
					t.Errorf("reader %d was told half of a mutation: %s", i, torn)
				}
			}
		})
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		w.act(random.IntN(actions), random.IntN(1000))
	}
	w.grant(2, scope{"read", root})
	cancel()
	running.Wait()
	w.log.Close()
	reading.Wait()
	for i := range views {
		if truth := w.truth(i, Filter{}); !same(got[i], truth) {
			t.Errorf("reader %d (%v) sees %d things, and there are %d", i, w.rights[i], len(got[i]), len(truth))
		}
		if reasons[i][Initial] != 1 {
			t.Errorf("reader %d: snapshots %v", i, reasons[i])
		}
	}
}

func TestWhereAReaderGoesOn(t *testing.T) {
	w := newWorld(t)
	w.log.eventsMax = 4
	w.rights[0] = views[0]
	for range 4 {
		w.act(2, 0)
		w.act(0, 0)
	}
	head := w.log.mu.head
	first := head - uint64(len(w.log.mu.commits))
	cases := []struct {
		name string
		from From
		want Reason // "": goes on
	}{
		{"nowhere", From{}, Initial},
		{"no cursor", From{Source: "spawn/test"}, Initial},
		{"no source", From{Cursor: "1"}, Initial},
		{"another start", From{"spawn/old", formatCursor(head)}, SourceChanged},
		{"another start's nonsense", From{"spawn/old", "x"}, SourceChanged},
		{"the oldest place", From{"spawn/test", formatCursor(first)}, ""},
		{"one before", From{"spawn/test", formatCursor(first - 1)}, Gap},
		{"the beginning", From{"spawn/test", "0"}, Gap},
		{"the future", From{"spawn/test", formatCursor(head + 1)}, Gap},
		{"the far future", From{"spawn/test", "18446744073709551615"}, Gap},
	}
	for _, c := range cases {
		b, err := w.reader(0, c.from, Filter{}).sub.Next(poll())
		got := Reason("")
		if err == nil && b.Snapshot != nil {
			got = b.Snapshot.Reason
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %q, want %q (%v)", c.name, got, c.want, err)
		}
	}
	for _, bad := range []string{"01", "+1", "-1", " 1", "1.0", "18446744073709551616", "x"} {
		if _, err := w.log.Subscribe(From{"spawn/test", bad}, Filter{}, w.may(0)); !errors.Is(err, ErrFrom) {
			t.Errorf("cursor %q: %v", bad, err)
		}
	}
	for _, bad := range []Filter{
		{Types: []string{"pane.explodes"}}, {Types: []string{"*"}}, {Types: []string{"p*"}}, {Types: []string{".*"}}, {Resources: []string{"p0"}},
		{Resources: []string{"pane:"}}, {Types: slices.Repeat([]string{"pane.bell"}, filterMax+1)},
	} {
		if _, err := w.log.Subscribe(From{}, bad, w.may(0)); !errors.Is(err, ErrFrom) {
			t.Errorf("filter %.60v: %v", bad, err)
		}
	}
}

func TestFilters(t *testing.T) {
	w := newWorld(t)
	w.rights[0] = views[0]
	w.act(0, 0) // s0 w1 p2
	w.act(0, 0) // s3 w4 p5
	r := w.reader(0, From{"spawn/test", "0"}, Filter{Types: []string{"pane.*", "session.created"}, Resources: []string{"session:s3"}})
	b, err := r.sub.Next(poll())
	if err != nil || len(b.Events) != 2 || b.Events[0].Resource != "session:s3" || b.Events[1].Resource != "pane:p5" || b.Cursor != "2" {
		t.Errorf("%+v (%v)", b, err)
	}
	if _, err := r.sub.Next(poll()); !errors.Is(err, context.Canceled) || r.sub.Cursor() != "2" {
		t.Errorf("%v", err)
	}
}

// A right that is away for the moment of a snapshot, and back before the next event, leaves no hole.
func TestRightsThatChangeDuringASnapshot(t *testing.T) {
	w := newWorld(t)
	w.act(0, 0)
	away := true
	sub, err := w.log.Subscribe(From{}, Filter{}, func(right, resource string, above []string) bool { return resource != "pane:p2" || !away })
	if err != nil {
		t.Fatal(err)
	}
	if b, err := sub.Next(poll()); err != nil || len(b.Snapshot.Entities) != 2 {
		t.Fatalf("%+v (%v)", b, err)
	}
	away = false
	w.grant(0)
	if b, err := sub.Next(poll()); err != nil || b.Snapshot == nil || len(b.Snapshot.Entities) != 3 {
		t.Errorf("%+v (%v)", b, err)
	}
}

// Who may write to a pane and not read it keeps in step, without a word that anybody chose.
func TestContentIsForReaders(t *testing.T) {
	w := newWorld(t)
	w.rights[4], w.rights[0] = []scope{{"write", "session:s0"}}, views[0]
	w.act(0, 0)
	outside := w.reader(4, From{"spawn/test", "0"}, Filter{})
	for _, c := range []Change{
		{Type: PaneTitle, Data: map[string]any{"title": "secret"}}, {Type: PaneCwd, Data: map[string]any{"cwd": "/secret"}},
		{Type: PaneNotification, Data: map[string]any{"text": "secret"}}, {Type: PaneBell},
	} {
		c.Resource, c.Above = "pane:p2", []string{"window:w1", "session:s0", root}
		if err := w.log.Note(c); err != nil {
			t.Fatal(err)
		}
	}
	var types []Type
	for {
		b, err := outside.sub.Next(poll())
		if err != nil {
			break
		}
		for _, e := range b.Events {
			types = append(types, e.Type)
		}
		if strings.Contains(fmt.Sprint(b), "secret") || strings.Contains(fmt.Sprint(b), "name of") {
			t.Errorf("content was told: %+v", b)
		}
	}
	if want := []Type{SessionCreated, WindowCreated, PaneCreated, PaneTitle, PaneCwd, PaneNotification, PaneBell}; !slices.Equal(types, want) {
		t.Errorf("told of %v, want %v", types, want)
	}
	b, err := w.reader(4, From{}, Filter{}).sub.Next(poll())
	if err != nil || len(b.Snapshot.Entities) != 3 || strings.Contains(fmt.Sprintf("%+v", b.Snapshot.Entities[0].Data), "name") {
		t.Errorf("%+v (%v)", b.Snapshot, err)
	}
}

// Of a restore only readers of the server are told, not in outline either, and of where an archive comes from only those of
// the pane.
func TestRecoveryIsForReaders(t *testing.T) {
	w := newWorld(t)
	w.rights[0], w.rights[4] = []scope{{"read", root}}, []scope{{"write", root}, {"spawn", root}}
	at := []string{"window:w1", "session:s0", root}
	w.commit(
		Change{Type: PaneCreated, Resource: "pane:p2", Above: at, Data: map[string]any{"window": "w1", "name": "", "recovery": Raw(`{}`)}},
		Change{Type: PaneArchived, Resource: "pane:p2", Above: at, Data: map[string]any{"recovery": Raw(`{}`)}},
		Change{Type: RecoveryRestored, Resource: root, Data: map[string]any{"checkpoint": "c", "cleanup_unverified": true}},
	)
	for who, want := range map[int]int{0: 3, 4: 2} {
		b, err := w.reader(who, From{"spawn/test", "0"}, Filter{}).sub.Next(poll())
		if err != nil || len(b.Events) != want {
			t.Fatalf("reader %d is told %+v (%v)", who, b.Events, err)
		}
		for _, e := range b.Events[:2] {
			if _, told := e.Data["recovery"]; told != (who == 0) {
				t.Errorf("reader %d is told %+v", who, e)
			}
		}
	}
}

func TestNothingOutsideTheCatalogueIsCommitted(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("x", fieldBytesMax+1)
	bad := []Change{
		{Type: "pane.explodes", Resource: "pane:p0", Above: top},
		{Type: PaneRemoved, Resource: "window:w0", Above: top},
		{Type: PaneRemoved, Resource: "pane:w0", Above: top},
		{Type: PaneRemoved, Resource: "pane:p0", Above: top, Data: map[string]any{"more": "x"}},
		{Type: PaneRenamed, Resource: "pane:p0", Above: top},
		{Type: PaneRenamed, Resource: "pane:p0", Above: top, Data: map[string]any{"name": 7}},
		{Type: PaneRenamed, Resource: "pane:p0", Above: top, Data: map[string]any{"name": "a\x1b[2J"}},
		{Type: PaneRenamed, Resource: "pane:p0", Above: top, Data: map[string]any{"name": "a\u202eb"}},
		{Type: PaneRenamed, Resource: "pane:p0", Above: top, Data: map[string]any{"name": "a\xff"}},
		{Type: PaneRenamed, Resource: "pane:p0", Above: top, Data: map[string]any{"name": long}},
		{Type: PaneTagged, Resource: "pane:p0", Above: top, Data: map[string]any{"tags": make([]string, listMax+1)}},
		{Type: PaneExited, Resource: "pane:p0", Above: top, Data: map[string]any{"exit_code": 0}}, // int, not int64
		{Type: PaneRemoved, Resource: "pane:p0", Above: slices.Repeat(top, aboveMax+1)},
		{Type: PaneArchived, Resource: "pane:p0", Above: top, Data: map[string]any{"recovery": Raw(nil)}},
		{Type: PaneArchived, Resource: "pane:p0", Above: top, Data: map[string]any{"recovery": make(Raw, rawBytesMax+1)}},
		{Type: PaneArchived, Resource: "pane:p0", Above: top, Data: map[string]any{"recovery": "{}"}},
		{Type: PaneRemoved, Resource: "pane:p0"},
		{Type: PaneRemoved, Resource: "pane:p0", Above: []string{"window:w0"}},
		{Type: ServerStopping, Resource: root, Above: top},
		{Type: PaneTitle, Resource: "pane:p0", Above: top, Data: map[string]any{"title": "x"}},
		{Type: ShareRevoked, Resource: root, Data: map[string]any{"share": "l_0", "reason": "revoked"}},
	}
	good := Change{Type: PaneRemoved, Resource: "pane:p0", Above: top}
	for _, c := range bad {
		if err := w.log.Commit(good, c); !errors.Is(err, ErrChange) {
			t.Errorf("%v: %v", c.Type, err)
		}
	}
	if err := w.log.Note(good); !errors.Is(err, ErrChange) {
		t.Errorf("an event that is not paced was noted: %v", err)
	}
	if err := w.log.Commit(); !errors.Is(err, ErrChange) {
		t.Errorf("an empty commit: %v", err)
	}
	if err := w.log.Commit(slices.Repeat([]Change{good}, commitEventsMax+1)...); !errors.Is(err, ErrChange) {
		t.Errorf("a huge commit: %v", err)
	}
	if w.log.mu.head != 0 {
		t.Error("something was committed")
	}
}

// A commit that is larger than the log, as a restore may be, is told as a snapshot and not in part.
func TestACommitLargerThanTheLog(t *testing.T) {
	w := newWorld(t)
	w.rights[0] = views[0]
	w.log.eventsMax = 2
	r := w.reader(0, From{"spawn/test", "0"}, Filter{})
	w.act(0, 0) // three events
	b, err := r.sub.Next(poll())
	if err != nil || b.Snapshot == nil || b.Snapshot.Reason != Gap || len(b.Snapshot.Entities) != 3 || b.Cursor != "1" {
		t.Errorf("%+v (%v)", b, err)
	}
}

func TestTheLogIsBounded(t *testing.T) {
	w := newWorld(t)
	big := strings.Repeat("x", fieldBytesMax)
	for range 3 * logBytesMax / fieldBytesMax {
		w.commit(Change{Type: PaneRenamed, Resource: "pane:p0", Above: top, Data: map[string]any{"name": big}})
	}
	if w.log.mu.bytes > logBytesMax || w.log.mu.bytes < logBytesMax/2 {
		t.Errorf("%d bytes are kept", w.log.mu.bytes)
	}
	for range 2 * logEventsMax {
		w.commit(Change{Type: PaneRemoved, Resource: "pane:p0", Above: top})
	}
	if w.log.mu.events != logEventsMax || len(w.log.mu.commits) != logEventsMax || w.log.mu.bytes != logEventsMax*eventCost {
		t.Errorf("%d events in %d commits of %d bytes", w.log.mu.events, len(w.log.mu.commits), w.log.mu.bytes)
	}
}

func TestClosedLogIsDrainedFirst(t *testing.T) {
	w := newWorld(t)
	w.rights[0] = views[0]
	r := w.reader(0, From{"spawn/test", "0"}, Filter{})
	w.commit(Change{Type: ServerStopping, Resource: root})
	w.log.Close()
	w.log.Close()
	if b, err := r.sub.Next(t.Context()); err != nil || b.Events[0].Type != ServerStopping {
		t.Errorf("%+v (%v)", b, err)
	}
	if _, err := r.sub.Next(t.Context()); err != ErrClosed {
		t.Errorf("%v", err)
	}
	if err := w.log.Commit(Change{Type: ServerStopping, Resource: root}); err != ErrClosed {
		t.Errorf("%v", err)
	}
}

// A reader that waits is woken by a commit, and by the end of its context.
func TestNextWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.rights[0] = views[0]
		r := w.reader(0, From{"spawn/test", "0"}, Filter{})
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error)
		go func() {
			for range 2 {
				_, err := r.sub.Next(ctx)
				got <- err
			}
		}()
		synctest.Wait()
		w.commit(Change{Type: PaneRemoved, Resource: "pane:p0", Above: top})
		if err := <-got; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// told runs a flood in false time: f notes things, and the times of what was told come back.
func told(t *testing.T, f func(note func(Change))) (events []Event, seconds []float64) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLog(Options{Source: "spawn/test", State: func(use func([]Entity)) { use(nil) }})
		all := func(string, string, []string) bool { return true }
		sub, err := l.Subscribe(From{"spawn/test", "0"}, Filter{}, all)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { l.Run(ctx) })
		running.Go(func() {
			for {
				b, err := sub.Next(t.Context())
				if err != nil {
					return
				}
				events = append(events, b.Events...)
				seconds = append(seconds, time.Since(start).Seconds())
			}
		})
		f(func(c Change) {
			if err := l.Note(c); err != nil {
				t.Error(err)
			}
		})
		cancel()
		synctest.Wait()
		l.Close()
		running.Wait()
	})
	return events, seconds
}

// after waits in false time.
func after(d time.Duration) { <-time.After(d) }

func TestAFloodIsToldOncePerSecondAndTheLastOneWins(t *testing.T) {
	events, seconds := told(t, func(note func(Change)) {
		for i := range 1000 { // for 2.5 seconds
			note(Change{Type: PaneTitle, Resource: "pane:p0", Above: top, Data: map[string]any{"title": fmt.Sprint(i)}})
			if i == 500 {
				note(Change{Type: PaneTitle, Resource: "pane:p1", Above: top, Data: map[string]any{"title": "calm"}})
			}
			after(2500 * time.Microsecond)
		}
		after(10 * time.Second)
	})
	var titles []string
	for i, e := range events {
		titles = append(titles, fmt.Sprintf("%.2f %s %s", seconds[i], e.Resource, e.Data["title"]))
	}
	want := []string{"0.00 pane:p0 0", "1.00 pane:p0 399", "1.25 pane:p1 calm", "2.00 pane:p0 799", "3.00 pane:p0 999"}
	if len(titles) == len(want) { // at a full second the flood's own note may come first
		titles[1], titles[3] = strings.Replace(titles[1], " 400", " 399", 1), strings.Replace(titles[3], " 800", " 799", 1)
	}
	if !slices.Equal(titles, want) {
		t.Errorf("told %q, want %q", titles, want)
	}
}

func TestCommandsAreToldOneByOneUntilTheyFlood(t *testing.T) {
	events, _ := told(t, func(note func(Change)) {
		for i := range 100 {
			note(Change{Type: CommandStarted, Resource: "pane:p0", Above: top})
			note(Change{Type: CommandFinished, Resource: "pane:p0", Above: top, Data: map[string]any{"exit_code": int64(i)}})
		}
	})
	if len(events) != commandBurst+1 || events[1].Data["exit_code"] != int64(0) || events[commandBurst].Data["exit_code"] != int64(99) {
		t.Errorf("told of %d events, the last one %+v", len(events), events[len(events)-1])
	}
}

// What waits for its turn is not told of a pane that is gone, and slots do not pile up.
func TestAPaneThatIsGoneIsSilent(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		if err := w.log.Note(Change{Type: PaneBell, Resource: "pane:p0", Above: top}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.log.Note(Change{Type: PaneBell, Resource: "pane:p1", Above: top}); err != nil {
		t.Fatal(err)
	}
	w.commit(Change{Type: PaneRemoved, Resource: "pane:p0", Above: top})
	head := w.log.mu.head
	w.now = w.now.Add(time.Minute)
	if next := w.log.flush(false); next != 0 || w.log.mu.head != head || len(w.log.mu.slots) != 0 {
		t.Errorf("%d commits, %d slots", w.log.mu.head-head, len(w.log.mu.slots))
	}
}

func TestSourcesAreUUIDs(t *testing.T) {
	got, err := NewSource(bytes.NewReader(bytes.Repeat([]byte{0xff}, 16)))
	if err != nil || got != "spawn/ffffffff-ffff-4fff-bfff-ffffffffffff" {
		t.Errorf("%s (%v)", got, err)
	}
	if _, err := NewSource(bytes.NewReader(nil)); err == nil {
		t.Error("a source without randomness")
	}
}

// A batch goes out as JSON, whatever it holds.
func TestBatchesAreJSON(t *testing.T) {
	w := newWorld(t)
	w.rights[0] = views[0]
	w.commit(Change{Type: WindowLayoutChanged, Resource: "window:w0", Above: top, Data: map[string]any{"revision": int64(2), "nodes": Raw(`[{"kind":"pane"}]`)}})
	b, err := w.reader(0, From{"spawn/test", "0"}, Filter{}).sub.Next(poll())
	if err != nil {
		t.Fatal(err)
	}
	got, err := strictjson.Marshal(b)
	want := `{"source":"spawn/test","cursor":"1","events":[{"type":"window.layout_changed","resource":"window:w0","at":1000000000000,"data":{"nodes":[{"kind":"pane"}],"revision":2}}]}`
	if err != nil || string(got) != want {
		t.Errorf("%s (%v)", got, err)
	}
}

// The catalogue holds together.
func TestCatalogue(t *testing.T) {
	seen := map[Type]bool{}
	for _, e := range Catalogue() {
		if seen[e.Type] || e.Help == "" || (e.Slot == "") != (e.Burst == 0) || e.Slot != "" && e.Kind != "pane" {
			t.Errorf("%s is there twice, unexplained, or paced in part", e.Type)
		}
		if e.Right != "read" && e.Right != "admin" {
			t.Errorf("%s needs %s", e.Type, e.Right)
		}
		seen[e.Type] = true
		for _, f := range e.Fields {
			if f.Help == "" || f.Name == "" {
				t.Errorf("%s: field %q is unexplained", e.Type, f.Name)
			}
		}
	}
}
