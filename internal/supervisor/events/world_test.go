// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is what events tell of, in the smallest form that has all its difficulties.
type world struct {
	t   testing.TB
	log *Log
	now time.Time // of the log; guarded by mu

	mu     sync.Mutex
	next   int
	things map[string]*thing // by resource

	rightsMu sync.Mutex
	rights   map[int][]scope // of each reader
}

type thing struct {
	up            string // what is right above it
	data, content map[string]any
}

type scope struct{ right, on string }

func newWorld(t testing.TB) *world {
	w := &world{t: t, things: map[string]*thing{}, rights: map[int][]scope{}, now: time.Unix(1e9, 0)}
	w.log = NewLog(Options{Source: "spawn/test", State: w.state, Now: w.clock})
	return w
}

func (w *world) clock() time.Time { return w.now }

func (w *world) state(use func([]Entity)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	use(w.allLocked())
}

func (w *world) allLocked() []Entity {
	var all []Entity
	for r, th := range w.things {
		all = append(all, Entity{Resource: r, Above: w.aboveLocked(r), Data: maps.Clone(th.data), Content: maps.Clone(th.content)})
	}
	return all
}

func (w *world) aboveLocked(r string) []string {
	var above []string
	for r != root {
		r = w.things[r].up
		above = append(above, r)
	}
	return above
}

// may is what reader i may do, judged as an Authority does.
func (w *world) may(i int) May {
	return func(right, resource string, last []string) bool {
		w.mu.Lock()
		above := last
		if w.things[resource] != nil {
			above = w.aboveLocked(resource)
		}
		w.mu.Unlock()
		w.rightsMu.Lock()
		defer w.rightsMu.Unlock()
		return slices.ContainsFunc(w.rights[i], func(s scope) bool {
			return (s.right == right || s.right == "admin") && (s.on == resource || slices.Contains(above, s.on))
		})
	}
}

func (w *world) commit(changes ...Change) {
	if err := w.log.Commit(changes...); err != nil {
		w.t.Fatalf("commit: %v", err)
	}
}

