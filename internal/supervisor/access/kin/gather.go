// SPDX-License-Identifier: Apache-2.0

package kin

import (
	"slices"
	"strings"
)

const (
	// lineMax bounds how many parents are followed. People nest shells some ten deep.
	lineMax = 64
	// triesMax is how often a line is read that changes while it is read.
	triesMax = 4
	// workerName is what the kernel calls every worker.
	workerName = "spawn-worker"
	// scopePrefix begins the name of every worker's scope.
	scopePrefix = "spawn-worker-"
)

// process is what was read of one process at one moment.
type process struct {
	pid, parent int
	session     int    // pid of the process that made its session
	start       uint64 // ticks since boot: with the pid it names the process for ever
	uid         int    // the real one
	name        string
}

// host is the kernel's word on processes. Errors mean that there is none, or that we may not know.
type host interface {
	process(pid int) (process, error)
	group(pid int) (string, error) // path of the control group; "" when that says nothing
	marked(pid int) bool           // its environment names a pane, or cannot be read
}

// situation is what spawnd knows of itself.
type situation struct {
	host   host
	panes  []Pane
	self   int  // pid of spawnd
	uid    int  // of spawnd
	scoped bool // workers get control groups of their own
	// adopting says that every worker adopts the orphans of its pane.
	adopting bool
}

// gather finds out about a process that exists. Whoever calls must make sure afterwards that it still does,
// and then that it was this one all the time.
func (s situation) gather(pid int) evidence {
	line, whole := s.line(pid)
	if len(line) == 0 || line[0].uid != s.uid {
		return evidence{found: stranger}
	}
	own, _ := s.line(s.self)
	e := &evidence{}
	s.session(e, line[0], own)
	s.parents(e, line, own, whole)
	group, err := s.host.group(pid)
	if err != nil {
		group = ""
	}
	s.scope(e, group)
	if s.host.marked(pid) && !s.host.marked(s.self) { // who runs spawnd in a pane of another one is not in ours
		e.found |= marked
	}
	if e.found == 0 { // whatever was found decides before these, which look at every worker
		s.login(e, line, own, whole)
		s.elsewhere(e, group)
	}
	return *e
}

func (e *evidence) inside(how finding, pane string) {
	if e.pane == "" {
		e.pane = pane
	}
	e.found |= how
}

// line is the process and its parents, the nearest first; whole when it ends at one that has none.
//
// Each link is looked at twice: had the parent ended between, the child would have another one now. So at
// one moment each was the child of the next, whatever numbers are in use again later.
func (s situation) line(pid int) (line []process, whole bool) {
	for range triesMax {
		if line, whole = s.lineOnce(pid); whole {
			return line, true
		}
	}
	return line, false
}

func (s situation) lineOnce(pid int) ([]process, bool) {
	at, err := s.host.process(pid)
	if err != nil {
		return nil, false
	}
	line := []process{at}
	for len(line) < lineMax {
		var up process
		if at.parent != 0 {
			if up, err = s.host.process(at.parent); err != nil {
				return line, false
			}
		}
		if again, err := s.host.process(at.pid); err != nil || again != at {
			return line, false
		}
		if at.parent == 0 {
			return line, true
		}
		line, at = append(line, up), up
	}
	return line, false
}

func (s situation) session(e *evidence, peer process, own []process) {
	for _, p := range s.panes {
		if peer.session != p.Child || p.Child == 0 { // 0 is also a session of an outer namespace
			continue
		}
		if shell, err := s.host.process(p.Child); err == nil && shell.parent == p.Worker {
			e.inside(inSession, p.ID)
		} else {
			e.found |= oldSession
		}
	}
	if slices.ContainsFunc(own, func(o process) bool { return o.session == peer.session }) {
		e.found |= ourSession
	}
}

func (s situation) parents(e *evidence, line, own []process, whole bool) {
	for above, at := range line {
		if i := slices.IndexFunc(s.panes, func(p Pane) bool { return at.pid == p.Child || at.pid == p.Worker }); i >= 0 {
			e.inside(inLine, s.panes[i].ID)
		}
		if at.pid == s.self && above > 0 || at.name == workerName && !slices.Contains(own, at) {
			e.found |= fromUs
		}
	}
	if !whole {
		return // what was not seen might be a worker
	}
	if s.adopting {
		e.found |= traced
	}
	if top := line[len(line)-1]; top.pid != 1 {
		e.found |= entered
	}
}

// login looks for a parent of root's that adopts no orphans.
func (s situation) login(e *evidence, line, own []process, whole bool) {
	roots := slices.ContainsFunc(line, func(at process) bool { return at.uid == 0 && at.pid != 1 })
	if s.uid == 0 || !whole || !roots {
		return
	}
	adopters := s.adopters(own)
	if slices.ContainsFunc(line, func(at process) bool { return at.uid == 0 && !adopters[at.pid] }) {
		e.found |= loggedIn
	}
}

// adopters are the processes that can become the parent of a pane's orphan.
func (s situation) adopters(own []process) map[int]bool {
	set := map[int]bool{1: true}
	for _, o := range own {
		set[o.pid] = true
	}
	for _, p := range s.panes {
		line, _ := s.line(p.Worker)
		for _, at := range line {
			set[at.pid] = true
		}
	}
	return set
}

// scope looks for a worker's scope in a control group.
func (s situation) scope(e *evidence, group string) {
	for part := range strings.SplitSeq(group, "/") {
		if !strings.HasPrefix(part, scopePrefix) {
			continue
		}
		if i := slices.IndexFunc(s.panes, func(p Pane) bool { return p.Scope == part }); i >= 0 {
			e.inside(inScope, s.panes[i].ID)
		} else {
			e.found |= oldScope
		}
	}
}

// elsewhere compares a control group with those of the workers. Without scopes, what dead workers left is in the
// groups of the spawnds that started them. That is the group of this one when it is a service, and could
// be any login's else.
func (s situation) elsewhere(e *evidence, group string) {
	if group == "" {
		return
	}
	own, err := s.host.group(s.self)
	if err != nil || own == "" || !s.scoped && !strings.HasSuffix(own, ".service") || within(group, own) {
		return
	}
	for _, p := range s.panes {
		if theirs, err := s.host.group(p.Worker); err != nil || theirs == "" || within(group, theirs) {
			return
		}
	}
	e.found |= apart
}

// within reports whether a group is the other, or below it.
func within(group, other string) bool {
	return group == other || strings.HasPrefix(group, other+"/")
}
