// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/events"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

// A reader follows the events until the test ends.
type reader struct {
	h       *host
	batches chan events.Batch
}

// follow subscribes and returns when spawnd has answered.
func (h *host) follow(s dial.Socket, p verbs.EventsSubscribeParams) *reader {
	h.Helper()
	r := &reader{h: h, batches: make(chan events.Batch, 1024)}
	ctx, cancel := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(r.batches)
		_ = s.Follow(ctx, verbs.EventsSubscribe, p, &verbs.EventsSubscribeResult{}, func(line []byte) error {
			var b events.Batch
			err := json.Unmarshal(line, &b)
			if err == nil {
				r.batches <- b
			}
			return err
		})
	})
	h.Cleanup(func() { cancel(); reading.Wait() })
	return r
}

// next is the next batch.
func (r *reader) next() events.Batch {
	r.h.Helper()
	select {
	case b, ok := <-r.batches:
		if !ok {
			r.h.Fatal("the events have ended")
		}
		return b
	case <-time.After(patience):
		r.h.Fatal("no events")
	}
	return events.Batch{}
}

// until is the first batch that has an event of the type, and all before it.
func (r *reader) until(kind events.Type) (before []events.Batch, with events.Batch) {
	r.h.Helper()
	for {
		b := r.next()
		if slices.ContainsFunc(b.Events, func(e events.Event) bool { return e.Type == kind }) {
			return before, b
		}
		before = append(before, b)
	}
}

// told is a batch in short: type and resource of each event.
func told(b events.Batch) (out []string) {
	for _, e := range b.Events {
		out = append(out, fmt.Sprint(e.Type, " ", e.Resource))
	}
	return out
}

// resources are those of a snapshot.
func resources(s *events.Snapshot) (out []string) {
	if s != nil {
		for _, e := range s.Entities {
			out = append(out, e.Resource)
		}
	}
	slices.Sort(out)
	return out
}

// wholeCrowd is what a restore of crowd tells, in this order.
var wholeCrowd = []string{
	"session.created session:s0", "session.created session:s1", "window.created window:w0", "window.created window:w1",
	"pane.created pane:p0", "pane.created pane:p1", "pane.created pane:p2", "pane.created pane:p3",
	"pane.exited pane:p0", "pane.exited pane:p1", "pane.exited pane:p2", "pane.exited pane:p3", "recovery.restored server:root",
}

// farewell is why a stream was ended, "" when it just was.
func (h *host) farewell(s *dial.Stream) (why string) {
	h.Helper()
	for {
		kind, payload, err := s.Recv()
		if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			return why
		}
		h.must(err)
		if kind != wire.KindNotice {
			continue
		}
		n, err := wire.DecodeNotice(payload)
		h.must(err)
		if n.Kind == wire.NoticeDetached {
			why = n.Text
		}
	}
}

func mapped[A, B any](in []A, f func(A) B) (out []B) {
	for _, a := range in {
		out = append(out, f(a))
	}
	return out
}

// Readers come while a restore happens: each has all of it in the snapshot, or all of it in one batch.
func allOrNone(t *testing.T) {
	h := newHost(t, withText)
	h.plant(crowd())
	h.serve()
	const readers = 24
	begun, restored := make(chan struct{}, readers), make(chan struct{})
	var all sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]int{}
	for range readers {
		all.Go(func() {
			for first := true; ; first = false {
				stop := errors.New("seen")
				err := h.socket().Follow(context.Background(), verbs.EventsSubscribe, verbs.EventsSubscribeParams{}, &verbs.EventsSubscribeResult{}, func(line []byte) error {
					var b events.Batch
					if err := json.Unmarshal(line, &b); err != nil {
						return err
					}
					if first {
						first = false
						begun <- struct{}{}
					}
					shown, came := resources(b.Snapshot), told(b)
					mu.Lock()
					defer mu.Unlock()
					switch {
					case b.Snapshot != nil && len(shown) == 0: // the events come behind it, or the next look has them
						seen["none"]++
						return nil
					case b.Snapshot != nil && len(shown) == 8:
						seen["all in a snapshot"]++
					case slices.Equal(came, wholeCrowd):
						seen["all in a batch"]++
					default:
						t.Errorf("in part: %v, %v", shown, came)
					}
					return stop
				})
				if !errors.Is(err, stop) {
					t.Error(err)
				}
				select {
				case <-restored:
					return
				default: // look once more while it goes on
				}
			}
		})
	}
	for range readers {
		<-begun
	}
	h.restore(planted)
	close(restored)
	all.Wait()
	if seen["none"] < readers || seen["all in a batch"] < readers {
		t.Errorf("seen %v", seen)
	}
}

