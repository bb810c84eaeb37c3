// SPDX-License-Identifier: Apache-2.0

//go:build unix

package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// part is a subscriber that notes what is asked of it.
type part struct {
	name string
	fail bool
	log  *[]string
	now  int64 // viewers.max as this part uses it
}

var errPart = errors.New("part is not ready")

func (p *part) Prepare(_ context.Context, next Config) (activate, discard func(), err error) {
	if p.fail {
		return nil, nil, errPart
	}
	*p.log = append(*p.log, "prepare "+p.name)
	return func() { p.now = next.Viewers.Max; *p.log = append(*p.log, "activate "+p.name) },
		func() { *p.log = append(*p.log, "discard "+p.name) }, nil
}

func live(t *testing.T, src string) *Live {
	t.Helper()
	l, err := OpenLive(newSettings(t, src), nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestReloadIsAllOrNothing(t *testing.T) {
	const parts = 4
	for failing := range parts + 1 { // the last run has none that fails
		l := live(t, `{"viewers": {"max": 7}}`)
		var log []string
		all := make([]*part, parts)
		for i := range all {
			all[i] = &part{name: fmt.Sprint(i), fail: i == failing, log: &log, now: 7}
		}
		l.SubscribeLast(all[parts-1])
		for _, p := range all[:parts-1] {
			l.Subscribe(p)
		}
		before := l.Effective()
		put(t, l.file.path, `{"viewers": {"max": 9}}`)
		out, err := l.Reload(t.Context())
		if failing == parts {
			if err != nil || !out.OK || !slices.Equal(out.Changed, []string{"viewers.max"}) || l.Effective().Viewers.Max != 9 {
				t.Fatalf("Reload = %+v, %v", out, err)
			}
			want := []string{"prepare 0", "prepare 1", "prepare 2", "prepare 3", "activate 0", "activate 1", "activate 2", "activate 3"}
			if !slices.Equal(log, want) {
				t.Fatalf("order %v", log)
			}
			continue
		}
		if !errors.Is(err, errPart) || !errors.Is(err, ErrPrepare) || out.OK || out.Error == "" || !reflect.DeepEqual(l.LastOutcome(), out) {
			t.Fatalf("%d fails: %+v, %v", failing, out, err)
		}
		if !reflect.DeepEqual(l.Effective(), before) {
			t.Fatalf("%d fails: effective is %+v", failing, l.Effective())
		}
		if len(log) != 2*failing {
			t.Fatalf("%d fails: %v", failing, log)
		}
		for i := range failing {
			if log[2*failing-1-i] != fmt.Sprintf("discard %d", i) || all[i].now != 7 {
				t.Fatalf("%d fails: %v", failing, log)
			}
		}
	}
}

// Whatever is written, by whomever, and whichever part is not ready: what is in force and what every part
// uses are the same, and are the last file that could be put in force.
func TestPartsAndEffectiveNeverDiffer(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := live(t, `{"viewers": {"max": 1}}`)
		var log []string
		all := []*part{{name: "a", log: &log, now: 1}, {name: "b", log: &log, now: 1}, {name: "c", log: &log, now: 1}}
		l.Subscribe(all[0])
		l.Subscribe(all[1])
		l.SubscribeLast(all[2])
		want := int64(1)
		for range rapid.IntRange(1, 8).Draw(r, "reloads") {
			max := rapid.Int64Range(-1, 66).Draw(r, "max")
			ready := true
			for _, p := range all {
				p.fail = rapid.IntRange(0, 4).Draw(r, "fail") == 0
				ready = ready && !p.fail
			}
			put(t, l.file.path, fmt.Sprintf(`{"viewers": {"max": %d}}`, max))
			out, err := l.Reload(t.Context())
			valid := max >= 1 && max <= 64
			if ok := valid && (ready || max == want); ok != (err == nil) || out.OK != ok {
				r.Fatalf("max %d, ready %v: %+v, %v", max, ready, out, err)
			}
			if (len(out.Problems) > 0) == valid {
				r.Fatalf("max %d: problems %v", max, out.Problems)
			}
			if err == nil {
				want = max
			}
			for _, p := range all {
				if p.now != want || l.Effective().Viewers.Max != want {
					r.Fatalf("want %d: part %s has %d, effective is %d", want, p.name, p.now, l.Effective().Viewers.Max)
				}
			}
		}
	})
}

func TestStartKeysWaitForTheNextStart(t *testing.T) {
	f := newSettings(t, `{"serve": {"peer_port": 1}}`)
	l, err := OpenLive(f, func(c *Config) { c.Serve.Listen = "127.0.0.1:9" })
	if err != nil {
		t.Fatal(err)
	}
	before := l.Effective()
	l.Subscribe(&part{fail: true})
	for port, want := range map[int][]string{1: nil, 2: {"serve.peer_port"}} {
		put(t, f.path, fmt.Sprintf(`{"serve": {"peer_port": %d}}`, port))
		out, err := l.Reload(t.Context())
		if err != nil || len(out.Changed) != 0 || !slices.Equal(out.NeedsRestart, want) {
			t.Fatalf("Reload = %+v, %v", out, err)
		}
		if !reflect.DeepEqual(l.Effective(), before) || before.Serve != (Serve{"127.0.0.1:9", 1}) {
			t.Fatalf("effective %+v", l.Effective())
		}
	}
}

