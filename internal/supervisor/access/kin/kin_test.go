// SPDX-License-Identifier: Apache-2.0

package kin

import (
	"errors"
	"strconv"
	"testing"
)

// One row decides for every set of facts, the last one for none; and only five facts make an owner.
func TestEveryEvidenceIsDecided(t *testing.T) {
	for found := range finding(1 << len(rules)) {
		p := evidence{found: found, pane: "p7"}.decide()
		bad := found&(stranger|oldSession|oldScope|fromUs|marked) != 0
		inside := found&(inSession|inLine|inScope) != 0
		outside := found&(ourSession|entered|loggedIn|apart|traced) != 0
		want := Unsure
		switch {
		case found&stranger != 0:
		case inside:
			want = Inside
		case !bad && outside:
			want = Outside
		}
		if p.Verdict != want || (p.Pane == "p7") != (want == Inside) {
			t.Fatalf("%b: decided %v in %q by row %c, want %v", found, p.Verdict, p.Pane, p.Row, want)
		}
	}
	seen := map[byte]finding{}
	for _, r := range rules {
		if seen[r.row] != 0 || r.found == 0 || r.found&(r.found-1) != 0 {
			t.Errorf("row %c is there twice, or is about more than one fact", r.row)
		}
		seen[r.row] = r.found
	}
}

// table is a host made of words.
type table struct {
	processes map[int]process
	groups    map[int]string
	marks     map[int]bool
	onRead    func(pid int)
}

func (h *table) process(pid int) (process, error) {
	if h.onRead != nil {
		h.onRead(pid)
	}
	p, ok := h.processes[pid]
	if !ok {
		return process{}, errors.New("none")
	}
	return p, nil
}

func (h *table) group(pid int) (string, error) {
	if h.onRead != nil {
		h.onRead(pid)
	}
	return h.groups[pid], nil
}

func (h *table) marked(pid int) bool { return h.marks[pid] }

const me = 1000

// desktop is a host with systemd: 1 init, 100 its user's instance, 200 spawnd as a service, 300 a worker of
// an earlier spawnd with its shell 301, 400 a worker of this one with its shell 401, 500 sshd, 510 a login.
func desktop() *table {
	h := &table{processes: map[int]process{}, groups: map[int]string{}, marks: map[int]bool{}}
	add := func(pid, parent, session, uid int, name, group string) {
		h.processes[pid] = process{pid, parent, session, uint64(pid), uid, name}
		h.groups[pid] = group
	}
	add(1, 0, 1, 0, "systemd", "/init.scope")
	add(100, 1, 100, me, "systemd", "/user/user@1000.service/init.scope")
	add(200, 100, 200, me, "spawnd", "/user/user@1000.service/app.slice/spawnd.service")
	add(300, 100, 300, me, "spawn-worker", "/user/user@1000.service/app.slice/spawn-worker-a.scope")
	add(301, 300, 301, me, "bash", "/user/user@1000.service/app.slice/spawn-worker-a.scope")
	add(400, 200, 400, me, "spawn-worker", "/user/user@1000.service/app.slice/spawn-worker-b.scope")
	add(401, 400, 401, me, "bash", "/user/user@1000.service/app.slice/spawn-worker-b.scope")
	add(500, 1, 500, 0, "sshd", "/system.slice/ssh.service")
	add(510, 500, 510, 0, "sshd", "/user/session-3.scope")
	add(511, 510, 510, me, "sshd", "/user/session-3.scope")
	add(512, 511, 512, me, "bash", "/user/session-3.scope")
	return h
}

var desktopPanes = []Pane{{"p0", 301, 300, "spawn-worker-a.scope"}, {"p1", 401, 400, "spawn-worker-b.scope"}}

const (
	aGroup  = "/user/user@1000.service/app.slice/spawn-worker-a.scope"
	service = "/user/user@1000.service/app.slice/spawnd.service"
)