func (w *world) pick(kind string, n int) string {
	var all []string
	for r := range w.things {
		if strings.HasPrefix(r, kind+":") {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return all[n%len(all)]
}

func (w *world) addLocked(kind, up string, data map[string]any) Change {
	r := fmt.Sprintf("%s:%c%d", kind, kind[0], w.next)
	w.next++
	name := fmt.Sprint("name of ", r)
	w.things[r] = &thing{up: up, data: data, content: map[string]any{"name": name}}
	told := maps.Clone(data)
	told["name"] = name
	if kind == "pane" {
		told["argv0"] = "program of " + name
		w.things[r].content["argv0"] = told["argv0"]
	}
	return Change{Type: Type(kind + ".created"), Resource: r, Above: w.aboveLocked(r), Data: told}
}

// act does one of the things that happen, chosen by two numbers.
func (w *world) act(what, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	session, window, pane := w.pick("session", n), w.pick("window", n), w.pick("pane", n)
	switch what % actions {
	case 0: // one mutation that makes all three
		s := w.addLocked("session", root, map[string]any{})
		win := w.addLocked("window", s.Resource, map[string]any{"session": s.Resource})
		p := w.addLocked("pane", win.Resource, map[string]any{"window": win.Resource})
		w.commit(s, win, p)
	case 1:
		if window != "" {
			w.commit(w.addLocked("pane", window, map[string]any{"window": window}))
		}
	case 2:
		for _, r := range []string{session, window, pane} {
			if r != "" {
				name := fmt.Sprint("renamed ", w.next)
				w.next++
				w.things[r].content["name"] = name
				w.commit(Change{Type: Type(kindOf(r) + ".renamed"), Resource: r, Above: w.aboveLocked(r), Data: map[string]any{"name": name}})
			}
		}
	case 3:
		if to := w.pick("window", n/7); pane != "" {
			w.things[pane].up, w.things[pane].data["window"] = to, to
			w.commit(Change{Type: PaneMoved, Resource: pane, Above: w.aboveLocked(pane), Data: map[string]any{"window": to}})
		}
	case 4:
		if to := w.pick("session", n/7); window != "" {
			w.things[window].up, w.things[window].data["session"] = to, to
			w.commit(Change{Type: WindowMoved, Resource: window, Above: w.aboveLocked(window), Data: map[string]any{"session": to, "index": int64(0)}})
		}
	case 5, 6:
		if pane != "" {
			title := fmt.Sprint("title ", w.next)
			w.next++
			w.things[pane].content["title"] = title
			if err := w.log.Note(Change{Type: PaneTitle, Resource: pane, Above: w.aboveLocked(pane), Data: map[string]any{"title": title}}); err != nil {
				w.t.Fatal(err)
			}
		}
	case 7:
		if session != "" && len(w.things) > 12 {
			w.closeLocked(session)
		}
	case 8:
		if pane != "" {
			w.commit(w.removeLocked(pane, PaneRemoved))
		}
	}
}

const actions = 9

func (w *world) removeLocked(r string, how Type) Change {
	c := Change{Type: how, Resource: r, Above: w.aboveLocked(r)}
	delete(w.things, r)
	return c
}

// closeLocked takes a session away with all that is in it, in one commit.
func (w *world) closeLocked(session string) {
	var changes []Change
	for _, kind := range []struct {
		name string
		how  Type
	}{{"pane", PaneRemoved}, {"window", WindowClosed}} {
		for r := range maps.Clone(w.things) {
			if kindOf(r) == kind.name && slices.Contains(w.aboveLocked(r), session) {
				changes = append(changes, w.removeLocked(r, kind.how))
			}
		}
	}
	w.commit(append(changes, w.removeLocked(session, SessionClosed))...)
}

// grant gives the reader other rights, and tells.
func (w *world) grant(i int, scopes ...scope) {
	w.rightsMu.Lock()
	w.rights[i] = scopes
	w.rightsMu.Unlock()
	w.commit(Change{Type: GrantRevoked, Resource: root, Data: map[string]any{"grant": "g_0", "reason": "revoked"}})
}

// folded is what a reader makes of its batches.
type folded map[string]map[string]any

func (f folded) take(b Batch) folded {
	if b.Snapshot != nil {
		f = folded{}
		for _, e := range b.Snapshot.Entities {
			f[e.Resource] = maps.Clone(e.Data)
		}
		return f
	}
	for _, e := range b.Events {
		switch e.Type {
		case SessionCreated, WindowCreated, PaneCreated:
			f[e.Resource] = maps.Clone(e.Data)
		case SessionClosed, WindowClosed, PaneRemoved:
			delete(f, e.Resource)
		default:
			if have, ok := f[e.Resource]; ok {
				maps.Copy(have, e.Data)
				delete(have, "index")
			}
		}
	}
	return f
}

// torn names something that is in what is not there: half of a mutation. Only who sees everything can tell.
func (f folded) torn() string {
	for r, data := range f {
		for _, up := range []string{"window", "session"} {
			if in, ok := data[up].(string); ok && f[in] == nil {
				return r + " in " + in
			}
		}
	}
	return ""
}

// truth is what reader i may know of the world, right now.
func (w *world) truth(i int, filter Filter) folded {
	w.mu.Lock()
	all := w.allLocked()
	w.mu.Unlock()
	may, f := w.may(i), folded{}
	for _, e := range all {
		if !filter.wantsResource(e.Resource, e.Above) {
			continue
		}
		switch {
		case may("read", e.Resource, e.Above):
			maps.Copy(e.Data, e.Content)
			f[e.Resource] = e.Data
		case may("write", e.Resource, e.Above) || may("spawn", e.Resource, e.Above):
			f[e.Resource] = e.Data
		}
	}
	return f
}

func same(a, b folded) bool { return reflect.DeepEqual(a, b) }