func TestAFaultyFileIsNotOpened(t *testing.T) {
	if l, err := OpenLive(newSettings(t, `{"x": 1}`), nil); l != nil || !errors.As(err, new(Problems)) {
		t.Fatalf("OpenLive = %v, %v", l, err)
	}
}

func TestGet(t *testing.T) {
	l := live(t, `{"viewers": {"max": 7}}`)
	one, err := l.Get(GetParams{Path: "viewers.max"})
	if err != nil || !reflect.DeepEqual(one.Entries, []Entry{{Path: "viewers.max", Value: int64(7), Default: int64(64), Live: true}}) {
		t.Fatalf("Get = %+v, %v", one, err)
	}
	if section, err := l.Get(GetParams{Path: "recovery"}); err != nil || len(section.Entries) != 9 {
		t.Fatalf("section: %+v, %v", section, err)
	}
	if all, err := l.Get(GetParams{}); err != nil || len(all.Entries) != len(Keys()) {
		t.Fatalf("all: %d, %v", len(all.Entries), err)
	}
	if _, err := l.Get(GetParams{Path: "recovery.speed"}); !errors.Is(err, ErrUnknownKey) {
		t.Fatalf("unknown: %v", err)
	}
}

func TestSetPersistsAndChangesNothingInForce(t *testing.T) {
	l := live(t, "")
	l.Subscribe(&part{fail: true})
	if _, err := l.Set(SetParams{Path: "viewers.max", Value: "3"}); err != nil {
		t.Fatal(err)
	}
	if l.Effective().Viewers.Max != 64 {
		t.Fatal("a set was put in force")
	}
	if got, err := l.Check(); err != nil || !got.OK {
		t.Fatalf("Check = %+v, %v", got, err)
	}
}

// watched runs Watch on ticks of the test's own. tick returns when the look before it is over.
type watched struct {
	l     *Live
	ticks chan time.Time
	told  chan Outcome
}

func watch(t *testing.T, l *Live) *watched {
	w := &watched{l: l, ticks: make(chan time.Time), told: make(chan Outcome, 8)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Watch(ctx, w.ticks, func(o Outcome, _ error) { w.told <- o })
	}()
	t.Cleanup(func() { cancel(); <-done })
	return w
}

// looks lets Watch look n times and returns what it told.
func (w *watched) looks(n int) []Outcome {
	for range n + 1 { // a tick is taken when the look before it is over, so one more shows the last look's end
		w.ticks <- time.Time{}
	}
	var out []Outcome
	for {
		select {
		case o := <-w.told:
			out = append(out, o)
		default:
			return out
		}
	}
}

func TestWatchFollowsEveryWayOfEditing(t *testing.T) {
	l := live(t, `{"viewers": {"max": 1}}`)
	w := watch(t, l)
	path := l.file.path
	if out := w.looks(3); len(out) != 0 {
		t.Fatalf("nothing changed, and it told %+v", out)
	}
	edits := []struct {
		name string
		do   func() error
		want int64
	}{
		{"in place", func() error { return os.WriteFile(path, []byte(`{"viewers": {"max": 12}}`), 0o600) }, 12},
		{"by rename", func() error {
			return errors.Join(os.WriteFile(path+"~", []byte(`{"viewers": {"max": 13}}`), 0o600), os.Rename(path+"~", path))
		}, 13},
		{"with a backup", func() error {
			return errors.Join(os.Rename(path, path+".bak"), os.WriteFile(path, []byte(`{"viewers": {"max": 14}}`), 0o600))
		}, 14},
		{"removed", func() error { return os.Remove(path) }, 64},
		{"made", func() error { return os.WriteFile(path, []byte(`{"viewers": {"max": 15}}`), 0o600) }, 15},
	}
	for _, e := range edits {
		if err := e.do(); err != nil {
			t.Fatal(err)
		}
		out := w.looks(3)
		if len(out) != 1 || !out[0].OK || l.Effective().Viewers.Max != e.want {
			t.Fatalf("%s: %+v, effective %d", e.name, out, l.Effective().Viewers.Max)
		}
	}
}

func TestAnEditMayTakeManySteps(t *testing.T) {
	l := live(t, `{"viewers": {"max": 1}}`)
	w := watcher{live: l, before: l.seen()}
	for i := range 5 {
		put(t, l.file.path, "{ "+string(make([]byte, i)))
		if w.settled() {
			t.Fatalf("step %d was taken for the end", i)
		}
	}
	if !w.settled() {
		t.Fatal("the end was not seen")
	}
	if out, err := l.Reload(t.Context()); err == nil || len(out.Problems) == 0 || l.Effective().Viewers.Max != 1 {
		t.Fatalf("a faulty file: %+v, %v", out, err)
	}
	if w.settled() || w.settled() {
		t.Fatal("the same fault is read again and again")
	}
}

// A change between reading and now is another change, even when a reload was asked for meanwhile.
func TestAReloadByHandIsNotRepeatedByWatch(t *testing.T) {
	l := live(t, "")
	w := watch(t, l)
	put(t, l.file.path, `{"viewers": {"max": 2}}`)
	if out, err := l.Reload(t.Context()); err != nil || !out.OK {
		t.Fatalf("Reload = %+v, %v", out, err)
	}
	if out := w.looks(4); len(out) != 0 {
		t.Fatalf("told %+v", out)
	}
}
