// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

// as is the control socket for whoever holds the token.
func (h *host) as(token string) dial.Socket {
	s := h.socket()
	s.Token = token
	return s
}

// agent makes somebody who has the rights on the resource.
func (h *host) agent(resource string, rights ...string) verbs.GrantIssueResult {
	h.Helper()
	var r verbs.GrantIssueResult
	h.call(verbs.GrantIssue, verbs.GrantIssueParams{Scopes: []verbs.Scope{{Resource: resource, Rights: rights}}}, &r)
	return r
}

// ownerToken is what SPAWN_TOKEN=@owner stands for now.
func (h *host) ownerToken() string {
	h.Helper()
	text, err := os.ReadFile(h.dir + "/r/spawn/owner.token")
	h.must(err)
	return strings.TrimSpace(string(text))
}

// refusal is what the verb answers when it fails, whole.
func refusal(s dial.Socket, verb string, params, result any) *verbs.Error {
	e := (*verbs.Error)(nil)
	if errors.As(s.Call(context.Background(), verb, params, result), &e) {
		return e
	}
	return &verbs.Error{}
}

func (h *host) grants() []verbs.Grant {
	h.Helper()
	var r verbs.GrantListResult
	h.call(verbs.GrantList, verbs.Empty{}, &r)
	return r.Grants
}

// script runs the commands in a row, one a line, and then writes their exit codes into the file of that name.
func (h *host) script(file string, commands ...string) string {
	spawnd := filepath.Join(binaries, "spawnd")
	var out strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&out, "%s %s >>%s/said 2>&1; codes=\"$codes $?\"\n", spawnd, c, h.dir)
	}
	fmt.Fprintf(&out, "echo $codes >%s/%s.new; mv %[1]s/%[2]s.new %[1]s/%[2]s\n", h.dir, file)
	return out.String()
}

// codes are the exit codes that a script wrote.
func (h *host) codes(file string) string {
	h.Helper()
	var text []byte
	h.await(file+" is written", func() (there bool) {
		var err error
		text, err = os.ReadFile(filepath.Join(h.dir, file))
		return err == nil
	})
	return strings.TrimSpace(string(text))
}

// Nothing that anybody could show to the spawnd before means anything to this one, and nothing that a checkpoint says gives
// anybody a right.
func credentials(t *testing.T) {
	h := newHost(t, on)
	h.serve()
	owner := h.ownerToken()
	agent := h.agent("server:root", "read", "write", "spawn", "admin")
	var made verbs.PaneResult
	h.must(h.as(agent.Token).Call(context.Background(), verbs.PaneNew, verbs.PaneNewParams{Argv: []string{"sleep", "1000"}}, &made))
	// A descendant leaves its terminal, and outlives it.
	orphan := h.start("sh", "-c", "setsid sh -c 'until [ -e "+h.dir+"/go ]; do sleep 0.05; done\n"+h.script("orphan",
		"pane list", "pane new", "recovery list", "pane rename --pane $SPAWN_PANE --name x", "pane relaunch --pane $SPAWN_PANE --ack-orphans -- true",
	)+"' >/dev/null 2>&1 & touch "+h.dir+"/left; exec sleep 1000")
	h.call(verbs.GrantIssue, verbs.GrantIssueParams{Principal: "pane:" + orphan.ID, Scopes: []verbs.Scope{{Resource: "server:root", Rights: []string{"spawn"}}}}, &verbs.GrantIssueResult{})
	h.await("the descendant is on its own", func() bool { _, err := os.Stat(h.dir + "/left"); return err == nil })
	id := h.checkpoint()
	saved := h.decode(id)
	workers := []int{h.pane(made.Pane.ID).PID, orphan.PID}
	h.kill()
	for _, pid := range workers {
		h.must(syscall.Kill(pid, syscall.SIGKILL))
	}
	h.must(os.RemoveAll(h.dir + "/r/spawn"))
	h.must(os.RemoveAll(h.dir + "/w"))
	h.serve()
	if h.ownerToken() == owner {
		t.Error("the owner's token is the old one")
	}
	for name, token := range map[string]string{"owner": owner, "agent": agent.Token, "made up": strings.Repeat("A", len(owner))} {
		for _, verb := range []string{verbs.PaneList, verbs.RecoveryList} { // never as somebody who may look
			if e := refusal(h.as(token), verb, verbs.Empty{}, nil); e.Code != verbs.CodeToken {
				t.Errorf("%s with the token of the former %s: %+v", verb, name, e)
			}
		}
	}
	h.restore(id)
	if grants := h.grants(); len(grants) != 0 {
		t.Errorf("there are %+v", grants)
	}
	if tags := h.pane("p0").Tags; !slices.Equal(tags, []verbs.Tag{{Key: "owner", Value: "agent"}}) || saved.Panes[0].Tags[0].Value != "agent" {
		t.Errorf("the label is %+v", tags)
	}
	if e := refusal(h.socket(), verbs.GrantIssue, verbs.GrantIssueParams{ // who is named by a label is nobody
		Principal: agent.Principal, Scopes: []verbs.Scope{{Resource: "pane:p0", Rights: []string{"read"}}},
	}, &verbs.GrantIssueResult{}); e.Code != verbs.CodeNoGrant {
		t.Errorf("%+v", e)
	}
	h.must(os.WriteFile(h.dir+"/go", nil, 0o600))
	if got := h.codes("orphan"); got != "0 4 4 4 4" {
		t.Errorf("a descendant of an old terminal: %s", got)
	}
	fresh := h.relaunch("p1", "sh", "-c", h.script("child", "pane rename --pane $SPAWN_PANE --name mine", "pane new", "pane rename --pane p0 --name x", "recovery list")+"sleep 1000")
	if fresh.Principal != "pane:"+fresh.Pane || fresh.Pane == "p1" {
		t.Errorf("%+v", fresh)
	}
	if got := h.codes("child"); got != "0 4 4 4" {
		t.Errorf("the new terminal: %s", got)
	}
	if p := h.pane(fresh.Pane); !slices.Equal(p.Tags, []verbs.Tag{{Key: "owner", Value: "owner"}}) || p.Name != "mine" {
		t.Errorf("%+v", p)
	}
}