func TestWhereProcessesAre(t *testing.T) {
	cases := []struct {
		name    string
		peer    process // pid 900
		group   string
		marked  bool
		more    []process
		noScope bool // no worker has one, all are in spawnd's service
		want    Place
	}{
		{name: "in a pane", peer: process{parent: 301, session: 301}, group: aGroup, want: Place{Inside, "p0", 'B'}},
		{name: "in a session of its own", peer: process{parent: 401, session: 900}, want: Place{Inside, "p1", 'C'}},
		{name: "orphan in the scope", peer: process{parent: 100, session: 900}, group: aGroup, want: Place{Inside, "p0", 'D'}},
		{name: "below a service in the scope", peer: process{parent: 100, session: 900}, group: aGroup + "/x", want: Place{Inside, "p0", 'D'}},
		{name: "left by a dead worker", peer: process{parent: 100, session: 900}, group: "/user/spawn-worker-dead.scope", want: Place{Row: 'F'}},
		{name: "of a refused worker", peer: process{parent: 600, session: 900}, more: []process{{600, 100, 600, 600, me, "spawn-worker"}}, want: Place{Row: 'G'}},
		{name: "started by spawnd", peer: process{parent: 200, session: 900}, group: "/elsewhere", want: Place{Row: 'G'}},
		{name: "multiplexer started in a pane", peer: process{parent: 600, session: 900}, more: []process{{600, 100, 600, 600, me, "tmux: server"}}, group: "/user/tmux-1.scope", marked: true, want: Place{Row: 'H'}},
		{name: "multiplexer started outside", peer: process{parent: 600, session: 900}, more: []process{{600, 100, 600, 600, me, "tmux: server"}}, group: "/user/tmux-1.scope", want: Place{Outside, "", 'L'}},
		{name: "ssh login", peer: process{parent: 512, session: 512}, want: Place{Outside, "", 'K'}},
		{name: "ssh login without scopes", peer: process{parent: 512, session: 512}, group: "/user/session-3.scope", noScope: true, want: Place{Outside, "", 'K'}},
		{name: "terminal program without scopes", peer: process{parent: 600, session: 900}, more: []process{{600, 100, 600, 600, me, "gnome-terminal-"}}, group: "/user/gnome-terminal.scope", noScope: true, want: Place{Outside, "", 'L'}},
		{name: "orphan without scopes", peer: process{parent: 100, session: 900}, group: service, noScope: true, want: Place{Row: 'N'}},
		{name: "orphan of process 1", peer: process{parent: 1, session: 900}, group: service, noScope: true, want: Place{Row: 'N'}},
		{name: "entered from an outer namespace", peer: process{parent: 0, session: 0}, group: service, want: Place{Outside, "", 'J'}},
		{name: "another user's", peer: process{parent: 301, session: 301, uid: 7}, want: Place{Row: 'A'}},
		{name: "a parent under a borrowed uid", peer: process{parent: 600, session: 900}, more: []process{{600, 1, 600, 600, 100000, "sh"}}, group: service, want: Place{Row: 'N'}},
		{name: "a parent that cannot be read", peer: process{parent: 777, session: 900}, want: Place{Row: 'N'}},
		{name: "the session of a shell that is gone", peer: process{parent: 100, session: 999}, want: Place{Row: 'N'}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := desktop()
			c.peer.pid, c.peer.start, c.peer.name = 900, 900, "spawnd"
			if c.peer.uid == 0 {
				c.peer.uid = me
			}
			h.processes[900], h.groups[900], h.marks[900] = c.peer, c.group, c.marked
			for _, m := range c.more {
				h.processes[m.pid] = m
			}
			panes := desktopPanes
			if c.noScope {
				panes = []Pane{{"p0", 301, 300, ""}, {"p1", 401, 400, ""}}
				for _, pid := range []int{300, 301, 400, 401} {
					h.groups[pid] = service
				}
			}
			s := situation{host: h, panes: panes, self: 200, uid: me, scoped: !c.noScope}
			if got := s.gather(900).decide(); got != c.want {
				t.Errorf("got %v %q by %c, want %v %q by %c", got.Verdict, got.Pane, got.Row, c.want.Verdict, c.want.Pane, c.want.Row)
			}
		})
	}
}

