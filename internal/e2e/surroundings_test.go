// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/verbs"
)

// nested has children and grandchildren, some in sessions of their own, and one whose parent is gone.
const nested = `leaf() { sh -c 'exec sleep 1000'; }; leaf & (leaf & leaf) & sh -c 'sh -c "exec sleep 1000" & wait' &
setsid sh -c 'exec sleep 1000' & (setsid sh -c 'sh -c "exec sleep 1000" & exec sleep 1000' &) ; wait`

// nestedLeast is how many processes come of it at least, itself included.
const nestedLeast = 8

const (
	shellsNested = 4
	ambient      = "ambient-token-of-whoever-started-spawnd"
)

// T35, end to end: spawnd is started with a token and its folders in its environment, gives out tokens, links and codes, and starts
// terminals: a login shell with marks and programs with children. No descendant of a worker has any of it, or the way to a worker, in
// its environment, its arguments or its folder; nor has a worker a token.
func TestNothingThatOpensADoorIsPassedOn(t *testing.T) {
	h := rig.NewHost(t)
	d, err := h.TryServe([]string{"SPAWN_TOKEN=" + ambient})
	if err != nil {
		t.Fatal(err)
	}
	tokens := []string{ambient, readToken(t, filepath.Join(h.Dir, "r/spawn/owner.token")), fragment(t, d.URL)}
	var grant verbs.GrantIssueResult
	h.Call(verbs.GrantIssue, verbs.GrantIssueParams{Scopes: []verbs.Scope{{Resource: "server:root", Rights: []string{"read"}}}}, &grant)
	tokens = append(tokens, grant.Token)

	shell := h.NewPane(verbs.PaneNewParams{Cwd: h.Dir})
	panes := []verbs.Pane{shell}
	for range shellsNested {
		panes = append(panes, h.NewPane(verbs.PaneNewParams{Argv: []string{"/bin/sh", "-c", nested}, Cwd: h.Dir}))
	}
	var link verbs.ShareCreateResult
	h.Call(verbs.ShareCreate, verbs.ShareCreateParams{Resource: "pane:" + shell.ID, Seconds: 60}, &link)
	tokens = append(tokens, fragment(t, link.URL))
	marks, err := os.ReadFile(filepath.Join(h.Dir, "r/spawn/shell/secret"))
	if err != nil {
		t.Fatal(err)
	}
	tokens = append(tokens, string(marks), hex.EncodeToString(marks))
	ways := []string{h.WorkerDir(), "SPAWND_", h.Dir + "/r/spawn/spawnd.sock"}
	for _, p := range panes {
		ways = append(ways, p.SessionID, instanceOf(t, h, p.SessionID))
	}
	requireEcho(h, shell.ID, "echo spawnd has come back")
	h.Type(shell.ID, nested+"\r")
	for _, secret := range append(slices.Clone(tokens), ways...) {
		if len(secret) < len("SPAWND_") {
			t.Fatalf("a secret of %d bytes is found everywhere", len(secret))
		}
	}

	nonces := map[string]bool{}
	looked := 0
	for _, p := range panes {
		var all []int
		rig.Await(t, "the programs of "+p.ID, func() bool {
			all = below(t, []int{p.PID})
			return len(all) >= nestedLeast && settled(all)
		})
		for _, pid := range all {
			seen := surroundings(t, pid)
			if seen == "" {
				continue // it has ended
			}
			looked++
			requireNone(t, fmt.Sprintf("process %d of %s", pid, p.ID), seen, append(slices.Clone(tokens), ways...))
			if nonce := variable(seen, "SPAWN_NONCE"); nonce != "" {
				nonces[nonce] = true
				if executed(pid) != executed(all[0]) { // a part of the shell that executes nothing else is the shell
					t.Errorf("process %d of %s, which is not its shell, has a nonce", pid, p.ID)
				}
			}
			if at := variable(seen, "SPAWN_PANE"); at != p.ID {
				t.Errorf("process %d of %s takes itself for one of %q: it was looked at in vain", pid, p.ID, at)
			}
		}
		seen := surroundings(t, p.PID)
		requireNone(t, "the worker of "+p.ID, seen, append(slices.Clone(tokens), "SPAWN_TOKEN", "SPAWND_"))
		if !strings.Contains(variable(seen, "GODEBUG"), "asyncpreemptoff=1") {
			t.Errorf("the worker of %s may be interrupted by its runtime", p.ID)
		}
	}
	if looked < len(panes)*nestedLeast {
		t.Errorf("only %d processes were looked at", looked)
	}
	if len(nonces) > 1 { // of the one shell that marks
		t.Errorf("%d nonces are in environments", len(nonces))
	}
	h.CloseAll()
	d.Stop()
	rig.Await(t, "what left its terminal's process group is all that is left", func() bool { return len(h.Workers()) == 0 })
}

// settled reports whether all have executed what they were started for: before that, a process has its parent's arguments.
func settled(pids []int) bool {
	sleeping := 0
	for _, pid := range pids {
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if strings.TrimSpace(string(comm)) == "sleep" {
			sleeping++
		}
	}
	return sleeping >= nestedLeast-2
}

// surroundings are what any process of the same user can read of a process; "" of one that is gone.
func surroundings(t *testing.T, pid int) string {
	t.Helper()
	var seen strings.Builder
	for _, file := range []string{"environ", "cmdline"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err != nil {
			return ""
		}
		seen.Write(text)
		seen.WriteByte(0)
	}
	folder, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return ""
	}
	return seen.String() + folder
}

// executed is what a process executes.
func executed(pid int) string {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return path
}

func variable(environ, name string) string {
	for entry := range strings.SplitSeq(environ, "\x00") {
		if value, found := strings.CutPrefix(entry, name+"="); found {
			return value
		}
	}
	return ""
}

func requireNone(t *testing.T, who, seen string, secrets []string) {
	t.Helper()
	for i, secret := range secrets {
		if strings.Contains(seen, secret) {
			t.Errorf("%s can see secret %d: %.20q…", who, i, secret)
		}
	}
}

func readToken(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// fragment is what stands behind the # of an address.
func fragment(t *testing.T, url string) string {
	t.Helper()
	_, secret, found := strings.Cut(url, "#")
	if !found {
		t.Fatal("an address without a fragment")
	}
	return secret
}

// instanceOf asks a worker. spawnd, whose place that takes, comes back.
func instanceOf(t *testing.T, h *rig.Host, session string) string {
	t.Helper()
	folder, err := endpoint.OpenFolder(h.WorkerDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	id, err := endpoint.ParseSessionID(session)
	if err != nil {
		t.Fatal(err)
	}
	c, err := folder.Dial(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetReadDeadline(time.Now().Add(rig.Patience)); err != nil {
		t.Fatal(err)
	}
	_, payload, err := wire.NewReader(c, wire.FromWorker).Next()
	if err != nil {
		t.Fatal(err)
	}
	hello, err := wire.DecodeHello(payload)
	if err != nil {
		t.Fatal(err)
	}
	return hello.InstanceID
}