// The verbs of recovery are the owner's. A relaunch needs two rights, and gives away no more than there is.
func grantsRow(t *testing.T) {
	h := newHost(t, on)
	c := one(planted, 1)
	c.Sessions = append(c.Sessions, recovery.Session{ID: "s1", Name: "other"})
	c.Windows = append(c.Windows, recovery.Window{ID: "w1", Session: "s1", Revision: 1, Nodes: []recovery.Node{leaf("p1")}})
	c.Panes = append(c.Panes, tile("p1", "w1", "s1"))
	h.plant(c)
	h.serve()
	scoped := h.agent("server:root", "read", "write", "spawn")
	for name, s := range map[string]dial.Socket{"agent": h.as(scoped.Token), "reader": h.as(h.agent("server:root", "read").Token)} {
		for _, verb := range []string{verbs.RecoveryCheckpoint, verbs.RecoveryList, verbs.RecoveryInspect, verbs.RecoveryRestore, verbs.RecoveryForget} {
			var told []*verbs.Error
			for _, id := range []string{planted, absent} {
				params := any(verbs.CheckpointParams{Checkpoint: id})
				if verb == verbs.RecoveryCheckpoint || verb == verbs.RecoveryList {
					params = verbs.Empty{}
				}
				told = append(told, refusal(s, verb, params, nil))
			}
			if told[0].Code != "denied.admin" || told[0].Code.Exit() != 4 || !reflect.DeepEqual(told[0], told[1]) || told[0].Data["right"] != "admin" || told[0].Data["resource"] != "server:root" {
				t.Errorf("%s of %s: %+v, %+v", verb, name, told[0], told[1])
			}
		}
	}
	h.env = append(h.env, "SPAWN_PANE=p0") // of which nothing else can be shown
	for _, args := range [][]string{{"list"}, {"checkpoint"}, {"inspect", "--checkpoint", planted}, {"restore", "--checkpoint", planted}, {"forget", "--checkpoint", planted}} {
		if out, code := h.run(append([]string{"recovery"}, args...)...); code != 4 {
			t.Errorf("unknown, %v: exit code %d\n%s", args, code, out)
		}
	}
	h.env = h.env[:len(h.env)-1]
	if files := h.files(); len(files) != 1 || len(h.panes()) != 0 {
		t.Fatalf("a refusal left %v, %+v", files, h.panes())
	}

	h.restore(planted)
	before := h.panes()
	marks := h.dir + "/marks"
	ask := func(given ...verbs.Scope) verbs.PaneRelaunchParams {
		return verbs.PaneRelaunchParams{Pane: "p0", Argv: []string{"sh", "-c", "echo x >>" + marks + "; sleep 1000"}, AckOrphans: true, Grants: given}
	}
	both := h.agent("session:s0", "spawn", "write")
	for name, test := range map[string]struct {
		s    dial.Socket
		p    verbs.PaneRelaunchParams
		want verbs.Code
	}{
		"spawn alone":        {h.as(h.agent("session:s0", "spawn").Token), ask(), "denied.write"},
		"write alone":        {h.as(h.agent("session:s0", "write").Token), ask(), "denied.spawn"},
		"both, elsewhere":    {h.as(h.agent("session:s1", "spawn", "write").Token), ask(), "denied.spawn"},
		"none":               {h.as(h.agent("session:s0", "read").Token), ask(), "denied.spawn"},
		"more than it has":   {h.as(both.Token), ask(verbs.Scope{Resource: "session:s0", Rights: []string{"spawn", "admin"}}), "denied.admin"},
		"wider than it has":  {h.as(both.Token), ask(verbs.Scope{Resource: "server:root", Rights: []string{"spawn"}}), "denied.spawn"},
		"what it cannot see": {h.as(both.Token), ask(verbs.Scope{Resource: "session:s9", Rights: []string{"write"}}), "denied.write"},
		"what is not there":  {h.socket(), ask(verbs.Scope{Resource: "session:s9", Rights: []string{"write"}}), verbs.CodeNoSession},
		"no right":           {h.socket(), ask(verbs.Scope{Resource: "session:s0", Rights: []string{"all"}}), verbs.CodeInvalidParams},
	} {
		e := refusal(test.s, verbs.PaneRelaunch, test.p, &verbs.PaneRelaunchResult{})
		if e.Code != test.want || strings.HasPrefix(string(e.Code), "denied.") && e.Data["right"] != strings.TrimPrefix(string(e.Code), "denied.") {
			t.Errorf("%s: %+v", name, e)
		}
	}
	had := h.grants()
	h.refused(verbs.CodeSpawn, verbs.PaneRelaunch, verbs.PaneRelaunchParams{ // what was given goes with who was to have it
		Pane: "p0", Argv: []string{"/missing"}, AckOrphans: true, Grants: []verbs.Scope{{Resource: "session:s0", Rights: []string{"spawn"}}},
	}, &verbs.PaneRelaunchResult{})
	if _, err := os.Stat(marks); err == nil || !reflect.DeepEqual(h.panes(), before) || !reflect.DeepEqual(h.grants(), had) {
		t.Errorf("a refusal started something, or left %+v, %+v", h.panes(), h.grants())
	}

	// What is given is given to the new pane, by who asked, and to no other.
	program := func(file string) []string {
		return []string{"sh", "-c", h.script(file, "pane split --pane $SPAWN_PANE --axis cols -- sleep 1000", "pane new -- sleep 1000") + "sleep 1000"}
	}
	p := ask(verbs.Scope{Resource: "session:s0", Rights: []string{"spawn"}})
	p.Argv = program("given")
	var made verbs.PaneRelaunchResult
	h.must(h.as(both.Token).Call(context.Background(), verbs.PaneRelaunch, p, &made))
	if got := h.codes("given"); got != "0 4" {
		t.Errorf("with spawn on its session: %s", got)
	}
	if tags := h.pane(made.Pane).Tags; !slices.Equal(tags, []verbs.Tag{{Key: "owner", Value: both.Principal}}) {
		t.Errorf("it is of %+v", tags)
	}
	listed := slices.IndexFunc(h.grants(), func(g verbs.Grant) bool { return g.Principal == made.Principal })
	if listed < 0 || h.grants()[listed].By != both.Principal {
		t.Errorf("%+v", h.grants())
	}
	h.relaunch("p1", program("bare")...)
	if got := h.codes("bare"); got != "4 4" {
		t.Errorf("without anything given: %s", got)
	}
	h.call(verbs.GrantRevoke, verbs.GrantRevokeParams{Grant: both.Grant}, &verbs.Empty{})
	if slices.ContainsFunc(h.grants(), func(g verbs.Grant) bool { return g.Principal == made.Principal }) {
		t.Error("what was given outlives who gave it")
	}
}