// A spawnd that a person started in a login finds that login outside, and whoever only looks like it not.
func TestAroundASpawndStartedByHand(t *testing.T) {
	h := desktop()
	h.processes[200] = process{200, 512, 512, 200, me, "spawnd"}
	for _, pid := range []int{200, 300, 301, 400, 401} {
		h.groups[pid] = "/user/session-3.scope"
	}
	s := situation{host: h, panes: []Pane{{"p1", 401, 400, ""}}, self: 200, uid: me}
	try := func(name string, peer process, want Place) {
		t.Helper()
		peer.pid, peer.start, peer.uid = 900, 900, me
		h.processes[900], h.groups[900] = peer, "/user/session-3.scope"
		if got := s.gather(900).decide(); got != want {
			t.Errorf("%s: got %v by %c, want %v by %c", name, got.Verdict, got.Row, want.Verdict, want.Row)
		}
	}
	try("same login", process{parent: 512, session: 512}, Place{Outside, "", 'I'})
	try("orphan of the same login's session", process{parent: 1, session: 512}, Place{Outside, "", 'I'})
	try("orphan with a session of its own", process{parent: 1, session: 900}, Place{Row: 'N'})
	// Root's sshd is above spawnd here. Were it a reaper, orphans of panes would be below it.
	try("below root's process that is above spawnd", process{parent: 510, session: 900}, Place{Row: 'N'})

	h.processes[520] = process{520, 500, 520, 520, 0, "sshd"}
	try("another login", process{parent: 520, session: 900}, Place{Outside, "", 'K'})
	h.groups[900] = "/user/session-9.scope"
	h.processes[900] = process{900, 100, 900, 900, me, "x"}
	if got := s.gather(900).decide(); got != (Place{Row: 'N'}) {
		t.Errorf("another login's control group made an orphan %v: an earlier spawnd's worker may have left it", got)
	}
}

// Where every worker adopts orphans, whoever has none above is outside, on any host; but not who says that it
// is in a pane, who was started by what is not known, or whose parents cannot all be seen.
func TestWhereWorkersAdoptOrphans(t *testing.T) {
	cases := []struct {
		name   string
		peer   process // pid 900
		marked bool
		more   []process
		want   Place
	}{
		{name: "second terminal window", peer: process{parent: 600, session: 900}, more: []process{{600, 100, 600, 600, me, "xterm"}}, want: Place{Outside, "", 'M'}},
		{name: "multiplexer started outside", peer: process{parent: 600, session: 900}, more: []process{{600, 1, 600, 600, me, "tmux: server"}}, want: Place{Outside, "", 'M'}},
		{name: "orphan of process 1", peer: process{parent: 1, session: 900}, want: Place{Outside, "", 'M'}},
		{name: "orphan of a pane", peer: process{parent: 400, session: 900}, want: Place{Inside, "p1", 'C'}},
		{name: "multiplexer started in a pane", peer: process{parent: 600, session: 900}, more: []process{{600, 400, 600, 600, me, "tmux: server"}}, want: Place{Inside, "p1", 'C'}},
		{name: "marked, with no pane above", peer: process{parent: 1, session: 900}, marked: true, want: Place{Row: 'H'}},
		{name: "below a worker that is not known", peer: process{parent: 600, session: 900}, more: []process{{600, 1, 600, 600, me, "spawn-worker"}}, want: Place{Row: 'G'}},
		{name: "below spawnd", peer: process{parent: 200, session: 900}, want: Place{Row: 'G'}},
		{name: "a parent that cannot be read", peer: process{parent: 777, session: 900}, want: Place{Row: 'N'}},
		{name: "a session of an outer namespace", peer: process{parent: 1, session: 0}, want: Place{Outside, "", 'M'}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := desktop()
			clear(h.groups)
			c.peer.pid, c.peer.start, c.peer.name, c.peer.uid = 900, 900, "spawnd", me
			h.processes[900], h.marks[900] = c.peer, c.marked
			for _, m := range c.more {
				h.processes[m.pid] = m
			}
			panes := []Pane{{"p0", 301, 300, ""}, {"p1", 0, 400, ""}}
			s := situation{host: h, panes: panes, self: 200, uid: me, adopting: true}
			if got := s.gather(900).decide(); got != c.want {
				t.Errorf("got %v %q by %c, want %v %q by %c", got.Verdict, got.Pane, got.Row, c.want.Verdict, c.want.Pane, c.want.Row)
			}
			if s.adopting = false; c.want.Row == 'M' && s.gather(900).decide().Verdict != Unsure {
				t.Error("it is outside although orphans can be anywhere")
			}
		})
	}
}