func restoreAndRelaunch(t *testing.T) {
	h := newHost(t, withText)
	h.plant(crowd())
	h.serve()
	owner := h.follow(h.socket(), verbs.EventsSubscribeParams{})
	if b := owner.next(); b.Snapshot == nil || b.Snapshot.Reason != events.Initial || len(b.Snapshot.Entities) != 0 {
		t.Errorf("%+v", b)
	}
	blind := h.follow(h.as(h.agent("server:root", "spawn").Token), verbs.EventsSubscribeParams{Types: []string{"recovery.*", "pane.*"}})
	blind.next()
	h.restore(planted)
	_, b := owner.until(events.RecoveryRestored)
	if got := told(b); !slices.Equal(got, wholeCrowd) {
		t.Errorf("told\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(wholeCrowd, "\n"))
	}
	data := func(kind events.Type, resource string) map[string]any {
		i := slices.IndexFunc(b.Events, func(e events.Event) bool { return e.Type == kind && e.Resource == resource })
		if i < 0 {
			t.Fatalf("no %s of %s", kind, resource)
		}
		return b.Events[i].Data
	}
	if d := data(events.RecoveryRestored, "server:root"); fmt.Sprint(d) != fmt.Sprint(map[string]any{"checkpoint": planted, "cleanup_unverified": true}) {
		t.Errorf("%v", d)
	}
	if known, unknown := data("pane.exited", "pane:p0"), data("pane.exited", "pane:p1"); known["exit_code"] != 4.0 || len(unknown) != 0 {
		t.Errorf("%v, %v", known, unknown)
	}
	if d := data("pane.created", "pane:p2"); d["float"].(map[string]any)["width"] != "40" || d["window"] != "w0" ||
		d["recovery"].(map[string]any)["process_state"] != "interrupted" || d["recovery"].(map[string]any)["cut_rows"] != 0.0 || d["argv0"] != nil {
		t.Errorf("%v", d)
	}
	if d := data("window.created", "window:w0"); len(d["nodes"].([]any)) != 3 {
		t.Errorf("%v", d)
	}
	if _, b := blind.until("pane.created"); slices.ContainsFunc(b.Events, func(e events.Event) bool {
		return e.Type == events.RecoveryRestored || e.Data["name"] != nil || e.Data["recovery"] != nil
	}) {
		t.Errorf("who may not read was told %+v", b)
	}

	scoped := h.follow(h.as(h.agent("session:s1", "read").Token), verbs.EventsSubscribeParams{})
	if got := resources(scoped.next().Snapshot); !slices.Equal(got, []string{"pane:p3", "session:s1", "window:w1"}) {
		t.Errorf("a reader of s1 is shown %v", got)
	}
	var shown verbs.PaneCaptureResult
	h.call(verbs.PaneCapture, verbs.PaneCaptureParams{Pane: "p3"}, &shown) // so the text was looked at
	s, viewer, err := h.socket().Stream(context.Background(), verbs.PaneStreamParams{Pane: "p0", ReadOnly: true})
	h.must(err)
	defer s.Close()
	h.replay(s)
	var made verbs.PaneRelaunchResult
	h.call(verbs.PaneRelaunch, verbs.PaneRelaunchParams{
		Pane: "p0", Argv: []string{"sleep", "1000"}, AckOrphans: true, Grants: []verbs.Scope{{Resource: "session:s0", Rights: []string{"spawn"}}},
	}, &made)
	before, b := owner.until("pane.removed")
	new := "pane:" + made.Pane
	if got, want := told(b), []string{"grant.issued server:root", "pane.removed pane:p0", "pane.created " + new, "window.layout_changed window:w0", "window.activated window:w0"}; !slices.Equal(got, want) {
		t.Errorf("told\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, b := range before { // nothing came of the text, nor of looking at it
		for _, e := range b.Events {
			if e.Type != "grant.issued" && e.Type != "viewer.attached" && e.Type != "control.changed" {
				t.Errorf("told of %s on %s: %v", e.Type, e.Resource, e.Data)
			}
		}
	}
	if got := h.farewell(s); got != verbs.DetachedRemoved {
		t.Errorf("the stream of the archive ends with %q", got)
	}
	for _, p := range []verbs.PaneStreamParams{{Pane: "p0"}, {Pane: "p0", Resume: verbs.Resume{Stream: viewer.Stream}}} {
		if _, _, err := h.socket().Stream(context.Background(), p); dialCode(err) != verbs.CodeNoPane {
			t.Errorf("the archive's id leads to %v", err)
		}
	}
	next, now, err := h.socket().Stream(context.Background(), verbs.PaneStreamParams{Pane: made.Pane, Resume: verbs.Resume{Stream: viewer.Stream}})
	h.must(err)
	defer next.Close()
	if now.Resumed || now.Stream == viewer.Stream {
		t.Errorf("%+v after %+v", now, viewer)
	}
	float := h.relaunch("p2", "sleep", "1000") // in no leaf: the layout is the same
	_, b = owner.until("pane.removed")
	if got, want := told(b), []string{"pane.removed pane:p2", "pane.created pane:" + float.Pane}; !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
	h.call(verbs.PaneRename, verbs.PaneRenameParams{Pane: "p3", Name: "kept"}, &verbs.PaneResult{})
	before, b = scoped.until("pane.renamed")
	for _, b := range append(before, b) {
		for _, on := range append(resources(b.Snapshot), mapped(b.Events, func(e events.Event) string { return e.Resource })...) {
			if !slices.Contains([]string{"pane:p3", "window:w1", "session:s1"}, on) {
				t.Errorf("a reader of s1 is told of %s", on)
			}
		}
	}
}