// Every connection to the control socket is looked at, so a look must not cost more the more terminals there are.
func TestALookDoesNotReadEveryWorker(t *testing.T) {
	look := func(terminals int) (reads int) {
		h := desktop()
		h.processes[600] = process{600, 500, 600, 600, 0, "sshd"}
		h.processes[900] = process{900, 600, 600, 900, me, "spawnd"}
		var panes []Pane
		for i := range terminals {
			worker := 1000 + 2*i
			h.processes[worker] = process{worker, 200, worker, uint64(worker), me, "spawn-worker"}
			h.processes[worker+1] = process{worker + 1, worker, worker + 1, uint64(worker), me, "bash"}
			panes = append(panes, Pane{"p" + strconv.Itoa(i), worker + 1, worker, ""})
		}
		h.onRead = func(int) { reads++ }
		if got := (situation{host: h, panes: panes, self: 200, uid: me, adopting: true}).gather(900).decide(); got.Verdict != Outside {
			t.Fatalf("a login is %v by row %c", got.Verdict, got.Row)
		}
		return reads
	}
	if few, many := look(1), look(100); few == 0 || many != few {
		t.Errorf("%d processes are read beside 1 terminal, %d beside 100", few, many)
	}
}

// spawnd itself, when it asks itself, is in its own session.
func TestSpawndItself(t *testing.T) {
	s := situation{host: desktop(), panes: desktopPanes, self: 200, uid: me, scoped: true}
	if got := s.gather(200).decide(); got != (Place{Outside, "", 'I'}) {
		t.Errorf("got %v by %c", got.Verdict, got.Row)
	}
}

// A parent that ends while the line is read, and whose number then means another process, is not taken
// for a parent.
func TestReusedNumberIsNoParent(t *testing.T) {
	h := desktop()
	h.processes[900] = process{900, 800, 900, 900, me, "x"}
	h.processes[800] = process{800, 301, 301, 800, me, "sh"}
	h.groups[900] = service
	once := true
	h.onRead = func(pid int) {
		if pid == 800 && once { // between the look at the child and the look at its parent
			once = false
			h.processes[900] = process{900, 100, 900, 900, me, "x"}
			h.processes[800] = process{800, 510, 510, 2000, me, "sshd"}
		}
	}
	s := situation{host: h, panes: desktopPanes, self: 200, uid: me, scoped: true}
	if got := s.gather(900).decide(); got != (Place{Row: 'N'}) {
		t.Errorf("got %v by %c", got.Verdict, got.Row)
	}
	// And one that changes for ever is given up.
	flip := 0
	h.onRead = func(pid int) {
		if pid == 900 {
			flip++
			h.processes[900] = process{900, 510 + flip%2, 900, 900, me, "x"}
		}
	}
	if got := s.gather(900).decide(); got != (Place{Row: 'N'}) || flip < 2*triesMax {
		t.Errorf("got %v by %c after %d looks", got.Verdict, got.Row, flip)
	}
}

func TestAShellThatIsGoneGivesItsSessionNoPane(t *testing.T) {
	h := desktop()
	h.processes[900] = process{900, 100, 301, 900, me, "x"}
	h.processes[301] = process{301, 512, 301, 5000, me, "another"} // its number again
	s := situation{host: h, panes: desktopPanes, self: 200, uid: me, scoped: true}
	if got := s.gather(900).decide(); got != (Place{Row: 'E'}) {
		t.Errorf("got %v by %c, want unsure by E", got.Verdict, got.Row)
	}
}

// Whoever tries spawnd in a pane of another spawnd is the owner of the inner one.
func TestASpawndInAPaneOfAnother(t *testing.T) {
	h := desktop()
	h.processes[700] = process{700, 301, 301, 700, me, "spawnd"}
	h.processes[900] = process{900, 301, 301, 900, me, "spawnd"}
	h.marks[700], h.marks[900] = true, true
	s := situation{host: h, self: 700, uid: me}
	if got := s.gather(900).decide(); got != (Place{Outside, "", 'I'}) {
		t.Errorf("got %v by %c, want outside by I", got.Verdict, got.Row)
	}
}
